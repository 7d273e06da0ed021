//! The files of a folder of `.probity/`.

use std::path::{Path, PathBuf};

use probity_core::Digest;
use probity_record::blob_digest;

use super::ProjectError;

/// The most files of one folder.
const MAX_FILES: usize = 1000;
/// The longest file, in bytes.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// A file that was read.
#[derive(Debug, Clone)]
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
}

impl File {
    /// Name and content, as a project is trusted by.
    pub(super) fn digest(&self, root: &Path) -> Digest {
        let key = self.path.strip_prefix(root).unwrap_or(&self.path);
        blob_digest(&[key.as_os_str().as_encoded_bytes(), b"\0", &self.bytes].concat())
    }

    /// The file's name as messages give it.
    pub(super) fn label(&self) -> String {
        self.path.display().to_string()
    }

    /// The name without its ending.
    pub(super) fn stem(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The content as text.
    ///
    /// # Errors
    /// [`ProjectError::File`] if it is not UTF-8.
    pub(super) fn text(&self) -> Result<&str, ProjectError> {
        std::str::from_utf8(&self.bytes).map_err(|error| ProjectError::File {
            path: self.path.clone(),
            source: std::io::Error::new(std::io::ErrorKind::InvalidData, error),
        })
    }
}

/// Reads the files of a folder that have one of the endings, by name; none where there is no folder.
///
/// # Errors
/// [`ProjectError::File`] if one cannot be read, is no regular file, or is too long;
/// [`ProjectError::TooMany`].
pub(super) fn files(folder: &Path, endings: &[&str]) -> Result<Vec<File>, ProjectError> {
    let failed = |path: &Path, source| ProjectError::File { path: path.to_path_buf(), source };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(folder, error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| failed(folder, error))?.path();
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if endings.contains(&ending) {
            paths.push(path);
        }
        if paths.len() > MAX_FILES {
            return Err(ProjectError::TooMany { path: folder.to_path_buf(), max: MAX_FILES });
        }
    }
    paths.sort();
    paths.into_iter().map(|path| read(&path).map(|bytes| File { path, bytes })).collect()
}

/// Reads one file.
///
/// # Errors
/// [`ProjectError::File`].
pub(super) fn read(path: &Path) -> Result<Vec<u8>, ProjectError> {
    read_up_to(path, MAX_FILE_BYTES)
}

/// Reads one file of at most so many bytes.
///
/// # Errors
/// [`ProjectError::File`].
pub(super) fn read_up_to(path: &Path, max_bytes: u64) -> Result<Vec<u8>, ProjectError> {
    let failed = |source| ProjectError::File { path: path.to_path_buf(), source };
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if !metadata.is_file() {
        return Err(failed(std::io::Error::other("it is no regular file")));
    }
    if metadata.len() > max_bytes {
        let message = format!("it is larger than {max_bytes} bytes");
        return Err(failed(std::io::Error::other(message)));
    }
    std::fs::read(path).map_err(failed)
}
