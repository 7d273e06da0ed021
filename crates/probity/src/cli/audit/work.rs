//! One record after the other: which auditor it goes to, and how its report is shown.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use probity_audit::page::render_page;
use probity_audit::{EpisodeAuditor, MAX_LIST_BYTES};
use probity_report::VerificationReport;
use probity_trace::{FileError, MemoryFiles, Quotes, RunFiles, TraceAuditor, TracePolicy, compat};

use super::counted::Counted;
use super::episode::{Held, is_no_record, told};
use super::feed::{Job, Task};
use super::find::TRACE;
use super::kind::{FileKind, MAX_HEAD_BYTES};
use super::proof::Proof;
use super::rule::{self, unread};
use super::text::{self, Detail};
use crate::cli::CliError;
use crate::cli::args::{AuditArgs, QuotesArg};
use crate::cli::documents::lines::Batch;
use crate::cli::episode::held_against;
use crate::cli::present::Style;
use crate::cli::source::read_bytes;
use crate::run_folder::RunFolder;

/// Bytes of a trace that stands alone: without its folder it is held in memory.
const MAX_TRACE_BYTES: usize = 1 << 30;

/// Every auditor, and how reports are shown.
pub(super) struct Workshop {
    traces: TracePolicy,
    threads: u8,
    /// Bytes of run directories that were read so far.
    bytes_read: Arc<AtomicU64>,
    is_compat: bool,
    requires_signature: bool,
    proof: Proof,
    /// Named on the command line; where none is, the project's are read when a document comes.
    envelopes: Vec<PathBuf>,
    packs: Vec<PathBuf>,
    episodes: OnceLock<(EpisodeAuditor, Held)>,
    is_paged: bool,
    is_json: bool,
    is_quiet: bool,
    style: Style,
}

/// What a piece of work came to.
pub(super) enum Made {
    /// A report, what is printed of it, and its page where one is wanted.
    Report { report: Box<VerificationReport>, shown: Vec<u8>, page: Option<String> },
    /// A file that is no record, and was not named.
    PassedOver,
    /// Nothing can be audited.
    Broken(CliError),
}

/// Hands on what was made; false: nobody wants more.
type Give<'a> = &'a mut dyn FnMut(Made) -> bool;

impl Workshop {
    /// What the arguments ask for.
    ///
    /// # Errors
    /// [`CliError`] if a key, an envelope or a pack cannot be used.
    pub(super) fn of(args: &AuditArgs) -> Result<Self, CliError> {
        let traces = TracePolicy {
            min_supports: args.min_supports,
            allow_marked_insufficient: args.allow_marked_insufficient,
            quotes: match args.quotes {
                QuotesArg::Exact => Quotes::Exact,
                QuotesArg::Any => Quotes::Any,
            },
            seal: !args.no_seal,
            threads: 1,
        };
        let workshop = Self {
            traces,
            threads: args.threads.unwrap_or(2),
            bytes_read: Arc::default(),
            is_compat: args.compat,
            requires_signature: args.require_signature,
            proof: Proof::of(args)?,
            envelopes: args.envelope.clone(),
            packs: args.pack.clone(),
            episodes: OnceLock::new(),
            is_paged: args.html.is_some(),
            is_json: args.json,
            is_quiet: args.quiet,
            style: Style::of_stdout(),
        };
        if !args.envelope.is_empty() || !args.pack.is_empty() {
            workshop.episodes()?;
        }
        Ok(workshop)
    }

