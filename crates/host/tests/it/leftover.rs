//! Bodies that nobody wants: whoever sends one still reads its answer.

use std::net::SocketAddr;

use reqwest::Method;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::face::{Face, config, done};

const MIB: usize = 1024 * 1024;

async fn small() -> Face {
    let mut config = config();
    config.limits.max_body_bytes = 1_000;
    Face::with(config).await
}

/// Sends all of it before a byte of the answer is read, as simple clients do.
async fn sent(address: SocketAddr, head: &str, body: &[u8]) -> String {
    let mut socket = TcpStream::connect(address).await.unwrap();
    let head = format!("{head}host: h\r\nauthorization: Bearer acme-key\r\n\r\n");
    socket.write_all(head.as_bytes()).await.unwrap();
    for piece in body.chunks(MIB / 4) {
        socket.write_all(piece).await.unwrap();
    }
    let mut text = String::new();
    socket.read_to_string(&mut text).await.unwrap();
    text
}

fn is_too_large(answer: &str) {
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    assert!(answer.contains("connection: close") && answer.contains("maxBytes"), "{answer}");
}

#[tokio::test]
async fn whoever_sends_too_much_reads_that_it_is_too_much() {
    let face = small().await;
    let body = vec![b'x'; 3 * MIB];
    let head = format!("POST /v1/runs HTTP/1.1\r\ncontent-length: {}\r\n", body.len());
    is_too_large(&sent(face.address, &head, &body).await);
    let mut chunks = format!("{:x}\r\n", body.len()).into_bytes();
    chunks.extend_from_slice(&body);
    chunks.extend_from_slice(b"\r\n0\r\n\r\n");
    let head = "POST /v1/runs HTTP/1.1\r\ntransfer-encoding: chunked\r\n";
    is_too_large(&sent(face.address, head, &chunks).await);
    for _ in 0..20 {
        let answer = done(face.ask(Method::POST, "/v1/runs").body(vec![b'x'; 2 * MIB])).await;
        answer.is_failure(413, "validation_error");
    }
}

#[tokio::test]
async fn a_length_beyond_measure_is_refused_before_a_byte_of_it() {
    let face = small().await;
    let head = "POST /v1/runs HTTP/1.1\r\ncontent-length: 900000000000\r\n";
    is_too_large(&sent(face.address, head, b"").await);
    // Whoever asks first is told so, and never to go on.
    let head = "POST /v1/runs HTTP/1.1\r\ncontent-length: 2000\r\nexpect: 100-continue\r\n";
    is_too_large(&sent(face.address, head, b"").await);
    let head = "POST /v1/runs HTTP/1.1\r\ncontent-length: 2\r\nexpect: 100-continue\r\n\
                connection: close\r\n";
    let answer = sent(face.address, head, b"{}").await;
    assert!(answer.starts_with("HTTP/1.1 100") && answer.contains("HTTP/1.1 400"), "{answer}");
}

#[tokio::test]
async fn whoever_is_refused_for_another_reason_reads_it_as_well() {
    let face = Face::new().await;
    let body = vec![b'x'; 3 * MIB];
    for (path, status) in [("/v1/nowhere", 404), ("/v1/runs/nobody", 405)] {
        let answer = done(face.ask(Method::POST, path).body(body.clone())).await;
        assert_eq!(answer.status, status);
    }
    for _ in 0..10 {
        let answer = done(face.bare(Method::POST, "/v1/runs").body(body.clone())).await;
        answer.is_failure(401, "unauthenticated");
    }
}

#[tokio::test]
async fn whoever_never_stops_is_cut_off() {
    let face = small().await;
    let mut socket = TcpStream::connect(face.address).await.unwrap();
    let head = "POST /v1/runs HTTP/1.1\r\nhost: h\r\nauthorization: Bearer acme-key\r\n\
                content-length: 900000000000\r\n\r\n";
    socket.write_all(head.as_bytes()).await.unwrap();
    let (mut sent, piece) = (0, vec![b'x'; MIB]);
    while socket.write_all(&piece).await.is_ok() {
        sent += MIB;
        assert!(sent < 256 * MIB, "it is taken without end");
    }
}
