//! A run directory that counts what is read of it, so that somebody can be shown how far it is.

use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};

use probity_trace::{FileEntry, FileError, RunFiles};

use crate::run_folder::RunFolder;

/// The files, and where their bytes are counted.
pub(super) struct Counted<'a> {
    pub(super) folder: RunFolder,
    pub(super) bytes_read: &'a AtomicU64,
}

impl RunFiles for Counted<'_> {
    fn list(&self) -> Result<Vec<FileEntry>, FileError> {
        self.folder.list()
    }

    fn open(&self, path: &str) -> Result<Box<dyn Read + Send + '_>, FileError> {
        let file = self.folder.open(path)?;
        Ok(Box::new(Stream { file, bytes_read: self.bytes_read }))
    }

    fn read(&self, path: &str, max_bytes: u64, into: &mut Vec<u8>) -> Result<(), FileError> {
        self.folder.read(path, max_bytes, into)?;
        self.bytes_read.fetch_add(into.len() as u64, Ordering::Relaxed);
        Ok(())
    }
}

struct Stream<'a> {
    file: Box<dyn Read + Send + 'a>,
    bytes_read: &'a AtomicU64,
}

impl Read for Stream<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(into)?;
        self.bytes_read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
