//! Callers that mean no good, or know no better, on the bare connection.

use std::net::SocketAddr;
use std::time::Duration;

use reqwest::Method;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::face::{Face, KEY, config, done};

fn head(start: &str, rest: &str) -> String {
    format!("{start} HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {KEY}\r\n{rest}\r\n")
}

async fn connect(address: SocketAddr, text: &str) -> TcpStream {
    let mut socket = TcpStream::connect(address).await.unwrap();
    socket.write_all(text.as_bytes()).await.unwrap();
    socket
}

/// Everything that is answered until the connection ends, however it does.
async fn told(mut socket: TcpStream) -> String {
    let mut bytes = Vec::new();
    let _ = socket.read_to_end(&mut bytes).await;
    String::from_utf8(bytes).unwrap()
}

fn statuses(text: &str) -> Vec<&str> {
    text.match_indices("HTTP/1.1 ").map(|(at, _)| &text[at + 9..at + 12]).collect()
}

#[tokio::test]
async fn lengths_that_contradict_each_other_are_no_request() {
    let face = Face::new().await;
    for rest in [
        "content-length: 2\r\ncontent-length: 40\r\nconnection: close\r\n",
        "content-length: 2, 40\r\nconnection: close\r\n",
        "content-length: +2\r\nconnection: close\r\n",
        "content-length: -2\r\nconnection: close\r\n",
        "content-length: 99999999999999999999999\r\nconnection: close\r\n",
        "transfer-encoding: chunked, identity\r\nconnection: close\r\n",
        "content-length : 2\r\nconnection: close\r\n",
        " folded: 2\r\nconnection: close\r\n",
    ] {
        let text = head("POST /v1/runs", rest) + "{}GET /v1/runs HTTP/1.1\r\nhost: h\r\n\r\n";
        let answer = told(connect(face.address, &text).await).await;
        assert_eq!(statuses(&answer), ["400"], "{rest} {answer}");
    }
    // Where both are there the pieces count, and no byte of them is another request.
    for rest in [
        "content-length: 4\r\ntransfer-encoding: chunked\r\nconnection: close\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 4\r\nconnection: close\r\n",
    ] {
        let inner = "GET /v1/runs HTTP/1.1\r\n\r\n";
        let chunks = format!("{:x}\r\n{inner}\r\n0\r\n\r\n", inner.len());
        let text = head("POST /v1/runs", rest) + &chunks;
        let answer = told(connect(face.address, &text).await).await;
        assert_eq!(statuses(&answer), ["400"], "{rest} {answer}");
        assert!(answer.contains("validation_error"), "{answer}");
    }
    // Pieces of a size that nobody can mean.
    for size in ["ffffffffffffffffff", "-1", "1_0", "", "zz"] {
        let text = head("POST /v1/runs", "transfer-encoding: chunked\r\nconnection: close\r\n");
        let socket = connect(face.address, &format!("{text}{size}\r\n{{}}\r\n0\r\n\r\n")).await;
        assert_eq!(statuses(&told(socket).await), ["400"], "{size}");
    }
}

#[tokio::test]
async fn a_path_is_what_it_says_and_nothing_is_made_of_it() {
    let face = Face::new().await;
    let run = face.begin("conformance-noop").await;
    for path in [
        "/v1/runs/",
        "//v1/runs",
        "/v1//runs",
        "/v1/./runs",
        "/v1/x/../runs",
        "/v1/x/%2e%2e/runs",
        "/v1%2fruns",
        "/V1/runs",
        "/v1/runs/..%2f..%2fworkflows",
        "/v1/runs/%00",
        "/v1/runs/%ff%fe",
        "/v1/runs/%",
        "/v1/runs/%zz",
        "/v1/runs;x=1",
        &format!("/v1/runs/{run}/"),
        &format!("/v1/runs/{run}%2fevents"),
        &format!("/v1/runs/{run}%00"),
        &format!("/v1/runs/{}", run.to_uppercase()),
        &format!("/v1/runs/{}", "a".repeat(20_000)),
        "*",
        "v1/runs",
    ] {
        let text = head(&format!("GET {path}"), "connection: close\r\n");
        let answer = told(connect(face.address, &text).await).await;
        let status = statuses(&answer);
        assert!(status == ["404"] || status == ["400"], "{path}: {answer}");
    }
    // The whole address is as good as its path.
    let text = head("GET http://elsewhere/v1/runs", "connection: close\r\n");
    assert_eq!(statuses(&told(connect(face.address, &text).await).await), ["200"]);
    for method in ["CONNECT h:1", "OPTIONS *", "TRACE /v1/runs", "PROPFIND /v1/runs"] {
        let text = head(method, "connection: close\r\n");
        let answer = told(connect(face.address, &text).await).await;
        assert!(!statuses(&answer).contains(&"200") && !answer.contains(KEY), "{method}: {answer}");
    }
}

