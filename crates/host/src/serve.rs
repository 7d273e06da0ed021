//! Connections: taken, bounded, ended.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::call::millis;
use crate::dispatch;
use crate::host::Host;
use crate::leftover::{Left, close};
use crate::paced::Paced;
use crate::webhook;

/// How long no connection is taken after one could not be, in milliseconds.
const PAUSE_MS: u64 = 50;

/// Serves a host on its one listener until `shutdown`. Then nothing more is taken, streams end, and what is
/// under way has its time.
///
/// # Errors
/// The listener has no address: it is none.
pub async fn serve(
    host: Arc<Host>,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> io::Result<()> {
    listener.local_addr()?;
    let limits = host.config.limits;
    let places = Arc::new(Semaphore::new(limits.max_connections));
    let mut open = JoinSet::new();
    if host.config.has_webhooks {
        // What happens while it is looked up who is registered is told to them as well.
        let told = host.runs.subscribe();
        let known = webhook::look(&host);
        let _ = tokio::time::timeout(millis(limits.answer_timeout_ms), known).await;
        tokio::spawn(webhook::look_again(Arc::clone(&host)));
        tokio::spawn(webhook::announce_all(Arc::clone(&host), told));
    }
    loop {
        let taken = tokio::select! {
            biased;
            () = shutdown.cancelled() => break,
            taken = taken(&listener, &places) => taken,
        };
        while open.try_join_next().is_some() {}
        match taken {
            Some((socket, place)) => {
                let (host, shutdown) = (Arc::clone(&host), shutdown.clone());
                open.spawn(async move {
                    connection(host, socket, shutdown).await;
                    drop(place);
                });
            }
            // No handle is left, most of the time: others will be given back.
            None => tokio::time::sleep(millis(PAUSE_MS)).await,
        }
    }
    drop(listener);
    host.stop.cancel();
    let ending = async { while open.join_next().await.is_some() {} };
    if tokio::time::timeout(millis(limits.drain_timeout_ms), ending).await.is_err() {
        open.shutdown().await;
    }
    Ok(())
}

/// The next connection, once there is room for it.
async fn taken(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    let (socket, _) = listener.accept().await.ok()?;
    Some((socket, place))
}

async fn connection(host: Arc<Host>, socket: TcpStream, shutdown: CancellationToken) {
    // Without it the small pieces of a stream wait for each other; slow, and right still.
    let _ = socket.set_nodelay(true);
    let limits = host.config.limits;
    let socket = Paced::new(socket, millis(limits.stall_timeout_ms));
    let left = Left::default();
    let watched = left.clone();
    let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let (host, left) = (Arc::clone(&host), watched.clone());
        Box::pin(async move {
            let request = request.map(|body| Body::new(left.watch(body)));
            let mut response = dispatch::answer(host, request).await;
            if left.is_left() {
                let close = HeaderValue::from_static("close");
                response.headers_mut().insert(header::CONNECTION, close);
            }
            Ok::<_, Infallible>(response)
        })
    });
    let mut served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(millis(limits.head_timeout_ms))
        .max_buf_size(limits.max_head_bytes.max(8 * 1024))
        .serve_connection(TokioIo::new(socket), service);
    // A connection that breaks is its caller's business.
    let _ = tokio::select! {
        biased;
        () = shutdown.cancelled() => {
            std::pin::Pin::new(&mut served).graceful_shutdown();
            poll_fn(|cx| served.poll_without_shutdown(cx)).await
        }
        ended = poll_fn(|cx| served.poll_without_shutdown(cx)) => ended,
    };
    let socket = served.into_parts().io.into_inner().into_inner();
    close(socket, left.is_left()).await;
}
