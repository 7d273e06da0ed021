//! Files of a run that are read whole.

use std::io::Read as _;

use probity_report::{Failures, Place};
use sha2::{Digest as _, Sha256};

use crate::read::{FILE_TOO_LARGE, NOT_UTF8, UNREADABLE};
use crate::{FileError, RunFiles};

/// A file of text.
pub(super) struct Document {
    pub(super) text: String,
    pub(super) sha256: [u8; 32],
}

/// Reads a file of text. `None` if it cannot be read, which is told.
pub(super) fn read(
    files: &dyn RunFiles,
    path: &str,
    max_bytes: u64,
    failures: &mut Failures,
) -> Option<Document> {
    let mut bytes = Vec::new();
    if let Err(error) = files.read(path, max_bytes, &mut bytes) {
        tell(path, &error, failures);
        return None;
    }
    let sha256 = Sha256::digest(&bytes).into();
    match String::from_utf8(bytes) {
        Ok(text) => Some(Document { text, sha256 }),
        Err(error) => {
            let at = error.utf8_error().valid_up_to() as u64;
            let place = Place::file(path).bytes(at, at.saturating_add(1));
            failures.add(&NOT_UTF8, place, NOT_UTF8.finds);
            None
        }
    }
}

/// The SHA-256 of a file; `None` if it cannot be read or is larger.
pub(super) fn digest(files: &dyn RunFiles, path: &str, max_bytes: u64) -> Option<[u8; 32]> {
    let mut input = files.open(path).ok()?.take(max_bytes.saturating_add(1));
    let mut sha256 = Sha256::new();
    let mut buffer = Vec::new();
    let mut length = 0_u64;
    loop {
        buffer.clear();
        let read = input.by_ref().take(PIECE_BYTES).read_to_end(&mut buffer).ok()?;
        if read == 0 {
            break;
        }
        length = length.saturating_add(read as u64);
        sha256.update(&buffer);
    }
    (length <= max_bytes).then(|| sha256.finalize().into())
}

/// The bytes that are read at a time.
const PIECE_BYTES: u64 = 256 << 10;

/// Tells a file that cannot be read.
pub(super) fn tell(path: &str, error: &FileError, failures: &mut Failures) {
    let rule = match error {
        FileError::TooLarge { .. } | FileError::TooMany { .. } => &FILE_TOO_LARGE,
        FileError::Missing | FileError::NotRegular(_) | FileError::Io(_) => &UNREADABLE,
    };
    failures.add(rule, Place::file(path), error.to_string());
}
