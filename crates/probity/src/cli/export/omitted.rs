//! Content that is to be left out by its digest: a digest that names none would leave it in unseen.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use probity_audit::bundle::{ContentState, MAX_MANIFEST_BYTES};
use probity_core::Digest;
use serde::Deserialize;

use crate::cli::CliError;

/// Where the container says how long its first entry is, and where that begins.
const SIZE_AT: u64 = 124;
const SIZE_DIGITS: usize = 11;
const ENTRY_AT: u64 = 512;

/// The parts of a manifest that say what became of content.
#[derive(Deserialize)]
struct Manifest {
    proof: Proof,
    content: Vec<Item>,
}

#[derive(Deserialize)]
struct Proof {
    content: Vec<Named>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
    sha256: Digest,
}

#[derive(Deserialize)]
struct Item {
    name: String,
    state: ContentState,
}

/// Reads digests.
///
/// # Errors
/// [`CliError::Usage`] for what is none.
pub(super) fn parse(texts: &[String]) -> Result<BTreeSet<Digest>, CliError> {
    let digest = |text: &String| {
        text.parse().map_err(|_| {
            CliError::Usage(format!("--omit `{text}` is no SHA-256: 64 lower-case hex digits"))
        })
    };
    texts.iter().map(digest).collect()
}

/// Refuses a bundle that was written with one of the digests left in, or not in it at all.
///
/// # Errors
/// [`CliError::NotOmitted`].
pub(super) fn check(bundle: &File, omitted: &BTreeSet<Digest>) -> Result<(), CliError> {
    if omitted.is_empty() {
        return Ok(());
    }
    let failed = |source| CliError::Io { what: "read the bundle that was written", source };
    let manifest = manifest(bundle).map_err(failed)?;
    for digest in omitted {
        let mut named = manifest.proof.content.iter().filter(|named| named.sha256 == *digest);
        let is_out = |named: &Named| {
            let item = manifest.content.iter().find(|item| item.name == named.name);
            item.is_some_and(|item| item.state != ContentState::Included)
        };
        let first = named.next();
        if !first.into_iter().chain(named).all(is_out) || first.is_none() {
            return Err(CliError::NotOmitted { digest: *digest });
        }
    }
    Ok(())
}

/// The manifest of a bundle that was just written: its first entry.
fn manifest(bundle: &File) -> io::Result<Manifest> {
    let mut digits = [0; SIZE_DIGITS];
    bundle.read_exact_at(&mut digits, SIZE_AT)?;
    let bytes = std::str::from_utf8(&digits)
        .ok()
        .and_then(|digits| u64::from_str_radix(digits, 8).ok())
        .filter(|bytes| *bytes <= MAX_MANIFEST_BYTES)
        .and_then(|bytes| usize::try_from(bytes).ok())
        .ok_or_else(|| io::Error::other("its first entry has no size"))?;
    let mut text = vec![0; bytes];
    bundle.read_exact_at(&mut text, ENTRY_AT)?;
    Ok(serde_json::from_slice(&text)?)
}
