//! A loopback server and a resolver for tests: public names without the public network.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::Resolve;

const MAX_REQUEST_BYTES: usize = 64 * 1024;

/// A request as the stub read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StubRequest {
    /// `GET`, `HEAD`.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Header names in lower case, with their values.
    pub headers: Vec<(String, String)>,
}

/// What the stub does with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// A whole response; `content-length` is added.
    Full {
        /// Status code.
        status: u16,
        /// Further headers.
        headers: Vec<(String, String)>,
        /// The body.
        body: Vec<u8>,
    },
    /// Status 200 and a body of this many bytes, written as fast as they are read.
    Stream {
        /// Length of the body in bytes.
        bytes: u64,
    },
    /// Status 200 and one byte of body at a time, for ever.
    Drip {
        /// Pause between two bytes.
        every: Duration,
    },
    /// No answer; the connection stays open.
    Hang,
    /// These bytes and the end of the connection.
    Raw(Vec<u8>),
}

impl Reply {
    /// A text response.
    #[must_use]
    pub fn text(status: u16, body: &str) -> Self {
        Self::Full { status, headers: Vec::new(), body: body.as_bytes().to_vec() }
    }

    /// A 302 to `location`.
    #[must_use]
    pub fn redirect(location: &str) -> Self {
        let headers = vec![("location".to_owned(), location.to_owned())];
        Self::Full { status: 302, headers, body: Vec::new() }
    }
}

/// A server on a free loopback port; stops when dropped.
#[derive(Debug)]
pub struct StubServer {
    address: SocketAddr,
    root: Option<Vec<u8>>,
    seen: Arc<Mutex<Vec<StubRequest>>>,
    task: JoinHandle<()>,
}

impl StubServer {
    /// Serves plain HTTP. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// No port could be bound.
    pub async fn http<F>(answer: F) -> io::Result<Self>
    where
        F: Fn(&StubRequest) -> Reply + Send + Sync + 'static,
    {
        Self::start(None, None, answer).await
    }

    /// Serves HTTPS for `names`, with a certificate of [`Self::root_der`].
    ///
    /// # Errors
    /// No port could be bound, or no certificate could be made for the names.
    pub async fn https<F>(names: &[&str], answer: F) -> io::Result<Self>
    where
        F: Fn(&StubRequest) -> Reply + Send + Sync + 'static,
    {
        let (acceptor, root) = certificates(names)?;
        Self::start(Some(acceptor), Some(root), answer).await
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The certificate authority (DER) that a client must trust; `None` for plain HTTP.
    #[must_use]
    pub fn root_der(&self) -> Option<Vec<u8>> {
        self.root.clone()
    }

    /// Every request so far.
    #[must_use]
    pub fn seen(&self) -> Vec<StubRequest> {
        locked(&self.seen).clone()
    }

    async fn start<F>(
        acceptor: Option<TlsAcceptor>,
        root: Option<Vec<u8>>,
        answer: F,
    ) -> io::Result<Self>
    where
        F: Fn(&StubRequest) -> Reply + Send + Sync + 'static,
    {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        let answer: Arc<Answer> = Arc::new(answer);
        let task = tokio::spawn(async move {
            let mut open = tokio::task::JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                let (answer, log) = (Arc::clone(&answer), Arc::clone(&log));
                let acceptor = acceptor.clone();
                open.spawn(async move {
                    let served: Served<'_> = match acceptor {
                        None => Box::pin(serve(socket, answer, log)),
                        Some(acceptor) => Box::pin(async move {
                            serve(acceptor.accept(socket).await?, answer, log).await
                        }),
                    };
                    // A client that hangs up is part of many tests.
                    let _ = served.await;
                });
            }
        });
        Ok(Self { address, root, seen, task })
    }
}

impl Drop for StubServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A resolver that knows the names it was told, and counts how often it is asked.
#[derive(Debug, Default)]
pub struct StubResolver {
    answers: Mutex<HashMap<String, Vec<Vec<SocketAddr>>>>,
    asked: Mutex<Vec<String>>,
}

