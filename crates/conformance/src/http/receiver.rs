//! Listens for what a host sends out: one small request after the other.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, timeout_at};

use super::HttpError;

/// The longest request, head and body.
const MAX_BYTES: usize = 1024 * 1024;

/// Where deliveries arrive.
pub(crate) struct Receiver {
    listener: TcpListener,
}

/// A request that was delivered.
#[derive(Debug)]
pub(crate) struct Delivery {
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Receiver {
    pub(crate) async fn bind(address: SocketAddr) -> Result<Self, HttpError> {
        let listener = TcpListener::bind(address).await.map_err(|error| broken(&error))?;
        Ok(Self { listener })
    }

    /// The URL that deliveries are to be sent to.
    pub(crate) fn url(&self) -> Result<String, HttpError> {
        let address = self.listener.local_addr().map_err(|error| broken(&error))?;
        Ok(format!("http://{address}/hook"))
    }

    /// The next delivery. It is answered with 204.
    pub(crate) async fn next(&self, deadline: Instant) -> Result<Delivery, HttpError> {
        let started = Instant::now();
        loop {
            let taken = timeout_at(deadline, async {
                let (socket, _) = self.listener.accept().await.map_err(|error| broken(&error))?;
                read(socket).await
            });
            match taken.await {
                Ok(Ok(delivery)) => return Ok(delivery),
                // A connection that says nothing sensible is not the one that is waited for.
                Ok(Err(_)) => {}
                Err(_) => {
                    let limit = deadline.saturating_duration_since(started).as_millis();
                    return Err(HttpError::TimedOut {
                        limit_ms: u64::try_from(limit).unwrap_or(u64::MAX),
                    });
                }
            }
        }
    }
}

impl Delivery {
    /// The first value of a header, by its name in lower case; empty where there is none.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
            .unwrap_or_default()
    }
}

async fn read(mut socket: TcpStream) -> Result<Delivery, HttpError> {
    let mut text = Vec::new();
    loop {
        if let Some(delivery) = parsed(&text) {
            let answer = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
            socket.write_all(answer).await.map_err(|error| broken(&error))?;
            // The answer is on its way; whether the sender closes first does not matter.
            let _ = socket.shutdown().await;
            return Ok(delivery);
        }
        let mut piece = [0; 8 * 1024];
        let read = socket.read(&mut piece).await.map_err(|error| broken(&error))?;
        if read == 0 {
            return Err(HttpError::Broken { why: "the request ended before its end".to_owned() });
        }
        text.extend_from_slice(piece.get(..read).unwrap_or_default());
        if text.len() > MAX_BYTES {
            return Err(HttpError::TooLarge { limit: MAX_BYTES });
        }
    }
}

/// A request, once all of it is there.
fn parsed(text: &[u8]) -> Option<Delivery> {
    let end = text.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(text.get(..end)?).into_owned();
    let fields = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    let headers: Vec<(String, String)> =
        fields.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned())).collect();
    let delivery = Delivery { headers, body: text.get(end + 4..)?.to_vec() };
    let length = delivery.header("content-length").parse().unwrap_or(0);
    (delivery.body.len() >= length).then_some(delivery)
}

fn broken(error: &std::io::Error) -> HttpError {
    HttpError::Broken { why: error.to_string() }
}
