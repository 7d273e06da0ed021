//! Changes to the files of a workspace, for tools. Nothing that judges holds a writer: a judge that
//! can write can make its own truth.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, PoisonError};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::walk::{MAX_DEPTH, open_dir};
use super::{Kind, PathError, Workspace, key_of};
use crate::hash::kind_of_mode;

/// The largest file that a writer leaves behind, in bytes.
pub const MAX_WRITE_BYTES: u64 = 16 << 20;

/// Names that are protected in every folder: who writes there decides what others run or check.
const ALWAYS: [&str; 2] = [".git", ".probity"];
/// Names that are tried for the file that is filled before it takes its place.
const MAX_TRIES: u32 = 64;

/// Changes files of a workspace, and none of the protected ones.
///
/// Paths are those of [`Workspace`], without `..`. Links inside the workspace are followed to a
/// place that is then reached by its own names only, so that nothing can be swapped in between. A
/// file is replaced as a whole: a reader sees the old content or the new. Writers of one
/// [`Workspace`] take turns.
///
/// Every method blocks on the file system. Nothing is forced to the disk.
#[derive(Debug)]
pub struct WorkspaceWriter {
    workspace: Arc<Workspace>,
    protected: Vec<Vec<OsString>>,
}

/// A change was not made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The path is no place in the workspace, or something else stands there.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The path is protected, or lies in something that is.
    #[error("`{path}` is not to be changed: `{by}` is protected; write elsewhere")]
    Protected {
        /// The path as it was asked for.
        path: String,
        /// What is protected.
        by: String,
    },
    /// There is nothing to remove.
    #[error("`{path}` does not exist; there is nothing to remove")]
    Missing {
        /// The path as it was asked for.
        path: String,
    },
    /// The file would be larger than [`MAX_WRITE_BYTES`].
    #[error(
        "`{path}` would hold {bytes} bytes, the limit is {MAX_WRITE_BYTES}; write less, or several \
         files"
    )]
    TooLarge {
        /// The path as it was asked for.
        path: String,
        /// How many it would be.
        bytes: u64,
    },
    /// Anything else the system says.
    #[error("`{path}` cannot be changed: {source}")]
    Failed {
        /// The path as it was asked for.
        path: String,
        /// What the system said.
        source: io::Error,
    },
}

impl WriteError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Path(error) => error.code(),
            Self::Protected { .. } => "write_denied",
            Self::Missing { .. } => "write_missing",
            Self::TooLarge { .. } => "write_too_large",
            Self::Failed { .. } => "write_failed",
        }
    }
}

