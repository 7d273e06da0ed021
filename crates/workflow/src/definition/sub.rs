//! A node that runs another definition and takes over what it leaves.

use serde::Deserialize;
use serde_json::Value;

use super::dispatch::{self, Mapping};
use super::problem::Problems;
use super::read::typed;

/// The rules of a sub-workflow.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SubConfig {
    pub(crate) workflow_id: String,
    pub(crate) input_mapping: Mapping,
    pub(crate) output_mapping: Mapping,
    pub(crate) on_child_failure: OnChildFailure,
    pub(crate) output_attestation: Option<Attestation>,
    wait_for_completion: Option<bool>,
}

/// What a failed child means for its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OnChildFailure {
    /// It fails as well.
    #[default]
    FailParent,
    /// It goes on without.
    Absorb,
}

/// What is asked of a child's outputs before they are taken over (RFC 0063).
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Attestation {
    pub(crate) checksum: bool,
    algorithm: Option<Algorithm>,
    pub(crate) require_approval: bool,
    /// How long somebody is waited for.
    pub(crate) timeout_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Algorithm {
    Sha256,
}

impl SubConfig {
    /// Whether the digest of what was taken over is to be told.
    pub(crate) fn is_attested(&self) -> bool {
        self.output_attestation.as_ref().is_some_and(|attestation| attestation.checksum)
    }

    pub(crate) fn is_approval_required(&self) -> bool {
        self.output_attestation.as_ref().is_some_and(|attestation| attestation.require_approval)
    }
}

pub(super) fn read(problems: &mut Problems, config: Option<&Value>, path: &str) -> SubConfig {
    let config: SubConfig = typed(problems, config, path);
    if config.workflow_id.is_empty() {
        problems.add(format!("{path}/workflowId"), "name the definition to run");
    }
    if config.wait_for_completion == Some(false) {
        problems
            .add(format!("{path}/waitForCompletion"), "a child is always waited for: leave it out");
    }
    dispatch::check(problems, &config.input_mapping, path);
    dispatch::check(problems, &config.output_mapping, path);
    config
}
