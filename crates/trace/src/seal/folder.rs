//! What lies in a run directory.

use std::collections::{BTreeMap, BTreeSet};

use probity_report::{Failures, Place, Rule};

use crate::read::UNREADABLE;
use crate::{FileError, FileKind, RunFiles};

use super::manifest::MANIFEST;

const CHECK: &str = "seal";

pub(super) static NOT_REGULAR: Rule =
    Rule::error("trace_file_not_regular", CHECK, "a link, a pipe or a device in a run directory");
pub(super) static TOO_MANY: Rule = Rule::limit(
    "trace_folder_too_large",
    CHECK,
    "a run directory with more entries, or deeper folders, than are looked at",
);
pub(super) static UNLISTED: Rule =
    Rule::error("trace_file_unlisted", CHECK, "a file that the manifest does not list");
pub(super) static AFTER_SEAL: Rule = Rule::warning(
    "trace_file_after_seal",
    CHECK,
    "a file that the source system writes behind the seal",
);

/// What `verify` of the source system leaves behind.
const LATER_REPORT: &str = "verify.verify.json";
/// Where `replay` of the source system leaves what it made.
const LATER_FOLDER: &str = "replay/";
/// Folders that may be empty.
const FOLDERS: [&str; 4] = ["evidence", "provenance", "provenance/index", "replay"];

/// What lies in the directory: every entry once.
pub(super) struct Entries(BTreeMap<String, FileKind>);

/// Lists the directory, and tells what is neither file nor folder.
pub(super) fn list(files: &dyn RunFiles, failures: &mut Failures) -> Entries {
    let entries = files.list().unwrap_or_else(|error| {
        let rule = if matches!(error, FileError::TooMany { .. }) { &TOO_MANY } else { &UNREADABLE };
        failures.add(rule, Place::default(), format!("the run directory: {error}"));
        Vec::new()
    });
    for entry in &entries {
        let what = match entry.kind {
            FileKind::Regular | FileKind::Folder => continue,
            FileKind::Link => "a symbolic link",
            FileKind::Special => "a pipe, a socket or a device",
        };
        failures.add(&NOT_REGULAR, Place::file(&entry.path), what);
    }
    Entries(entries.into_iter().map(|entry| (entry.path, entry.kind)).collect())
}

impl Entries {
    /// Tells what the manifest does not list.
    pub(super) fn tell_unlisted(&self, listed: &BTreeSet<String>, failures: &mut Failures) {
        for (path, kind) in &self.0 {
            let is_later = path == LATER_REPORT || path.starts_with(LATER_FOLDER);
            let place = Place::file(path);
            match kind {
                FileKind::Regular if path == MANIFEST || listed.contains(path) => {}
                FileKind::Regular if is_later => {
                    failures.add(&AFTER_SEAL, place, AFTER_SEAL.finds);
                }
                FileKind::Folder if is_later || is_way(path, listed) => {}
                FileKind::Regular | FileKind::Folder => {
                    failures.add(&UNLISTED, place, UNLISTED.finds);
                }
                // Told already.
                FileKind::Link | FileKind::Special => {}
            }
        }
    }
}

/// Whether a folder is one that runs have, or leads to a file that is listed.
fn is_way(path: &str, listed: &BTreeSet<String>) -> bool {
    let below = format!("{path}/");
    let next = listed.range(below.clone()..).next();
    FOLDERS.contains(&path) || next.is_some_and(|next| next.starts_with(&below))
}