impl WorkspaceWriter {
    /// A writer that keeps off the protected files and folders, relative to the workspace or
    /// absolute. Those outside of it are out of reach anyway. Everything called `.git` or `.probity` is protected without being named.
    /// Case is not told apart, as some file systems do not.
    ///
    /// # Errors
    /// [`PathError`] when something that should be protected is no path, or the whole workspace.
    pub fn new(workspace: Arc<Workspace>, protected: &[String]) -> Result<Self, PathError> {
        let mut places = vec![];
        for path in ALWAYS.into_iter().chain(protected.iter().map(String::as_str)) {
            match names(&workspace, Path::new(path)) {
                Ok(place) if place.is_empty() => {
                    let (path, kind) = (path.to_owned(), Kind::Dir);
                    return Err(PathError::NotAFile { path, kind });
                }
                Ok(place) => places.push(place),
                Err(PathError::Outside { .. } | PathError::NoWorkspace) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self { workspace, protected: places })
    }

    /// The workspace it writes to.
    #[must_use]
    pub const fn workspace(&self) -> &Arc<Workspace> {
        &self.workspace
    }

    /// Makes the file at `path` hold `content`, and the folders on the way to it. A file that stands
    /// there keeps its permission bits. Gives the bytes that the file then has.
    ///
    /// # Errors
    /// [`WriteError`]; the file is then as it was.
    pub fn write(&self, path: impl AsRef<Path>, content: &[u8]) -> Result<u64, WriteError> {
        self.put(path.as_ref(), content, false)
    }

    /// As [`WorkspaceWriter::write`], with `content` behind what the file holds.
    ///
    /// # Errors
    /// As [`WorkspaceWriter::write`].
    pub fn append(&self, path: impl AsRef<Path>, content: &[u8]) -> Result<u64, WriteError> {
        self.put(path.as_ref(), content, true)
    }

    /// Makes the folder at `path`, and those on the way to it. One that is there is left alone.
    ///
    /// # Errors
    /// [`WriteError`]; some of the folders may have been made.
    pub fn mkdir(&self, path: impl AsRef<Path>) -> Result<(), WriteError> {
        let path = path.as_ref();
        let _turn = self.turn()?;
        let asked = names(&self.workspace, path)?;
        let real = self.real(&asked, path)?;
        self.refuse_protected(&[&asked, &real], path, true)?;
        self.open_folder(&real, path, true).map(drop)
    }

    /// Removes the file, the link or the empty folder at `path`; a link is not followed.
    ///
    /// # Errors
    /// [`WriteError::Missing`] when nothing stands there, any other [`WriteError`] when it stays.
    pub fn remove(&self, path: impl AsRef<Path>) -> Result<(), WriteError> {
        let path = path.as_ref();
        let _turn = self.turn()?;
        let asked = names(&self.workspace, path)?;
        let (name, folder) = last(&asked, path)?;
        let mut real = self.real(folder, path)?;
        real.push(name.clone());
        self.refuse_protected(&[&asked, &real], path, false)?;
        let (name, folder) = last(&real, path)?;
        let folder = self.open_folder(folder, path, false)?;
        let missing = || WriteError::Missing { path: key_of(path) };
        let flags = match kind_at(folder.as_fd(), name) {
            Ok(Kind::Dir) => AtFlags::REMOVEDIR,
            Ok(_) => AtFlags::empty(),
            Err(Errno::NOENT) => return Err(missing()),
            Err(errno) => return Err(failed(path, errno)),
        };
        match rustix::fs::unlinkat(&folder, name, flags) {
            Ok(()) => Ok(()),
            Err(Errno::NOENT) => Err(missing()),
            Err(errno) => Err(failed(path, errno)),
        }
    }

    fn put(&self, path: &Path, content: &[u8], is_append: bool) -> Result<u64, WriteError> {
        bounded(path, content.len())?;
        let _turn = self.turn()?;
        let asked = names(&self.workspace, path)?;
        last(&asked, path)?;
        let real = self.real(&asked, path)?;
        self.refuse_protected(&[&asked, &real], path, false)?;
        let (name, folder) = last(&real, path)?;
        let folder = self.open_folder(folder, path, true)?;
        let old = open_old(folder.as_fd(), name, path)?;
        let mode = old.as_ref().map(|(_, mode)| *mode);
        let mut whole = Vec::new();
        if let Some((file, _)) = old.filter(|_| is_append) {
            let read = file.take(MAX_WRITE_BYTES.saturating_add(1)).read_to_end(&mut whole);
            read.map_err(|source| WriteError::Failed { path: key_of(path), source })?;
        }
        let bytes = bounded(path, whole.len().saturating_add(content.len()))?;
        whole.extend_from_slice(content);
        replace(folder.as_fd(), name, &whole, mode)
            .map_err(|source| WriteError::Failed { path: key_of(path), source })?;
        Ok(bytes)
    }

    /// Until the guard goes, no other writer of this workspace changes anything.
    fn turn(&self) -> Result<std::sync::MutexGuard<'_, ()>, PathError> {
        let turn = self.workspace.writing.lock().unwrap_or_else(PoisonError::into_inner);
        self.workspace.check_root()?;
        Ok(turn)
    }

    /// The names from the root to where `asked` leads: of what exists without links, of the rest as
    /// they were asked for.
    fn real(&self, asked: &[OsString], path: &Path) -> Result<Vec<OsString>, PathError> {
        let dir = self.workspace.dir()?;
        for known in (1..=asked.len()).rev() {
            let (head, tail) = asked.split_at(known);
            let head: PathBuf = head.iter().collect();
            match dir.canonicalize(&head) {
                Ok(real) => {
                    let mut real = normal_names(&real);
                    real.extend_from_slice(tail);
                    return Ok(real);
                }
                Err(source) => drop(PathError::absent_or::<()>(source, path)?),
            }
            if dir.symlink_metadata(&head).is_ok_and(|metadata| metadata.is_symlink()) {
                return Err(PathError::NotAFile { path: key_of(path), kind: Kind::Symlink });
            }
        }
        Ok(asked.to_vec())
    }

    fn refuse_protected(
        &self,
        ways: &[&[OsString]],
        path: &Path,
        is_mkdir: bool,
    ) -> Result<(), WriteError> {
        let refused = |by: String| Err(WriteError::Protected { path: key_of(path), by });
        for name in ALWAYS {
            if ways.iter().copied().flatten().any(|asked| asked.eq_ignore_ascii_case(name)) {
                return refused(name.to_owned());
            }
        }
        for named in &self.protected {
            // One whose own way leads out is protected by its name.
            let real = self.real(named, path).unwrap_or_else(|_| named.clone());
            let hits = |way: &[OsString], place: &[OsString]| {
                // A file in place of a folder on the way to it would take it away too.
                starts_with(way, place) || (!is_mkdir && starts_with(place, way))
            };
            if ways.iter().any(|way| hits(way, named) || hits(way, &real)) {
                return refused(key_of(named.iter().collect::<PathBuf>()));
            }
        }
        Ok(())
    }

