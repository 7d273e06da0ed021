//! A store file inside a run's workspace.
//!
//! Locks of a SQLite file belong to the process: whoever opens the file once more and closes it gives
//! all of them up. Another process then takes the store for unused and removes the log that this one
//! writes to. A snapshot would do that, so it leaves the store out.

use std::path::{Path, PathBuf};

use crate::Request;
use crate::location::StoreUrl;

/// The store is in the workspace, and no pattern names it.
#[derive(Debug, thiserror::Error)]
#[error("the store `{}` is in the workspace, and its name is not Unicode; keep it elsewhere", .file.display())]
pub(crate) struct StoreUnnamed {
    file: PathBuf,
}

/// Has the snapshots of a run leave out the store that it is kept in.
///
/// # Errors
/// [`StoreUnnamed`] for a store in the workspace whose name is not Unicode.
pub(crate) fn leave_out(request: &mut Request, url: &StoreUrl) -> Result<(), StoreUnnamed> {
    let StoreUrl::Sqlite(file) = url else { return Ok(()) };
    let workspace = request.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
    let (workspace, file) = (real(&workspace), real(file));
    let Ok(inside) = file.strip_prefix(&workspace) else { return Ok(()) };
    let Some(name) = inside.to_str() else {
        return Err(StoreUnnamed { file });
    };
    let name = literal(name);
    for pattern in [format!("{name}-{{wal,shm,journal}}"), name] {
        if !request.ignore.contains(&pattern) {
            request.ignore.push(pattern);
        }
    }
    Ok(())
}

/// The path without links, as far down as there is something.
fn real(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for there in path.ancestors() {
        if let (Ok(found), Ok(rest)) = (there.canonicalize(), path.strip_prefix(there)) {
            return if rest.as_os_str().is_empty() { found } else { found.join(rest) };
        }
    }
    path
}

/// A pattern that matches that name and nothing else.
fn literal(name: &str) -> String {
    let mut pattern = String::with_capacity(name.len());
    for c in name.chars() {
        if r"\*?[]{}!,".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}
