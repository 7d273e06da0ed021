//! Policy as data: decision envelopes, policy packs, hook and profile artifacts. Parsing and
//! validation only; no file is opened here.
//!
//! - [`Envelope`], [`Pack`], [`Decision`]: documents of a decision, read strictly.
//! - [`compile`]: what they come to for one run, as [`probity_core::Terms`].

pub mod sorted_json;

mod artifact;
mod decision;
mod envelope;
mod pack;
mod schema;

pub use artifact::{
    ArtifactError, CommandDelegate, DEFAULT_HOOK_MS, DEFAULT_PRIORITY, FrontMatter, HookArtifact,
    HookEvent, HookRef, MAX_ARTIFACT_BYTES, MAX_HOOKS, MAX_PRIORITY, MAX_WHEN_BYTES, Place,
    Profile, ProfileDelegate, distinct_names, in_order,
};
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
