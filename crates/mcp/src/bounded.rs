//! A stream of lines, none longer than a bound.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};
use tokio_util::sync::CancellationToken;

/// Reads on, and fails for good once a line is over the bound: its end would have to be waited for,
/// and whoever waits for its content would do so in vain.
#[derive(Debug)]
pub(crate) struct Bounded<R> {
    inner: R,
    max_line_bytes: usize,
    line_bytes: usize,
    overrun: CancellationToken,
}

impl<R> Bounded<R> {
    pub(crate) fn new(inner: R, max_line_bytes: usize) -> Self {
        Self { inner, max_line_bytes, line_bytes: 0, overrun: CancellationToken::new() }
    }

    /// Is cancelled once a line is over the bound; cancelled by another, the stream fails too.
    pub(crate) fn overrun(&self) -> CancellationToken {
        self.overrun.clone()
    }

    fn count(&mut self, bytes: &[u8]) -> bool {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line_bytes = self.line_bytes.saturating_add(part.len());
            if self.line_bytes > self.max_line_bytes {
                return false;
            }
            if part.ends_with(b"\n") {
                self.line_bytes = 0;
            }
        }
        true
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Bounded<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let too_long = || io::Error::new(io::ErrorKind::InvalidData, "a line is too long");
        if self.overrun.is_cancelled() {
            return Poll::Ready(Err(too_long()));
        }
        let before = into.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, into))?;
        let read = into.filled().get(before..).unwrap_or_default();
        if self.count(read) {
            return Poll::Ready(Ok(()));
        }
        into.set_filled(before);
        self.overrun.cancel();
        Poll::Ready(Err(too_long()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    async fn read(text: &str, max: usize) -> (io::Result<usize>, bool) {
        let mut bounded = Bounded::new(text.as_bytes(), max);
        let overrun = bounded.overrun();
        let read = bounded.read_to_end(&mut Vec::new()).await;
        (read, overrun.is_cancelled())
    }

    #[tokio::test]
    async fn a_line_may_be_as_long_as_the_bound_and_no_longer() {
        for (text, max, whole) in [
            ("", 0, true),
            ("abc\nabc\nabc", 4, true),
            ("abc\nabcd\n", 4, false),
            ("abcd", 4, true),
            ("abcde", 4, false),
            ("\n\n\n\n\n", 1, true),
        ] {
            let (read, overrun) = read(text, max).await;
            assert_eq!((read.is_ok(), overrun), (whole, !whole), "{text:?} {max}");
        }
    }
}
