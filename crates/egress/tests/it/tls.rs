//! HTTPS with trusted and untrusted certificates.

use std::sync::Arc;

use probity_egress::Client;
use probity_egress::stub::{Reply, StubResolver, StubServer};
use tokio::io::AsyncWriteExt;

use crate::{get, policy, with_resolver};

async fn https() -> StubServer {
    StubServer::https(&["api.github.com"], |request| match request.target.as_str() {
        "/down" => Reply::redirect("http://api.github.com/"),
        _ => Reply::text(200, "secure"),
    })
    .await
    .unwrap()
}

fn client_for(server: &StubServer, name: &str, roots: Vec<Vec<u8>>) -> Client {
    let resolver = StubResolver::new().name(name, vec![vec![server.address()]]);
    Client::with_resolver(policy(&[name], &["127.0.0.0/8"]), Arc::new(resolver), roots).unwrap()
}

#[tokio::test]
async fn https_works_with_a_trusted_certificate() {
    let server = https().await;
    let client = client_for(&server, "api.github.com", server.root_der().into_iter().collect());
    let response = get(&client, "https://api.github.com/repos/x").await.unwrap();
    assert_eq!((response.status, response.text().as_ref()), (200, "secure"));
    assert_eq!(response.header("content-length"), Some("6"));
}

#[tokio::test]
async fn an_unknown_authority_or_another_name_is_unreachable() {
    let server = https().await;
    let roots: Vec<_> = server.root_der().into_iter().collect();
    let stranger = https().await.root_der().into_iter().collect();
    for (name, roots) in [("api.github.com", stranger), ("other.test", roots)] {
        let client = client_for(&server, name, roots);
        let error = get(&client, &format!("https://{name}/")).await.unwrap_err();
        assert_eq!(error.code(), "egress_unreachable", "{error}");
    }
    assert_eq!(server.seen(), []);
}

#[tokio::test]
async fn plain_http_behind_an_https_url_is_unreachable() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let resolver =
        StubResolver::new().name("api.github.com", vec![vec![listener.local_addr().unwrap()]]);
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
    });
    let (client, _) = with_resolver(policy(&["api.github.com"], &["127.0.0.1"]), resolver);
    let error = get(&client, "https://api.github.com/").await.unwrap_err();
    assert_eq!(error.code(), "egress_unreachable", "{error}");
}

#[tokio::test]
async fn a_redirect_from_https_to_http_is_denied() {
    let server = https().await;
    let client = client_for(&server, "api.github.com", server.root_der().into_iter().collect());
    let error = get(&client, "https://api.github.com/down").await.unwrap_err();
    assert_eq!(error.code(), "egress_denied", "{error}");
    assert_eq!(server.seen().len(), 1);
}
