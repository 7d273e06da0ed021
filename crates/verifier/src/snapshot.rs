//! Reads a whole workspace into a manifest.

mod rules;
mod walk;

use tokio_util::sync::CancellationToken;

use crate::manifest::Manifest;
use crate::workspace::{PathError, Workspace, key_of};

pub use rules::{IGNORED, SnapshotLimits, SnapshotRules};

/// Reads every entry of a workspace, content included.
///
/// Content decides: modification times are not looked at. No link is followed, no special file
/// opened. An entry that may not be read is recorded as unreadable; one that vanishes meanwhile is
/// left out. The root itself has no entry; no workspace has no entries. A small workspace is read on the calling thread; a larger
/// one by as many threads as there are cores, eight at most.
///
/// Blocks; an async caller hands it to a blocking thread.
///
/// # Errors
/// [`SnapshotError`] when a limit is exceeded, the run was cancelled, or the system fails. There is
/// no partial manifest: what is not recorded could hide a change.
pub fn snapshot(
    workspace: &Workspace,
    rules: &SnapshotRules,
    cancel: &CancellationToken,
) -> Result<Manifest, SnapshotError> {
    if workspace.is_none() {
        return Ok(Manifest::default());
    }
    workspace.check_root().map_err(|_| SnapshotError::Moved { root: key_of(workspace.root()) })?;
    walk::walk(workspace, rules, cancel).map(Manifest::of_walk)
}

/// Why there is no manifest.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// More entries than [`SnapshotLimits::max_files`].
    #[error(
        "the workspace holds more than {max_files} entries; ignore generated folders or raise `max_files`"
    )]
    TooManyFiles {
        /// The limit.
        max_files: usize,
    },
    /// A file beyond [`SnapshotLimits::max_file_bytes`].
    #[error("`{path}` holds more than {max_file_bytes} bytes; ignore it or raise `max_file_bytes`")]
    FileTooLarge {
        /// The file's key.
        path: String,
        /// The limit.
        max_file_bytes: u64,
    },
    /// Files that hold more than [`SnapshotLimits::max_total_bytes`] together.
    #[error(
        "the workspace holds more than {max_total_bytes} bytes; ignore large folders or raise `max_total_bytes`"
    )]
    TotalTooLarge {
        /// The limit.
        max_total_bytes: u64,
    },
    /// Folders inside folders beyond the limit.
    #[error("`{path}` lies deeper than {max_depth} folders; ignore a folder above it")]
    TooDeep {
        /// The folder's key.
        path: String,
        /// The limit.
        max_depth: usize,
    },
    /// A rule that cannot be read.
    #[error(transparent)]
    Rule(#[from] PathError),
    /// Another folder stands where the workspace was opened.
    #[error("the workspace `{root}` was moved or replaced while it was in use; put it back")]
    Moved {
        /// The workspace's root.
        root: String,
    },
    /// The run was cancelled.
    #[error("the snapshot was cancelled")]
    Cancelled,
    /// The system failed in a way that is not about one entry's permissions.
    #[error("`{path}` could not be read: {source}")]
    Io {
        /// The entry's key; `.` for the root.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
}

impl SnapshotError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooManyFiles { .. } => "snapshot_too_many_files",
            Self::FileTooLarge { .. } => "snapshot_file_too_large",
            Self::TotalTooLarge { .. } => "snapshot_total_too_large",
            Self::TooDeep { .. } => "snapshot_too_deep",
            Self::Rule(error) => error.code(),
            Self::Moved { .. } => "workspace_moved",
            Self::Cancelled => "cancelled",
            Self::Io { .. } => "snapshot_unreadable",
        }
    }
}
