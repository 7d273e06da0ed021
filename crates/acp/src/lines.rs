//! Messages as lines, bounded before anything is made of them.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use agent_client_protocol::{RawJsonRpcMessage, TransportFrame};
use probity_delegate::cut_middle;
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio_util::bytes::{BufMut, BytesMut};
use tokio_util::codec::{Decoder, Encoder};

/// The longest message an agent may send.
pub(crate) const MAX_LINE_BYTES: usize = 32 * 1024 * 1024;

/// Lines of an agent that are no messages, before it is taken for something else.
pub(crate) const MAX_FOREIGN_LINES: usize = 1_000;

/// Requests of an agent whose answers it has not read.
pub(crate) const MAX_UNREAD_ANSWERS: usize = 1_000;

/// How much of a foreign line is quoted.
const MAX_QUOTE_BYTES: usize = 200;

/// What went over the line, as far as it matters when it goes wrong.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    unread_answers: AtomicUsize,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    foreign_lines: usize,
    first_foreign: Option<String>,
    fault: Option<String>,
}

impl Traffic {
    /// Why reading was given up, if it was.
    pub(crate) fn fault(&self) -> Option<String> {
        self.seen().fault.clone()
    }

    /// The first line that was no message.
    pub(crate) fn first_foreign(&self) -> Option<String> {
        self.seen().first_foreign.clone()
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, why: String) -> io::Error {
        self.seen().fault = Some(why.clone());
        io::Error::other(why)
    }

    fn foreign(&self, line: &[u8]) -> io::Result<()> {
        let mut seen = self.seen();
        seen.foreign_lines += 1;
        let first = seen
            .first_foreign
            .get_or_insert_with(|| {
                cut_middle(&String::from_utf8_lossy(line), MAX_QUOTE_BYTES).into_owned()
            })
            .clone();
        let lines = seen.foreign_lines;
        drop(seen);
        if lines > MAX_FOREIGN_LINES {
            return Err(self.fail(format!(
                "more than {MAX_FOREIGN_LINES} lines are no messages, the first is `{first}`"
            )));
        }
        Ok(())
    }
}

/// What tells a request from the rest.
#[derive(Deserialize)]
struct Head {
    method: Option<IgnoredAny>,
}

/// Reads the messages of an agent. What is none is passed over: agents, and what they start, print to
/// their standard output what belongs elsewhere. It would be answered with an error otherwise, and
/// answers that nobody asked for are not counted.
#[derive(Debug)]
pub(crate) struct FromAgent {
    traffic: Arc<Traffic>,
    /// Bytes at the start of the buffer that hold no line end.
    searched: usize,
}

impl FromAgent {
    pub(crate) const fn new(traffic: Arc<Traffic>) -> Self {
        Self { traffic, searched: 0 }
    }

    fn message(&self, line: &[u8]) -> io::Result<Option<String>> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Ok(None);
        }
        let text = std::str::from_utf8(line).ok().filter(|text| text.starts_with('{'));
        let Some((text, TransportFrame::Single(message))) =
            text.map(|text| (text, TransportFrame::parse_json(text)))
        else {
            self.traffic.foreign(line)?;
            return Ok(None);
        };
        if matches!(message, RawJsonRpcMessage::Request(_)) {
            let unread = self.traffic.unread_answers.fetch_add(1, Ordering::Relaxed);
            if unread >= MAX_UNREAD_ANSWERS {
                return Err(self.traffic.fail(format!(
                    "it made more than {MAX_UNREAD_ANSWERS} requests without reading the answers"
                )));
            }
        }
        Ok(Some(text.to_owned()))
    }
}

impl Decoder for FromAgent {
    type Item = String;
    type Error = io::Error;

    fn decode(&mut self, buffer: &mut BytesMut) -> io::Result<Option<String>> {
        loop {
            let fresh = buffer.get(self.searched..).unwrap_or_default();
            let Some(at) = memchr::memchr(b'\n', fresh) else {
                self.searched = buffer.len();
                if self.searched > MAX_LINE_BYTES {
                    return Err(self
                        .traffic
                        .fail(format!("a message is longer than {MAX_LINE_BYTES} bytes")));
                }
                return Ok(None);
            };
            let line = buffer.split_to(self.searched + at + 1);
            self.searched = 0;
            if let Some(message) = self.message(&line)? {
                return Ok(Some(message));
            }
        }
    }

    /// A last line without an end was cut short.
    fn decode_eof(&mut self, buffer: &mut BytesMut) -> io::Result<Option<String>> {
        let message = self.decode(buffer)?;
        if message.is_none() {
            buffer.clear();
            self.searched = 0;
        }
        Ok(message)
    }
}

/// Writes messages to an agent.
#[derive(Debug)]
pub(crate) struct ToAgent {
    traffic: Arc<Traffic>,
}

impl ToAgent {
    pub(crate) const fn new(traffic: Arc<Traffic>) -> Self {
        Self { traffic }
    }
}

impl Encoder<String> for ToAgent {
    type Error = io::Error;

    fn encode(&mut self, line: String, buffer: &mut BytesMut) -> io::Result<()> {
        if serde_json::from_str::<Head>(&line).is_ok_and(|head| head.method.is_none()) {
            let unread = &self.traffic.unread_answers;
            // Never below 0: an answer to what could not be read has no request.
            let _ = unread
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_sub(1));
        }
        buffer.reserve(line.len() + 1);
        buffer.put(line.as_bytes());
        buffer.put_u8(b'\n');
        Ok(())
    }
}
