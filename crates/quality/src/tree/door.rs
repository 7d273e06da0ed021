//! One open folder and everything below it, reached name by name and never through a link.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, Timespec, Timestamps, fchmod, fstat, futimens,
    mkdirat, openat, readlinkat, renameat, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::{PRIVATE, Seen};

/// Folders in folders.
const MAX_DEPTH: usize = 256;
/// Names in one folder.
const MAX_NAMES: usize = 1_000_000;
const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// An open folder.
#[derive(Debug)]
pub(super) struct Door(OwnedFd);

impl Door {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(openat(CWD, path, FOLDER, Mode::empty())?))
    }

    /// The folder at a path; the door itself for the empty one.
    pub(super) fn enter(&self, path: &str) -> io::Result<OwnedFd> {
        let mut folder = self.0.try_clone()?;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            folder = openat(&folder, name, FOLDER, Mode::empty())?;
        }
        Ok(folder)
    }

    fn parent<'a>(&self, path: &'a str) -> io::Result<(OwnedFd, &'a str)> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        if name.is_empty() || name == "." || name == ".." {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok((self.enter(folder)?, name))
    }

    /// What stands at a path; none where nothing does.
    pub(super) fn stat(&self, path: &str) -> io::Result<Option<Stat>> {
        let (folder, name) = match self.parent(path) {
            Err(error) if is_absent(&error) => return Ok(None),
            parent => parent?,
        };
        match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// A regular file, open for reading; none where something else stands there. Never waits for a writer.
    pub(super) fn file(&self, path: &str) -> io::Result<Option<(File, Stat)>> {
        let (folder, name) = self.parent(path)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&folder, name, flags | OFlags::NOCTTY, Mode::empty())?;
        let stat = fstat(&file)?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        Ok(is_file.then(|| (File::from(file), stat)))
    }

    pub(super) fn read(&self, path: &str, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
        let Some((file, _)) = self.file(path)? else { return Ok(None) };
        let mut bytes = Vec::new();
        file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
        Ok((bytes.len() as u64 <= max_bytes).then_some(bytes))
    }

    pub(super) fn create(
        &self,
        path: &str,
        bytes: &[u8],
        mode: u32,
        modified_s: i64,
    ) -> io::Result<()> {
        let mut file = self.fresh(path)?;
        file.write_all(bytes)?;
        finish(&file, mode, (modified_s, 0))
    }

    /// Makes a file hold what another one holds, up to a bound; its length.
    pub(super) fn create_from(
        &self,
        path: &str,
        source: &File,
        max_bytes: u64,
        mode: u32,
        modified: (i64, i64),
    ) -> io::Result<u64> {
        let mut file = self.fresh(path)?;
        // Shared blocks where the file system has them: no bytes are read.
        let copied = match rustix::fs::ioctl_ficlone(&file, source) {
            Ok(()) => file.metadata()?.len(),
            Err(_) => io::copy(&mut source.take(max_bytes.saturating_add(1)), &mut file)?,
        };
        finish(&file, mode, modified)?;
        Ok(copied)
    }

    fn fresh(&self, path: &str) -> io::Result<File> {
        let (folder, name) = self.parent(path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let file = openat(&folder, name, flags | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)?;
        Ok(File::from(file))
    }

    pub(super) fn folder(&self, path: &str) -> io::Result<()> {
        let (folder, name) = self.parent(path)?;
        Ok(mkdirat(&folder, name, PRIVATE)?)
    }

    pub(super) fn link(&self, path: &str, target: &Path) -> io::Result<()> {
        let (folder, name) = self.parent(path)?;
        Ok(symlinkat(target, &folder, name)?)
    }

    pub(super) fn target(&self, path: &str) -> io::Result<PathBuf> {
        use std::os::unix::ffi::OsStringExt as _;
        let (folder, name) = self.parent(path)?;
        let target = readlinkat(&folder, name, Vec::new())?;
        Ok(PathBuf::from(std::ffi::OsString::from_vec(target.into_bytes())))
    }

    pub(super) fn rename(&self, path: &str, to: &str) -> io::Result<()> {
        let ((folder, name), (other, new)) = (self.parent(path)?, self.parent(to)?);
        Ok(renameat(&folder, name, &other, new)?)
    }

    pub(super) fn chmod(&self, path: &str, mode: u32) -> io::Result<()> {
        match self.file(path)? {
            Some((file, _)) => Ok(fchmod(&file, Mode::from_raw_mode(mode))?),
            None => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// A folder gets its bits; its owner may always write into it, so that the copy can be put right.
    pub(super) fn chmod_folder(&self, path: &str, mode: u32) -> io::Result<()> {
        let folder = self.enter(path)?;
        Ok(fchmod(&folder, Mode::from_raw_mode(mode) | PRIVATE)?)
    }

    pub(super) fn touch(&self, path: &str, modified_s: i64) -> io::Result<()> {
        match self.file(path)? {
            Some((file, _)) => set_modified(&file, (modified_s, 0)),
            None => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// Takes away whatever stands at a path.
    pub(super) fn clear(&self, path: &str) -> io::Result<()> {
        match self.parent(path) {
            Err(error) if is_absent(&error) => Ok(()),
            parent => {
                let (folder, name) = parent?;
                clear_at(folder.as_fd(), Path::new(name), 0)
            }
        }
    }

    /// Takes away everything in the folder.
    pub(super) fn empty(&self) -> io::Result<()> {
        for name in names(self.0.try_clone()?)? {
            clear_at(self.0.as_fd(), &name, 0)?;
        }
        Ok(())
    }

    /// The names in a folder, sorted.
    pub(super) fn names(&self, path: &str) -> io::Result<Vec<PathBuf>> {
        names(self.enter(path)?)
    }
}

impl Seen {
    pub(super) fn of(stat: &Stat) -> Self {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Self::Folder { mode: stat.st_mode & 0o7777 },
            FileType::RegularFile => Self::File {
                inode: stat.st_ino,
                size: u64::try_from(stat.st_size).unwrap_or(0),
                modified: modified(stat),
                changed: (stat.st_ctime, i64::try_from(stat.st_ctime_nsec).unwrap_or(0)),
                mode: stat.st_mode & 0o7777,
            },
            _ => Self::Other(stat.st_ino),
        }
    }
}

/// When the content was changed last, in seconds and nanoseconds.
pub(super) fn modified(stat: &Stat) -> (i64, i64) {
    (stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or(0))
}

fn finish(file: &File, mode: u32, modified: (i64, i64)) -> io::Result<()> {
    fchmod(file, Mode::from_raw_mode(mode))?;
    set_modified(file, modified)
}

fn set_modified(file: &File, (tv_sec, tv_nsec): (i64, i64)) -> io::Result<()> {
    let time = Timespec { tv_sec, tv_nsec };
    Ok(futimens(file, &Timestamps { last_access: time, last_modification: time })?)
}

fn clear_at(folder: BorrowedFd<'_>, name: &Path, depth: usize) -> io::Result<()> {
    if depth > MAX_DEPTH {
        return Err(io::Error::other("folders lie too deep in each other"));
    }
    match unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(errno) => return Err(errno.into()),
    }
    let inner = match openat(folder, name, FOLDER, Mode::empty()) {
        Err(Errno::ACCESS) => {
            rustix::fs::chmodat(folder, name, PRIVATE, AtFlags::empty())?;
            openat(folder, name, FOLDER, Mode::empty())?
        }
        inner => inner?,
    };
    fchmod(&inner, PRIVATE)?;
    for child in names(inner.try_clone()?)? {
        clear_at(inner.as_fd(), &child, depth.saturating_add(1))?;
    }
    Ok(unlinkat(folder, name, AtFlags::REMOVEDIR)?)
}

fn names(folder: OwnedFd) -> io::Result<Vec<PathBuf>> {
    use std::os::unix::ffi::OsStrExt as _;
    // A handle of its own: reading moves on in it.
    let own = openat(&folder, ".", FOLDER, Mode::empty())?;
    let mut names = Vec::new();
    for entry in Dir::new(own)? {
        let entry = entry?;
        let name: &CStr = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        if names.len() >= MAX_NAMES {
            return Err(io::Error::other("a folder holds too many names"));
        }
        names.push(PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes())));
    }
    names.sort();
    Ok(names)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || error.raw_os_error() == Some(Errno::LOOP.raw_os_error())
}
