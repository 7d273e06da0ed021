//! The world outside a workspace: an HTTP service that keeps what is put to it, and a service
//! manager that opens a port or starts a daemon when it is asked to.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinHandle;

use crate::error::BenchError;

/// Bytes of one request.
const MAX_REQUEST_BYTES: usize = 64 * 1024;

/// The service of one site. Dropped with all that it started.
pub(crate) struct Service {
    pub(crate) http: SocketAddr,
    pub(crate) opened: SocketAddr,
    pub(crate) dead: SocketAddr,
    pub(crate) hang: SocketAddr,
    pub(crate) daemon: String,
    task: JoinHandle<()>,
    /// Bound and never listening: connections are refused, and no one else gets the port.
    _dead: TcpSocket,
    /// Listening and never accepting.
    _hang: TcpListener,
}

impl Service {
    pub(crate) async fn start(tool: PathBuf) -> Result<Self, BenchError> {
        let failed = BenchError::io("start the service");
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(&failed)?;
        let hang = TcpListener::bind("127.0.0.1:0").await.map_err(&failed)?;
        let (dead, later) = (reserve()?, reserve()?);
        let http = listener.local_addr().map_err(&failed)?;
        let opened = later.local_addr().map_err(&failed)?;
        let daemon = format!("lie-svc-{}", http.port());
        let state = State {
            kept: Mutex::default(),
            reserved: Mutex::new(Some(later)),
            listener: Mutex::default(),
            child: Mutex::default(),
            tool,
            daemon: daemon.clone(),
        };
        Ok(Self {
            http,
            opened,
            dead: dead.local_addr().map_err(&failed)?,
            hang: hang.local_addr().map_err(&failed)?,
            daemon,
            task: tokio::spawn(serve(listener, state)),
            _dead: dead,
            _hang: hang,
        })
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn reserve() -> Result<TcpSocket, BenchError> {
    let failed = BenchError::io("reserve a port");
    let socket = TcpSocket::new_v4().map_err(&failed)?;
    socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).map_err(&failed)?;
    Ok(socket)
}

struct State {
    kept: Mutex<BTreeMap<String, String>>,
    reserved: Mutex<Option<TcpSocket>>,
    listener: Mutex<Option<TcpListener>>,
    child: Mutex<Option<Child>>,
    tool: PathBuf,
    daemon: String,
}

impl Drop for State {
    fn drop(&mut self) {
        self.stop_daemon();
    }
}

impl State {
    /// Status and body.
    fn answer(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        match (method, path) {
            ("POST", "/manager/open") => {
                let socket = lock(&self.reserved).take();
                *lock(&self.listener) = socket.and_then(|socket| socket.listen(8).ok());
                (200, "open".into())
            }
            ("POST", "/manager/close") => {
                lock(&self.listener).take();
                (200, "closed".into())
            }
            ("POST", "/manager/start") => {
                let child = Command::new(&self.tool)
                    .arg0(&self.daemon)
                    .args(["tool", "idle"])
                    .stdin(Stdio::piped())
                    .stdout(Stdio::null())
                    .spawn();
                *lock(&self.child) = child.ok();
                (200, "started".into())
            }
            ("POST", "/manager/stop") => {
                self.stop_daemon();
                (200, "stopped".into())
            }
            ("PUT", path) => {
                lock(&self.kept).insert(path.to_owned(), body.to_owned());
                (200, "kept".into())
            }
            (_, path) => match lock(&self.kept).get(path) {
                Some(kept) => (200, kept.clone()),
                None => (404, r#"{"error": "not found"}"#.into()),
            },
        }
    }

    fn stop_daemon(&self) {
        if let Some(mut child) = lock(&self.child).take() {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(listener: TcpListener, state: State) {
    while let Ok((stream, _)) = listener.accept().await {
        // One at a time: the rows ask one after the other. A client that goes away is its own loss.
        let _ = converse(stream, &state).await;
    }
}

async fn converse(mut stream: TcpStream, state: &State) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    let (head, mut body) = loop {
        let read = stream.read(&mut chunk).await?;
        bytes.extend(chunk.iter().take(read));
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            break (head.to_owned(), body.to_owned());
        }
        if read == 0 || bytes.len() > MAX_REQUEST_BYTES {
            return Ok(());
        }
    };
    let length = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse::<usize>().ok())
        .unwrap_or(0)
        .min(MAX_REQUEST_BYTES);
    while body.len() < length {
        let read = stream.read(&mut chunk).await?;
        if read == 0 {
            break;
        }
        body.push_str(&String::from_utf8_lossy(chunk.get(..read).unwrap_or_default()));
    }
    let mut words = head.split_whitespace();
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (status, body) = state.answer(method, path, &body);
    let reply = format!(
        "HTTP/1.1 {status} OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(reply.as_bytes()).await?;
    stream.shutdown().await
}
