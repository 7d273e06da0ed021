//! The guard at every hop.

use std::net::SocketAddr;

use probity_egress::stub::{Reply, StubResolver};
use probity_egress::{Denial, EgressError};

use crate::{client, get, host, ok_server, policy, server, with_resolver};

#[tokio::test]
async fn a_redirect_to_a_denied_place_is_not_followed() {
    let target = ok_server().await;
    let port = target.address().port();
    for (location, code) in [
        (format!("http://127.0.0.1:{port}/"), "egress_denied"),
        (format!("http://2130706433:{port}/"), "egress_denied"),
        (format!("http://0x7f.1:{port}/"), "egress_denied"),
        (format!("http://[::1]:{port}/"), "egress_denied"),
        (format!("http://[::ffff:127.0.0.1]:{port}/"), "egress_denied"),
        (format!("http://localhost:{port}/"), "egress_denied"),
        (format!("//127.1:{port}/"), "egress_denied"),
        ("http://169.254.169.254/latest/meta-data/".to_owned(), "egress_denied"),
        ("http://other.test/".to_owned(), "egress_denied"),
        ("http://start.test:81/".to_owned(), "egress_denied"),
        ("http://user:pw@start.test/".to_owned(), "egress_bad_url"),
        ("file:///etc/passwd".to_owned(), "egress_bad_url"),
        ("gopher://start.test/".to_owned(), "egress_bad_url"),
        ("http://".to_owned(), "egress_bad_url"),
    ] {
        let to = location.clone();
        let first = server(move |_| Reply::redirect(&to)).await;
        let resolver = StubResolver::new()
            .name("start.test", vec![vec![first.address()]])
            .name("other.test", vec![vec![target.address()]]);
        let (client, _) = with_resolver(policy(&["start.test"], &["start.test"]), resolver);
        let error = get(&client, "http://start.test/").await.unwrap_err();
        assert_eq!(error.code(), code, "{location}: {error}");
        assert_eq!(first.seen().len(), 1, "{location}");
    }
    assert_eq!(target.seen(), []);
}

#[tokio::test]
async fn an_allowed_name_that_moves_to_a_private_address_between_hops_is_denied() {
    let first = server(|_| Reply::redirect("/next")).await;
    let inside = ok_server().await;
    let moved = SocketAddr::new("127.0.0.2".parse().unwrap(), inside.address().port());
    let resolver = StubResolver::new().name("start.test", vec![vec![first.address()], vec![moved]]);
    let (client, resolver) = with_resolver(policy(&["start.test"], &["127.0.0.1"]), resolver);
    let error = get(&client, "http://start.test/").await.unwrap_err();
    assert!(
        matches!(&error, EgressError::Denied { why: Denial::PrivateAddress { .. }, .. }),
        "{error}"
    );
    assert_eq!((resolver.asked().len(), inside.seen().len()), (2, 0));
}

#[tokio::test]
async fn every_redirect_status_is_followed_between_allowed_hosts() {
    let last = ok_server().await;
    for status in [301, 302, 303, 307, 308] {
        let first = server(move |_| Reply::Full {
            status,
            headers: vec![("location".into(), "http://b.test/done".into())],
            body: b"moved".to_vec(),
        })
        .await;
        let resolver = StubResolver::new()
            .name("a.test", vec![vec![first.address()]])
            .name("b.test", vec![vec![last.address()]]);
        let (client, _) = with_resolver(policy(&["a.test", "b.test"], &["127.0.0.1"]), resolver);
        let response = get(&client, "http://a.test/").await.unwrap();
        assert_eq!((response.status, response.url.as_str()), (200, "http://b.test/done"));
    }
    assert_eq!(last.seen().len(), 5);
    let sent: Vec<_> = last.seen().into_iter().flat_map(|r| r.headers).map(|(n, _)| n).collect();
    assert!(!sent.contains(&"referer".to_owned()) && !sent.contains(&"cookie".to_owned()));
}

#[tokio::test]
async fn a_redirect_without_a_location_is_the_response() {
    for status in [301, 304] {
        let server = server(move |_| Reply::text(status, "")).await;
        let client = client(&[&host(server.address())], &[]);
        let response = get(&client, &format!("http://{}/", server.address())).await.unwrap();
        assert_eq!(response.status, status);
    }
}

#[tokio::test]
async fn redirects_are_counted_and_then_refused() {
    for (length, follows) in [(5_u32, true), (6, false)] {
        let server = server(move |request| {
            let hop: u32 = request.target.trim_start_matches('/').parse().unwrap_or(0);
            if hop < length {
                Reply::redirect(&format!("/{}", hop + 1))
            } else {
                Reply::text(200, "end")
            }
        })
        .await;
        let client = client(&[&host(server.address())], &[]);
        let result = get(&client, &format!("http://{}/0", server.address())).await;
        if follows {
            assert_eq!(result.unwrap().text(), "end");
        } else {
            let error = result.unwrap_err();
            assert_eq!(error.code(), "egress_too_many_redirects", "{error}");
        }
        assert_eq!(server.seen().len(), 6);
    }
}

#[tokio::test]
async fn a_redirect_loop_ends() {
    let server = server(|_| Reply::redirect("/")).await;
    let client = client(&[&host(server.address())], &[]);
    let error = get(&client, &format!("http://{}/", server.address())).await.unwrap_err();
    assert_eq!(error.code(), "egress_too_many_redirects");
    assert_eq!(server.seen().len(), 6);
}
