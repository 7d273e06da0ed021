//! The private copy: a folder with the content of another one, changed and put right again.
//!
//! Every path is walked from an open folder and no link is followed, so that nothing outside of the copy is
//! ever written, whatever a check leaves behind in it.

mod copy;
mod door;
mod restore;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode};

use door::Door;

/// How much is copied at most.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Bytes of one file; a larger one is left out.
    pub max_file_bytes: u64,
    /// Bytes of all files together.
    pub max_total_bytes: u64,
    /// Files, folders, links.
    pub max_entries: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { max_file_bytes: 256 << 20, max_total_bytes: 2 << 30, max_entries: 100_000 }
    }
}

/// Something that is not in the copy.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct LeftOut {
    /// Its path.
    pub path: String,
    /// Why.
    pub why: &'static str,
}

/// There is no copy, or it cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// There is more than is copied.
    #[error(
        "the workspace holds more than {what}, the most that is copied; leave large folders out with \
         --ignore"
    )]
    TooLarge {
        /// The bound.
        what: String,
    },
    /// It was not wanted any more.
    #[error("the copy was cancelled")]
    Cancelled,
    /// The operating system.
    #[error("cannot copy `{path}`: {source}")]
    Io {
        /// Where.
        path: String,
        /// Why.
        source: io::Error,
    },
}

impl TreeError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "quality_too_large",
            Self::Cancelled => "cancelled",
            Self::Io { .. } => "quality_copy",
        }
    }
}

/// A copy of a folder.
#[derive(Debug)]
pub struct Tree {
    door: Door,
    root: PathBuf,
    /// What stands where, as far as the system tells without reading.
    seen: BTreeMap<String, Seen>,
    /// The time of modification of what is written next, in seconds. It rises with every change, so that no
    /// tool takes a file for the one that it has compiled already.
    stamp_s: i64,
}

/// What the system tells of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Seen {
    Folder {
        mode: u32,
    },
    /// Link or special file, by inode.
    Other(u64),
    File {
        inode: u64,
        size: u64,
        modified: (i64, i64),
        changed: (i64, i64),
        mode: u32,
    },
}

impl Tree {
    /// Copies a folder. `keep` says of a path and whether it is a folder whether it comes along. Files beyond
    /// the bounds, special files and what cannot be read are left out, and told. Links that lead into the
    /// folder by an absolute path lead into the copy.
    ///
    /// # Errors
    /// [`TreeError`] beyond the bounds of the whole, or where the copy cannot be written.
    pub fn copy(
        from: &Path,
        to: &Path,
        bounds: Bounds,
        now_s: i64,
        keep: &dyn Fn(&str, bool) -> bool,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<(Self, Vec<LeftOut>), TreeError> {
        let root = std::fs::canonicalize(to).map_err(|source| failed(".", source))?;
        let source = std::fs::canonicalize(from).map_err(|source| failed(".", source))?;
        let into = Door::open(&root).map_err(|source| failed(".", source))?;
        let door = Door::open(&source).map_err(|source| failed(".", source))?;
        let spellings = vec![source, from.to_path_buf()];
        let left_out = copy::Copying::new(bounds, spellings, root.clone(), keep, is_cancelled)
            .run(&door, &into)?;
        let mut tree = Self { door: into, root, seen: BTreeMap::new(), stamp_s: now_s };
        tree.remember()?;
        Ok((tree, left_out))
    }

    /// Where it is: absolute, without links.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The paths of its regular files, sorted.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let files = self.seen.iter().filter(|(_, seen)| matches!(seen, Seen::File { .. }));
        files.map(|(path, _)| path.as_str())
    }

    /// Whether a folder stands there.
    #[must_use]
    pub fn is_folder(&self, path: &str) -> bool {
        path.is_empty() || matches!(self.seen.get(path), Some(Seen::Folder { .. }))
    }

    /// Whether anything stands there.
    #[must_use]
    pub fn holds(&self, path: &str) -> bool {
        self.is_folder(path) || self.seen.contains_key(path)
    }

    /// The content of a file; none where it is larger, or no file.
    ///
    /// # Errors
    /// [`TreeError::Io`].
    pub fn read(&self, path: &str, max_bytes: u64) -> Result<Option<Vec<u8>>, TreeError> {
        match self.seen.get(path) {
            Some(Seen::File { size, .. }) if *size <= max_bytes => {}
            _ => return Ok(None),
        }
        self.door.read(path, max_bytes).map_err(|source| failed(path, source))
    }

