//! The one door to the files of a workspace: every path is resolved beneath one open directory
//! handle, so nothing outside can be read and nothing can be swapped between check and use.

mod error;
mod glob;
mod key;
mod walk;
mod write;

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;
use std::time::SystemTime;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt, OpenOptions, OpenOptionsExt};
use probity_core::Digest;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

pub use self::glob::compile_glob;
pub(crate) use self::glob::{Pattern, search};
pub use error::{PathError, WorkspaceError};
pub(crate) use key::{join, key_of_name};
pub use key::{key_of, path_of};
pub(crate) use walk::{MAX_DEPTH, ReadNamesError, read_names};
pub use write::{MAX_WRITE_BYTES, WorkspaceWriter, WriteError};

use crate::hash::{hash_reader, kind_of_mode};

/// A path that nothing can ever stand at.
const NOWHERE: &str = "/dev/null/no-workspace";

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link.
    Symlink,
    /// A FIFO, a socket or a device. Never opened.
    Other,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::File => "regular file",
            Self::Dir => "directory",
            Self::Symlink => "symbolic link",
            Self::Other => "special file",
        })
    }
}

/// What the system says about one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// What it is.
    pub kind: Kind,
    /// Bytes of a file, bytes of a link's target text; without meaning for the rest.
    pub size: u64,
    /// The permission bits, `0o7777` at most.
    pub mode: u32,
    /// Last modification. For checks that ask for a time; whether content changed is decided by
    /// content alone. `None` where the file system keeps none.
    pub modified: Option<SystemTime>,
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listed {
    /// The name as a key ([`key_of`]).
    pub name: String,
    /// What it is; a link is a link, wherever it leads.
    pub kind: Kind,
}

/// An open workspace.
///
/// Paths are relative to its root, or absolute and inside it. Everything else is an error: never
/// rewritten, never reported as absent. Links inside the workspace are followed unless a method
/// says otherwise; a link that leads out is [`PathError::Escapes`].
///
/// Every method blocks on the file system.
#[derive(Debug)]
pub struct Workspace {
    /// `None` where there is no workspace.
    dir: Option<Dir>,
    root: PathBuf,
    /// The absolute path it was opened by, where that is another spelling of `root`.
    alias: Option<PathBuf>,
    id: (u64, u64),
    /// Held by a [`WorkspaceWriter`] while it makes one change.
    writing: Mutex<()>,
}