impl StubResolver {
    /// A resolver that knows nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a name with the answers it gives in turn; the last one is repeated.
    #[must_use]
    pub fn name(self, name: &str, answers: Vec<Vec<SocketAddr>>) -> Self {
        let mut queue = answers;
        queue.reverse();
        locked(&self.answers).insert(name.to_owned(), queue);
        self
    }

    /// Every question so far.
    #[must_use]
    pub fn asked(&self) -> Vec<String> {
        locked(&self.asked).clone()
    }
}

#[async_trait]
impl Resolve for StubResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<SocketAddr>> {
        locked(&self.asked).push(name.to_owned());
        let mut answers = locked(&self.answers);
        let unknown = || io::Error::new(io::ErrorKind::NotFound, "name not known");
        let queue = answers.get_mut(name).ok_or_else(unknown)?;
        let last = queue.len() <= 1;
        if last { queue.last().cloned() } else { queue.pop() }.ok_or_else(unknown)
    }
}

type Answer = dyn Fn(&StubRequest) -> Reply + Send + Sync;
type Served<'a> = Pin<Box<dyn Future<Output = io::Result<()>> + Send + 'a>>;

async fn serve<S>(
    mut socket: S,
    answer: Arc<Answer>,
    log: Arc<Mutex<Vec<StubRequest>>>,
) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= MAX_REQUEST_BYTES {
            return Err(io::Error::from(io::ErrorKind::InvalidData));
        }
        head.push(socket.read_u8().await?);
    }
    let request = parse(&String::from_utf8_lossy(&head));
    locked(&log).push(request.clone());
    match answer(&request) {
        Reply::Full { status, headers, body } => {
            let mut text = format!("HTTP/1.1 {status} Stub\r\nconnection: close\r\n");
            for (name, value) in &headers {
                text.push_str(&format!("{name}: {value}\r\n"));
            }
            text.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
            socket.write_all(text.as_bytes()).await?;
            if request.method != "HEAD" {
                socket.write_all(&body).await?;
            }
        }
        Reply::Stream { bytes } => stream(&mut socket, bytes).await?,
        Reply::Drip { every } => {
            socket.write_all(b"HTTP/1.1 200 Stub\r\n\r\n").await?;
            loop {
                socket.write_all(b".").await?;
                socket.flush().await?;
                tokio::time::sleep(every).await;
            }
        }
        Reply::Hang => std::future::pending().await,
        Reply::Raw(bytes) => socket.write_all(&bytes).await?,
    }
    socket.shutdown().await
}

async fn stream<S: AsyncWrite + Unpin>(socket: &mut S, bytes: u64) -> io::Result<()> {
    let head = format!("HTTP/1.1 200 Stub\r\ncontent-length: {bytes}\r\n\r\n");
    socket.write_all(head.as_bytes()).await?;
    tokio::io::copy(&mut tokio::io::repeat(b'x').take(bytes), socket).await?;
    Ok(())
}

fn parse(head: &str) -> StubRequest {
    let mut lines = head.lines();
    let mut first = lines.next().unwrap_or_default().split(' ');
    let method = first.next().unwrap_or_default().to_owned();
    let target = first.next().unwrap_or_default().to_owned();
    let headers = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    StubRequest { method, target, headers }
}

/// An acceptor for `names` and the authority that vouches for it.
fn certificates(names: &[&str]) -> io::Result<(TlsAcceptor, Vec<u8>)> {
    let ca_key = rcgen::KeyPair::generate().map_err(io::Error::other)?;
    let mut ca = rcgen::CertificateParams::default();
    ca.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let ca_cert = ca.self_signed(&ca_key).map_err(io::Error::other)?;
    let issuer = rcgen::Issuer::new(ca, ca_key);
    let key = rcgen::KeyPair::generate().map_err(io::Error::other)?;
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let leaf = rcgen::CertificateParams::new(names)
        .and_then(|params| params.signed_by(&key, &issuer))
        .map_err(io::Error::other)?;
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key.into())
        .map_err(io::Error::other)?;
    Ok((TlsAcceptor::from(Arc::new(config)), ca_cert.der().to_vec()))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
