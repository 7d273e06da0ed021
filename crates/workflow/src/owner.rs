//! Whose a run is, and where it comes from.

use probity_core::RunId;
use serde::{Deserialize, Serialize};

/// Whose a run is. Nobody of another tenant sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Owner {
    /// The tenant.
    pub tenant: String,
    /// A part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Who began the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
}

/// The run that a run comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Origin {
    /// It is a child.
    Child {
        /// Of whom.
        parent: RunId,
        /// The node that began it.
        node: String,
        /// Whether that was a dispatch, and not a sub-workflow.
        is_dispatch: bool,
    },
    /// It is a fork.
    Fork {
        /// Of whom.
        source: RunId,
        /// How many events it shares with it.
        from_sequence: u64,
        /// Whether everything recorded in the source is taken from there, to its end.
        is_replay: bool,
    },
}
