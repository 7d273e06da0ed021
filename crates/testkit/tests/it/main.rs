//! The tools themselves: a strict server that is not strict would let a broken client pass.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that breaks should say so at once"
)]

mod anthropic;
mod crash;
mod fault;
mod openai;
mod scripted;

use probity_chat::ModelReply;
use probity_testkit::{Answer, StrictServer};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub(crate) const KEY: &str = "sk-test";

/// An answer as it came over the wire.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Got {
    /// The message of an error.
    pub(crate) fn message(&self) -> String {
        let body: Value = serde_json::from_str(&self.body).unwrap();
        body["error"]["message"].as_str().unwrap().to_owned()
    }
}

pub(crate) async fn server() -> StrictServer {
    let answers = [Answer::reply(ModelReply::text("ok"))];
    StrictServer::answers(answers).key(KEY).model("m").start().await.unwrap()
}

/// Posts without a client library, so that nothing is put right on the way.
pub(crate) async fn post(
    server: &StrictServer,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Got {
    let mut socket = TcpStream::connect(server.address()).await.unwrap();
    let mut head = format!("POST {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
    socket.write_all(head.as_bytes()).await.unwrap();
    socket.write_all(body.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    // A connection that breaks gives what arrived.
    let _ = socket.read_to_end(&mut bytes).await;
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    Got { status, head: head.to_owned(), body: body.to_owned() }
}

pub(crate) async fn openai(server: &StrictServer, body: &Value) -> Got {
    let headers = [("authorization", "Bearer sk-test"), ("content-type", "application/json")];
    post(server, "/v1/chat/completions", &headers, &body.to_string()).await
}

pub(crate) async fn anthropic(server: &StrictServer, body: &Value) -> Got {
    let headers = [
        ("x-api-key", KEY),
        ("anthropic-version", "2023-06-01"),
        ("content-type", "application/json"),
    ];
    post(server, "/v1/messages", &headers, &body.to_string()).await
}

/// The body with the value at a pointer replaced, or removed by a `null`.
pub(crate) fn with(body: &Value, pointer: &str, value: Value) -> Value {
    let mut body = body.clone();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = body.pointer_mut(parent).unwrap();
    match (parent, value) {
        (Value::Object(map), Value::Null) => drop(map.remove(key)),
        (Value::Object(map), value) => drop(map.insert(key.to_owned(), value)),
        (Value::Array(list), Value::Null) => drop(list.remove(key.parse::<usize>().unwrap())),
        (Value::Array(list), value) if key == "-" => list.push(value),
        (Value::Array(list), value) => list[key.parse::<usize>().unwrap()] = value,
        (other, _) => *other = json!(null),
    }
    body
}
