//! The problem that a run was about.

use probity_report::Failures;

/// `spec.json`. Its shape was checked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spec {
    pub(crate) id: String,
    pub(crate) description: String,
    /// `constraints.min_supports_per_claim`, where it is an integer of at least 1.
    pub(crate) min_supports: Option<u64>,
    /// The constraints as they stand in the file: canonical text of an object.
    pub(crate) constraints: String,
}

impl Spec {
    /// Reads `spec.json`. What is wrong with it is told; `None` where nothing can be made of it.
    pub(crate) fn read(_text: &str, _failures: &mut Failures) -> Option<Self> {
        None
    }
}
