//! Why a question about a path has no answer.

use std::io;
use std::path::Path;

use super::Kind;

/// A question about a path that could not be answered. A path that does not exist is an answer,
/// not an error.
///
/// Three sorts, for the caller who turns this into a verdict: the question is wrong (`NoWorkspace`, `Empty`,
/// `Nul`, `Outside`, `HasParent`, `Pattern`); the world is not as it should be (`Escapes`, `Loop`,
/// `NotAFile`, `NotADirectory`); the world could not be read (`Denied`, `TooLarge`, `TooMany`,
/// `TooDeep`, `Moved`, `Io`).
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// The run has no workspace, so no path leads anywhere.
    #[error("the run has no workspace; give it one")]
    NoWorkspace,
    /// The empty text; the root is `.`.
    #[error("the path is empty; write `.` for the workspace itself")]
    Empty,
    /// No file name holds a NUL.
    #[error("the path `{path}` holds a NUL character; remove it")]
    Nul {
        /// The path as a key.
        path: String,
    },
    /// An absolute path elsewhere, or one with more `..` than folders to leave.
    #[error("the path `{path}` lies outside the workspace `{root}`; name a path inside it")]
    Outside {
        /// The path as it was asked for.
        path: String,
        /// The workspace's root.
        root: String,
    },
    /// The path holds `..` where its one spelling is needed.
    #[error("the path `{path}` holds `..`; write it without")]
    HasParent {
        /// The path as it was asked for.
        path: String,
    },
    /// A symbolic link on the way leads out of the workspace. A link whose target is an absolute
    /// path counts as leading out, wherever it points.
    #[error(
        "the path `{path}` leads out of the workspace through a symbolic link; it is not followed"
    )]
    Escapes {
        /// The path as it was asked for.
        path: String,
    },
    /// Symbolic links in a circle, or too many of them.
    #[error("the path `{path}` runs through too many symbolic links")]
    Loop {
        /// The path as it was asked for.
        path: String,
    },
    /// Something other than a regular file where content was asked for.
    #[error("`{path}` is a {kind}, not a regular file")]
    NotAFile {
        /// The path as it was asked for.
        path: String,
        /// What it is.
        kind: Kind,
    },
    /// Something other than a folder where a listing was asked for.
    #[error("`{path}` is a {kind}, not a directory")]
    NotADirectory {
        /// The path as it was asked for.
        path: String,
        /// What it is.
        kind: Kind,
    },
    /// No permission.
    #[error("no permission to read `{path}`; let the user that runs the check read it")]
    Denied {
        /// The path as it was asked for.
        path: String,
    },
    /// More bytes than the caller wants.
    #[error("`{path}` holds more than {max_bytes} bytes; raise the limit or check a smaller file")]
    TooLarge {
        /// The path as it was asked for.
        path: String,
        /// The limit.
        max_bytes: u64,
    },
    /// More entries than the caller wants.
    #[error("`{path}` gives more than {max} entries; raise the limit or name a narrower path")]
    TooMany {
        /// The path or pattern as it was asked for.
        path: String,
        /// The limit.
        max: usize,
    },
    /// Folders inside folders beyond the limit.
    #[error("`{path}` lies deeper than {max} folders; name a narrower path")]
    TooDeep {
        /// The folder at the limit.
        path: String,
        /// The limit.
        max: usize,
    },
    /// The pattern is not a glob.
    #[error("the pattern `{pattern}` is not a glob: {why}")]
    Pattern {
        /// The pattern as it was written.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
    /// Another folder stands where the workspace was opened.
    #[error("the workspace `{root}` was moved or replaced while it was in use; put it back")]
    Moved {
        /// The workspace's root.
        root: String,
    },
    /// Anything else the system says.
    #[error("`{path}` could not be read: {source}")]
    Io {
        /// The path as it was asked for.
        path: String,
        /// What the system said.
        source: io::Error,
    },
}

impl PathError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoWorkspace => "path_no_workspace",
            Self::Empty => "path_empty",
            Self::Nul { .. } => "path_nul",
            Self::Outside { .. } => "path_outside",
            Self::HasParent { .. } => "path_has_parent",
            Self::Escapes { .. } => "path_escapes",
            Self::Loop { .. } => "path_loop",
            Self::NotAFile { .. } => "path_not_a_file",
            Self::NotADirectory { .. } => "path_not_a_directory",
            Self::Denied { .. } => "path_denied",
            Self::TooLarge { .. } => "path_too_large",
            Self::TooMany { .. } => "path_too_many",
            Self::TooDeep { .. } => "path_too_deep",
            Self::Pattern { .. } => "pattern_invalid",
            Self::Moved { .. } => "workspace_moved",
            Self::Io { .. } => "path_unreadable",
        }
    }

    /// Turns what the system said about `path` into an answer: absent is `None`.
    pub(super) fn absent_or<T>(source: io::Error, path: &Path) -> Result<Option<T>, Self> {
        let errno = source.raw_os_error().map(rustix::io::Errno::from_raw_os_error);
        let path = super::key_of(path);
        match errno {
            Some(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => Ok(None),
            Some(rustix::io::Errno::LOOP) => Err(Self::Loop { path }),
            Some(rustix::io::Errno::ACCESS | rustix::io::Errno::PERM) => Err(Self::Denied { path }),
            // The directory handle refuses an escape with an error that the system did not make.
            None if source.kind() == io::ErrorKind::PermissionDenied => Err(Self::Escapes { path }),
            _ => Err(Self::Io { path, source }),
        }
    }
}

/// Why a folder cannot serve as a workspace.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// A relative path depends on where the process happens to stand.
    #[error("the workspace `{path}` is not an absolute path; write it in full")]
    NotAbsolute {
        /// The path as given.
        path: String,
    },
    /// There is nothing there.
    #[error("the workspace `{path}` does not exist; create the folder first")]
    Missing {
        /// The path as given.
        path: String,
    },
    /// There is something, but no folder.
    #[error("the workspace `{path}` is not a directory; name the folder that holds it")]
    NotADirectory {
        /// The path as given.
        path: String,
    },
    /// Anything else the system says.
    #[error("the workspace `{path}` cannot be opened: {source}")]
    Io {
        /// The path as given.
        path: String,
        /// What the system said.
        source: io::Error,
    },
}

impl WorkspaceError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotAbsolute { .. } => "workspace_not_absolute",
            Self::Missing { .. } => "workspace_missing",
            Self::NotADirectory { .. } => "workspace_not_a_directory",
            Self::Io { .. } => "workspace_unreadable",
        }
    }

    pub(super) fn from_io(source: io::Error, path: &Path) -> Self {
        let path = super::key_of(path);
        match source.kind() {
            io::ErrorKind::NotFound => Self::Missing { path },
            io::ErrorKind::NotADirectory => Self::NotADirectory { path },
            _ => Self::Io { path, source },
        }
    }
}
