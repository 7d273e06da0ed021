//! The guard at the first URL and at the resolver.

use std::net::SocketAddr;

use probity_egress::stub::StubResolver;
use probity_egress::{Client, Denial, EgressError, EgressPolicy, Method, Request};
use tokio_util::sync::CancellationToken;

use crate::{client, get, host, ok_server, policy, with_resolver};

/// Every spelling of loopback that a URL may hide it in.
const SPELLINGS: [&str; 13] = [
    "127.0.0.1",
    "127.0.0.1.",
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f.1",
    "0x7f000001",
    "0177.0.0.1",
    "017700000001",
    "%31%32%37.0.0.1",
    "①②⑦.0.0.1",
    "0",
    "localhost",
];

const SPELLINGS_V6: [&str; 7] = [
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
];

#[tokio::test]
async fn nothing_is_allowed_by_default() {
    let server = ok_server().await;
    let client = Client::new(EgressPolicy::default()).unwrap();
    for name in SPELLINGS.iter().chain(&SPELLINGS_V6).chain(&["example.com"]) {
        let url = format!("http://{name}:{}/", server.address().port());
        let denied = get(&client, &url).await.unwrap_err();
        assert_eq!(denied.code(), "egress_denied", "{url}: {denied}");
        assert!(!denied.is_no_answer());
    }
    assert_eq!(server.seen(), []);
}

#[tokio::test]
async fn no_spelling_of_loopback_passes_for_another_allowed_host() {
    let server = ok_server().await;
    let port = server.address().port();
    let allowed = format!("example.com:{port}");
    let client = client(&[&allowed, "*.example.com", "8.8.8.8"], &[]);
    for name in SPELLINGS.iter().chain(&SPELLINGS_V6) {
        let denied = get(&client, &format!("http://{name}:{port}/")).await.unwrap_err();
        assert_eq!(denied.code(), "egress_denied", "{name}: {denied}");
    }
    assert_eq!(server.seen(), []);
}

#[tokio::test]
async fn a_literal_named_exactly_is_reached_in_every_spelling() {
    let server = ok_server().await;
    let port = server.address().port();
    let client = client(&[&host(server.address())], &[]);
    for name in ["127.0.0.1", "127.1", "2130706433", "0x7f.1", "0177.0.0.1"] {
        let response = get(&client, &format!("http://{name}:{port}/a?b=c#d")).await.unwrap();
        assert_eq!((response.status, response.text().as_ref()), (200, "ok"), "{name}");
        assert_eq!(response.url, format!("http://127.0.0.1:{port}/a?b=c#d"));
    }
    assert!(server.seen().iter().all(|request| request.target == "/a?b=c"));
    assert_eq!(server.seen().len(), 5);
}

#[tokio::test]
async fn localhost_named_with_its_port_reaches_loopback() {
    let server = ok_server().await;
    let named = format!("localhost:{}", server.address().port());
    let response = get(&client(&[&named], &[]), &format!("http://{named}/")).await.unwrap();
    assert_eq!(response.status, 200);
}

