//! Why a bundle cannot be made.

use probity_core::Digest;

/// A bundle was not written, or not to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    /// The log is not whole.
    #[error("the log is not whole, so nothing can be proved of it: {message}")]
    Log {
        /// The first finding.
        message: String,
    },
    /// The run has not ended.
    #[error("the run is not sealed; a bundle is the proof of a run that has ended")]
    Unsealed,
    /// The bytes given for a blob are not those that the log names.
    #[error("the content given for `{digest}` has another digest")]
    Blob {
        /// What the log names.
        digest: Digest,
    },
    /// The episode is not that of the run.
    #[error("the episode is that of `{episode}`, the log that of `{run}`")]
    Episode {
        /// Its name.
        episode: String,
        /// The run's.
        run: String,
    },
    /// More than a bundle holds.
    #[error("{what}: {found}, a bundle holds at most {max}")]
    TooLarge {
        /// What there is too much of.
        what: String,
        /// How much.
        found: u64,
        /// The bound.
        max: u64,
    },
    /// The bundle that content is to be taken out of is not in order.
    #[error("the bundle is not in order ({code}): {message}")]
    Refused {
        /// The code of the first finding.
        code: &'static str,
        /// Its text.
        message: String,
    },
    /// Something that goes into it has no canonical form.
    #[error(transparent)]
    Canonical(#[from] probity_record::canonical::CanonicalError),
    /// The bytes could not be handed on.
    #[error("the bundle could not be written: {0}")]
    Sink(#[from] std::io::Error),
}

impl BundleError {
    /// Stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Log { .. } => "bundle_log",
            Self::Unsealed => "bundle_unsealed",
            Self::Blob { .. } => "bundle_blob",
            Self::Episode { .. } => "bundle_episode",
            Self::TooLarge { .. } => "bundle_too_large",
            Self::Refused { .. } => "bundle_refused",
            Self::Canonical(_) => "bundle_canonical",
            Self::Sink(_) => "bundle_sink",
        }
    }
}
