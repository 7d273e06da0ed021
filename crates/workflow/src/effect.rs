//! What a run wants done. Every one of them may be asked for again after a crash, by the same name.

use probity_core::RunId;
use serde_json::{Map, Value};

use crate::verifier::VerifierSpec;

/// Something to do outside.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Begin a child run, unless it has begun.
    StartChild {
        /// Its name.
        child: RunId,
        /// The definition that it runs.
        workflow: String,
        /// What it begins with.
        inputs: Map<String, Value>,
        /// The node that wants it.
        node: String,
        /// Whether that is a dispatch, and not a sub-workflow.
        is_dispatch: bool,
    },
    /// Begin a delegation, unless it has begun.
    Delegate {
        /// Its name.
        delegation: RunId,
        /// The node that wants it.
        node: String,
        /// The request, as the node's `config.request` has it, with the variables filled in.
        request: Value,
    },
    /// Have a critic check what a child left, unless it is at it.
    Verify {
        /// The name of the delegation that does it.
        verification: RunId,
        /// The node that wants it.
        node: String,
        /// The child that left it.
        target: RunId,
        /// Who checks, and how.
        spec: VerifierSpec,
        /// What is checked: the child's outputs.
        candidate: Value,
        /// Its digest, 64 hex digits.
        digest: String,
    },
    /// Nobody wants that child run, delegation or verification any more.
    Stop {
        /// Which.
        run: RunId,
        /// What it is.
        kind: Kin,
    },
}

/// What a run that belongs to a run is to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kin {
    /// A workflow run.
    Child,
    /// A delegation.
    Delegation,
    /// A verification, which is a delegation.
    Verification,
}