#[tokio::test]
async fn what_is_too_long_or_too_large_is_refused() {
    let face = Face::new().await;
    let large = format!("x-large: {}\r\n", "x".repeat(200_000));
    let answer = told(connect(face.address, &head("GET /v1/runs", &large)).await).await;
    assert_eq!(statuses(&answer), ["431"], "{answer}");
    let many = "x: y\r\n".repeat(500);
    let answer = told(connect(face.address, &head("GET /v1/runs", &many)).await).await;
    assert_eq!(statuses(&answer), ["431"], "{answer}");
    let long = "k".repeat(10_000);
    for path in ["/v1/runs", "/v1/webhooks", "/v1/workflows"] {
        let ask = face.ask(Method::POST, path).header("idempotency-key", &long).body("{}");
        done(ask).await.is_failure(400, "validation_error");
    }
    for number in ["1e999", "-1e999", "1e-999999", "123456789012345678901234567890", "NaN"] {
        let inputs = format!("{{\"payload\": {number}}}");
        let body = format!("{{\"workflowId\": \"conformance-identity\", \"inputs\": {inputs}}}");
        let answer = done(face.ask(Method::POST, "/v1/runs").body(body)).await;
        assert!([201, 400].contains(&answer.status), "{number}: {}", answer.json);
    }
    let query = format!("/v1/runs?{}", "limit=1&".repeat(5_000));
    assert_eq!(face.get(&query).await.status, 200);
}

#[tokio::test]
async fn who_only_holds_a_connection_loses_it_and_nobody_waits_for_them() {
    let mut config = config();
    config.limits.head_timeout_ms = 200;
    config.limits.max_connections = 201;
    let face = Face::with(config).await;
    let mut idle = Vec::new();
    for number in 0..200 {
        let text = if number % 2 == 0 { "" } else { "GET /v1/runs HTTP/1.1\r\nhost: " };
        idle.push(connect(face.address, text).await);
    }
    assert_eq!(face.get("/v1/runs").await.status, 200);
    // Nobody closes them on this side, and their places are free again.
    let mut later = Vec::new();
    for _ in 0..201 {
        later.push(connect(face.address, "").await);
    }
    assert_eq!(face.get("/v1/runs").await.status, 200);
    for socket in idle {
        let text = told(socket).await;
        assert!(text.is_empty() || statuses(&text) == ["408"], "{text}");
    }
}

#[tokio::test]
async fn a_head_that_comes_byte_by_byte_has_one_time_for_all_of_it() {
    let mut config = config();
    config.limits.head_timeout_ms = 300;
    let face = Face::with(config).await;
    let mut socket = connect(face.address, "GET /v1/runs HTTP/1.1\r\n").await;
    let mut beat = tokio::time::interval(Duration::from_millis(20));
    let mut sent = 0;
    while socket.write_all(b"x: y\r\n").await.is_ok() {
        beat.tick().await;
        sent += 1;
        assert!(sent < 90, "it is never told to stop");
    }
}

#[tokio::test]
async fn who_asks_for_much_and_reads_nothing_is_let_go() {
    let mut config = config();
    config.limits.stall_timeout_ms = 300;
    config.limits.max_connections = 1;
    let face = Face::with(config).await;
    let mut socket = TcpStream::connect(face.address).await.unwrap();
    // Enough to fill whatever lies between the two.
    let asks = head("GET /v1/openapi.json", "").repeat(2_000);
    let _ = tokio::time::timeout(Duration::from_secs(2), socket.write_all(asks.as_bytes())).await;
    // Its place is somebody else's now, though it is still there.
    assert_eq!(face.get("/v1/runs").await.status, 200);
    drop(socket);
}

#[tokio::test]
async fn an_end_waits_for_nobody_longer_than_it_may() {
    let mut config = config();
    config.limits.drain_timeout_ms = 1_000;
    let mut face = Face::with(config).await;
    let address = face.address;
    let run = face.begin("conformance-approval").await;
    let stream = connect(address, &head(&format!("GET /v1/runs/{run}/events"), "")).await;
    let poll = format!("GET /v1/runs/{run}/events/poll?lastSequence=99&timeout=60");
    let poll = connect(address, &head(&poll, "")).await;
    let half_head = connect(address, "GET /v1/runs HTTP/1.1\r\nhost:").await;
    let half_body = connect(address, &head("POST /v1/runs", "content-length: 9\r\n")).await;
    let idle = connect(address, "").await;
    // The stream has begun, so it is one that is under way.
    let mut begun = [0; 1];
    let mut stream = stream;
    stream.read_exact(&mut begun).await.unwrap();
    face.stop.cancel();
    let ended = tokio::time::timeout(Duration::from_secs(10), &mut face.serving).await;
    ended.expect("it waits for somebody").unwrap().unwrap();
    for socket in [stream, poll, half_head, half_body, idle] {
        told(socket).await;
    }
    assert!(TcpStream::connect(address).await.is_err());
}
