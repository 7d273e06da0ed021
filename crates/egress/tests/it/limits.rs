//! Bounds on size and time, and what is not taken from the environment.

use std::process::Command;
use std::time::Duration;

use probity_egress::stub::{Reply, StubRequest};
use probity_egress::{Client, EgressError, EgressPolicy, Request};
use tokio_util::sync::CancellationToken;

use crate::{client, get, host, ok_server, policy, server};

const MIB: usize = 1024 * 1024;

#[tokio::test]
async fn a_body_of_100_mb_is_cut_at_the_cap_and_flagged() {
    let server = server(|_| Reply::Stream { bytes: 100_000_000 }).await;
    let address = host(server.address());
    let url = format!("http://{address}/");
    let response = get(&client(&[&address], &[]), &url).await.unwrap();
    assert_eq!((response.body.len(), response.truncated), (MIB, true));

    let request = Request { max_body_bytes: Some(10), ..Request::get(&url) };
    let response =
        client(&[&address], &[]).send(&request, &CancellationToken::new()).await.unwrap();
    assert_eq!((response.body.as_slice(), response.truncated), (&b"xxxxxxxxxx"[..], true));

    let request = Request { max_body_bytes: Some(u64::MAX), ..Request::get(&url) };
    let response =
        client(&[&address], &[]).send(&request, &CancellationToken::new()).await.unwrap();
    assert_eq!(response.body.len(), MIB, "a request cannot widen the policy");
}

#[tokio::test]
async fn a_body_of_exactly_the_cap_is_whole() {
    let server = server(|_| Reply::Stream { bytes: 10 }).await;
    let address = host(server.address());
    let request = |max| Request {
        max_body_bytes: Some(max),
        ..Request::get(format!("http://{}/", server.address()))
    };
    let client = client(&[&address], &[]);
    for (max, length, truncated) in [(10, 10, false), (9, 9, true), (0, 0, true)] {
        let response = client.send(&request(max), &CancellationToken::new()).await.unwrap();
        assert_eq!((response.body.len(), response.truncated), (length, truncated), "cap {max}");
    }
}

#[tokio::test]
async fn a_large_head_is_refused() {
    let server = server(|_| Reply::Full {
        status: 200,
        headers: vec![("x".into(), "y".repeat(65 * 1024))],
        body: Vec::new(),
    })
    .await;
    let client = client(&[&host(server.address())], &[]);
    let error = get(&client, &format!("http://{}/", server.address())).await.unwrap_err();
    assert_eq!(error.code(), "egress_too_large", "{error}");
}

#[tokio::test]
async fn a_server_that_hangs_or_drips_times_out() {
    for reply in [Reply::Hang, Reply::Drip { every: Duration::from_millis(5) }] {
        let server = server(move |_| reply.clone()).await;
        let client = client(&[&host(server.address())], &[]);
        let request = Request {
            timeout: Some(Duration::from_millis(200)),
            ..Request::get(format!("http://{}/", server.address()))
        };
        let error = client.send(&request, &CancellationToken::new()).await.unwrap_err();
        assert_eq!(
            error,
            EgressError::TimedOut {
                host: host(server.address()),
                limit: Duration::from_millis(200)
            }
        );
        assert!(error.is_no_answer());
    }
}

#[tokio::test]
async fn the_limit_is_for_all_hops_together() {
    let server = server(|request: &StubRequest| match request.target.as_str() {
        "/" => Reply::redirect("/hang"),
        _ => Reply::Hang,
    })
    .await;
    let policy = EgressPolicy {
        total_timeout: Duration::from_millis(200),
        ..policy(&[&host(server.address())], &[])
    };
    let client = Client::new(policy).unwrap();
    let request = Request {
        timeout: Some(Duration::from_secs(60)),
        ..Request::get(format!("http://{}/", server.address()))
    };
    let error = client.send(&request, &CancellationToken::new()).await.unwrap_err();
    assert_eq!(error.code(), "egress_timeout");
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn cancelling_ends_a_request_at_once() {
    let cancel = CancellationToken::new();
    let stop = cancel.clone();
    let server = server(move |_| {
        stop.cancel();
        Reply::Hang
    })
    .await;
    let client = client(&[&host(server.address())], &[]);
    let url = format!("http://{}/", server.address());
    let error = client.send(&Request::get(&url), &cancel).await.unwrap_err();
    assert_eq!(error, EgressError::Cancelled { host: host(server.address()) });
    let error = client.send(&Request::get(&url), &cancel).await.unwrap_err();
    assert_eq!(error.code(), "egress_cancelled");
    assert_eq!(server.seen().len(), 1, "a cancelled token sends nothing");
}

#[tokio::test]
async fn what_is_not_http_is_unreachable() {
    for bytes in [&b"220 smtp ready\r\n"[..], b"", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx"]
    {
        let server = server(move |_| Reply::Raw(bytes.to_vec())).await;
        let client = client(&[&host(server.address())], &[]);
        let error = get(&client, &format!("http://{}/", server.address())).await.unwrap_err();
        assert_eq!(error.code(), "egress_unreachable", "{error}");
    }
}

/// Proxy variables can only be set for another process, so the test runs itself.
#[tokio::test]
async fn proxies_in_the_environment_are_ignored() {
    const TARGET: &str = "EGRESS_TEST_TARGET";
    if let Ok(target) = std::env::var(TARGET) {
        let response = get(&client(&[&target], &[]), &format!("http://{target}/")).await.unwrap();
        assert_eq!(response.text(), "ok");
        return;
    }
    let (target, proxy) = (ok_server().await, ok_server().await);
    let proxy_url = format!("http://{}", proxy.address());
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "limits::proxies_in_the_environment_are_ignored"]);
    child.env(TARGET, host(target.address()));
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
    {
        child.env(name, &proxy_url);
    }
    let output = tokio::task::spawn_blocking(move || child.output()).await.unwrap().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!((target.seen().len(), proxy.seen().len()), (1, 0));
}
