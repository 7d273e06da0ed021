//! A connection whose other end has to take what it is sent. Whoever asks for much and reads nothing would
//! hold its place, and what it asked for, for as long as it likes.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use crate::error::{Failure, Reason};

/// A connection that breaks once nothing was taken for a time.
pub(crate) struct Paced {
    socket: TcpStream,
    stall: Duration,
    /// When it breaks, while nothing is taken.
    due: Option<Pin<Box<Sleep>>>,
    /// What is sent in place of a bare refusal, and how much of it was taken.
    instead: Option<(Vec<u8>, usize)>,
}

impl Paced {
    pub(crate) const fn new(socket: TcpStream, stall: Duration) -> Self {
        Self { socket, stall, due: None, instead: None }
    }

    pub(crate) fn into_inner(self) -> TcpStream {
        self.socket
    }

    fn wrote(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.due = None;
            return written;
        }
        let stall = self.stall;
        let due = self.due.get_or_insert_with(|| Box::pin(sleep(stall)));
        ready!(due.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl Paced {
    /// Sends what stands in place of a bare refusal.
    fn poll_instead(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some((text, taken)) = self.instead.take() {
            let rest = text.get(taken..).unwrap_or_default();
            if rest.is_empty() {
                break;
            }
            let written = Pin::new(&mut self.socket).poll_write(cx, rest);
            self.instead = Some((text, taken));
            let count = ready!(self.wrote(cx, written))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            if let Some((_, taken)) = &mut self.instead {
                *taken = taken.saturating_add(count);
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// What is sent in place of a refusal that comes from below: of a head that cannot be read, or is too
/// large. It has no body, while every other refusal is an envelope and says so in its head.
fn envelope_of(buf: &[u8]) -> Option<Vec<u8>> {
    const HEAD: &[u8] = b"HTTP/1.1 ";
    const MAX_BYTES: usize = 256;
    let status = buf.strip_prefix(HEAD).filter(|_| buf.len() <= MAX_BYTES)?.get(..3)?;
    let (reason, why) = match status {
        b"400" => ("Bad Request", "the head of the request cannot be read"),
        b"414" => ("URI Too Long", "the path is too long"),
        b"431" => ("Request Header Fields Too Large", "the head of the request is too large"),
        _ => return None,
    };
    let head = str::from_utf8(buf).ok()?.to_ascii_lowercase();
    let is_bare = head.ends_with("\r\n\r\n")
        && head.contains("\r\ncontent-length: 0\r\n")
        && !head.contains("\r\ncontent-type:");
    let body = Failure::new(Reason::Validation, why).to_json().to_string();
    let status = str::from_utf8(status).ok()?;
    let text = format!(
        "HTTP/1.1 {status} {reason}\r\ncontent-type: application/json\r\ncache-control: no-store\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    is_bare.then(|| text.into_bytes())
}

impl AsyncRead for Paced {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, buf)
    }
}

impl AsyncWrite for Paced {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.instead.is_none() {
            self.instead = envelope_of(buf).map(|text| (text, 0));
        }
        if self.instead.is_some() {
            ready!(self.poll_instead(cx))?;
            return Poll::Ready(Ok(buf.len()));
        }
        let written = Pin::new(&mut self.socket).poll_write(cx, buf);
        self.wrote(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = bufs.first().map_or(&[][..], |first| first);
        if self.instead.is_some() || envelope_of(first).is_some() {
            return self.poll_write(cx, first);
        }
        let written = Pin::new(&mut self.socket).poll_write_vectored(cx, bufs);
        self.wrote(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}
