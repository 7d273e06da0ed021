//! Why there is no report.

/// A run of the kit that came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KitError {
    /// The address of the host is none.
    #[error("`{url}` is not the address of a host: {why}")]
    Url {
        /// As it was given.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// Nobody answers there, or not as a host does.
    #[error("the host does not answer: {why}")]
    Unreachable {
        /// What came instead.
        why: String,
    },
    /// No scenario is left to run.
    #[error("no scenario fits the filter `{filter}`")]
    NoScenario {
        /// As it was given.
        filter: String,
    },
    /// A schema of this program cannot be used.
    #[error("the schema `{name}` of this program does not compile: {why}")]
    Schema {
        /// Which.
        name: &'static str,
        /// Why.
        why: String,
    },
}

impl KitError {
    /// The machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Url { .. } => "conformance_url",
            Self::Unreachable { .. } => "conformance_unreachable",
            Self::NoScenario { .. } => "conformance_no_scenario",
            Self::Schema { .. } => "conformance_schema",
        }
    }
}
