//! An HTTP server on loopback that answers as a test says.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

/// Answers with a status and a body; `None` never answers. It lives as long as the test process.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    paths: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// `answer` gets how many requests came before, and the path.
    pub(super) fn start(
        answer: impl Fn(usize, &str) -> Option<(u16, &'static str)> + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let paths: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&paths);
        std::thread::spawn(move || {
            let mut hung = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
                    head.push(byte[0]);
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                let before = {
                    let mut seen = seen.lock().unwrap();
                    seen.push(path.clone());
                    seen.len() - 1
                };
                match answer(before, &path) {
                    Some((status, body)) => {
                        let length = body.len();
                        let text = format!(
                            "HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
                        );
                        // A client that has read enough closes first.
                        let _ = stream.write_all(text.as_bytes());
                    }
                    None => hung.push(stream),
                }
            }
        });
        Self { address, paths }
    }

    /// The paths that were asked for, in order.
    pub(super) fn asked(&self) -> Vec<String> {
        self.paths.lock().unwrap().clone()
    }
}

/// An address at which nothing listens.
pub(super) fn closed() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}
