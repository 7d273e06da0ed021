//! A file that is there whole or not at all, and never in the place of another.

use std::fs::{File, Permissions};
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};
use tempfile::TempPath;

use super::CliError;

/// What a new file may be, before the user's mask.
const MODE: u32 = 0o666;

/// A file in the making, in the folder where it is to stand, and gone if it is not kept.
#[derive(Debug)]
pub(super) struct FreshFile {
    target: PathBuf,
    held: Held,
}

#[derive(Debug)]
enum Held {
    /// It has no name yet, so nothing that ends this process can leave it behind.
    Nameless,
    /// Under another name, where the file system gives no nameless files.
    Named(TempPath),
}

impl FreshFile {
    /// Begins a file, and gives what it is written through.
    ///
    /// # Errors
    /// [`CliError::Usage`] if something of that name is there, [`CliError::Write`] if the folder
    /// takes no file.
    pub(super) fn begin(target: &Path) -> Result<(Self, File), CliError> {
        refuse_existing(target)?;
        if let Some(file) = nameless(folder_of(target)) {
            return Ok((Self { target: target.to_path_buf(), held: Held::Nameless }, file));
        }
        Self::begin_named(target)
    }

    fn begin_named(target: &Path) -> Result<(Self, File), CliError> {
        let held = tempfile::Builder::new()
            .prefix(".probity-")
            .permissions(Permissions::from_mode(MODE))
            .tempfile_in(folder_of(target))
            .map_err(|source| CliError::Write { path: target.to_path_buf(), source })?;
        let (file, held) = held.into_parts();
        Ok((Self { target: target.to_path_buf(), held: Held::Named(held) }, file))
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
        match self.held {
            Held::Nameless => {
                linkat(CWD, way_to(file), CWD, &self.target, AtFlags::SYMLINK_FOLLOW)
                    .map_err(|error| failed(error.into()))?;
            }
            Held::Named(held) => {
                held.persist_noclobber(&self.target).map_err(|error| failed(error.error))?;
            }
        }
        // The name, too, is to outlive a crash.
        File::open(folder_of(&self.target)).and_then(|folder| folder.sync_all()).map_err(failed)
    }
}

/// A file without a name, where the file system has such and it can be given one later.
fn nameless(folder: &Path) -> Option<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = File::from(open(folder, flags, Mode::from_raw_mode(MODE)).ok()?);
    way_to(&file).exists().then_some(file)
}

/// The one path that leads to a file without a name.
fn way_to(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
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
        for begin in [FreshFile::begin, FreshFile::begin_named] {
            let (fresh, mut file) = begin(&target).unwrap();
            file.write_all(b"half").unwrap();
            let expected = usize::from(matches!(fresh.held, Held::Named(_)));
            assert!(!target.exists() && names(folder.path()).len() == expected);
            drop((fresh, file));
            assert_eq!(names(folder.path()), [""; 0]);
        }
        write(&target, b"whole").unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"whole");
        assert_eq!(names(folder.path()), ["out"]);
    }

    #[test]
    fn a_kept_file_is_as_readable_as_the_mask_lets_it_be() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        File::create(at("plain")).unwrap();
        for (name, begin) in
            [("one", FreshFile::begin as fn(&Path) -> _), ("two", FreshFile::begin_named)]
        {
            let (fresh, file) = begin(&at(name)).unwrap();
            fresh.keep(&file).unwrap();
            let mode = |name: &str| at(name).metadata().unwrap().permissions().mode();
            assert_eq!(mode(name), mode("plain"), "{name}");
        }
    }

    #[test]
    fn nothing_is_overwritten_not_even_what_came_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out");
        for begin in [FreshFile::begin, FreshFile::begin_named] {
            let (fresh, file) = begin(&target).unwrap();
            std::fs::write(&target, "theirs").unwrap();
            assert!(matches!(fresh.keep(&file), Err(CliError::Usage(_))));
            std::fs::remove_file(&target).unwrap();
        }
        std::fs::write(&target, "theirs").unwrap();
        assert!(matches!(write(&target, b"ours"), Err(CliError::Usage(_))));
        assert_eq!(std::fs::read(&target).unwrap(), b"theirs");
        assert_eq!(names(folder.path()), ["out"]);
        std::os::unix::fs::symlink("nowhere", folder.path().join("link")).unwrap();
        assert!(matches!(write(&folder.path().join("link"), b""), Err(CliError::Usage(_))));
    }
}
