//! Reading directories by handle: one name at a time, no link followed.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::{Kind, PathError};
use crate::hash::{kind_of_mode, kind_of_type};

/// Folders inside folders that a walk goes down. A walk holds one handle for each.
pub(crate) const MAX_DEPTH: usize = 256;

/// Why the names of a directory could not be read.
#[derive(Debug)]
pub(crate) enum ReadNamesError {
    TooMany,
    Io(Errno),
}

impl ReadNamesError {
    pub(crate) fn into_path_error(self, key: &str, max: usize) -> PathError {
        let path = if key.is_empty() { ".".to_owned() } else { key.to_owned() };
        match self {
            Self::TooMany => PathError::TooMany { path, max },
            Self::Io(Errno::ACCESS | Errno::PERM) => PathError::Denied { path },
            Self::Io(errno) => PathError::Io { path, source: io::Error::from(errno) },
        }
    }
}

/// Names and kinds in an open directory, in no order. A name that vanishes meanwhile is left out.
pub(crate) fn read_names(
    dir: BorrowedFd<'_>,
    max_entries: usize,
) -> Result<Vec<(OsString, Kind)>, ReadNamesError> {
    let mut names = Vec::new();
    // A handle of its own: the given one may be good for paths only, and has an offset to keep.
    let handle = open_dir(dir, OsStr::new(".")).map_err(ReadNamesError::Io)?;
    for entry in Dir::new(handle).map_err(ReadNamesError::Io)? {
        let entry = entry.map_err(ReadNamesError::Io)?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let kind = match entry.file_type() {
            // Some file systems do not say it in the listing.
            FileType::Unknown => match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => kind_of_mode(stat.st_mode),
                Err(Errno::NOENT) => continue,
                Err(errno) => return Err(ReadNamesError::Io(errno)),
            },
            known => kind_of_type(known),
        };
        if names.len() >= max_entries {
            return Err(ReadNamesError::TooMany);
        }
        names.push((name.to_owned(), kind));
    }
    Ok(names)
}

/// Opens the directory `name` in `dir`; a link is refused, not followed.
pub(crate) fn open_dir(dir: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(dir, name, flags, Mode::empty())
}
