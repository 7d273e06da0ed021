//! Lines of a file, in batches.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use probity_audit::MAX_DOCUMENT_BYTES;

/// Lines of one batch, at most.
const MAX_LINES: usize = 256;
/// Bytes after which a batch is full.
const FULL_BYTES: usize = 1 << 18;

/// Some lines.
#[derive(Debug)]
pub(in crate::cli) struct Batch {
    source: Arc<str>,
    bytes: Vec<u8>,
    lines: Vec<(u64, Range<usize>)>,
}

impl Batch {
    /// Where they come from.
    pub(in crate::cli) fn source(&self) -> &str {
        &self.source
    }

    /// Number and text of each line that is not blank. Numbers count from 1.
    pub(in crate::cli) fn lines(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let text = |at: &Range<usize>| self.bytes.get(at.clone()).unwrap_or_default();
        self.lines.iter().map(move |(number, at)| (*number, text(at)))
    }
}

/// Reads batches. A line that is longer than a document may be is cut where it is one byte too long,
/// which is enough to say so; the rest of it is passed over.
pub(in crate::cli) struct Lines<R> {
    source: Arc<str>,
    reader: R,
    number: u64,
    is_done: bool,
}

impl<R: io::BufRead> Lines<R> {
    /// The lines of a reader.
    pub(in crate::cli) const fn new(source: Arc<str>, reader: R) -> Self {
        Self { source, reader, number: 0, is_done: false }
    }

    /// Puts the next line behind the others; says where it is, or that there is none.
    fn line(&mut self, bytes: &mut Vec<u8>) -> io::Result<Option<Range<usize>>> {
        let start = bytes.len();
        let bound = u64::try_from(MAX_DOCUMENT_BYTES).unwrap_or(u64::MAX).saturating_add(1);
        let mut limited = io::Read::take(&mut self.reader, bound);
        if io::BufRead::read_until(&mut limited, b'\n', bytes)? == 0 {
            return Ok(None);
        }
        let is_whole = bytes.last() == Some(&b'\n');
        if !is_whole && bytes.len().saturating_sub(start) > MAX_DOCUMENT_BYTES {
            self.pass_over()?;
        }
        let end = bytes.len().saturating_sub(is_whole.into());
        Ok(Some(start..end))
    }

    fn pass_over(&mut self) -> io::Result<()> {
        loop {
            let there = self.reader.fill_buf()?;
            let (used, is_end) = match there.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at.saturating_add(1), true),
                None => (there.len(), there.is_empty()),
            };
            self.reader.consume(used);
            if is_end {
                return Ok(());
            }
        }
    }

    fn batch(&mut self) -> io::Result<Option<Batch>> {
        let mut batch =
            Batch { source: Arc::clone(&self.source), bytes: Vec::new(), lines: Vec::new() };
        while batch.lines.len() < MAX_LINES && batch.bytes.len() < FULL_BYTES {
            let Some(at) = self.line(&mut batch.bytes)? else {
                self.is_done = true;
                break;
            };
            self.number = self.number.saturating_add(1);
            let line = batch.bytes.get(at.clone()).unwrap_or_default();
            match line.iter().all(u8::is_ascii_whitespace) {
                true => batch.bytes.truncate(at.start),
                false => batch.lines.push((self.number, at)),
            }
        }
        Ok(Some(batch).filter(|batch| !batch.lines.is_empty()))
    }
}

impl<R: io::BufRead> Iterator for Lines<R> {
    type Item = io::Result<Batch>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.is_done {
            match self.batch() {
                Ok(Some(batch)) => return Some(Ok(batch)),
                Ok(None) => {}
                Err(error) => {
                    self.is_done = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Vec<(u64, usize)> {
        let batches = Lines::new("it".into(), io::BufReader::with_capacity(7, text));
        let mut all = Vec::new();
        for batch in batches {
            let batch = batch.unwrap();
            all.extend(batch.lines().map(|(number, line)| (number, line.len())));
        }
        all
    }

    #[test]
    fn blank_lines_count_and_are_not_read() {
        assert_eq!(read(b"a\n\n  \r\nbb\nccc"), [(1, 1), (4, 2), (5, 3)]);
        assert_eq!(read(b""), []);
        assert_eq!(read(b"\n\n"), []);
    }

    #[test]
    fn a_line_without_end_is_cut_and_the_next_one_is_whole() {
        let mut text = vec![b'x'; 2 * MAX_DOCUMENT_BYTES];
        text.extend(b"\nnext\n");
        assert_eq!(read(&text), [(1, MAX_DOCUMENT_BYTES + 1), (2, 4)]);
    }

    #[test]
    fn more_lines_than_a_batch_holds_keep_their_numbers() {
        let text = "y\n".repeat(3 * MAX_LINES + 1);
        let numbers: Vec<u64> =
            read(text.as_bytes()).into_iter().map(|(number, _)| number).collect();
        assert_eq!(numbers, (1..=3 * MAX_LINES as u64 + 1).collect::<Vec<_>>());
    }
}
