//! What a command wrote, within a bound: its beginning, its end, and how much there was.

use std::borrow::Cow;
use std::collections::VecDeque;

use tokio::io::{AsyncRead, AsyncReadExt};

/// One read from the pipe. The pipe itself holds 64 KiB by default.
pub(crate) const CHUNK_BYTES: usize = 64 * 1024;

/// What a command wrote to one stream. At most `max_output_bytes` are held; the rest is read,
/// counted and dropped. Bytes are as written: NUL and invalid UTF-8 included.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// The beginning. All of it when nothing was dropped.
    pub head: Vec<u8>,
    /// The end, behind what was dropped; empty when nothing was.
    pub tail: Vec<u8>,
    /// Bytes written in all.
    pub total_bytes: u64,
}

impl Captured {
    /// Bytes that were read and dropped between head and tail.
    #[must_use]
    pub fn dropped_bytes(&self) -> u64 {
        let held = self.head.len().saturating_add(self.tail.len());
        self.total_bytes.saturating_sub(u64::try_from(held).unwrap_or(u64::MAX))
    }

    /// Whether something was dropped.
    #[must_use]
    pub fn truncated(&self) -> bool {
        self.dropped_bytes() > 0
    }

    /// What is held as text. Invalid UTF-8 becomes U+FFFD, and a gap is named in a line of its own.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        let head = String::from_utf8_lossy(&self.head);
        if !self.truncated() {
            return head;
        }
        let tail = String::from_utf8_lossy(&self.tail);
        Cow::Owned(format!("{head}\n[... {} bytes left out ...]\n{tail}", self.dropped_bytes()))
    }

    /// The last `max_bytes` at most, as text: for messages to people.
    #[must_use]
    pub fn last_text(&self, max_bytes: usize) -> String {
        let end = if self.tail.is_empty() { &self.head } else { &self.tail };
        let from = end.len().saturating_sub(max_bytes);
        String::from_utf8_lossy(end.get(from..).unwrap_or_default()).trim().to_owned()
    }
}

/// Collects a stream: the first half of the bound as head, a ring of the second half as tail.
#[derive(Debug, Clone)]
pub(crate) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    max_head: usize,
    max_tail: usize,
    total_bytes: u64,
}

impl Capture {
    pub(crate) const fn new(max_bytes: usize) -> Self {
        let max_tail = max_bytes / 2;
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            max_head: max_bytes - max_tail,
            max_tail,
            total_bytes: 0,
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total_bytes = self.total_bytes.saturating_add(bytes.len() as u64);
        let room = self.max_head.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        let keep = rest.len().saturating_sub(self.max_tail);
        let rest = rest.get(keep..).unwrap_or_default();
        let over = (self.tail.len() + rest.len()).saturating_sub(self.max_tail);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    pub(crate) fn finish(self) -> Captured {
        let mut captured =
            Captured { head: self.head, tail: self.tail.into(), total_bytes: self.total_bytes };
        if !captured.truncated() {
            captured.head.append(&mut captured.tail);
        }
        captured
    }
}

/// Reads to the end. A read error ends the stream: the bytes before it stand, and how the command
/// ended is told by its status.
pub(crate) async fn drain<R: AsyncRead + Unpin>(stream: &mut R, capture: &mut Capture) {
    let mut chunk = vec![0; CHUNK_BYTES];
    while let Ok(n) = stream.read(&mut chunk).await {
        match chunk.get(..n) {
            Some([]) | None => return,
            Some(bytes) => capture.push(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(max_bytes: usize, chunks: &[&[u8]]) -> Captured {
        let mut capture = Capture::new(max_bytes);
        for chunk in chunks {
            capture.push(chunk);
        }
        capture.finish()
    }

    #[test]
    fn every_split_of_the_input_is_captured_alike() {
        let input: Vec<u8> = (0..40).collect();
        for max_bytes in 0..45 {
            let whole = captured(max_bytes, &[&input]);
            assert_eq!(whole.total_bytes, 40);
            assert_eq!(whole.truncated(), max_bytes < 40);
            assert_eq!(whole.head.len() + whole.tail.len(), max_bytes.min(40));
            if max_bytes >= 40 {
                assert_eq!((&whole.head, whole.tail.len()), (&input, 0));
            } else {
                assert!(input.starts_with(&whole.head) && input.ends_with(&whole.tail));
            }
            for size in 1..40 {
                let chunks: Vec<&[u8]> = input.chunks(size).collect();
                assert_eq!(captured(max_bytes, &chunks), whole, "{max_bytes} {size}");
            }
        }
    }

    #[test]
    fn text_names_the_gap() {
        assert_eq!(captured(4, &[b"abcdef"]).text(), "ab\n[... 2 bytes left out ...]\nef");
        assert_eq!(captured(6, &[b"ab\0\xffef"]).text(), "ab\0\u{fffd}ef");
    }
}
