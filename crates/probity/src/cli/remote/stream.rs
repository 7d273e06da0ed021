//! Server-sent events, by the rules of the HTML standard, as far as a host sends them.

use std::collections::VecDeque;
use std::time::Duration;

use reqwest::Response;

use super::{RemoteError, broken, late, unreachable};

/// The longest event, in bytes: a record is shorter.
const MAX_EVENT_BYTES: usize = 4 * 1024 * 1024;
/// How long a stream may say nothing. A host says that it is there four times in that time.
const SILENCE: Duration = Duration::from_secs(60);

/// The events of one connection.
pub(super) struct Stream {
    response: Response,
    /// What is not a whole line yet.
    rest: Vec<u8>,
    /// The `data` of an event that is not whole yet.
    data: Vec<u8>,
    events: VecDeque<Vec<u8>>,
}

impl Stream {
    pub(super) const fn of(response: Response) -> Self {
        Self { response, rest: Vec::new(), data: Vec::new(), events: VecDeque::new() }
    }

    /// The data of the next event; `None` once the host has closed the stream. May be dropped while it
    /// waits.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<u8>>, RemoteError> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(event));
            }
            let read = tokio::time::timeout(SILENCE, self.response.chunk()).await;
            let piece = read.map_err(|_| late())?.map_err(|error| unreachable(&error))?;
            let Some(piece) = piece else { return Ok(None) };
            self.take(&piece)?;
        }
    }

    fn take(&mut self, piece: &[u8]) -> Result<(), RemoteError> {
        self.rest.extend_from_slice(piece);
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            self.line(line.trim_ascii_end());
        }
        match self.rest.len().max(self.data.len()) > MAX_EVENT_BYTES {
            true => Err(broken("an event is too long")),
            false => Ok(()),
        }
    }

    fn line(&mut self, line: &[u8]) {
        if line.is_empty() {
            if !self.data.is_empty() {
                self.events.push_back(std::mem::take(&mut self.data));
            }
            return;
        }
        // The place and the name of an event stand in its data, too.
        if let Some(value) = line.strip_prefix(b"data:") {
            self.data.extend_from_slice(value.trim_ascii_start());
        }
    }
}
