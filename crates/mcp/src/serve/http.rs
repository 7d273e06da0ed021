//! The protocol over HTTP: connections taken, bounded, asked for their key, ended.

use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::desk::Desk;
use super::face::Face;
use super::{HTTP_PATH, MAX_MESSAGE_BYTES};

/// Connections at a time. One more waits until another ends.
const MAX_CONNECTIONS: usize = 128;
/// Sessions at a time. They end by themselves when nothing is said in them for long.
const MAX_SESSIONS: usize = 64;
/// Bytes of a request's head.
const MAX_HEAD_BYTES: usize = 32 * 1024;
/// How long a client may take to send a head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// How long no connection is taken after one could not be.
const PAUSE: Duration = Duration::from_millis(50);
/// How long connections may take to end when the desk has stopped.
const END_TIMEOUT: Duration = Duration::from_secs(5);
/// What a session may be silent for, beyond the longest call.
const SESSION_SLACK: Duration = Duration::from_secs(300);
const SESSION_HEADER: &str = "mcp-session-id";

/// Says whether that is the key of somebody who may ask. It takes as long for every wrong key.
pub type Authorise = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Who may ask.
#[derive(Clone, Default)]
pub struct HttpConfig {
    /// Whether a bearer key is right; none: whoever reaches the address may ask.
    pub authorise: Option<Authorise>,
    /// Names that this server is called by, beside those of the loopback: `HOST` or `HOST:PORT`. A
    /// request that calls it otherwise is refused, because a page of a browser may have made it.
    pub allowed_hosts: Vec<String>,
    /// Origins of pages that may ask: `SCHEME://HOST:PORT`. Of others none may.
    pub allowed_origins: Vec<String>,
}

type Kit = StreamableHttpService<Face, LocalSessionManager>;

/// What a connection is answered by.
#[derive(Clone)]
struct Door {
    kit: Kit,
    sessions: Arc<LocalSessionManager>,
    authorise: Option<Authorise>,
}

impl Desk {
    /// Serves everybody who connects, until the desk is stopped. Calls under way are cancelled then, and
    /// waited for.
    ///
    /// # Errors
    /// The listener has no address: it is none. Or calls do not end.
    pub async fn serve_http(&self, listener: TcpListener, config: HttpConfig) -> io::Result<()> {
        listener.local_addr()?;
        let door = self.door(config);
        let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let mut open = JoinSet::new();
        loop {
            let taken = tokio::select! {
                biased;
                () = self.stop.cancelled() => break,
                taken = taken(&listener, &places) => taken,
            };
            while open.try_join_next().is_some() {}
            match taken {
                Some((socket, place)) => {
                    let door = door.clone();
                    open.spawn(async move {
                        connection(door, socket).await;
                        drop(place);
                    });
                }
                // No handle is left, most of the time: others will be given back.
                None => sleep(PAUSE).await,
            }
        }
        drop(listener);
        let is_over = self.end().await;
        door.kit.config.cancellation_token.cancel();
        let ending = async { while open.join_next().await.is_some() {} };
        if timeout(END_TIMEOUT, ending).await.is_err() {
            open.shutdown().await;
        }
        match is_over {
            true => Ok(()),
            false => Err(io::Error::new(io::ErrorKind::TimedOut, "a call did not end in time")),
        }
    }

    fn door(&self, config: HttpConfig) -> Door {
        let longest = Duration::from_millis(self.limits.call_timeout_ms);
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(longest.saturating_add(SESSION_SLACK));
        let sessions = Arc::new(sessions);
        let mut http = StreamableHttpServerConfig::default()
            .with_max_request_body_bytes(MAX_MESSAGE_BYTES)
            .with_allowed_origins(config.allowed_origins)
            .enforce_origin_validation();
        http.allowed_hosts.extend(config.allowed_hosts);
        let face = Face { desk: self.clone() };
        let kit = Kit::new(move || Ok(face.clone()), Arc::clone(&sessions), http);
        Door { kit, sessions, authorise: config.authorise }
    }
}

/// The next connection, once there is room for it.
async fn taken(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    let (socket, _) = listener.accept().await.ok()?;
    Some((socket, place))
}

async fn connection(door: Door, socket: TcpStream) {
    // Without it the small pieces of a stream wait for each other; slow, and right still.
    let _ = socket.set_nodelay(true);
    let closing = door.kit.config.cancellation_token.clone();
    let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let door = door.clone();
        Box::pin(async move { Ok::<_, Infallible>(door.answer(request.map(Body::new)).await) })
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(socket), service);
    let mut served = pin!(served);
    // A connection that breaks is its client's business.
    let _ = tokio::select! {
        biased;
        () = closing.cancelled() => {
            served.as_mut().graceful_shutdown();
            served.await
        }
        ended = &mut served => ended,
    };
}

impl Door {
    async fn answer(&self, request: Request<Body>) -> Response<Body> {
        if request.uri().path() != HTTP_PATH {
            return plain(StatusCode::NOT_FOUND, "the protocol is spoken at /mcp");
        }
        if !self.is_authorised(request.headers()) {
            let mut response = plain(StatusCode::UNAUTHORIZED, "a bearer key is asked for");
            let scheme = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
            return response;
        }
        let begins = !request.headers().contains_key(SESSION_HEADER);
        if begins && self.sessions.sessions.read().await.len() >= MAX_SESSIONS {
            return plain(StatusCode::SERVICE_UNAVAILABLE, "too many sessions; end one of them");
        }
        self.kit.handle(request).await.map(Body::new)
    }

    fn is_authorised(&self, headers: &HeaderMap) -> bool {
        let Some(authorise) = &self.authorise else { return true };
        let mut values = headers.get_all(header::AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return false };
        let words = value.to_str().ok().and_then(|text| text.split_once(' '));
        words.is_some_and(|(scheme, key)| {
            scheme.eq_ignore_ascii_case("bearer") && authorise(key.trim())
        })
    }
}

fn plain(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response
}
