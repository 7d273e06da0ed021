//! The reader: proves a run log from its bytes alone.

use probity_core::{Digest, Entry, Event, RunId};

use crate::body::{Envelope, GENESIS};
use crate::{LineFault, Record, RecordFinding, Seal};

/// A run log that was read and found whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRecords {
    /// The run.
    pub run: RunId,
    /// Time and event of every record, in order, the seal's included.
    pub entries: Vec<Entry>,
    /// The hash of the last record.
    pub head: Digest,
    /// The seal. `None`: the run is still going on, crashed, or was cut off at a record boundary,
    /// which bytes alone cannot tell apart. Never take an unsealed log for a finished one.
    pub seal: Option<Seal>,
}

/// The log is not whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{first}{}", more(*.others))]
pub struct ReadError {
    /// The first finding.
    pub first: RecordFinding,
    /// How many follow; [`verify_records`] lists them.
    pub others: usize,
}

/// Everything there is to say about a log's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The run of the first readable record.
    pub run: Option<RunId>,
    /// Lines that were looked at.
    pub lines: u64,
    /// The last readable record's hash; 64 zeros if there is none.
    pub head: Digest,
    /// The seal, where the last line is a readable sealing record. Says nothing unless
    /// [`Report::is_whole`].
    pub seal: Option<Seal>,
    /// All findings, in order. At most [`Report::MAX_FINDINGS`]; counting goes on in
    /// `findings_total`.
    pub findings: Vec<RecordFinding>,
    /// How many findings there are.
    pub findings_total: usize,
}

impl Report {
    /// The most findings that are kept, so that a hostile file cannot exhaust memory.
    pub const MAX_FINDINGS: usize = 1000;

    /// Whether nothing is wrong with what is there. An unsealed log may be whole as far as it goes.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.findings_total == 0
    }

    /// Whether the log is whole and sealed: nothing was changed, removed or added.
    #[must_use]
    pub const fn is_sealed(&self) -> bool {
        self.is_whole() && self.seal.is_some()
    }
}

/// Reads records as a store holds them: one line each, without newlines.
///
/// # Errors
/// [`ReadError`] with the first finding, if there is any.
pub fn read_records<I>(records: I) -> Result<RunRecords, ReadError>
where
    I: IntoIterator,
    I::Item: AsRef<[u8]>,
{
    let mut entries = Vec::new();
    let report = walk(records, |record| entries.push(record.entry));
    finish(report, entries)
}

/// Reads an exported log: records, each followed by a newline.
///
/// # Errors
/// [`ReadError`] with the first finding, if there is any. A missing last newline is one.
pub fn read_jsonl(bytes: &[u8]) -> Result<RunRecords, ReadError> {
    let mut entries = Vec::new();
    let report = walk_jsonl(bytes, |record| entries.push(record.entry));
    finish(report, entries)
}

/// Checks records as a store holds them and reports every finding, not only the first.
pub fn verify_records<I>(records: I) -> Report
where
    I: IntoIterator,
    I::Item: AsRef<[u8]>,
{
    walk(records, drop)
}

/// Checks an exported log and reports every finding, not only the first.
#[must_use]
pub fn verify_jsonl(bytes: &[u8]) -> Report {
    walk_jsonl(bytes, drop)
}

fn finish(report: Report, entries: Vec<Entry>) -> Result<RunRecords, ReadError> {
    let others = report.findings_total.saturating_sub(1);
    match (report.findings.into_iter().next(), report.run) {
        (Some(first), _) => Err(ReadError { first, others }),
        (None, Some(run)) => Ok(RunRecords { run, entries, head: report.head, seal: report.seal }),
        (None, None) => {
            Err(ReadError { first: RecordFinding { line: 1, fault: LineFault::Empty }, others: 0 })
        }
    }
}

fn walk<I>(records: I, mut each: impl FnMut(Record)) -> Report
where
    I: IntoIterator,
    I::Item: AsRef<[u8]>,
{
    let mut walker = Walker::new();
    for line in records {
        walker.line(line.as_ref(), &mut each);
    }
    walker.finish()
}

