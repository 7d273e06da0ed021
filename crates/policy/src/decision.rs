//! What a request declares about a decision that is made under an envelope.

mod broken;
mod compile;
mod rules;
mod time_text;

use std::collections::BTreeMap;

use probity_core::Tier;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::pack::AuthorizationMode;
use crate::schema::{Document, PolicyFindings, Schema};

pub use compile::{Compiled, Method, PolicyRef, ToolRules, compile};

/// What a request declares about its decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Decision {
    /// The class of decisions; that of the envelope.
    pub decision_type: String,
    /// Who decides. By default the system `probity`.
    #[serde(default)]
    pub actor: Actor,
    /// What the decision is based on.
    #[serde(default)]
    pub context: Context,
    /// How it was reached.
    #[serde(default)]
    pub plan: Plan,
    /// What will be acted on; may be empty. At most 100.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<Action>,
    /// Where the decision stands among others.
    #[serde(default, skip_serializing_if = "Chain::is_empty")]
    pub chain: Chain,
}

/// Who decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Actor {
    /// What it is.
    #[serde(rename = "type")]
    pub kind: ActorKind,
    /// Its name.
    pub id: String,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// What an actor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActorKind {
    /// A model with tools.
    Agent,
    /// A person.
    Human,
    /// A program.
    System,
}

impl Default for Actor {
    fn default() -> Self {
        Self { kind: ActorKind::System, id: "probity".to_owned(), version: None }
    }
}

/// What the decision is based on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Context {
    /// Name of the snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_id: Option<String>,
    /// When it was captured, in milliseconds since the Unix epoch; RFC 3339 on the wire. Watched
    /// with the default time to live where no feature is named.
    #[serde(
        rename = "capturedAt",
        default,
        with = "time_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub captured_at_ms: Option<u64>,
    /// What it consists of, by name. Names are compared as they are written. At most 1000.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub features: BTreeMap<String, FeatureAge>,
    /// Names of evidence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence_refs: Vec<String>,
}

/// How old a feature is: exactly one of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FeatureAge {
    /// When it was captured, in milliseconds since the Unix epoch; RFC 3339 on the wire.
    #[serde(
        rename = "capturedAt",
        default,
        with = "time_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub captured_at_ms: Option<u64>,
    /// Its age when the request was made, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age_ms: Option<u64>,
}

/// How the decision was reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Plan {
    /// Who planned. By default a model.
    #[serde(default = "Planner::model")]
    pub planner: Planner,
    /// What was planned. By default `task`.
    #[serde(default = "Plan::task")]
    pub summary: String,
    /// Where the plan is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_ref: Option<String>,
}

/// Who planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Planner {
    /// A model.
    Llm,
    /// Rules.
    Rules,
    /// Both.
    Hybrid,
}

impl Planner {
    const fn model() -> Self {
        Self::Llm
    }
}

impl Plan {
    fn task() -> String {
        "task".to_owned()
    }
}

impl Default for Plan {
    fn default() -> Self {
        Self { planner: Planner::model(), summary: Self::task(), plan_ref: None }
    }
}

/// One action, by the strict action contract of seed 001's system. Key and rollback plan may be
/// missing in a request: whether they are needed is the envelope's to say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Action {
    /// Its name, unique in the decision.
    pub action_id: String,
    /// What kind of action it is.
    pub action_type: String,
    /// How much it can touch.
    pub blast_radius_tier: Tier,
    /// What it touches. At least one.
    pub target_refs: Vec<TargetRef>,
    /// What must hold before it. Carried, not judged here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preconditions: Vec<Map<String, Value>>,
    /// Bounds of its execution. Carried, not judged here.
    pub constraints: Map<String, Value>,
    /// Who must agree to it.
    pub authorization: Authorization,
    /// What makes a repeat recognisable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// How it is taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback_plan: Option<RollbackPlan>,
    /// Times of its execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<Execution>,
}

/// What an action touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TargetRef {
    /// What kind of thing it is.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its name.
    pub id: String,
}

/// Who must agree to an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Authorization {
    /// Who.
    pub mode: AuthorizationMode,
    /// The policy that says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_ref: Option<String>,
    /// The human who is meant. A name in a request is no approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approver: Option<String>,
}

/// How an action is taken back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RollbackPlan {
    /// In which way.
    #[serde(rename = "type")]
    pub kind: RollbackKind,
    /// How. Carried, not judged here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<Map<String, Value>>,
    /// Time that it may need, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// In which way an action is taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RollbackKind {
    /// Not at all. Counts as no plan.
    None,
    /// By another action that makes up for it.
    Compensate,
    /// From a copy.
    Restore,
    /// By undoing it.
    Revert,
}

/// Times of an action's execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Execution {
    /// Time that it should need, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_slo_ms: Option<u64>,
    /// Time that it may need, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// What follows a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_policy: Option<RetryPolicy>,
}

/// What follows a failed execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RetryPolicy {
    /// Tries after the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u64>,
    /// Wait between tries, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff_ms: Option<u64>,
}

/// Where a decision stands among others, for the envelope's limits. Absent counts break none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Chain {
    /// Systems passed through in a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hops: Option<u64>,
    /// Calls at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fanout: Option<u64>,
    /// Decisions that led to this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u64>,
}

impl Chain {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Decision {
    /// Reads a decision from the value that a request holds: the schema, then the rules across
    /// fields. An action without a tier, or with another word for one, is `tier_unknown`.
    ///
    /// # Errors
    /// [`PolicyFindings`] with everything that was found.
    pub fn parse(value: &Value) -> Result<Self, PolicyFindings> {
        let decision: Self = Document::of(value)?.typed(Schema::Decision)?;
        PolicyFindings::refuse(rules::findings(&decision)).map(|_| decision)
    }

    /// The widest blast radius of the actions; `None` where nothing is acted on.
    #[must_use]
    pub fn tier(&self) -> Option<Tier> {
        self.actions.iter().map(|action| action.blast_radius_tier).max()
    }
}