impl Workspace {
    /// Opens the folder at an absolute path. Links on the way to it are resolved here, once.
    ///
    /// # Errors
    /// [`WorkspaceError`] when the path is relative, absent, no folder, or cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, WorkspaceError> {
        let given = path.as_ref();
        if !given.is_absolute() {
            return Err(WorkspaceError::NotAbsolute { path: key_of(given) });
        }
        let failed = |source| WorkspaceError::from_io(source, given);
        let root = given.canonicalize().map_err(failed)?;
        let dir = Dir::open_ambient_dir(&root, ambient_authority()).map_err(failed)?;
        let metadata = dir.dir_metadata().map_err(failed)?;
        Ok(Self {
            dir: Some(dir),
            alias: (given != root).then(|| given.to_path_buf()),
            id: (metadata.dev(), metadata.ino()),
            root,
            writing: Mutex::new(()),
        })
    }

    /// No workspace: for work that is done elsewhere, such as by a model that only answers. Every
    /// question about a path is [`PathError::NoWorkspace`].
    #[must_use]
    pub fn none() -> Self {
        Self {
            dir: None,
            root: PathBuf::from(NOWHERE),
            alias: None,
            id: (0, 0),
            writing: Mutex::new(()),
        }
    }

    /// Whether there is no workspace.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.dir.is_none()
    }

    /// The root: absolute, without links; a place where nothing can be, where there is no workspace. For command working directories and messages; reading
    /// goes through the methods.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Checks that the folder at [`Workspace::root`] is still the one that was opened.
    ///
    /// # Errors
    /// [`PathError::Moved`] when it was renamed, removed or replaced.
    pub fn check_root(&self) -> Result<(), PathError> {
        use std::os::unix::fs::MetadataExt as _;
        self.dir()?;
        match std::fs::symlink_metadata(&self.root) {
            Ok(metadata) if (metadata.dev(), metadata.ino()) == self.id => Ok(()),
            _ => Err(PathError::Moved { root: key_of(&self.root) }),
        }
    }

    /// The key of `path` in a manifest of this workspace: relative, one spelling, `/` between
    /// names. The root itself is the empty key.
    ///
    /// # Errors
    /// [`PathError`] when the path is no path inside the workspace, or holds `..`.
    pub fn key(&self, path: impl AsRef<Path>) -> Result<String, PathError> {
        let path = path.as_ref();
        let inside = self.inside(path)?;
        if inside.components().any(|component| component == Component::ParentDir) {
            return Err(PathError::HasParent { path: key_of(path) });
        }
        if inside == Path::new(".") {
            return Ok(String::new());
        }
        Ok(key_of(inside))
    }

    /// What stands at `path`, links followed; `None` when nothing does. A link to a missing target
    /// is `None`: ask [`Workspace::stat_link`] for the link.
    ///
    /// # Errors
    /// [`PathError`] when the question has no answer.
    pub fn stat(&self, path: impl AsRef<Path>) -> Result<Option<Stat>, PathError> {
        let inside = self.inside(path.as_ref())?;
        self.dir()?.metadata(&inside).map_or_else(
            |source| PathError::absent_or(source, path.as_ref()),
            |metadata| Ok(Some(Stat::of(&metadata))),
        )
    }

    /// Like [`Workspace::stat`], but a link at the end of the path is not followed.
    ///
    /// # Errors
    /// [`PathError`] when the question has no answer.
    pub fn stat_link(&self, path: impl AsRef<Path>) -> Result<Option<Stat>, PathError> {
        let inside = self.inside(path.as_ref())?;
        self.dir()?.symlink_metadata(&inside).map_or_else(
            |source| PathError::absent_or(source, path.as_ref()),
            |metadata| Ok(Some(Stat::of(&metadata))),
        )
    }

    /// The target text of the link at `path`; `None` when nothing stands there or it is no link.
    /// The text may lead anywhere; it is not followed.
    ///
    /// # Errors
    /// [`PathError`] when the question has no answer.
    pub fn read_link(&self, path: impl AsRef<Path>) -> Result<Option<PathBuf>, PathError> {
        let inside = self.inside(path.as_ref())?;
        match self.dir()?.read_link_contents(&inside) {
            Ok(target) => Ok(Some(target)),
            Err(source) if source.kind() == io::ErrorKind::InvalidInput => Ok(None),
            Err(source) => PathError::absent_or(source, path.as_ref()),
        }
    }

    /// Opens the regular file at `path` for reading; `None` when nothing stands there. What the
    /// returned [`Stat`] says was read from the open file itself.
    ///
    /// # Errors
    /// [`PathError::NotAFile`] for a directory, FIFO, socket or device, which is not opened;
    /// any other [`PathError`] when the question has no answer.
    pub fn open_file(&self, path: impl AsRef<Path>) -> Result<Option<(File, Stat)>, PathError> {
        let path = path.as_ref();
        let not_a_file = |kind| PathError::NotAFile { path: key_of(path), kind };
        match self.stat(path)? {
            None => return Ok(None),
            Some(stat) if stat.kind != Kind::File => return Err(not_a_file(stat.kind)),
            Some(_) => {}
        }
        // What stood there a moment ago may have been replaced by a FIFO: never wait for a writer.
        let mut options = OpenOptions::new();
        options.read(true).custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed());
        let inside = self.inside(path)?;
        let file = match self.dir()?.open_with(&inside, &options) {
            Ok(file) => file,
            Err(source) => return PathError::absent_or(source, path),
        };
        let metadata =
            file.metadata().map_err(|source| PathError::Io { path: key_of(path), source })?;
        let stat = Stat::of(&metadata);
        if stat.kind != Kind::File {
            return Err(not_a_file(stat.kind));
        }
        Ok(Some((file.into_std(), stat)))
    }

    /// The content of the regular file at `path`; `None` when nothing stands there.
    ///
    /// # Errors
    /// [`PathError::TooLarge`] when it holds more than `max_bytes`: it is never cut short;
    /// otherwise as [`Workspace::open_file`].
    pub fn read(
        &self,
        path: impl AsRef<Path>,
        max_bytes: u64,
    ) -> Result<Option<Vec<u8>>, PathError> {
        let path = path.as_ref();
        let Some((file, stat)) = self.open_file(path)? else { return Ok(None) };
        let too_large = || PathError::TooLarge { path: key_of(path), max_bytes };
        if stat.size > max_bytes {
            return Err(too_large());
        }
        let mut content = Vec::with_capacity(usize::try_from(stat.size).unwrap_or(0));
        file.take(max_bytes.saturating_add(1))
            .read_to_end(&mut content)
            .map_err(|source| PathError::Io { path: key_of(path), source })?;
        if content.len() as u64 > max_bytes {
            return Err(too_large());
        }
        Ok(Some(content))
    }

    /// SHA-256 and length of the regular file at `path`; `None` when nothing stands there.
    ///
    /// # Errors
    /// As [`Workspace::read`].
    pub fn digest(
        &self,
        path: impl AsRef<Path>,
        max_bytes: u64,
    ) -> Result<Option<(Digest, u64)>, PathError> {
        let path = path.as_ref();
        let Some((file, _)) = self.open_file(path)? else { return Ok(None) };
        match hash_reader(&file, max_bytes, &mut || true) {
            Ok(Some(hashed)) => Ok(Some(hashed)),
            Ok(None) => Err(PathError::TooLarge { path: key_of(path), max_bytes }),
            Err(source) => Err(PathError::Io { path: key_of(path), source }),
        }
    }

    /// The names in the directory at `path`, sorted; `None` when nothing stands there.
    ///
    /// # Errors
    /// [`PathError::NotADirectory`] when something else stands there, [`PathError::TooMany`] beyond
    /// `max_entries`, any other [`PathError`] when the question has no answer.
    pub fn list(
        &self,
        path: impl AsRef<Path>,
        max_entries: usize,
    ) -> Result<Option<Vec<Listed>>, PathError> {
        let path = path.as_ref();
        let inside = self.inside(path)?;
        let dir = match self.dir()?.open_dir(&inside) {
            Ok(dir) => dir,
            Err(source) => {
                return match self.stat(path)? {
                    Some(stat) if stat.kind != Kind::Dir => {
                        Err(PathError::NotADirectory { path: key_of(path), kind: stat.kind })
                    }
                    _ => PathError::absent_or(source, path),
                };
            }
        };
        let names = read_names(dir.as_fd(), max_entries)
            .map_err(|error| error.into_path_error(&key_of(path), max_entries))?;
        let mut listed: Vec<Listed> = names
            .into_iter()
            .map(|(name, kind)| Listed { name: key_of_name(&name), kind })
            .collect();
        listed.sort_unstable();
        Ok(Some(listed))
    }

    /// The folder itself.
    pub(crate) fn fd(&self) -> io::Result<BorrowedFd<'_>> {
        self.dir.as_ref().map(AsFd::as_fd).ok_or_else(|| io::ErrorKind::Unsupported.into())
    }

    fn dir(&self) -> Result<&Dir, PathError> {
        self.dir.as_ref().ok_or(PathError::NoWorkspace)
    }

    /// The part of `path` below the root, refused when it names a place elsewhere.
    fn inside(&self, path: &Path) -> Result<PathBuf, PathError> {
        use std::os::unix::ffi::OsStrExt as _;
        self.dir()?;
        let bytes = path.as_os_str().as_bytes();
        if bytes.is_empty() {
            return Err(PathError::Empty);
        }
        if bytes.contains(&0) {
            return Err(PathError::Nul { path: key_of(path) });
        }
        let outside = || PathError::Outside { path: key_of(path), root: key_of(&self.root) };
        let below = if path.is_absolute() {
            path.strip_prefix(&self.root)
                .or_else(|error| self.alias.as_ref().map_or(Err(error), |it| path.strip_prefix(it)))
                .map_err(|_| outside())?
        } else {
            path
        };
        let mut inside = PathBuf::new();
        let mut depth = 0_usize;
        for component in below.components() {
            match component {
                Component::Normal(_) => depth += 1,
                Component::ParentDir => depth = depth.checked_sub(1).ok_or_else(outside)?,
                Component::CurDir => continue,
                Component::RootDir | Component::Prefix(_) => return Err(outside()),
            }
            inside.push(component);
        }
        if inside.as_os_str().is_empty() {
            inside.push(".");
        }
        Ok(inside)
    }
}

impl Stat {
    fn of(metadata: &cap_std::fs::Metadata) -> Self {
        Self {
            kind: kind_of_mode(metadata.mode()),
            size: metadata.len(),
            mode: metadata.mode() & 0o7777,
            modified: metadata.modified().ok().map(cap_std::time::SystemTime::into_std),
        }
    }
}
