//! What can go wrong with the bench itself, as opposed to what it measures.

use probity::PrepareError;
use probity::core::{NameError, PolicyError};
use probity::engine::EngineError;

/// The bench could not do its work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum BenchError {
    /// A file or a process.
    #[error("cannot {what}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        source: std::io::Error,
    },
    /// A row could not be played.
    #[error(transparent)]
    Lies(#[from] probity_lies::LiesError),
    /// A row's check or request does not parse.
    #[error("`{case}` asks for what there is not: {detail}")]
    Row {
        /// The case.
        case: String,
        /// What is wrong.
        detail: String,
    },
    /// The request of a row cannot be carried out.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The engine stopped.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A name that is none.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A bound that is none.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A program printed what nobody can read.
    #[error("cannot read what {program} printed: {detail}")]
    Output {
        /// The program.
        program: &'static str,
        /// What is wrong, and the beginning of what it printed.
        detail: String,
    },
    /// A database that a row works on.
    #[error(transparent)]
    Database(#[from] rusqlite::Error),
    /// A measurement could not be taken.
    #[error("cannot measure {what}: {detail}")]
    Measure {
        /// What was to be measured.
        what: &'static str,
        /// Why not.
        detail: String,
    },
}

impl BenchError {
    /// For `map_err` on file operations.
    pub(crate) fn io(what: &'static str) -> impl Fn(std::io::Error) -> Self {
        move |source| Self::Io { what, source }
    }
}
