//! Policy as data: decision envelopes, policy packs, hook and profile artifacts. Parsing and
//! validation only; no file is opened here.
//!
//! - [`Envelope`], [`Pack`], [`Decision`]: documents of a decision, read strictly.
//! - [`compile`]: what they come to for one run, as [`probity_core::Terms`].

pub mod sorted_json;

mod decision;
mod envelope;
mod pack;
mod schema;

pub use decision::{
    Action, Actor, ActorKind, Authorization, Chain, Compiled, Context, Decision, Execution,
    FeatureAge, Method, Plan, Planner, PolicyRef, RetryPolicy, RollbackKind, RollbackPlan,
    TargetRef, ToolRules, compile,
};
pub use envelope::{
    Envelope, Freshness, LadderRung, Limits, PackOrigin, SafeAction, StageLimits, Verification,
    compat as legacy,
};
pub use pack::{AuthorizationMode, Pack, PackDefaults, PackRules, TierRules, pack_hash};
pub use schema::{Format, MAX_DOCUMENT_BYTES, PolicyFinding, PolicyFindings, Schema, Severity};
