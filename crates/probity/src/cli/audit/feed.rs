//! Pieces of work, one for each record or batch of lines.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use probity_core::RunId;
use probity_report::VerificationReport;
use probity_store::Store;
use probity_trace::FileError;

use super::find::{Found, Walk};
use super::kind::{FileKind, MAX_HEAD_BYTES};
use super::rule::{self, unread};
use super::subject::Subject;
use super::work::Workshop;
use crate::cli::documents::lines::{Batch, Lines};
use crate::run_folder::open_file;

/// Bytes that a reader of lines asks for at a time.
const READ_BYTES: usize = 1 << 17;

/// A piece of work.
pub(super) struct Job {
    pub(super) task: Task,
    /// Whether there is no other: it may use more than one thread, and is told whole.
    pub(super) is_alone: bool,
}

/// What is to be audited.
pub(super) enum Task {
    /// A run directory. `is_named`: somebody named it, so a link to it is followed.
    Run { path: PathBuf, is_named: bool },
    /// A bundle, a run log, a trace or a document.
    Bytes { source: String, kind: FileKind, reader: Box<dyn Read + Send>, is_named: bool },
    /// Lines of documents.
    Lines(Batch),
    /// A run of a store.
    Stored(Arc<dyn Store>, RunId),
    /// What was not audited.
    Unread(Box<VerificationReport>),
    /// A file that a walk came by and that is no record.
    PassedOver,
}

/// Gives the work that the subjects are, one piece late: the first learns whether there is another.
pub(super) fn feed(subjects: Vec<Subject>, workshop: &Workshop, give: &mut dyn FnMut(Job) -> bool) {
    let mut held: Option<Task> = None;
    let mut is_alone = true;
    let mut put = |task| match held.replace(task) {
        None => true,
        Some(before) => {
            is_alone = false;
            give(Job { task: before, is_alone: false })
        }
    };
    let goes_on = subjects.into_iter().all(|subject| tasks(subject, workshop, &mut put));
    if let (true, Some(task)) = (goes_on, held) {
        give(Job { is_alone: is_alone && !matches!(task, Task::Lines(_)), task });
    }
}

fn tasks(subject: Subject, workshop: &Workshop, put: &mut dyn FnMut(Task) -> bool) -> bool {
    match subject {
        Subject::Run(path) => put(Task::Run { path, is_named: true }),
        Subject::File(path) => file(&path, true, workshop, put),
        Subject::Stdin => stdin(put),
        Subject::Stored(store, run) => put(Task::Stored(store, run)),
        Subject::Unread(report) => put(Task::Unread(report)),
        Subject::Folder(path) => Walk::new(&path).all(|found| match found {
            Found::Run(path) => put(Task::Run { path, is_named: false }),
            Found::File(path) => file(&path, false, workshop, put),
            Found::Unread { path, error, is_bound } => {
                let rule = if is_bound { &rule::TOO_LARGE } else { &rule::UNREADABLE };
                let source = path.display().to_string();
                put(Task::Unread(Box::new(unread(&source, rule, &error.to_string()))))
            }
        }),
    }
}

/// A file, by what it begins with.
fn file(
    path: &Path,
    is_named: bool,
    workshop: &Workshop,
    put: &mut dyn FnMut(Task) -> bool,
) -> bool {
    let source = path.display().to_string();
    let file = match open_file(path, is_named) {
        Ok(file) => file,
        Err(error) => return put(unopened(&source, &error)),
    };
    let mut head = Vec::new();
    if let Err(error) = read_head(&file, &mut head) {
        return put(unopened(&source, &FileError::Io(error.to_string())));
    }
    match FileKind::of(&head, Some(path)) {
        kind if kind == FileKind::Unknown || head.is_empty() => put(unknown(&source, &head)),
        FileKind::Lines if !is_named && workshop.has_no_record(&head) => put(Task::PassedOver),
        FileKind::Lines => lines(&source, file, put),
        kind => put(Task::Bytes { source, kind, reader: Box::new(file), is_named }),
    }
}

fn stdin(put: &mut dyn FnMut(Task) -> bool) -> bool {
    let source = "-".to_owned();
    let mut head = Vec::new();
    let bound = u64::try_from(MAX_HEAD_BYTES).unwrap_or(u64::MAX);
    if let Err(error) = io::stdin().take(bound).read_to_end(&mut head) {
        return put(unopened(&source, &FileError::Io(error.to_string())));
    }
    let kind = FileKind::of(&head, None);
    if kind == FileKind::Unknown {
        return put(unknown(&source, &head));
    }
    let reader = Cursor::new(head).chain(io::stdin());
    match kind {
        FileKind::Lines => lines(&source, reader, put),
        kind => put(Task::Bytes { source, kind, reader: Box::new(reader), is_named: true }),
    }
}

fn lines(source: &str, reader: impl Read, put: &mut dyn FnMut(Task) -> bool) -> bool {
    let reader = BufReader::with_capacity(READ_BYTES, reader);
    let mut is_blank = true;
    let goes_on = Lines::new(Arc::from(source), reader).all(|batch| {
        is_blank = false;
        match batch {
            Ok(batch) => put(Task::Lines(batch)),
            Err(error) => put(unopened(source, &FileError::Io(error.to_string()))),
        }
    });
    // A record that was blanked out must not vanish behind those beside it.
    goes_on && (!is_blank || put(unknown(source, &[])))
}

/// Reads the first bytes and leaves the file where it stands.
fn read_head(file: &File, head: &mut Vec<u8>) -> io::Result<()> {
    let told_bytes = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    head.resize(told_bytes.saturating_add(1).min(MAX_HEAD_BYTES), 0);
    let mut filled = 0;
    while let Some(rest) = head.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, filled as u64) {
            Ok(0) => break,
            Ok(count) => filled = filled.saturating_add(count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    head.truncate(filled);
    Ok(())
}

fn unopened(source: &str, error: &FileError) -> Task {
    Task::Unread(Box::new(unread(source, &rule::UNREADABLE, &error.to_string())))
}

fn unknown(source: &str, head: &[u8]) -> Task {
    let message = match head {
        [] => "nothing stands in it",
        _ => "neither a run directory, a bundle, a run log nor a document",
    };
    Task::Unread(Box::new(unread(source, &rule::UNKNOWN, message)))
}
