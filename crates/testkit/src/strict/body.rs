//! Bodies that arrive in pieces, break off or never end.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use futures_core::Stream;

/// Bytes of one piece: small, so that events and characters are cut in the middle.
const PIECE_BYTES: usize = 23;

/// How a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// As it should.
    Whole,
    /// The connection breaks.
    Cut,
    /// Not at all: the last piece is sent again and again.
    Never,
}

/// A body of small pieces.
pub(super) fn pieces(bytes: &[u8], end: End) -> Body {
    let pieces = bytes.chunks(PIECE_BYTES).map(Bytes::copy_from_slice).collect();
    Body::from_stream(Pieces { pieces, end, is_flushed: false })
}

/// A body that is this piece for ever.
pub(super) fn endless(piece: Vec<u8>) -> Body {
    Body::from_stream(Pieces { pieces: [piece.into()].into(), end: End::Never, is_flushed: false })
}

struct Pieces {
    pieces: VecDeque<Bytes>,
    end: End,
    is_flushed: bool,
}

impl Stream for Pieces {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.end == End::Never {
            return Poll::Ready(self.pieces.front().cloned().map(Ok));
        }
        if let Some(piece) = self.pieces.pop_front() {
            return Poll::Ready(Some(Ok(piece)));
        }
        if self.end == End::Whole {
            return Poll::Ready(None);
        }
        // What was given so far is written while the body is not ready, and lost on an error.
        if !self.is_flushed {
            self.is_flushed = true;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Some(Err(io::Error::from(io::ErrorKind::ConnectionReset))))
    }
}
