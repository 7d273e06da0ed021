//! What an auditor may ask of a run directory. The caller does the I/O.

use std::collections::BTreeMap;
use std::io::{self, Read};

/// The files of one run directory. Paths are relative, with `/`, and were never resolved through a
/// link: an implementation opens every component without following links, and refuses what is not a
/// regular file without waiting for it.
pub trait RunFiles: Sync {
    /// Everything below the directory, links and special files included, in any order.
    ///
    /// # Errors
    /// [`FileError`] if the directory cannot be read, or holds more entries than the caller allows.
    fn list(&self) -> Result<Vec<FileEntry>, FileError>;

    /// A file as a stream.
    ///
    /// # Errors
    /// [`FileError`] if it is absent, not a regular file, or cannot be opened.
    fn open(&self, path: &str) -> Result<Box<dyn Read + Send + '_>, FileError>;

    /// A file whole, in the place of what `into` held.
    ///
    /// # Errors
    /// As [`RunFiles::open`]; [`FileError::TooLarge`] beyond `max_bytes`.
    fn read(&self, path: &str, max_bytes: u64, into: &mut Vec<u8>) -> Result<(), FileError> {
        into.clear();
        let mut limited = self.open(path)?.take(max_bytes.saturating_add(1));
        limited.read_to_end(into).map_err(|error| FileError::Io(error.to_string()))?;
        match into.len() as u64 > max_bytes {
            true => Err(FileError::TooLarge { max_bytes }),
            false => Ok(()),
        }
    }
}

/// One entry of a run directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileEntry {
    /// Its path within the directory.
    pub path: String,
    /// What it is, itself: a link is a link.
    pub kind: FileKind,
}

/// What an entry of a directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    /// A regular file.
    Regular,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A pipe, a socket, a device.
    Special,
}

/// A file could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// There is none.
    #[error("there is no such file")]
    Missing,
    /// It is not a regular file, or the way to it leads through a link.
    #[error("it is no regular file: {0:?}")]
    NotRegular(FileKind),
    /// It is larger than is read.
    #[error("it is larger than the {max_bytes} bytes that are read")]
    TooLarge {
        /// The bound.
        max_bytes: u64,
    },
    /// There is more of something than the caller looks at.
    #[error("more than {max} {what}, which is as many as are looked at")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// The bound.
        max: u64,
    },
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Io(String),
}

/// A run directory in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryFiles {
    /// Bytes by path.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Entries that are not regular files.
    pub others: BTreeMap<String, FileKind>,
}

impl RunFiles for MemoryFiles {
    fn list(&self) -> Result<Vec<FileEntry>, FileError> {
        let regular = self.files.keys().map(|path| (path, FileKind::Regular));
        let others = self.others.iter().map(|(path, kind)| (path, *kind));
        Ok(regular
            .chain(others)
            .map(|(path, kind)| FileEntry { path: path.clone(), kind })
            .collect())
    }

    fn open(&self, path: &str) -> Result<Box<dyn Read + Send + '_>, FileError> {
        if let Some(kind) = self.others.get(path) {
            return Err(FileError::NotRegular(*kind));
        }
        let bytes = self.files.get(path).ok_or(FileError::Missing)?;
        Ok(Box::new(io::Cursor::new(bytes.as_slice())))
    }
}