    /// The folder that these names lead to; no link is followed. `is_made`: what is missing is made.
    fn open_folder(
        &self,
        names: &[OsString],
        path: &Path,
        is_made: bool,
    ) -> Result<OwnedFd, WriteError> {
        let io = |source| WriteError::Failed { path: key_of(path), source };
        let mut folder = self.workspace.fd().and_then(|fd| fd.try_clone_to_owned()).map_err(io)?;
        for name in names {
            let at = folder.as_fd();
            let opened = match open_dir(at, name) {
                Err(Errno::NOENT) if is_made => {
                    match rustix::fs::mkdirat(at, name, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(Errno::EXIST) => open_dir(at, name),
                        Err(errno) => Err(errno),
                    }
                }
                opened => opened,
            };
            folder = opened.map_err(|errno| match (errno, kind_at(at, name)) {
                (Errno::NOENT, _) => WriteError::Missing { path: key_of(path) },
                (Errno::NOTDIR | Errno::LOOP, Ok(kind)) => {
                    PathError::NotADirectory { path: key_of(path), kind }.into()
                }
                _ => failed(path, errno),
            })?;
        }
        Ok(folder)
    }
}

/// The names of a path from the root on, as they were asked for; none for the root itself.
fn names(workspace: &Workspace, path: &Path) -> Result<Vec<OsString>, PathError> {
    let inside = workspace.inside(path)?;
    if inside.components().any(|component| component == Component::ParentDir) {
        return Err(PathError::HasParent { path: key_of(path) });
    }
    let names = normal_names(&inside);
    if names.len() > MAX_DEPTH {
        return Err(PathError::TooDeep { path: key_of(path), max: MAX_DEPTH });
    }
    Ok(names)
}

fn normal_names(path: &Path) -> Vec<OsString> {
    let normal = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        _ => None,
    };
    path.components().filter_map(normal).collect()
}

/// The last name, and those before it.
fn last<'a>(
    names: &'a [OsString],
    path: &Path,
) -> Result<(&'a OsString, &'a [OsString]), PathError> {
    let root = || PathError::NotAFile { path: key_of(path), kind: Kind::Dir };
    names.split_last().ok_or_else(root)
}

fn starts_with(way: &[OsString], start: &[OsString]) -> bool {
    way.len() >= start.len() && way.iter().zip(start).all(|(a, b)| a.eq_ignore_ascii_case(b))
}

fn bounded(path: &Path, bytes: usize) -> Result<u64, WriteError> {
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    if bytes <= MAX_WRITE_BYTES {
        return Ok(bytes);
    }
    Err(WriteError::TooLarge { path: key_of(path), bytes })
}

fn failed(path: &Path, errno: Errno) -> WriteError {
    WriteError::Failed { path: key_of(path), source: errno.into() }
}

/// What stands there; a link is a link.
fn kind_at(folder: BorrowedFd<'_>, name: &OsStr) -> Result<Kind, Errno> {
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(kind_of_mode(stat.st_mode))
}

/// The regular file that is to be replaced, with its permission bits; `None` when nothing stands
/// there. One that nobody may write is left alone, though its folder would let it be replaced.
fn open_old(
    folder: BorrowedFd<'_>,
    name: &OsStr,
    path: &Path,
) -> Result<Option<(File, u32)>, WriteError> {
    let not_a_file = |kind| PathError::NotAFile { path: key_of(path), kind };
    match kind_at(folder, name) {
        Ok(Kind::File) => {}
        Ok(kind) => return Err(not_a_file(kind).into()),
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(failed(path, errno)),
    }
    // What stood there a moment ago may have been replaced by a FIFO: never wait for a writer.
    let flags =
        OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(folder, name, flags, Mode::empty())
        .map_err(|errno| failed(path, errno))?;
    let stat = rustix::fs::fstat(&file).map_err(|errno| failed(path, errno))?;
    match kind_of_mode(stat.st_mode) {
        Kind::File => {}
        kind => return Err(not_a_file(kind).into()),
    }
    let mode = stat.st_mode & 0o777;
    if mode & 0o222 == 0 {
        return Err(failed(path, Errno::ACCESS));
    }
    Ok(Some((File::from(file), mode)))
}

/// Fills a file beside the other and puts it in its place.
fn replace(
    folder: BorrowedFd<'_>,
    name: &OsStr,
    content: &[u8],
    mode: Option<u32>,
) -> io::Result<()> {
    let (temporary, file) = create_beside(folder)?;
    let done = fill(file, content, mode)
        .and_then(|()| Ok(rustix::fs::renameat(folder, &temporary, folder, name)?));
    if done.is_err() {
        // An error means that it is gone already.
        let _ = rustix::fs::unlinkat(folder, &temporary, AtFlags::empty());
    }
    done
}

/// A new file under a name that nothing has: what a crashed process left is not touched.
fn create_beside(folder: BorrowedFd<'_>) -> io::Result<(String, File)> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for number in 0..MAX_TRIES {
        let name = format!(".probity-write-{}-{number}", std::process::id());
        match rustix::fs::openat(folder, &name, flags, Mode::from_raw_mode(0o666)) {
            Ok(file) => return Ok((name, File::from(file))),
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn fill(mut file: File, content: &[u8], mode: Option<u32>) -> io::Result<()> {
    if let Some(mode) = mode {
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
    }
    file.write_all(content)
}
