//! Lines of a file that may be large.

use std::io::{BufRead as _, BufReader, Read};

use probity_report::{Failures, Place, Rule};
use sha2::{Digest as _, Sha256};

use crate::read::{NOT_UTF8, UNREADABLE};

/// The most bytes of one line.
const MAX_LINE_BYTES: u64 = 64 << 20;

pub(super) static TOO_LONG: Rule = Rule::limit(
    "trace_provenance_line_too_long",
    "json",
    "a line of a provenance file longer than is read",
);

/// The lines of one file, and the hash of all of it.
pub(super) struct Lines<'f> {
    path: &'f str,
    file: BufReader<Box<dyn Read + Send + 'f>>,
    hash: Sha256,
    buffer: Vec<u8>,
    line: u64,
    offset: u64,
    next: u64,
}

/// A line with its newline, if it has one.
pub(super) struct Line<'l> {
    /// 1-based.
    pub(super) number: u64,
    pub(super) offset: u64,
    pub(super) text: &'l str,
}

impl<'f> Lines<'f> {
    pub(super) fn new(path: &'f str, file: Box<dyn Read + Send + 'f>) -> Self {
        Self {
            path,
            file: BufReader::with_capacity(64 << 10, file),
            hash: Sha256::new(),
            buffer: Vec::new(),
            line: 0,
            offset: 0,
            next: 0,
        }
    }

    /// The next line. `Some(None)` at the end; `None` where it cannot be read, which is told.
    pub(super) fn next(&mut self, failures: &mut Failures) -> Option<Option<Line<'_>>> {
        self.buffer.clear();
        let mut limited = (&mut self.file).take(MAX_LINE_BYTES.saturating_add(1));
        self.offset = self.next;
        self.line = self.line.saturating_add(1);
        let place = Place::file(self.path).line(self.line);
        if let Err(error) = limited.read_until(b'\n', &mut self.buffer) {
            failures.add(&UNREADABLE, place, error.to_string());
            return None;
        }
        let length = self.buffer.len() as u64;
        if length > MAX_LINE_BYTES {
            failures.add(&TOO_LONG, place, format!("more than {MAX_LINE_BYTES} bytes"));
            return None;
        }
        self.next = self.offset.saturating_add(length);
        self.hash.update(&self.buffer);
        match std::str::from_utf8(&self.buffer) {
            Ok("") => Some(None),
            Ok(text) => Some(Some(Line { number: self.line, offset: self.offset, text })),
            Err(error) => {
                let at = self.offset.saturating_add(error.valid_up_to() as u64);
                failures.add(&NOT_UTF8, place.bytes(at, at.saturating_add(1)), NOT_UTF8.finds);
                None
            }
        }
    }

    /// SHA-256 of all lines that were read.
    pub(super) fn sha256(self) -> [u8; 32] {
        self.hash.finalize().into()
    }
}
