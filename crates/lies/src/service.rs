//! The world outside a workspace: an HTTP service that answers with the files of a folder.
//!
//! `NAME` is the body of a 200; `NAME.reply` is sent byte by byte in its place; `NAME.once` is the
//! body of one answer, and gone.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::net::TcpSocket;

use crate::LiesError;

/// Bytes of one request that are read.
const MAX_REQUEST_BYTES: usize = 64 * 1024;
/// How long a client may take for its request.
const PATIENCE: Duration = Duration::from_secs(5);

/// The service of one site. Stopped when dropped.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) http: SocketAddr,
    pub(crate) dead: SocketAddr,
    pub(crate) hang: SocketAddr,
    is_over: Arc<AtomicBool>,
    /// Bound and never listening: connections are refused, and no one else gets the port.
    _dead: TcpSocket,
    /// Listening and never accepting.
    _hang: TcpListener,
}

impl Service {
    pub(crate) fn start(folder: PathBuf) -> Result<Self, LiesError> {
        let failed = LiesError::io("start the service of a row");
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = TcpListener::bind(any).map_err(&failed)?;
        let hang = TcpListener::bind(any).map_err(&failed)?;
        let dead = TcpSocket::new_v4().map_err(&failed)?;
        dead.bind(any).map_err(&failed)?;
        let service = Self {
            http: listener.local_addr().map_err(&failed)?,
            dead: dead.local_addr().map_err(&failed)?,
            hang: hang.local_addr().map_err(&failed)?,
            is_over: Arc::default(),
            _dead: dead,
            _hang: hang,
        };
        let is_over = Arc::clone(&service.is_over);
        std::thread::spawn(move || serve(&listener, &folder, &is_over));
        Ok(service)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        // Wakes it up. If nobody listens any more, it has ended already.
        let _ = TcpStream::connect_timeout(&self.http, PATIENCE);
    }
}

fn serve(listener: &TcpListener, folder: &Path, is_over: &AtomicBool) {
    for stream in listener.incoming() {
        if is_over.load(Ordering::Acquire) {
            return;
        }
        // One at a time: the checks ask one after the other. A client that goes away is its own loss.
        let _ = stream.and_then(|stream| converse(stream, folder));
    }
}

fn converse(mut stream: TcpStream, folder: &Path) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    while !bytes.windows(4).any(|window| window == b"\r\n\r\n") {
        let read = stream.read(&mut chunk)?;
        if read == 0 || bytes.len() > MAX_REQUEST_BYTES {
            return Ok(());
        }
        bytes.extend(chunk.iter().take(read));
    }
    let head = String::from_utf8_lossy(&bytes).into_owned();
    let target = head.split_whitespace().nth(1).unwrap_or_default();
    stream.write_all(&answer(folder, target))?;
    stream.shutdown(std::net::Shutdown::Write)
}

fn answer(folder: &Path, target: &str) -> Vec<u8> {
    let path = folder.join(target.trim_start_matches('/'));
    let beside = |suffix: &str| {
        let mut name = path.clone().into_os_string();
        name.push(suffix);
        PathBuf::from(name)
    };
    if let Ok(once) = fs::read(beside(".once")) {
        // If it cannot be removed, it answers again.
        let _ = fs::remove_file(beside(".once"));
        return reply("200 OK", &once);
    }
    if let Ok(raw) = fs::read(beside(".reply")) {
        return raw;
    }
    match fs::read(&path) {
        Ok(body) => reply("200 OK", &body),
        Err(_) => reply("404 Not Found", br#"{"error": "not found"}"#),
    }
}

fn reply(status: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}
