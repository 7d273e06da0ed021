//! What is wrong in a definition.

/// Problems that one answer lists.
const MAX_PROBLEMS: usize = 20;

/// A definition was not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// No JSON.
    #[error("the definition is not JSON: {why}")]
    NotJson {
        /// Where and why.
        why: String,
    },
    /// A kind of node that is not known here.
    #[error("node `{node}` is of type `{type_id}`, which this host does not run: use another type")]
    CapabilityRequired {
        /// The kind.
        type_id: String,
        /// The node.
        node: String,
    },
    /// Something is wrong in it.
    #[error("the definition is not valid: {}", listed(.problems))]
    Invalid {
        /// What: at least one, no more than twenty.
        problems: Vec<Problem>,
    },
}

/// Something that is wrong in a definition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}`: {what}")]
pub struct Problem {
    /// JSON pointer to the place.
    pub path: String,
    /// What is wrong, and what to do.
    pub what: String,
}

impl DefinitionError {
    /// The machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::CapabilityRequired { .. } => "capability_required",
            Self::NotJson { .. } | Self::Invalid { .. } => "validation_error",
        }
    }
}

/// What was found so far.
#[derive(Debug, Default)]
pub(super) struct Problems {
    found: Vec<Problem>,
    unknown: Option<(String, String)>,
}

impl Problems {
    pub(super) fn add(&mut self, path: impl Into<String>, what: impl Into<String>) {
        if self.found.len() < MAX_PROBLEMS {
            self.found.push(Problem { path: path.into(), what: what.into() });
        }
    }

    /// A kind of node that nobody here runs. It outweighs the rest: nothing else need be mended.
    pub(super) fn unknown_type(&mut self, node: &str, type_id: &str) {
        self.unknown.get_or_insert_with(|| (node.to_owned(), type_id.to_owned()));
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.found.is_empty() && self.unknown.is_none()
    }

    pub(super) fn into_result(self) -> Result<(), DefinitionError> {
        match self.unknown {
            Some((node, type_id)) => Err(DefinitionError::CapabilityRequired { type_id, node }),
            None if self.found.is_empty() => Ok(()),
            None => Err(DefinitionError::Invalid { problems: self.found }),
        }
    }
}

fn listed(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
