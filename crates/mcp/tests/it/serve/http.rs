//! Clients over HTTP: who is let in, and who is not.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use probity_mcp::serve::{DeskLimits, HttpConfig};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{Fake, desk};
use crate::PATIENCE;

const KEY: &str = "the right key";
const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

struct Server {
    address: SocketAddr,
    fake: Arc<Fake>,
    stop: CancellationToken,
    served: JoinHandle<std::io::Result<()>>,
}

async fn server(config: HttpConfig) -> Server {
    let (fake, desk, stop) = desk(DeskLimits::default());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let served = tokio::spawn(async move { desk.serve_http(listener, config).await });
    Server { address, fake, stop, served }
}

fn keyed() -> HttpConfig {
    HttpConfig { authorise: Some(Arc::new(|key| key == KEY)), ..HttpConfig::default() }
}

async fn send(address: SocketAddr, path: &str, headers: &[&str], body: &str) -> TcpStream {
    let mut socket = TcpStream::connect(address).await.unwrap();
    let mut head = format!(
        "POST {path} HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\n",
        body.len()
    );
    if !headers.iter().any(|header| header.starts_with("Host:")) {
        head.push_str(&format!("Host: {address}\r\n"));
    }
    for header in headers {
        head.push_str(&format!("{header}\r\n"));
    }
    socket.write_all(format!("{head}\r\n{body}").as_bytes()).await.unwrap();
    socket
}

async fn ask(address: SocketAddr, path: &str, headers: &[&str], body: &str) -> (u16, String) {
    let mut socket = send(address, path, headers, body).await;
    let mut bytes = Vec::new();
    timeout(PATIENCE, socket.read_to_end(&mut bytes)).await.unwrap().unwrap();
    let text = String::from_utf8(bytes).unwrap();
    (text.split(' ').nth(1).unwrap().parse().unwrap(), text)
}

fn session(answer: &str) -> String {
    let line = answer.lines().find(|line| line.to_lowercase().starts_with("mcp-session-id:"));
    line.unwrap_or_else(|| panic!("{answer}")).trim().to_owned()
}

fn bearer(key: &str) -> String {
    format!("Authorization: Bearer {key}")
}

#[tokio::test]
async fn only_the_right_key_is_let_in() {
    let Server { address, .. } = server(keyed()).await;
    let right = bearer(KEY);
    let wrong = bearer("another key");
    for (headers, status) in [
        (&[][..], 401),
        (&[wrong.as_str()], 401),
        (&["Authorization: Basic the right key"], 401),
        (&[right.as_str(), wrong.as_str()], 401),
        (&[right.as_str()], 200),
    ] {
        let (found, answer) = ask(address, "/mcp", headers, HELLO).await;
        assert_eq!(found, status, "{headers:?}: {answer}");
        let asks = answer.to_lowercase().contains("www-authenticate: bearer");
        assert_eq!(asks, status == 401, "{answer}");
    }
    assert_eq!(ask(address, "/", &[right.as_str()], HELLO).await.0, 404);
}

#[tokio::test]
async fn a_page_that_was_rebound_to_this_address_is_not_let_in() {
    let config = HttpConfig {
        allowed_hosts: vec!["tools.example".to_owned()],
        allowed_origins: vec!["https://app.example:443".to_owned()],
        ..HttpConfig::default()
    };
    let Server { address, .. } = server(config).await;
    for (header, status) in [
        ("Host: evil.example", 403),
        ("Host: 127.0.0.1.evil.example", 403),
        ("Host: tools.example", 200),
        ("Host: localhost:1", 200),
        ("Origin: https://evil.example", 403),
        ("Origin: null", 403),
        ("Origin: http://app.example", 403),
        ("Origin: https://app.example", 200),
    ] {
        let (found, answer) = ask(address, "/mcp", &[header], HELLO).await;
        assert_eq!(found, status, "{header}: {answer}");
    }
}

#[tokio::test]
async fn nobody_says_where_pages_may_come_from_so_none_may() {
    let Server { address, .. } = server(HttpConfig::default()).await;
    let origin = format!("Origin: http://{address}");
    assert_eq!(ask(address, "/mcp", &[&origin], HELLO).await.0, 403);
}

#[tokio::test]
async fn a_call_is_cancelled_by_another_request_of_its_session_and_a_stop_ends_all() {
    let Server { address, fake, stop, served } = server(keyed()).await;
    let key = bearer(KEY);
    let (_, hello) = ask(address, "/mcp", &[&key], HELLO).await;
    let session = session(&hello);
    let headers = [key.as_str(), session.as_str()];
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(ask(address, "/mcp", &headers, ready).await.0, 202);
    let wait = |id: u8| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"wait"}}}}"#)
    };
    let _first = send(address, "/mcp", &headers, &wait(2)).await;
    timeout(PATIENCE, fake.begun.notified()).await.unwrap();
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;
    assert_eq!(ask(address, "/mcp", &headers, cancel).await.0, 202);
    crate::until("cancelled", || fake.ended.load(Ordering::SeqCst) == 1).await;

    let _second = send(address, "/mcp", &headers, &wait(3)).await;
    timeout(PATIENCE, fake.begun.notified()).await.unwrap();
    stop.cancel();
    timeout(PATIENCE, served).await.unwrap().unwrap().unwrap();
    assert_eq!(fake.ended.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_body_that_is_too_long_is_refused() {
    let Server { address, .. } = server(HttpConfig::default()).await;
    let body = Value::from("x".repeat(probity_mcp::serve::MAX_MESSAGE_BYTES + 1)).to_string();
    let mut socket = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    // It answers before all of it was sent, and may close.
    let _ = socket.write_all(body.as_bytes()).await;
    let mut answer = [0; 12];
    timeout(PATIENCE, socket.read_exact(&mut answer)).await.unwrap().unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413");
}