    /// Makes a file hold these bytes; its permissions stay.
    ///
    /// # Errors
    /// [`TreeError::Io`].
    pub fn write(&self, path: &str, bytes: &[u8]) -> Result<(), TreeError> {
        let mode = match self.seen.get(path) {
            Some(Seen::File { mode, .. }) => *mode,
            _ => 0o644,
        };
        self.at(path, |door| {
            door.clear(path)?;
            door.create(path, bytes, mode, self.stamp_s)
        })
    }

    /// Takes whatever stands at a path away.
    ///
    /// # Errors
    /// [`TreeError::Io`].
    pub fn remove(&self, path: &str) -> Result<(), TreeError> {
        self.at(path, |door| door.clear(path))
    }

    /// Puts an empty folder in the place of whatever stands there.
    ///
    /// # Errors
    /// [`TreeError::Io`].
    pub fn put_folder(&self, path: &str) -> Result<(), TreeError> {
        self.at(path, |door| {
            door.clear(path)?;
            door.folder(path)
        })
    }

    /// Moves a file aside and puts a link to it in its place.
    ///
    /// # Errors
    /// [`TreeError::Io`].
    pub fn put_link(&self, path: &str) -> Result<(), TreeError> {
        let (folder, name) =
            path.rsplit_once('/').map_or(("", path), |(folder, name)| (folder, name));
        let other = format!("{name}.linked");
        let aside = if folder.is_empty() { other.clone() } else { format!("{folder}/{other}") };
        self.at(path, |door| {
            door.clear(&aside)?;
            door.rename(path, &aside)?;
            door.link(path, Path::new(&other))
        })
    }

    /// Gives a file another name: the first letter of its name in the other case. False where it has none.
    ///
    /// # Errors
    /// [`TreeError::Io`].
    pub fn rename_case(&self, path: &str) -> Result<bool, TreeError> {
        let Some(other) = other_case(path) else { return Ok(false) };
        if self.holds(&other) {
            return Ok(false);
        }
        self.at(path, |door| door.rename(path, &other))?;
        Ok(true)
    }

    /// Gives a file other permission bits: its owner's right to run it is turned around.
    ///
    /// # Errors
    /// [`TreeError::Io`].
    pub fn turn_mode(&self, path: &str) -> Result<(), TreeError> {
        let mode = match self.seen.get(path) {
            Some(Seen::File { mode, .. }) => mode ^ 0o100,
            _ => 0o755,
        };
        self.at(path, |door| door.chmod(path, mode))
    }

    /// Gives a file another time of modification.
    ///
    /// # Errors
    /// [`TreeError::Io`].
    pub fn touch(&self, path: &str) -> Result<(), TreeError> {
        self.at(path, |door| door.touch(path, self.stamp_s))
    }

    /// From now on, what is written is newer.
    pub fn tick(&mut self) {
        // Two seconds: file systems and tools that round them still see another time.
        self.stamp_s = self.stamp_s.saturating_add(2);
    }

    fn at<T>(&self, path: &str, act: impl FnOnce(&Door) -> io::Result<T>) -> Result<T, TreeError> {
        act(&self.door).map_err(|source| failed(path, source))
    }
}

/// The path with the first letter of its name in the other case; none where it has no such letter.
fn other_case(path: &str) -> Option<String> {
    let (folder, name) = path.rsplit_once('/').map_or(("", path), |(folder, name)| (folder, name));
    let at = name.find(|char: char| char.is_ascii_alphabetic())?;
    let (head, rest) = name.split_at_checked(at)?;
    let mut rest = rest.chars();
    let first = rest.next()?;
    let turned = if first.is_ascii_lowercase() {
        first.to_ascii_uppercase()
    } else {
        first.to_ascii_lowercase()
    };
    let name = format!("{head}{turned}{}", rest.as_str());
    Some(if folder.is_empty() { name } else { format!("{folder}/{name}") })
}

pub(crate) fn failed(path: &str, source: io::Error) -> TreeError {
    TreeError::Io { path: path.to_owned(), source }
}

/// Removes a folder with all that is in it, also where folders in it may not be written.
///
/// # Errors
/// [`TreeError::Io`].
pub fn remove_folder(path: &Path) -> Result<(), TreeError> {
    let root = Door::open(path).map_err(|source| failed(".", source))?;
    root.empty().map_err(|source| failed(".", source))?;
    let removed = rustix::fs::unlinkat(rustix::fs::CWD, path, AtFlags::REMOVEDIR);
    removed.map_err(|errno| failed(".", errno.into()))
}

/// The permissions of the owner alone.
const PRIVATE: Mode = Mode::RWXU;
