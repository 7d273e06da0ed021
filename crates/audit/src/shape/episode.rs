//! The shape of an episode, with the strict action contract.

use super::Shape::{Bool, Integer, List, Name, Object, Text, Time, Word};
use super::{Field, Record, Shape, may, must};
use crate::rule::{SHAPE_VALUE, TIER_UNKNOWN};

/// A sealed episode.
pub(crate) static EPISODE: Record = Record {
    fields: &[
        must("episodeId", Name),
        must("decisionType", Name),
        must("startedAt", Time),
        must("endedAt", Time),
        must("decisionWindowMs", Integer(1)),
        must("actor", Shape::Record(&ACTOR)),
        must("dteRef", Shape::Record(&ENVELOPE_REF)),
        must("context", Shape::Record(&CONTEXT)),
        must("plan", Shape::Record(&PLAN)),
        must("actions", List(&Shape::Record(&ACTION), 0)),
        must("verification", Shape::Record(&VERIFICATION)),
        must("outcome", Shape::Record(&OUTCOME)),
        must("telemetry", Shape::Record(&TELEMETRY)),
        must("seal", Shape::Record(&SEAL)),
        may("policy", Shape::Record(&POLICY)),
        may("degrade", Shape::Record(&DEGRADE)),
    ],
    is_open: false,
};

/// The words for an action's blast radius.
const TIERS: &[&str] = &["tiny", "small", "medium", "large"];

const fn word(words: &'static [&'static str]) -> Shape {
    Word(words, &SHAPE_VALUE)
}

const fn closed(fields: &'static [Field]) -> Record {
    Record { fields, is_open: false }
}

static ACTOR: Record = closed(&[
    must("type", word(&["agent", "human", "system"])),
    must("id", Text),
    may("version", Text),
]);

static ENVELOPE_REF: Record =
    closed(&[must("decisionType", Text), must("version", Text), may("policyPackHash", Text)]);

static CONTEXT: Record = closed(&[
    must("snapshotId", Text),
    must("capturedAt", Time),
    must("ttlMs", Integer(0)),
    must("maxFeatureAgeMs", Integer(0)),
    must("ttlBreachesCount", Integer(0)),
    must("evidenceRefs", List(&Text, 0)),
]);

static PLAN: Record = closed(&[
    must("planner", word(&["llm", "rules", "hybrid"])),
    must("summary", Text),
    may("planRef", Text),
]);

static VERIFICATION: Record = closed(&[
    must("required", Bool),
    may("method", Text),
    must("result", word(&["pass", "fail", "inconclusive", "na"])),
    may("details", Object),
]);

static OUTCOME: Record = closed(&[
    must("code", word(&["success", "partial", "fail", "abstain", "bypassed"])),
    may("reason", Text),
    may("effects", Object),
]);

static TELEMETRY: Record = closed(&[
    must("endToEndMs", Integer(0)),
    must("stageMs", Shape::Record(&STAGES)),
    must("p95Ms", Integer(0)),
    must("p99Ms", Integer(0)),
    must("jitterMs", Integer(0)),
    must("fallbackUsed", Bool),
    must("fallbackStep", Text),
    must("hopCount", Integer(0)),
    must("fanout", Integer(0)),
]);

static STAGES: Record = closed(&[
    must("context", Integer(0)),
    must("plan", Integer(0)),
    must("act", Integer(0)),
    must("verify", Integer(0)),
]);

static SEAL: Record = closed(&[must("sealedAt", Time), must("sealHash", Text)]);

static POLICY: Record = Record {
    fields: &[
        may("policyPackId", Text),
        may("policyPackVersion", Text),
        may("policyPackHash", Text),
    ],
    is_open: true,
};

static DEGRADE: Record = Record {
    fields: &[may("step", Text), may("rationale", Object), may("ladder", List(&Text, 0))],
    is_open: true,
};

static ACTION: Record = closed(&[
    must("actionId", Name),
    must("actionType", Name),
    must("blastRadiusTier", Word(TIERS, &TIER_UNKNOWN)),
    must("targetRefs", List(&Shape::Record(&TARGET), 1)),
    may("preconditions", List(&Object, 0)),
    must("constraints", Object),
    must("authorization", Shape::Record(&AUTHORIZATION)),
    must("idempotencyKey", Name),
    must("rollbackPlan", Shape::Record(&ROLLBACK)),
    may("execution", Shape::Record(&EXECUTION)),
]);

static TARGET: Record = closed(&[must("type", Text), must("id", Text)]);

static AUTHORIZATION: Record = closed(&[
    must("mode", word(&["auto", "hitl", "blocked"])),
    may("policyRef", Text),
    may("approver", Text),
]);

static ROLLBACK: Record = closed(&[
    must("type", word(&["none", "compensate", "restore", "revert"])),
    may("instructions", Object),
    may("timeoutMs", Integer(0)),
]);

static EXECUTION: Record = closed(&[
    may("executionSloMs", Integer(0)),
    may("timeoutMs", Integer(0)),
    may("retryPolicy", Shape::Record(&RETRY)),
]);

static RETRY: Record = closed(&[may("maxRetries", Integer(0)), may("backoffMs", Integer(0))]);
