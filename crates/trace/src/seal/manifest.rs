//! `manifest.json`: the hash of every file.

use std::collections::BTreeSet;
use std::io::Read as _;

use probity_report::{Failures, Place, Rule, pointer};
use sha2::{Digest as _, Sha256};

use crate::model::TRACE;
use crate::read::UNREADABLE;
use crate::tape::{Kind, Tape};
use crate::{FileError, RunFiles};

use super::document::{Desk, Form, tell_unread, text_of};
use super::folder::Entries;
use super::{MISSING, TraceSums};

/// Name of the manifest in a run directory. It lists every file but itself.
pub(crate) const MANIFEST: &str = "manifest.json";

/// About a million files.
const MAX_BYTES: u64 = 256 << 20;

/// Files that every sealed run has; each must be listed.
const CORE: [&str; 5] = ["fingerprint.txt", "plan.json", "run_meta.json", "spec.json", TRACE];

const CHECK: &str = "seal";

pub(super) static HASH: Rule = Rule::error(
    "trace_manifest_hash",
    CHECK,
    "a file with another hash than the manifest gives it",
);
pub(super) static PATH: Rule =
    Rule::error("trace_manifest_path", CHECK, "a path of the manifest that leads out or around");
pub(super) static ABSENT: Rule =
    Rule::error("trace_manifest_absent", CHECK, "a file that the manifest lists is not there");
pub(super) static CORE_UNLISTED: Rule = Rule::error(
    "trace_manifest_core",
    CHECK,
    "a file that every sealed run has is not in the manifest",
);

/// Holds the files against the manifest, and the manifest against the files.
pub(super) fn check(
    files: &dyn RunFiles,
    sums: &TraceSums,
    entries: &Entries,
    failures: &mut Failures,
) {
    let Some(text) = text_of(files, MANIFEST, MAX_BYTES, &MISSING, failures) else { return };
    // The report names the digest that was made before the audit.
    let sha256: [u8; 32] = Sha256::digest(&text).into();
    if sums.known.get(MANIFEST).is_some_and(|known| known != sha256) {
        failures.add(&UNREADABLE, Place::file(MANIFEST), "it changed while it was audited");
    }
    let mut tape = Tape::default();
    let mut desk = Desk::new(MANIFEST, failures);
    let Some(root) = desk.read(&mut tape, &text, Form::Line) else { return };
    if desk.one_of(root, format_args!(""), &[Kind::Object]).is_none() {
        return;
    }
    let mut listed = BTreeSet::new();
    for member in root.members() {
        let path = member.key().into_owned();
        let key = pointer(&path);
        let mut desk = Desk::new(MANIFEST, failures);
        let right = desk.digest(member.value, format_args!("{key}"));
        if !is_plain(&path) {
            desk.add(&PATH, member.value, format_args!("{key}"), PATH.finds);
        } else if let Some(right) = right {
            check_file(files, sums, &path, right, failures);
        }
        listed.insert(path);
    }
    for path in CORE.into_iter().filter(|path| !listed.contains(*path)) {
        failures.add(&CORE_UNLISTED, Place::file(MANIFEST), format!("`{path}` is not listed"));
    }
    entries.tell_unlisted(&listed, failures);
}

fn check_file(
    files: &dyn RunFiles,
    sums: &TraceSums,
    path: &str,
    right: [u8; 32],
    failures: &mut Failures,
) {
    let found = match sums.known.get(path) {
        _ if path == TRACE => Ok(sums.file_sha256.clone()),
        Some(known) => Ok(hex::encode(known)),
        None => sha256_of(files, path).map(hex::encode),
    };
    match found {
        Ok(found) if found == hex::encode(right) => {}
        Ok(found) => failures.differs(&HASH, Place::file(path), hex::encode(right), found),
        Err(error) => tell_unread(path, &error, &ABSENT, failures),
    }
}

/// The hash of a file, read in pieces.
pub(crate) fn sha256_of(files: &dyn RunFiles, path: &str) -> Result<[u8; 32], FileError> {
    let mut file = files.open(path)?;
    let mut hash = Sha256::new();
    let mut piece = vec![0; 64 << 10];
    loop {
        let count = match file.read(&mut piece) {
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(FileError::Io(error.to_string())),
        };
        match piece.get(..count) {
            Some([]) | None => return Ok(hash.finalize().into()),
            Some(bytes) => hash.update(bytes),
        }
    }
}

/// Whether a path is made of plain names only, so that it names one file in one way.
fn is_plain(path: &str) -> bool {
    let is_name = |name: &str| !matches!(name, "" | "." | "..");
    path.split('/').all(is_name) && !path.contains(['\\', '\0'])
}