#[tokio::test]
async fn a_name_that_resolves_to_a_private_address_is_denied() {
    for address in ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "::ffff:127.0.0.1"] {
        let address = SocketAddr::new(address.parse().unwrap(), 0);
        let resolver = StubResolver::new().name("evil.test", vec![vec![address]]);
        let (client, _) = with_resolver(policy(&["evil.test"], &[]), resolver);
        match get(&client, "http://evil.test/").await {
            Err(EgressError::Denied { host, why: Denial::PrivateAddress { address: at, .. } }) => {
                assert_eq!((host.as_str(), at), ("evil.test", address.ip()));
            }
            other => panic!("{address}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn one_private_answer_among_public_ones_denies_the_name() {
    let server = ok_server().await;
    let public = SocketAddr::new("8.8.8.8".parse().unwrap(), 0);
    for answer in [vec![public, server.address()], vec![server.address(), public]] {
        let resolver = StubResolver::new().name("mixed.test", vec![answer]);
        let (client, _) = with_resolver(policy(&["mixed.test"], &[]), resolver);
        let denied = get(&client, "http://mixed.test/").await.unwrap_err();
        assert_eq!(denied.code(), "egress_denied");
    }
    assert_eq!(server.seen(), []);
}

#[tokio::test]
async fn a_rebinding_name_is_resolved_once_and_judged_each_time() {
    let named = ok_server().await;
    let other = ok_server().await;
    let elsewhere = SocketAddr::new("127.0.0.2".parse().unwrap(), other.address().port());
    let resolver =
        StubResolver::new().name("rebind.test", vec![vec![named.address()], vec![elsewhere]]);
    let (client, resolver) = with_resolver(policy(&["rebind.test"], &["127.0.0.1/32"]), resolver);

    assert_eq!(get(&client, "http://rebind.test/").await.unwrap().status, 200);
    assert_eq!(resolver.asked().len(), 1, "the connection used the vetted answer");
    let denied = get(&client, "http://rebind.test/").await.unwrap_err();
    assert_eq!(denied.code(), "egress_denied");
    assert_eq!((named.seen().len(), other.seen().len()), (1, 0));
}

#[tokio::test]
async fn a_public_name_can_be_served_from_loopback_by_naming_it() {
    let server = ok_server().await;
    for private in ["127.0.0.0/8", "api.github.com"] {
        let resolver = StubResolver::new().name("api.github.com", vec![vec![server.address()]]);
        let (client, _) = with_resolver(policy(&["api.github.com"], &[private]), resolver);
        let response = get(&client, "http://api.github.com/repos").await.unwrap();
        assert_eq!(response.url, "http://api.github.com/repos");
    }
    let hosts: Vec<_> = server.seen().into_iter().flat_map(|r| r.headers).collect();
    assert!(hosts.contains(&("host".to_owned(), "api.github.com".to_owned())));
}

#[tokio::test]
async fn a_final_dot_changes_neither_the_rule_nor_the_connection() {
    let server = ok_server().await;
    for (rule, url) in [("dot.test", "http://dot.test./"), ("dot.test.", "http://DOT.test/")] {
        let answers = vec![vec![server.address()]];
        let resolver =
            StubResolver::new().name("dot.test.", answers.clone()).name("dot.test", answers);
        let (client, _) = with_resolver(policy(&[rule], &["127.0.0.1"]), resolver);
        assert_eq!(get(&client, url).await.unwrap().status, 200, "{rule} {url}");
    }
}

#[tokio::test]
async fn user_information_and_other_schemes_are_bad_urls() {
    let server = ok_server().await;
    let address = host(server.address());
    let client = client(&[&address], &[]);
    for url in [
        format!("http://user@{address}/"),
        format!("http://user:secret@{address}/"),
        format!("http://:secret@{address}/"),
        format!("ftp://{address}/"),
        format!("gopher://{address}/"),
        format!("ws://{address}/"),
        "file:///etc/passwd".to_owned(),
        "data:text/plain,x".to_owned(),
        "unix:/run/docker.sock".to_owned(),
        "//127.0.0.1/".to_owned(),
        "127.0.0.1".to_owned(),
        "http://".to_owned(),
        "http://[fe80::1%25eth0]/".to_owned(),
        String::new(),
    ] {
        let error = get(&client, &url).await.unwrap_err();
        assert_eq!(error.code(), "egress_bad_url", "{url}: {error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    assert_eq!(server.seen(), []);
}

#[tokio::test]
async fn only_what_http_needs_is_sent() {
    let server = ok_server().await;
    let client = client(&[&host(server.address())], &[]);
    get(&client, &format!("http://{}/", server.address())).await.unwrap();
    let head = client
        .send(&Request::head(format!("http://{}/", server.address())), &CancellationToken::new())
        .await
        .unwrap();
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(Request::get("x").method, Method::Get);

    let seen = server.seen();
    assert_eq!(seen.iter().map(|r| r.method.as_str()).collect::<Vec<_>>(), ["GET", "HEAD"]);
    for request in seen {
        let mut names: Vec<_> = request.headers.iter().map(|(n, _)| n.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["accept", "host", "user-agent"]);
    }
}

#[tokio::test]
async fn unresolvable_and_closed_are_unreachable() {
    let (client, _) = with_resolver(policy(&["gone.test"], &[]), StubResolver::new());
    let error = get(&client, "http://gone.test/").await.unwrap_err();
    assert_eq!((error.code(), error.is_no_answer()), ("egress_unreachable", true));

    let resolver = StubResolver::new().name("empty.test", vec![vec![]]);
    let (client, _) = with_resolver(policy(&["empty.test"], &[]), resolver);
    let error = get(&client, "http://empty.test/").await.unwrap_err();
    assert_eq!(error.code(), "egress_unreachable");

    // Bound and never listening: the port is taken, and nobody answers.
    let closed = tokio::net::TcpSocket::new_v4().unwrap();
    closed.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = closed.local_addr().unwrap();
    let client = crate::client(&[&host(address)], &[]);
    let error = get(&client, &format!("http://{address}/")).await.unwrap_err();
    assert_eq!(error.code(), "egress_unreachable", "{error}");
}
