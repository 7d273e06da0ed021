//! Why nothing was packed.

use std::io;
use std::path::{Path, PathBuf};

use crate::XtaskError;

/// Nothing was packed.
#[derive(Debug)]
pub enum DistError {
    /// The words behind `dist` are none that it takes.
    Usage,
    /// A command could not be started; packing takes GNU tar, gzip and sha256sum.
    Start {
        /// The command line.
        command: String,
        /// Why not.
        error: io::Error,
    },
    /// A command ended with a failure; it has said why.
    Failed {
        /// The command line.
        command: String,
    },
    /// A file cannot be read or written.
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// The binary is not probity.
    Version {
        /// What it said.
        said: String,
    },
    /// The toolchain does not answer.
    Toolchain(Box<XtaskError>),
}

impl DistError {
    pub(super) fn io(path: &Path, error: io::Error) -> Self {
        Self::Io { path: path.to_path_buf(), error }
    }
}

impl std::fmt::Display for DistError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Usage => {
                f.write_str("dist takes --binary PATH, --man DIR, --out DIR, --target TRIPLE")
            }
            Self::Start { command, error } => {
                write!(f, "`{command}` could not be started: {error}")
            }
            Self::Failed { command } => write!(f, "`{command}` failed"),
            Self::Io { path, error } => write!(f, "`{}`: {error}", path.display()),
            Self::Version { said } => write!(f, "the binary is not probity, it says `{said}`"),
            Self::Toolchain(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for DistError {}

impl From<XtaskError> for DistError {
    fn from(error: XtaskError) -> Self {
        Self::Toolchain(Box::new(error))
    }
}
