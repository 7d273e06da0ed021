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

/// A report is to be written into the workspace, and no pattern names it.
#[derive(Debug, thiserror::Error)]
#[error("the report `{}` is in the workspace, and its name is not Unicode; write it elsewhere", .file.display())]
pub(crate) struct ReportUnnamed {
    file: PathBuf,
}

/// Has the snapshots of a run leave out the store that it is kept in, and its sandbox protect it.
///
/// # Errors
/// [`StoreUnnamed`] for a store in the workspace whose name is not Unicode.
pub(crate) fn leave_out(request: &mut Request, url: &StoreUrl) -> Result<(), StoreUnnamed> {
    let StoreUrl::Sqlite(file) = url else { return Ok(()) };
    let name = match named(request, file) {
        Ok(Some(name)) => name,
        Ok(None) => return Ok(()),
        Err(file) => return Err(StoreUnnamed { file }),
    };
    if let Some(sandbox) = &mut request.sandbox {
        let file = real(file);
        for ending in ["", "-wal", "-shm", "-journal"] {
            let mut path = file.clone().into_os_string();
            path.push(ending);
            sandbox.protected.push(path.into());
        }
    }
    for pattern in [format!("{name}-{{wal,shm,journal}}"), name] {
        ignore(request, pattern);
    }
    Ok(())
}

/// Has the snapshots of a run leave out a report that is written beside it.
///
/// # Errors
/// [`ReportUnnamed`] for a file in the workspace whose name is not Unicode.
pub(crate) fn leave_out_file(request: &mut Request, file: &Path) -> Result<(), ReportUnnamed> {
    if let Some(name) = named(request, file).map_err(|file| ReportUnnamed { file })? {
        ignore(request, name);
    }
    Ok(())
}

/// The pattern of a file in the workspace; `None` outside of it, and the file where none names it.
fn named(request: &Request, file: &Path) -> Result<Option<String>, PathBuf> {
    let workspace = request.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
    let (workspace, file) = (real(&workspace), real(file));
    let Ok(inside) = file.strip_prefix(&workspace) else { return Ok(None) };
    match inside.to_str() {
        Some(name) => Ok(Some(literal(name))),
        None => Err(file),
    }
}

fn ignore(request: &mut Request, pattern: String) {
    if !request.ignore.contains(&pattern) {
        request.ignore.push(pattern);
    }
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
