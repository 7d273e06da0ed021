//! What a client says, to its end.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};
use tokio_util::sync::CancellationToken;

use super::MAX_MESSAGE_BYTES;
use crate::bounded::Bounded;

/// A stream whose end is told at once: whoever waits for the last answer would learn of it too late.
pub(super) struct Intake<R> {
    inner: Bounded<R>,
    ended: CancellationToken,
}

impl<R> Intake<R> {
    pub(super) fn new(inner: R, ended: CancellationToken) -> Self {
        Self { inner: Bounded::new(inner, MAX_MESSAGE_BYTES), ended }
    }

    /// Is cancelled once a message is over the bound.
    pub(super) fn overrun(&self) -> CancellationToken {
        self.inner.overrun()
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Intake<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = ready!(Pin::new(&mut self.inner).poll_read(cx, into));
        if read.is_err() || into.filled().len() == before {
            self.ended.cancel();
        }
        Poll::Ready(read)
    }
}
