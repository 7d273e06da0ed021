//! Documents in files, folders and on standard input, audited on every core and handed on in the
//! order in which they were named.

mod files;
pub(super) mod lines;
pub(super) mod ordered;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use probity_audit::{EpisodeAuditor, EpisodeReport, MAX_LIST_BYTES};

use self::files::Walk;
use self::lines::{Batch, Lines};
use super::CliError;
use super::source::{open, read_bytes, refuse_irregular};

/// Threads that audit, at most.
const MAX_THREADS: usize = 8;

/// Reports of one list that are held at a time.
const MAX_REPORTS: usize = 256;

/// Where documents come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Input {
    /// A file, or a folder with files.
    Path(PathBuf),
    /// One document a line on standard input.
    Stdin,
}

/// A path that is there, or `-` for standard input.
///
/// # Errors
/// [`CliError::File`] if there is no such file or folder, or it is something else.
pub(super) fn input(path: &str) -> Result<Input, CliError> {
    if path == "-" {
        return Ok(Input::Stdin);
    }
    let path = Path::new(path);
    match path.metadata() {
        Ok(about) => {
            if !about.is_dir() {
                refuse_irregular(path)?;
            }
            Ok(Input::Path(path.to_path_buf()))
        }
        Err(source) => Err(CliError::File { path: path.to_path_buf(), source }),
    }
}

/// What some documents of one file came to.
#[derive(Debug)]
pub(super) enum Audited {
    /// A report for each document.
    Reports(Vec<EpisodeReport>),
    /// It could not be read.
    Unread {
        /// The file or folder.
        source: String,
        /// Why.
        error: io::Error,
    },
}

/// Something that a thread takes on.
enum Job {
    File(PathBuf),
    Lines(Batch),
    Unread { source: String, error: io::Error },
}

/// Audits everything that the inputs name. `make` runs on the threads that audit; `take` gets what it
/// made, in order, and ends the work by answering false. Memory is bounded: a few files or batches of
/// lines are under way at a time.
pub(super) fn audit<R: Send>(
    inputs: &[Input],
    auditor: &EpisodeAuditor,
    make: impl Fn(Audited) -> R + Sync,
    take: impl FnMut(R) -> bool,
) {
    let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let feed = |give: &mut dyn FnMut(Job) -> bool| {
        for input in inputs {
            let goes_on = match input {
                Input::Path(path) => paths(path, give),
                Input::Stdin => lines("-", io::stdin().lock(), give),
            };
            if !goes_on {
                return;
            }
        }
    };
    let work = |job, give: &mut dyn FnMut(R) -> bool| {
        audit_one(job, auditor, &mut |audited| give(make(audited)));
    };
    ordered::run(threads.min(MAX_THREADS), feed, work, take);
}

fn paths(path: &Path, give: &mut dyn FnMut(Job) -> bool) -> bool {
    for found in Walk::new(path) {
        let goes_on = match found {
            Ok(path) if is_lines(&path) => {
                let source = path.display().to_string();
                match open(&path) {
                    Ok(file) => lines(&source, io::BufReader::with_capacity(1 << 17, file), give),
                    Err(error) => give(Job::Unread { source, error }),
                }
            }
            Ok(path) => give(Job::File(path)),
            Err((path, error)) => give(Job::Unread { source: path.display().to_string(), error }),
        };
        if !goes_on {
            return false;
        }
    }
    true
}

fn lines(source: &str, reader: impl io::BufRead, give: &mut dyn FnMut(Job) -> bool) -> bool {
    for batch in Lines::new(Arc::from(source), reader) {
        let goes_on = match batch {
            Ok(batch) => give(Job::Lines(batch)),
            Err(error) => give(Job::Unread { source: source.to_owned(), error }),
        };
        if !goes_on {
            return false;
        }
    }
    true
}

fn audit_one(job: Job, auditor: &EpisodeAuditor, give: &mut dyn FnMut(Audited) -> bool) {
    let audited = match job {
        Job::File(path) => {
            let source = path.display().to_string();
            let read = |mut file| read_bytes(&mut file, MAX_LIST_BYTES);
            match open(&path).and_then(read) {
                Ok(bytes) => return list(&bytes, &source, auditor, give),
                Err(error) => Audited::Unread { source, error },
            }
        }
        Job::Lines(batch) => {
            let report = |(number, line): (u64, &[u8])| auditor.line(line, batch.source(), number);
            Audited::Reports(batch.lines().map(report).collect())
        }
        Job::Unread { source, error } => Audited::Unread { source, error },
    };
    give(audited);
}

/// A file may hold a list of very many documents, so their reports go on in portions.
fn list(
    bytes: &[u8],
    source: &str,
    auditor: &EpisodeAuditor,
    give: &mut dyn FnMut(Audited) -> bool,
) {
    let mut portion = Vec::new();
    let mut is_wanted = true;
    auditor.document_each(bytes, source, &mut |report| {
        portion.push(report);
        if portion.len() >= MAX_REPORTS {
            is_wanted = is_wanted && give(Audited::Reports(std::mem::take(&mut portion)));
            portion.clear();
        }
    });
    if is_wanted {
        give(Audited::Reports(portion));
    }
}

/// Whether a file holds one document a line.
fn is_lines(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "jsonl" || ending == "ndjson")
}
