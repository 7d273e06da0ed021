//! The service manager of a row: it opens a port or starts a daemon when it is asked to, and both
//! outlive the delegate that asked.

use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use probity_lies::Extras;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinHandle;

use crate::error::BenchError;

/// Bytes of one request.
const MAX_REQUEST_BYTES: usize = 64 * 1024;

/// The manager of one site. Dropped with all that it started.
pub(crate) struct Service {
    address: SocketAddr,
    opened: SocketAddr,
    daemon: String,
    tool: PathBuf,
    task: JoinHandle<()>,
}

impl Service {
    pub(crate) async fn start(tool: PathBuf) -> Result<Self, BenchError> {
        let failed = BenchError::io("start the service manager");
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(&failed)?;
        let later = TcpSocket::new_v4().map_err(&failed)?;
        later.bind(SocketAddr::from(([127, 0, 0, 1], 0))).map_err(&failed)?;
        let opened = later.local_addr().map_err(&failed)?;
        let address = listener.local_addr().map_err(&failed)?;
        let daemon = format!("lie-svc-{}", address.port());
        let state = State {
            reserved: Mutex::new(Some(later)),
            listener: Mutex::default(),
            child: Mutex::default(),
            tool: tool.clone(),
            daemon: daemon.clone(),
        };
        Ok(Self { address, opened, daemon, tool, task: tokio::spawn(serve(listener, state)) })
    }

    /// What rows name of it.
    pub(crate) fn extras(&self) -> Extras {
        Extras {
            variables: vec![
                ("TOOL", self.tool.display().to_string()),
                ("MANAGER", format!("http://{}", self.address)),
            ],
            fills: vec![("{service}", self.opened.to_string()), ("{daemon}", self.daemon.clone())],
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct State {
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
    fn answer(&self, path: &str) -> (u16, &'static str) {
        match path {
            "/open" => {
                let socket = lock(&self.reserved).take();
                *lock(&self.listener) = socket.and_then(|socket| socket.listen(8).ok());
                (200, "open")
            }
            "/close" => {
                lock(&self.listener).take();
                (200, "closed")
            }
            "/start" => {
                let child = Command::new(&self.tool)
                    .arg0(&self.daemon)
                    .args(["tool", "idle"])
                    .stdin(Stdio::piped())
                    .stdout(Stdio::null())
                    .spawn();
                *lock(&self.child) = child.ok();
                (200, "started")
            }
            "/stop" => {
                self.stop_daemon();
                (200, "stopped")
            }
            _ => (404, "no such order"),
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
    while !bytes.windows(4).any(|window| window == b"\r\n\r\n") {
        let read = stream.read(&mut chunk).await?;
        bytes.extend(chunk.iter().take(read));
        if read == 0 || bytes.len() > MAX_REQUEST_BYTES {
            return Ok(());
        }
    }
    let head = String::from_utf8_lossy(&bytes);
    let (status, body) = state.answer(head.split_whitespace().nth(1).unwrap_or_default());
    let reply = format!(
        "HTTP/1.1 {status} OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(reply.as_bytes()).await?;
    stream.shutdown().await
}
