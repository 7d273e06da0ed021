//! What callers still send when they have their answer.
//!
//! An answer may come before the whole body was taken: no key, no such path, too large. To close right then
//! would break the connection off under whoever is still sending, and take the answer with it. So what still
//! comes is taken and thrown away, within bounds, once the answer is out.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Bytes that are thrown away.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// How long that may take.
const LIMIT: Duration = Duration::from_secs(2);
/// Bytes that are thrown away at a time.
const PIECE: usize = 16 * 1024;

/// Whether a body of a connection was not taken to its end.
#[derive(Clone, Default)]
pub(crate) struct Left(Arc<AtomicBool>);

/// A body whose end is watched for.
pub(crate) struct Watched {
    body: Incoming,
    has_ended: bool,
    left: Left,
}

impl Left {
    pub(crate) fn watch(&self, body: Incoming) -> Watched {
        Watched { body, has_ended: false, left: self.clone() }
    }

    pub(crate) fn is_left(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Closes a connection whose answers are out. Where a caller may still be sending, it has time to read its
/// answer first.
pub(crate) async fn close(mut socket: TcpStream, is_left: bool) {
    if socket.shutdown().await.is_err() || !is_left {
        return;
    }
    let taking = async {
        let (mut piece, mut taken) = (vec![0; PIECE], 0);
        while taken < MAX_BYTES {
            match socket.read(&mut piece).await {
                Ok(0) | Err(_) => return,
                Ok(count) => taken += count,
            }
        }
    };
    // Whoever takes longer than that has had its chance.
    let _ = tokio::time::timeout(LIMIT, taking).await;
}

impl Body for Watched {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        self.has_ended |= frame.is_none();
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if !self.has_ended && !self.body.is_end_stream() {
            self.left.0.store(true, Ordering::Release);
        }
    }
}
