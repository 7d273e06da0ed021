//! A piece of the trace: whole lines, read onto one tape.

use probity_report::{Failures, Place};

use crate::model::TRACE;
use crate::read::{
    BLANK_LINE, BOM, CARRIAGE_RETURN, LINE_TOO_LONG, NO_FINAL_NEWLINE, NOT_UTF8, Record,
    tell_broken, tell_spelling,
};
use crate::tape::Tape;

use super::MAX_LINE_BYTES;

/// The room for text that is kept from piece to piece, in bytes.
const KEPT_BYTES: usize = 4 << 20;

/// Some whole lines of the trace. Used again and again.
#[derive(Debug, Default)]
pub(super) struct Piece {
    text: String,
    /// Offset in the file of its first byte.
    offset: u64,
    /// Lines before it.
    lines_before: u64,
    lines: Vec<Line>,
    tape: Tape,
    failures: Failures,
    has_unread: bool,
}

/// A line that is JSON.
#[derive(Debug, Clone, Copy)]
struct Line {
    number: u64,
    start: usize,
    end: usize,
    /// Where its value begins on the tape.
    root: usize,
    is_canonical: bool,
}

impl Piece {
    /// Empties it for the lines behind those that were read, and gives its room for their bytes.
    pub(super) fn restart(&mut self, offset: u64, lines_before: u64) -> Vec<u8> {
        self.offset = offset;
        self.lines_before = lines_before;
        self.lines.clear();
        self.tape.clear();
        self.failures = Failures::new();
        self.has_unread = false;
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        bytes.clear();
        bytes.shrink_to(KEPT_BYTES);
        bytes
    }

    /// Tells a line of which nothing is kept: how long it is at least.
    pub(super) fn tell_too_long(&mut self, line: u64, offset: u64, length: u64) {
        let place = Place::file(TRACE).line(line).bytes(offset, offset.saturating_add(length));
        let text = format!("longer than the {MAX_LINE_BYTES} bytes that are read");
        self.failures.add(&LINE_TOO_LONG, place, text);
        self.has_unread = true;
    }

    /// Says that the rest of the file could not be read. It was told.
    pub(super) fn leave_unread(&mut self) {
        self.has_unread = true;
    }

    /// What is found while it is filled.
    pub(super) fn failures(&mut self) -> &mut Failures {
        &mut self.failures
    }

    /// What was found when it was filled.
    pub(super) fn take_failures(&mut self) -> Failures {
        std::mem::take(&mut self.failures)
    }

    /// Whether a line of it, or a rest behind it, was not read. It was told.
    pub(super) const fn has_unread(&self) -> bool {
        self.has_unread
    }

    /// The lines that are JSON.
    pub(super) fn records(&self) -> impl Iterator<Item = Record<'_>> {
        self.lines.iter().filter_map(|line| {
            let text = self.text.get(line.start..line.end)?;
            let value = self.tape.value(line.root, text);
            let (offset, is_canonical) = (self.at(line.start), line.is_canonical);
            Some(Record { line: line.number, offset, value, is_canonical })
        })
    }

    /// Takes the bytes of its lines and reads them; how many lines they are.
    pub(super) fn load(&mut self, bytes: Vec<u8>) -> u64 {
        let mut damaged = Vec::new();
        let text = String::from_utf8(bytes).unwrap_or_else(|error| {
            let (text, damage) = mended(error.into_bytes());
            damaged = damage;
            text
        });
        let mut start = match self.offset == 0 && text.starts_with('\u{feff}') {
            true => {
                self.failures.add(&BOM, Place::file(TRACE).line(1).bytes(0, 3), BOM.finds);
                '\u{feff}'.len_utf8()
            }
            false => 0,
        };
        let mut damaged = damaged.into_iter().peekable();
        let mut count = 0_u64;
        while start < text.len() {
            let rest = text.get(start..).unwrap_or_default();
            let length = memchr::memchr(b'\n', rest.as_bytes());
            let end = start.saturating_add(length.unwrap_or(rest.len()));
            count = count.saturating_add(1);
            let number = self.lines_before.saturating_add(count);
            if length.is_none() {
                let place = self.place(number, end, end);
                self.failures.add(&NO_FINAL_NEWLINE, place, NO_FINAL_NEWLINE.finds);
            }
            let mut damage = None;
            while let Some(at) = damaged.next_if(|at| *at < end) {
                damage = damage.or(Some(at));
            }
            match damage {
                Some(at) => self.tell_damage(number, at),
                None => self.line(&text, number, (start, end)),
            }
            start = end.saturating_add(1);
        }
        self.text = text;
        count
    }

    fn tell_damage(&mut self, number: u64, at: usize) {
        self.has_unread = true;
        let place = self.place(number, at, at.saturating_add(1));
        self.failures.add(&NOT_UTF8, place, NOT_UTF8.finds);
    }

    fn line(&mut self, text: &str, number: u64, (start, end): (usize, usize)) {
        let line = text.get(start..end).unwrap_or_default();
        if line.len() > MAX_LINE_BYTES {
            self.tell_too_long(number, self.at(start), line.len() as u64);
            return;
        }
        if line.bytes().all(|byte| byte.is_ascii_whitespace()) {
            let place = self.place(number, start, end);
            self.failures.add(&BLANK_LINE, place, BLANK_LINE.finds);
            return;
        }
        let body = line.strip_suffix('\r').unwrap_or(line);
        if body.len() < line.len() {
            let place = self.place(number, end.saturating_sub(1), end);
            self.failures.add(&CARRIAGE_RETURN, place, CARRIAGE_RETURN.finds);
        }
        let offset = self.at(start);
        match self.tape.append(body) {
            Ok((root, spelling)) => {
                tell_spelling(number, offset, &spelling, &mut self.failures);
                let end = start.saturating_add(body.len());
                let is_canonical = spelling.uncanonical.is_none();
                self.lines.push(Line { number, start, end, root, is_canonical });
            }
            Err(broken) => {
                self.has_unread = true;
                tell_broken(number, offset, broken, &mut self.failures);
            }
        }
    }

    fn at(&self, byte: usize) -> u64 {
        self.offset.saturating_add(byte as u64)
    }

    fn place(&self, line: u64, start: usize, end: usize) -> Place {
        Place::file(TRACE).line(line).bytes(self.at(start), self.at(end))
    }
}

/// Bytes that are not UTF-8 as text of the same length, and where the first damage of each line is:
/// the lines around a damaged one keep their places.
fn mended(mut bytes: Vec<u8>) -> (String, Vec<usize>) {
    let mut damaged = Vec::new();
    let mut start = 0_usize;
    let mut is_told = false;
    while let Err(error) = str::from_utf8(bytes.get(start..).unwrap_or_default()) {
        let bad = start.saturating_add(error.valid_up_to());
        let sound = bytes.get(start..bad).unwrap_or_default();
        is_told &= memchr::memchr(b'\n', sound).is_none();
        let rest = bytes.len().saturating_sub(bad);
        let length = error.error_len().unwrap_or(rest).clamp(1, rest.max(1));
        let end = bad.saturating_add(length);
        bytes.get_mut(bad..end).unwrap_or_default().fill(b'?');
        if !std::mem::replace(&mut is_told, true) {
            damaged.push(bad);
        }
        start = end;
    }
    // Every damaged byte was overwritten, so this is text.
    (String::from_utf8(bytes).unwrap_or_default(), damaged)
}
