//! Reads server-sent events, by the rules of the HTML standard, without trusting their sender.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::{HttpError, broken};

/// The longest line.
const MAX_LINE_BYTES: usize = 1024 * 1024;
/// The most bytes of one stream.
const MAX_STREAM_FACTOR: usize = 4;

/// Something that a stream said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Frame {
    /// An event.
    Event {
        /// Its `id`, where it has one.
        id: Option<String>,
        /// Its `event`, `message` where none is said.
        event: String,
        /// Its `data`.
        data: String,
    },
    /// A comment: the sender is alive.
    Comment,
}

/// A stream of events.
pub(crate) struct Stream {
    response: Option<reqwest::Response>,
    lines: Lines,
    frames: VecDeque<Frame>,
    pending: Pending,
    bytes: usize,
    max_bytes: usize,
}

/// Cuts bytes into lines, ended by CR, LF or both.
#[derive(Default)]
struct Lines {
    line: Vec<u8>,
    was_cr: bool,
}

/// The fields of an event that has not ended.
#[derive(Default)]
struct Pending {
    id: Option<String>,
    event: Option<String>,
    data: Vec<String>,
    bytes: usize,
}

impl Stream {
    pub(super) fn new(response: reqwest::Response, max_body_bytes: usize) -> Self {
        let mut stream = Self::ended();
        stream.response = Some(response);
        stream.max_bytes = max_body_bytes.saturating_mul(MAX_STREAM_FACTOR);
        stream
    }

    pub(super) fn ended() -> Self {
        Self {
            response: None,
            lines: Lines::default(),
            frames: VecDeque::new(),
            pending: Pending::default(),
            bytes: 0,
            max_bytes: 0,
        }
    }

    /// The next frame; `None` once the sender closed the stream.
    pub(crate) async fn next(&mut self, deadline: Instant) -> Result<Option<Frame>, HttpError> {
        let started = Instant::now();
        loop {
            if let Some(frame) = self.frames.pop_front() {
                return Ok(Some(frame));
            }
            let Some(response) = &mut self.response else { return Ok(None) };
            let limit = deadline.saturating_duration_since(Instant::now());
            let read = tokio::time::timeout(limit, response.chunk()).await;
            let piece = read.map_err(|_| timed_out(deadline.saturating_duration_since(started)))?;
            match piece.map_err(|error| broken(&error))? {
                Some(piece) => self.take(&piece)?,
                None => self.response = None,
            }
        }
    }

    fn take(&mut self, piece: &[u8]) -> Result<(), HttpError> {
        self.bytes = self.bytes.saturating_add(piece.len());
        if self.bytes > self.max_bytes {
            return Err(HttpError::TooLarge { limit: self.max_bytes });
        }
        for byte in piece {
            if let Some(line) = self.lines.push(*byte)? {
                self.line(&String::from_utf8_lossy(&line));
            }
            if self.pending.bytes > self.max_bytes {
                return Err(HttpError::TooLarge { limit: self.max_bytes });
            }
        }
        Ok(())
    }

    fn line(&mut self, line: &str) {
        if line.is_empty() {
            let pending = std::mem::take(&mut self.pending);
            if !pending.data.is_empty() {
                let event = pending.event.unwrap_or_else(|| "message".to_owned());
                self.frames.push_back(Frame::Event {
                    id: pending.id,
                    event,
                    data: pending.data.join("\n"),
                });
            }
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        self.pending.bytes += line.len();
        match field {
            "" => self.frames.push_back(Frame::Comment),
            "id" => self.pending.id = Some(value.to_owned()),
            "event" => self.pending.event = Some(value.to_owned()),
            "data" => self.pending.data.push(value.to_owned()),
            _ => {}
        }
    }
}

impl Lines {
    fn push(&mut self, byte: u8) -> Result<Option<Vec<u8>>, HttpError> {
        let followed_cr = std::mem::take(&mut self.was_cr);
        match byte {
            b'\n' if followed_cr => Ok(None),
            b'\n' => Ok(Some(std::mem::take(&mut self.line))),
            b'\r' => {
                self.was_cr = true;
                Ok(Some(std::mem::take(&mut self.line)))
            }
            _ if self.line.len() >= MAX_LINE_BYTES => {
                Err(HttpError::TooLarge { limit: MAX_LINE_BYTES })
            }
            _ => {
                self.line.push(byte);
                Ok(None)
            }
        }
    }
}

fn timed_out(limit: Duration) -> HttpError {
    HttpError::TimedOut { limit_ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX) }
}
