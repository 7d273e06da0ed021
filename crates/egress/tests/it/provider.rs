//! The client for a host that the operator chose.

use std::time::Duration;

use probity_egress::ProviderClient;
use probity_egress::stub::{Reply, StubServer};

const CONNECT: Duration = Duration::from_secs(5);

#[tokio::test]
async fn it_reaches_a_private_address_and_follows_no_redirect() {
    let server = StubServer::http(|_| Reply::redirect("http://127.0.0.1:1/")).await.unwrap();
    let url = format!("http://{}/v1", server.address());
    let client = ProviderClient::new(&url, CONNECT).unwrap();
    let answer = client.post(&url, &[("x-one", "1")], Vec::new()).await.unwrap();
    assert_eq!((answer.status(), answer.header("location")), (302, Some("http://127.0.0.1:1/")));
    let seen = server.seen();
    assert_eq!((seen.len(), seen[0].method.as_str()), (1, "POST"));
    assert!(seen[0].headers.contains(&("x-one".to_owned(), "1".to_owned())));
}

#[tokio::test]
async fn a_cut_body_is_an_error_and_a_whole_one_ends() {
    let whole = b"HTTP/1.1 200 Stub\r\ncontent-length: 4\r\n\r\nbody".to_vec();
    let cut = b"HTTP/1.1 200 Stub\r\ncontent-length: 5\r\n\r\nbody".to_vec();
    for (bytes, expected) in [(whole, Ok(None)), (cut, Err("egress_unreachable"))] {
        let server = StubServer::http(move |_| Reply::Raw(bytes.clone())).await.unwrap();
        let url = format!("http://{}/", server.address());
        let client = ProviderClient::new(&url, CONNECT).unwrap();
        let mut answer = client.post(&url, &[], Vec::new()).await.unwrap();
        assert_eq!(answer.chunk().await.unwrap().as_deref(), Some(b"body".as_slice()));
        assert_eq!(answer.chunk().await.map_err(|e| e.code()), expected);
    }
}

#[test]
fn it_is_made_for_http_without_user_information() {
    for url in ["ftp://api.test/", "api.test", "https://me:secret@api.test/"] {
        let error = ProviderClient::new(url, CONNECT).unwrap_err();
        assert_eq!(error.code(), "egress_bad_url", "{url}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
