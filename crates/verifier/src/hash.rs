//! SHA-256 of what is read, with a bound.

use std::fs::File;
use std::io::{self, Read};

use probity_core::Digest;
use rustix::fs::FileType;
use sha2::{Digest as _, Sha256};

use crate::workspace::Kind;

/// Bytes between two looks at the caller's wish to go on.
const BUFFER_BYTES: usize = 32 * 1024;

pub(crate) fn digest_of(bytes: &[u8]) -> Digest {
    Digest::from_bytes(Sha256::digest(bytes).into())
}

/// Digest and length of everything that `file` gives; `None` when that is more than `max_bytes`.
/// `go_on` is asked between two buffers; once it says no, the read ends with
/// [`io::ErrorKind::Interrupted`].
pub(crate) fn hash_reader(
    mut file: &File,
    max_bytes: u64,
    go_on: &mut dyn FnMut() -> bool,
) -> io::Result<Option<(Digest, u64)>> {
    let mut hasher = Sha256::new();
    let mut length = 0_u64;
    let mut buffer = [0_u8; BUFFER_BYTES];
    loop {
        let count = match file.read(&mut buffer) {
            Ok(0) => return Ok(Some((Digest::from_bytes(hasher.finalize().into()), length))),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        length = length.saturating_add(count as u64);
        if length > max_bytes {
            return Ok(None);
        }
        hasher.update(buffer.get(..count).unwrap_or_default());
        if !go_on() {
            return Err(io::ErrorKind::Interrupted.into());
        }
    }
}

pub(crate) fn kind_of_mode(mode: u32) -> Kind {
    kind_of_type(FileType::from_raw_mode(mode))
}

pub(crate) fn kind_of_type(file_type: FileType) -> Kind {
    match file_type {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Dir,
        FileType::Symlink => Kind::Symlink,
        _ => Kind::Other,
    }
}