fn walk_jsonl(bytes: &[u8], mut each: impl FnMut(Record)) -> Report {
    let mut walker = Walker::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_suffix(b"\n") {
            Some(line) => walker.line(line, &mut each),
            None => {
                walker.line(line, &mut each);
                walker.found(LineFault::NoNewline);
            }
        }
    }
    walker.finish()
}

fn more(others: usize) -> String {
    if others == 0 { String::new() } else { format!(" (and {others} more findings)") }
}

/// What the next line must continue. Unknown after a line that could not be read.
struct Walker {
    report: Report,
    next_seq: u64,
    prev: Option<Digest>,
    seal_seen: bool,
}

impl Walker {
    fn new() -> Self {
        let report = Report {
            run: None,
            lines: 0,
            head: GENESIS,
            seal: None,
            findings: Vec::new(),
            findings_total: 0,
        };
        Self { report, next_seq: 0, prev: Some(GENESIS), seal_seen: false }
    }

    fn found(&mut self, fault: LineFault) {
        self.report.findings_total += 1;
        if self.report.findings.len() < Report::MAX_FINDINGS {
            self.report.findings.push(RecordFinding { line: self.report.lines, fault });
        }
    }

    fn line(&mut self, line: &[u8], each: &mut impl FnMut(Record)) {
        self.report.lines += 1;
        if self.seal_seen {
            self.found(LineFault::AfterSeal);
        }
        self.report.seal = None;
        if line.is_empty() {
            self.found(LineFault::EmptyLine);
            return;
        }
        match self.open(line) {
            Some(record) => {
                self.place(&record);
                each(record);
            }
            None => {
                self.next_seq = self.next_seq.saturating_add(1);
                self.prev = None;
            }
        }
    }

    /// A wrong hash alone does not stop the reading: the body may still say more.
    fn open(&mut self, line: &[u8]) -> Option<Record> {
        let envelope = Envelope::open(line).map_err(|fault| self.found(fault)).ok()?;
        let (recorded, computed) = (envelope.recorded, envelope.computed);
        if recorded != computed {
            self.found(LineFault::Hash { recorded, computed });
        }
        // The recorded hash is what the next record continues, whichever of the two was changed.
        Record::of_body(envelope.body, recorded).map_err(|fault| self.found(fault)).ok()
    }

    fn place(&mut self, record: &Record) {
        self.check_run(record);
        if record.seq != self.next_seq {
            self.found(LineFault::Seq { expected: self.next_seq, found: record.seq });
        }
        if let Some(expected) = self.prev.filter(|prev| *prev != record.prev) {
            self.found(LineFault::Prev { expected, found: record.prev });
        }
        if let Some(seal) = record.seal {
            self.check_seal(&seal);
        }
        self.report.seal = record.seal;
        self.report.head = record.hash;
        self.next_seq = record.seq.saturating_add(1);
        self.prev = Some(record.hash);
    }

    fn check_run(&mut self, record: &Record) {
        let in_place = match &record.entry.event {
            Event::RunOpened { run, .. } => self.report.lines == 1 && *run == record.run,
            _ => self.report.lines > 1,
        };
        if !in_place {
            self.found(LineFault::Header);
        }
        match &self.report.run {
            None => self.report.run = Some(record.run.clone()),
            Some(expected) if *expected != record.run => {
                let (expected, found) = (expected.clone(), record.run.clone());
                self.found(LineFault::Run { expected, found });
            }
            Some(_) => {}
        }
    }

    fn check_seal(&mut self, seal: &Seal) {
        self.seal_seen = true;
        let before = self.report.lines.saturating_sub(1);
        if seal.events != before {
            self.found(LineFault::SealEvents { stated: seal.events, found: before });
        }
        if let Some(found) = self.prev.filter(|prev| *prev != seal.head) {
            self.found(LineFault::SealHead { stated: seal.head, found });
        }
    }

    fn finish(mut self) -> Report {
        if self.report.lines == 0 {
            self.report.lines = 1;
            self.found(LineFault::Empty);
            self.report.lines = 0;
        }
        self.report
    }
}
