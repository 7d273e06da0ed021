//! How an index can fail.

use std::path::PathBuf;

use probity_store::{BlobError, ReadError};

/// The index could not be opened, filled or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// It is not there.
    #[error("there is no index `{path}`; make one with `probity log index {path}`")]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// It is something else.
    #[error("`{path}` is not an index of this build; name another file, or delete it")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// It was filled from another store.
    #[error("`{path}` is the index of {of}, not of {got}; name another file, or use --rebuild")]
    OtherStore {
        /// The file.
        path: PathBuf,
        /// The store that it was filled from.
        of: String,
        /// The store that it was to be filled from.
        got: String,
    },
    /// The file cannot be read or written.
    #[error("the index `{path}` cannot be used: {source}; it can be deleted and filled again")]
    File {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
    /// The store's logs cannot be read.
    #[error("the runs cannot be read: {0}")]
    Log(#[from] ReadError),
    /// The store's content cannot be read.
    #[error("the requests of runs cannot be read: {0}")]
    Blob(#[from] BlobError),
}

impl IndexError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "index_missing",
            Self::Foreign { .. } => "index_foreign",
            Self::OtherStore { .. } => "index_other_store",
            Self::File { .. } => "index_file",
            Self::Log(error) => error.code(),
            Self::Blob(error) => error.code(),
        }
    }
}