    /// Bytes of run directories that were read so far, for whoever shows it.
    pub(super) fn bytes_read(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.bytes_read)
    }

    /// Audits one piece of work.
    pub(super) fn work(&self, job: Job, give: Give) {
        let detail = if job.is_alone { Detail::Whole } else { Detail::Brief };
        let (report, page) = match job.task {
            Task::Run { path, is_named } => (self.run(&path, is_named, job.is_alone), None),
            Task::Stored(store, run) => self.proof.stored(&store, &run),
            Task::Unread(report) => (*report, None),
            Task::PassedOver => {
                give(Made::PassedOver);
                return;
            }
            Task::Lines(batch) => return self.lines(&batch, give),
            Task::Bytes { source, kind, mut reader, is_named } => match kind {
                FileKind::Bundle => self.proof.bundle(&mut reader, &source),
                FileKind::RunLog => self.proof.log(&mut reader, &source),
                FileKind::Trace => (self.trace_alone(&mut reader, &source, job.is_alone), None),
                FileKind::Document | FileKind::Lines | FileKind::Unknown => {
                    return self.document(&mut reader, &source, is_named, detail, give);
                }
            },
        };
        give(self.made(report, page, detail));
    }

    /// Whether none of the first lines of a file is a record, and none is torn.
    pub(super) fn has_no_record(&self, head: &[u8]) -> bool {
        let auditor = EpisodeAuditor::new();
        // Of a longer file, the last line that was looked at may go on.
        let is_whole = |line: &&[u8]| line.ends_with(b"\n") || head.len() < MAX_HEAD_BYTES;
        let lines = head.split_inclusive(|byte| *byte == b'\n').filter(is_whole);
        let mut lines = lines.filter(|line| !line.trim_ascii().is_empty()).peekable();
        lines.peek().is_some() && lines.all(|line| is_no_record(&auditor.line(line, "", 1)))
    }

    fn run(&self, path: &Path, is_named: bool, is_alone: bool) -> VerificationReport {
        let source = path.display().to_string();
        let folder = match is_named {
            true => RunFolder::open(path),
            false => RunFolder::open_found(path),
        };
        match folder {
            Ok(folder) => {
                let files = Counted { folder, bytes_read: &self.bytes_read };
                self.trace(&files, &files.folder, &source, is_alone)
            }
            Err(error) => unread(&source, &rule::UNREADABLE, &error.to_string()),
        }
    }

    fn trace(
        &self,
        files: &dyn RunFiles,
        links: &dyn compat::Links,
        source: &str,
        is_alone: bool,
    ) -> VerificationReport {
        if self.is_compat {
            return compat::audit_with_links(files, links, source);
        }
        // Several at a time use a thread each.
        let threads = if is_alone { self.threads.min(2) } else { 1 };
        TraceAuditor::new(TracePolicy { threads, ..self.traces.clone() }).audit(files, source)
    }

    /// A trace without its plan and evidence: whatever is missing is told.
    fn trace_alone(
        &self,
        reader: &mut dyn Read,
        source: &str,
        is_alone: bool,
    ) -> VerificationReport {
        match read_bytes(&mut &mut *reader, MAX_TRACE_BYTES) {
            Ok(bytes) => {
                let files = BTreeMap::from([(TRACE.to_owned(), bytes)]);
                let files = MemoryFiles { files, others: BTreeMap::new() };
                self.trace(&files, &compat::NoLinks, source, is_alone)
            }
            Err(error) => unread_bytes(source, &error),
        }
    }

    fn lines(&self, batch: &Batch, give: Give) {
        let (auditor, held) = match self.episodes() {
            Ok(episodes) => episodes,
            Err(error) => {
                give(Made::Broken(error));
                return;
            }
        };
        for (number, line) in batch.lines() {
            let report = told(auditor.line(line, batch.source(), number), *held);
            if !give(self.made(report, None, Detail::Brief)) {
                return;
            }
        }
    }

    fn document(
        &self,
        reader: &mut dyn Read,
        source: &str,
        is_named: bool,
        detail: Detail,
        give: Give,
    ) {
        let bytes = match read_bytes(&mut &mut *reader, MAX_LIST_BYTES) {
            Ok(bytes) => bytes,
            Err(error) => {
                give(self.made(unread_bytes(source, &error), None, detail));
                return;
            }
        };
        let (auditor, held) = match self.episodes() {
            Ok(episodes) => episodes,
            Err(error) => {
                give(Made::Broken(error));
                return;
            }
        };
        if !is_named {
            let mut has_record = false;
            EpisodeAuditor::new()
                .document_each(&bytes, source, &mut |report| has_record |= !is_no_record(&report));
            if !has_record {
                give(Made::PassedOver);
                return;
            }
        }
        let (mut is_wanted, mut is_empty) = (true, true);
        auditor.document_each(&bytes, source, &mut |report| {
            is_empty = false;
            // A list holds several, each of which says less.
            let detail = if report.index.is_some() { Detail::Brief } else { detail };
            is_wanted = is_wanted && give(self.made(told(report, *held), None, detail));
        });
        if is_empty {
            let report = unread(source, &rule::UNKNOWN, "a list with nothing in it");
            give(self.made(report, None, detail));
        }
    }

    /// The auditor of documents.
    fn episodes(&self) -> Result<&(EpisodeAuditor, Held), CliError> {
        if let Some(episodes) = self.episodes.get() {
            return Ok(episodes);
        }
        let (auditor, envelopes, packs) = held_against(&self.envelopes, &self.packs)?;
        let held = Held { envelopes: envelopes as u64, packs: packs as u64 };
        Ok(self.episodes.get_or_init(|| (auditor, held)))
    }

    /// `page`: what the auditor made already, because it knows more than the report says.
    fn made(&self, report: VerificationReport, page: Option<String>, detail: Detail) -> Made {
        let (report, page) = match self.requires_signature {
            true => {
                let id = report.id.clone();
                let report = rule::signed(report);
                let is_same = report.id == id;
                (report, page.filter(|_| is_same))
            }
            false => (report, page),
        };
        let page = match (self.is_paged, page) {
            (true, None) => Some(render_page(&report, None)),
            (_, page) => page,
        };
        let shown = match (self.is_quiet, self.is_json) {
            (true, _) => Vec::new(),
            (false, true) => {
                let mut line = report.bytes();
                line.push(b'\n');
                line
            }
            (false, false) => text::render(&report, detail, self.style).into_bytes(),
        };
        Made::Report { report: Box::new(report), shown, page }
    }
}

/// The report on a file that could not be read to its end.
pub(super) fn unread_bytes(source: &str, error: &std::io::Error) -> VerificationReport {
    let rule = match error.kind() {
        std::io::ErrorKind::FileTooLarge => &rule::TOO_LARGE,
        _ => &rule::UNREADABLE,
    };
    unread(source, rule, &FileError::Io(error.to_string()).to_string())
}
