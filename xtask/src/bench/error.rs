//! Why there are no benchmarks.

use std::io;
use std::path::{Path, PathBuf};

/// Nothing was measured, or nothing could be kept.
#[derive(Debug)]
pub enum BenchError {
    /// The words behind the command are none that it takes.
    Usage,
    /// No program has this name.
    NoSuch {
        /// The name.
        name: String,
    },
    /// The programs could not be built; cargo has said why.
    Build,
    /// There is no output of a run.
    Nothing {
        /// Where there should be one.
        folder: PathBuf,
    },
    /// A kept output is no JSON.
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: serde_json::Error,
    },
    /// An output cannot be written as JSON.
    Print(serde_json::Error),
    /// A file cannot be read or written, or a program not started.
    Io {
        /// The file or the program.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
}

impl BenchError {
    pub(crate) fn io(path: &Path, error: io::Error) -> Self {
        Self::Io { path: path.to_path_buf(), error }
    }
}

impl std::fmt::Display for BenchError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Usage => write!(
                f,
                "usage: bench [--quick] [--peers DIR]... [--programs DIR [--commit ID]] [--folder DIR] \
                 [--only NAME,...] [--page]"
            ),
            Self::NoSuch { name } => write!(f, "no program of the bench is called `{name}`"),
            Self::Build => write!(f, "the programs could not be built"),
            Self::Nothing { folder } => {
                write!(f, "{} has no outputs; run `cargo xtask bench`", folder.display())
            }
            Self::Damaged { path, error } => write!(f, "{} is no JSON: {error}", path.display()),
            Self::Print(error) => write!(f, "an output cannot be written: {error}"),
            Self::Io { path, error } => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for BenchError {}
