//! The decision envelope of a decision type: deadline, stages, freshness, limits, ladder,
//! verification and safe action.
//!
//! The contract is that of seed 001's "Decision Timing Envelope"; what it left open is decided in
//! [`Envelope::parse`]'s rules.

pub mod compat;
mod rules;

use std::collections::BTreeMap;

use probity_core::{Step, Threshold, Tier};
use serde::{Deserialize, Serialize};

use crate::pack::PackRules;
use crate::schema::{Format, PolicyFinding, PolicyFindings, Schema, read};

pub(crate) use rules::ladder_findings;

/// The envelope of one decision type.
///
/// [`Envelope::parse`] is the way to get one: deserialising alone checks no rule across fields.
/// [`crate::compile`] checks them again, so an envelope that skipped them governs nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Envelope {
    /// The class of decisions that it governs. 1 to 200 characters.
    pub decision_type: String,
    /// Its version. 1 to 100 characters.
    pub version: String,
    /// Text for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Wall time of the whole decision in milliseconds, 1 to 30 days.
    pub deadline_ms: u64,
    /// Wall time of each stage. Their sum is at most the deadline.
    pub stage_budgets_ms: StageLimits,
    /// How long what the decision is based on stays fresh.
    pub freshness: Freshness,
    /// Counts that end the decision.
    pub limits: Limits,
    /// What to fall back to, in order: 1 to 6 rungs, no step twice, one of them safe.
    pub degrade_ladder: Vec<LadderRung>,
    /// When and how the result must be verified.
    pub verification: Verification,
    /// What an action must be to be done.
    pub safe_action: SafeAction,
    /// The pack that the envelope was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_pack: Option<PackOrigin>,
}

/// Wall time of each stage in milliseconds, 0 to 30 days each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageLimits {
    /// Reading what the decision is based on.
    pub context: u64,
    /// Between that and the act.
    pub plan: u64,
    /// The act.
    pub act: u64,
    /// Its verification.
    pub verify: u64,
}

/// How long features stay fresh.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Freshness {
    /// Time to live of a feature that has none of its own, in milliseconds, 0 to 10 years.
    pub default_ttl_ms: u64,
    /// Time to live by feature name, in milliseconds. Names are compared as they are written.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_ttls: BTreeMap<String, u64>,
    /// Stale features are only reported while the action is at or below
    /// [`Verification::required_above_blast_radius`].
    #[serde(default)]
    pub allow_stale_if_safe: bool,
}

/// Counts that a decision may not exceed, 0 to 1 000 000 each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Limits {
    /// Systems passed through in a row.
    pub max_hops: u64,
    /// Calls at the same time.
    pub max_fanout: u64,
    /// Tool calls in all.
    pub max_tool_calls: u64,
    /// Decisions that led to each other.
    pub max_chain_depth: u64,
}

/// One rung of the ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LadderRung {
    /// The step.
    pub step: Step,
    /// Time that it may need, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_extra_ms: Option<u64>,
}

/// When and how the result must be verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Verification {
    /// Strictly above it, verification is mandatory.
    pub required_above_blast_radius: Threshold,
    /// Names of verifiers. All of them run; all must pass.
    #[serde(default)]
    pub methods: Vec<String>,
    /// Wall time of each method in milliseconds, 0 to one hour; 0 means the verify stage's budget.
    #[serde(default)]
    pub verify_timeout_ms: u64,
}

/// What an action must be to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SafeAction {
    /// Every action has an idempotency key.
    pub require_idempotency: bool,
    /// Strictly above it, an action has a rollback plan.
    pub require_rollback_above: Threshold,
    /// Strictly above it, nothing is done.
    pub blast_radius_max: Tier,
    /// The only legal action types; absent means any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_action_types: Option<Vec<String>>,
}

/// The pack that an envelope was made from, as the envelope states it. Not checked: the pack's own
/// hash is what counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PackOrigin {
    /// Hash of the pack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_pack_hash: Option<String>,
    /// Version of the pack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_pack_version: Option<String>,
}

impl Envelope {
    /// Reads an envelope: strict text, the schema, then the rules across fields.
    ///
    /// | Rule | Code |
    /// |---|---|
    /// | the stages' sum is at most `deadlineMs` | `envelope_stage_sum` |
    /// | `verifyTimeoutMs` is at most the verify stage's budget | `envelope_verify_timeout` |
    /// | where verification can be required there is time for it | `envelope_no_verify_time` |
    /// | and at least one method | `envelope_no_methods` |
    /// | no step twice in the ladder | `envelope_step_twice` |
    /// | the ladder has `hitl` or `abstain` | `envelope_no_safe_step` |
    /// | `bypass` does not come before it | `envelope_bypass_first` |
    ///
    /// # Errors
    /// [`PolicyFindings`] with everything that was found, warnings included.
    pub fn parse(text: &str, format: Format) -> Result<Self, PolicyFindings> {
        let envelope: Self = read(text, format)?.typed(Schema::Envelope)?;
        PolicyFindings::refuse(envelope.findings(None)).map(|_| envelope)
    }

    /// What the rules across fields find, errors first; with a pack's rules for the same decision
    /// type, verification can be required by those too. Nothing but warnings after
    /// [`Envelope::parse`] without a pack.
    #[must_use]
    pub fn findings(&self, pack: Option<&PackRules>) -> Vec<PolicyFinding> {
        rules::findings(self, pack)
    }

    /// Wall time of one method in milliseconds: `verifyTimeoutMs`, or the verify stage's budget
    /// where that is 0; at most [`probity_core::MAX_CHECK_MS`].
    #[must_use]
    pub fn method_timeout_ms(&self) -> u64 {
        let stated_ms = self.verification.verify_timeout_ms;
        let timeout_ms = if stated_ms == 0 { self.stage_budgets_ms.verify } else { stated_ms };
        timeout_ms.min(probity_core::MAX_CHECK_MS)
    }

    /// Time to live of a feature in milliseconds.
    #[must_use]
    pub fn ttl_ms(&self, feature: &str) -> u64 {
        self.freshness.feature_ttls.get(feature).copied().unwrap_or(self.freshness.default_ttl_ms)
    }
}
