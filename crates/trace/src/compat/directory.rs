//! The run directory as the original sees it: it follows links, we do not.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use crate::{FileError, FileKind, RunFiles};

use super::CompatError;

/// Says where a link of the run directory leads, for [`super::audit_with_links`].
///
/// The original follows links; [`RunFiles`] does not, so somebody else must look.
pub trait Links: Sync {
    /// Where a path leads once every link on the way is followed.
    fn follow(&self, path: &str) -> LinkTarget;
}

/// Where a path with links in it leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkTarget {
    /// To this path of the run directory, which has no link in it.
    Inside(String),
    /// Out of the run directory.
    Outside,
    /// To nothing.
    Missing,
    /// Round in a circle.
    Loop,
    /// Nobody looked.
    Unknown,
}

/// Looks at no link: what lies behind one is never accepted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NoLinks;

impl Links for NoLinks {
    fn follow(&self, _path: &str) -> LinkTarget {
        LinkTarget::Unknown
    }
}

/// What was found under a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// A file, which was read.
    File,
    /// A folder.
    Folder,
    /// Nothing.
    Nothing,
    /// A link that leads out.
    Outside,
    /// A link that leads round in a circle.
    Loop,
}

/// The run directory.
pub(super) struct Directory<'a> {
    files: &'a dyn RunFiles,
    links: &'a dyn Links,
    folders: OnceCell<BTreeSet<String>>,
}

impl<'a> Directory<'a> {
    /// Of these files and links.
    pub(super) const fn new(files: &'a dyn RunFiles, links: &'a dyn Links) -> Self {
        Self { files, links, folders: OnceCell::new() }
    }

    /// Reads a file whole, in the place of what `into` held.
    ///
    /// # Errors
    /// [`CompatError`] for what cannot be looked at.
    pub(super) fn read(
        &self,
        path: &str,
        max_bytes: u64,
        into: &mut Vec<u8>,
    ) -> Result<Found, CompatError> {
        into.clear();
        if matches!(path, "" | ".") {
            return Ok(Found::Folder);
        }
        match self.read_plain(path, max_bytes, into) {
            Err(CompatError::NotRegular { kind: FileKind::Link, .. }) => {}
            found => return found,
        }
        match self.links.follow(path) {
            LinkTarget::Inside(target) if matches!(target.as_str(), "" | ".") => Ok(Found::Folder),
            LinkTarget::Inside(target) => self.read_plain(&target, max_bytes, into),
            LinkTarget::Outside => Ok(Found::Outside),
            LinkTarget::Missing => Ok(Found::Nothing),
            LinkTarget::Loop => Ok(Found::Loop),
            LinkTarget::Unknown => Err(not_regular(path, FileKind::Link)),
        }
    }

    fn read_plain(
        &self,
        path: &str,
        max_bytes: u64,
        into: &mut Vec<u8>,
    ) -> Result<Found, CompatError> {
        match self.files.read(path, max_bytes, into) {
            Ok(()) => Ok(Found::File),
            Err(FileError::Missing) if self.is_folder(path) => Ok(Found::Folder),
            // A file in the place of a folder is no way to anything.
            Err(FileError::Missing | FileError::NotRegular(FileKind::Regular)) => {
                Ok(Found::Nothing)
            }
            Err(FileError::NotRegular(FileKind::Folder)) => Ok(Found::Folder),
            Err(FileError::NotRegular(kind)) => Err(not_regular(path, kind)),
            Err(FileError::TooLarge { max_bytes }) => {
                Err(CompatError::Limit { what: "bytes of a file", max: max_bytes })
            }
            Err(FileError::TooMany { what, max }) => Err(CompatError::Limit { what, max }),
            Err(FileError::Io(error)) => Err(CompatError::Io { path: path.to_owned(), error }),
        }
    }

    /// Whether something lies below the path. Files in memory know no folders of their own.
    fn is_folder(&self, path: &str) -> bool {
        let folders = self.folders.get_or_init(|| {
            let entries = self.files.list().unwrap_or_default();
            let above = |path: &str| path.rsplit_once('/').map(|(above, _)| above.to_owned());
            entries.iter().filter_map(|entry| above(&entry.path)).collect()
        });
        let below = format!("{path}/");
        folders.contains(path)
            || folders
                .range(below.clone()..)
                .next()
                .is_some_and(|folder| folder.starts_with(&below))
    }
}

fn not_regular(path: &str, kind: FileKind) -> CompatError {
    CompatError::NotRegular { path: path.to_owned(), kind }
}
