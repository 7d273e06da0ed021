//! What can go wrong with a row itself, as opposed to what it holds.

/// A row could not be played.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiesError {
    /// A file or a process.
    #[error("cannot {what}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        source: std::io::Error,
    },
    /// A row's setup script failed: the row is wrong, or the machine lacks something.
    #[error("the setup of `{case}` ended with {status}: {stderr}")]
    Setup {
        /// The case.
        case: String,
        /// How it ended.
        status: String,
        /// What it said.
        stderr: String,
    },
    /// The program printed no report.
    #[error("cannot read what probity printed about `{case}`: {detail}")]
    Output {
        /// The case.
        case: String,
        /// What is wrong, and what it wrote to standard error.
        detail: String,
    },
}

impl LiesError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Io { .. } => "lies_io",
            Self::Setup { .. } => "lies_setup",
            Self::Output { .. } => "lies_output",
        }
    }

    /// For `map_err` on file operations.
    pub(crate) fn io(what: &'static str) -> impl Fn(std::io::Error) -> Self {
        move |source| Self::Io { what, source }
    }
}
