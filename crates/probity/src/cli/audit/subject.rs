//! What the arguments name.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use probity_core::RunId;
use probity_engine::EngineError;
use probity_store::Store;

use super::find::{PLAN, TRACE, is_run};
use super::rule::{self, unread};
use crate::cli::CliError;
use crate::cli::args::AuditArgs;
use crate::cli::log::{open_existing, resolve_run};
use crate::location::StoreError;
use crate::run_folder::open_file;

/// Something that was named.
pub(super) enum Subject {
    /// A run directory.
    Run(PathBuf),
    /// A folder with records in it.
    Folder(PathBuf),
    /// A file.
    File(PathBuf),
    /// Standard input.
    Stdin,
    /// A run of a store.
    Stored(Arc<dyn Store>, RunId),
    /// Nothing that can be audited; its report says why.
    Unread(Box<probity_report::VerificationReport>),
}

/// What each argument names, in order.
///
/// # Errors
/// [`CliError::Usage`] where a text may mean several runs.
pub(super) async fn subjects(args: &AuditArgs) -> Result<Vec<Subject>, CliError> {
    let mut subjects = Vec::new();
    for text in &args.paths {
        subjects.push(subject(text, args).await?);
    }
    Ok(subjects)
}

async fn subject(text: &str, args: &AuditArgs) -> Result<Subject, CliError> {
    if text == "-" {
        return Ok(Subject::Stdin);
    }
    let path = PathBuf::from(text);
    match path.metadata() {
        Ok(about) if about.is_dir() && is_run(&path) => Ok(Subject::Run(path)),
        Ok(about) if about.is_dir() => Ok(Subject::Folder(path)),
        Ok(_) => Ok(run_of(&path).map_or(Subject::File(path), Subject::Run)),
        Err(error) => stored(text, &error, args).await,
    }
}

/// The run directory that a trace or a plan stands in.
fn run_of(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?;
    if name != TRACE && name != PLAN {
        return None;
    }
    let folder = match path.parent()? {
        folder if folder.as_os_str().is_empty() => PathBuf::from("."),
        folder => folder.to_path_buf(),
    };
    // What is no regular file is refused as what it is, not as a part of something.
    (is_run(&folder) && open_file(path, true).is_ok()).then_some(folder)
}

/// A text that names no file may name a run.
async fn stored(text: &str, error: &std::io::Error, args: &AuditArgs) -> Result<Subject, CliError> {
    let unread = |rule, why: &str| {
        Ok(Subject::Unread(Box::new(unread(text, rule, &format!("{error}; {why}")))))
    };
    let missing = match error.kind() {
        std::io::ErrorKind::NotFound => &rule::MISSING,
        _ => &rule::UNREADABLE,
    };
    let store = match open_existing(&args.store).await {
        Ok(store) => store,
        Err(error @ (CliError::Usage(_) | CliError::Store(StoreError::Url { .. }))) => {
            return Err(error);
        }
        Err(error) => return unread(missing, &format!("and it is no run: {error}")),
    };
    match resolve_run(store.as_ref(), text).await {
        Ok(run) => Ok(Subject::Stored(store, run)),
        Err(ambiguous @ CliError::Usage(_)) => Err(ambiguous),
        Err(CliError::Name(_) | CliError::Engine(EngineError::Missing { .. })) => {
            unread(missing, "and the store has no run of that name")
        }
        Err(error) => unread(&rule::UNREADABLE, &format!("and the store failed: {error}")),
    }
}
