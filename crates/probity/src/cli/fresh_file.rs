//! A file that is there whole or not at all, and never in the place of another.

use std::fs::{File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use super::CliError;

/// What a new file may be, before the user's mask.
const MODE: u32 = 0o666;

/// A file in the making: under another name in the same folder, and gone if it is not kept.
#[derive(Debug)]
pub(super) struct FreshFile {
    target: PathBuf,
    held: TempPath,
}

impl FreshFile {
    /// Begins a file, and gives what it is written through.
    ///
    /// # Errors
    /// [`CliError::Usage`] if something of that name is there, [`CliError::Write`] if the folder
    /// takes no file.
    pub(super) fn begin(target: &Path) -> Result<(Self, File), CliError> {
        refuse_existing(target)?;
        let held = tempfile::Builder::new()
            .prefix(".probity-")
            .permissions(Permissions::from_mode(MODE))
            .tempfile_in(folder_of(target))
            .map_err(|source| CliError::Write { path: target.to_path_buf(), source })?;
        let (file, held) = held.into_parts();
        Ok((Self { target: target.to_path_buf(), held }, file))
    }

    /// Puts the file under its name, when its bytes are durable.
    ///
    /// # Errors
    /// As [`FreshFile::begin`].
    pub(super) fn keep(self, file: &File) -> Result<(), CliError> {
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::AlreadyExists => existing(&self.target),
            _ => CliError::Write { path: self.target.clone(), source },
        };
        file.sync_all().map_err(failed)?;
        self.held.persist_noclobber(&self.target).map_err(|error| failed(error.error))?;
        // The name, too, is to outlive a crash.
        File::open(folder_of(&self.target)).and_then(|folder| folder.sync_all()).map_err(failed)
    }
}

/// Writes a file at once.
///
/// # Errors
/// As [`FreshFile::begin`].
pub(super) fn write(target: &Path, bytes: &[u8]) -> Result<(), CliError> {
    let (fresh, mut file) = FreshFile::begin(target)?;
    file.write_all(bytes)
        .map_err(|source| CliError::Write { path: target.to_path_buf(), source })?;
    fresh.keep(&file)
}

/// Refuses a name that is taken, by a link that leads nowhere too.
///
/// # Errors
/// [`CliError::Usage`].
pub(super) fn refuse_existing(target: &Path) -> Result<(), CliError> {
    match target.symlink_metadata() {
        Ok(_) => Err(existing(target)),
        Err(_) => Ok(()),
    }
}

fn existing(target: &Path) -> CliError {
    CliError::Usage(format!("`{}` exists; name another file", target.display()))
}

fn folder_of(target: &Path) -> &Path {
    match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_is_there_when_it_is_kept_and_leaves_nothing_when_it_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out");
        let (fresh, mut file) = FreshFile::begin(&target).unwrap();
        file.write_all(b"half").unwrap();
        assert!(!target.exists() && names(folder.path()).len() == 1);
        drop(fresh);
        assert_eq!(names(folder.path()), [""; 0]);
        write(&target, b"whole").unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"whole");
        assert_eq!(names(folder.path()), ["out"]);
    }

    #[test]
    fn nothing_is_overwritten_not_even_what_came_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out");
        let (fresh, file) = FreshFile::begin(&target).unwrap();
        std::fs::write(&target, "theirs").unwrap();
        assert!(matches!(fresh.keep(&file), Err(CliError::Usage(_))));
        assert!(matches!(write(&target, b"ours"), Err(CliError::Usage(_))));
        assert_eq!(std::fs::read(&target).unwrap(), b"theirs");
        assert_eq!(names(folder.path()), ["out"]);
        std::os::unix::fs::symlink("nowhere", folder.path().join("link")).unwrap();
        assert!(matches!(write(&folder.path().join("link"), b""), Err(CliError::Usage(_))));
    }
}
