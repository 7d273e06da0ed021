//! Cuts the trace into pieces at line ends, and hashes it whole.

use std::io::Read;

use probity_report::Failures;
use sha2::{Digest as _, Sha256};

use crate::model::TRACE;
use crate::{FileError, RunFiles};

use super::piece::Piece;
use super::{MAX_LINE_BYTES, document};

/// The bytes that are read at a time: a piece is about as long.
const PIECE_BYTES: u64 = 1 << 20;

/// The trace file while it is read.
pub(super) struct Reader<'r> {
    input: Box<dyn Read + Send + 'r>,
    sha256: Sha256,
    /// Bytes behind the last piece that were read already.
    carry: Vec<u8>,
    /// Offset in the file of the next piece.
    offset: u64,
    lines: u64,
    bytes: u64,
    is_at_end: bool,
    is_whole: bool,
}

/// What the file comes to.
#[derive(Debug, Clone)]
pub(super) struct Sums {
    /// Lower-case hex.
    pub(super) sha256: String,
    pub(super) lines: u64,
    pub(super) bytes: u64,
    /// False if the file broke off in the middle. It was told.
    pub(super) is_whole: bool,
}

impl<'r> Reader<'r> {
    /// A reader of the trace of a run.
    ///
    /// # Errors
    /// [`FileError`] if it cannot be opened.
    pub(super) fn open(files: &'r dyn RunFiles) -> Result<Self, FileError> {
        Ok(Self {
            input: files.open(TRACE)?,
            sha256: Sha256::new(),
            carry: Vec::new(),
            offset: 0,
            lines: 0,
            bytes: 0,
            is_at_end: false,
            is_whole: true,
        })
    }

    /// Fills a piece with the next lines; whether there may be more behind them.
    pub(super) fn fill(&mut self, piece: &mut Piece) -> bool {
        let mut bytes = piece.restart(self.offset, self.lines);
        bytes.append(&mut self.carry);
        let mut searched = 0;
        while !self.is_at_end {
            self.read_some(&mut bytes, piece);
            let fresh = bytes.get(searched..).unwrap_or_default();
            if let Some(at) = memchr::memrchr(b'\n', fresh) {
                let end = searched.saturating_add(at).saturating_add(1);
                self.carry.extend_from_slice(bytes.get(end..).unwrap_or_default());
                bytes.truncate(end);
                break;
            }
            if bytes.len() > MAX_LINE_BYTES {
                self.skip_line(&mut bytes, piece);
                return !self.is_at_end || !self.carry.is_empty();
            }
            searched = bytes.len();
        }
        self.offset = self.offset.saturating_add(bytes.len() as u64);
        self.lines = self.lines.saturating_add(piece.load(bytes));
        !self.is_at_end || !self.carry.is_empty()
    }

    /// What the file comes to. It was read to its end.
    pub(super) fn finish(self) -> Sums {
        let sha256 = hex::encode(self.sha256.finalize());
        Sums { sha256, lines: self.lines, bytes: self.bytes, is_whole: self.is_whole }
    }

    /// Reads on behind what is there. What cannot be read is told, and is the end.
    fn read_some(&mut self, bytes: &mut Vec<u8>, piece: &mut Piece) {
        let start = bytes.len();
        let read = self.input.by_ref().take(PIECE_BYTES).read_to_end(bytes);
        let fresh = bytes.get(start..).unwrap_or_default();
        self.sha256.update(fresh);
        self.bytes = self.bytes.saturating_add(fresh.len() as u64);
        self.is_at_end = (fresh.len() as u64) < PIECE_BYTES;
        if let Err(error) = read {
            (self.is_at_end, self.is_whole) = (true, false);
            piece.leave_unread();
            let failures: &mut Failures = piece.failures();
            document::tell(TRACE, &FileError::Io(error.to_string()), failures);
        }
    }

    /// Leaves out a line that is too long, of which this is the front.
    fn skip_line(&mut self, bytes: &mut Vec<u8>, piece: &mut Piece) {
        let mut length = bytes.len() as u64;
        bytes.clear();
        bytes.shrink_to(0);
        let mut newline = None;
        while newline.is_none() && !self.is_at_end {
            bytes.clear();
            self.read_some(bytes, piece);
            newline = memchr::memchr(b'\n', bytes);
            length = length.saturating_add(newline.unwrap_or(bytes.len()) as u64);
        }
        self.lines = self.lines.saturating_add(1);
        piece.tell_too_long(self.lines, self.offset, length);
        self.offset = self.offset.saturating_add(length);
        if let Some(at) = newline {
            self.offset = self.offset.saturating_add(1);
            let rest = bytes.get(at.saturating_add(1)..).unwrap_or_default();
            self.carry.extend_from_slice(rest);
        }
    }
}
