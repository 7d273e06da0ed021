//! A line between store and server that can be made to lose what the server says, or to be cut.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Passes bytes on between a client and one server.
pub(crate) struct Proxy {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// Acknowledgements of publishes that are still to be lost.
    lose_acks: AtomicUsize,
    lost: AtomicUsize,
    /// Acknowledgements that are still to be turned into the word that the disk failed.
    fail_acks: AtomicUsize,
    /// Whether nothing comes back any more.
    mute: AtomicBool,
    /// Whether what the client says is kept here until it is let go.
    hold: watch::Sender<bool>,
    /// With which word that begins.
    hold_at: Mutex<Option<&'static str>>,
}

impl Proxy {
    pub(crate) async fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(upstream) = TcpStream::connect(server).await else { continue };
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = upstream.into_split();
                tokio::spawn(pass(from_client, to_server, Arc::clone(&shared)));
                tokio::spawn(filter(from_server, to_client, Arc::clone(&shared)));
            }
        });
        Self { address, state }
    }

    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    /// Loses that many of the next acknowledgements of stored messages, each with its connection.
    pub(crate) fn lose_acks(&self, count: usize) {
        self.state.lose_acks.store(count, Ordering::SeqCst);
    }

    /// Tells of that many of the next stored messages that the disk failed.
    pub(crate) fn fail_acks(&self, count: usize) {
        self.state.fail_acks.store(count, Ordering::SeqCst);
    }

    /// How many are still to be told.
    pub(crate) fn unfailed(&self) -> usize {
        self.state.fail_acks.load(Ordering::SeqCst)
    }

    /// How many were lost.
    pub(crate) fn lost(&self) -> usize {
        self.state.lost.load(Ordering::SeqCst)
    }

    /// From that word on, what the client says waits here.
    pub(crate) fn hold_at(&self, word: &'static str) {
        *self.state.hold_at.lock().unwrap() = Some(word);
    }

    /// Whether something waits.
    pub(crate) fn holds(&self) -> bool {
        *self.state.hold.borrow()
    }

    /// Lets go what waits.
    pub(crate) fn let_go(&self) {
        self.state.hold.send_replace(false);
    }

    /// Whether what the server says goes nowhere.
    pub(crate) fn mute(&self, mute: bool) {
        self.state.mute.store(mute, Ordering::SeqCst);
    }
}

/// A short request comes in one piece.
async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, state: Arc<State>) {
    let mut hold = state.hold.subscribe();
    let mut piece = vec![0; 64 * 1024];
    while let Ok(count) = from.read(&mut piece).await {
        let text = String::from_utf8_lossy(&piece[..count]).into_owned();
        if state.hold_at.lock().unwrap().take_if(|word| text.contains(*word)).is_some() {
            state.hold.send_replace(true);
        }
        let is_over = hold.wait_for(|hold| !hold).await.is_err();
        if count == 0 || is_over || to.write_all(&piece[..count]).await.is_err() {
            return;
        }
    }
}

/// An acknowledgement comes in one piece: it is short, and the server flushes behind it.
async fn filter(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, state: Arc<State>) {
    let mut piece = vec![0; 64 * 1024];
    while let Ok(count) = from.read(&mut piece).await {
        if count == 0 {
            return;
        }
        if state.mute.load(Ordering::SeqCst) {
            continue;
        }
        let text = String::from_utf8_lossy(&piece[..count]);
        let is_ack = text.contains("{\"stream\":\"PROBITY_LOG\"") && text.contains("\"seq\":");
        let take = |left: usize| left.checked_sub(1);
        if is_ack && state.lose_acks.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok()
        {
            state.lost.fetch_add(1, Ordering::SeqCst);
            return;
        }
        let fails = is_ack
            && state.fail_acks.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok();
        let passed = if fails { disk_failed(&text).into_bytes() } else { piece[..count].to_vec() };
        if to.write_all(&passed).await.is_err() {
            return;
        }
    }
}

/// Puts another answer in the place of an acknowledgement: `MSG subject sid length`, then the body.
fn disk_failed(text: &str) -> String {
    let body = r#"{"error":{"code":503,"err_code":10077,"description":"no space left on device"}}"#;
    let (before, rest) = text.split_once("{\"stream\"").unwrap();
    let (_, after) = rest.split_once("}\r\n").unwrap();
    let (head, _length) = before.trim_end().rsplit_once(' ').unwrap();
    format!("{head} {}\r\n{body}\r\n{after}", body.len())
}
