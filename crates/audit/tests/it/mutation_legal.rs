//! Which changes of a valid document are legal, with the reason of each.

/// Changes that are legal, and why.
pub(crate) struct Legal {
    pub(crate) why: &'static str,
    /// The findings that tell of them, none of which rejects.
    pub(crate) told: &'static [&'static str],
    pub(crate) changes: &'static str,
}

pub(crate) const LEGAL_OF_EPISODES: &[Legal] = &[
    Legal {
        why: "optional in the published contract, and no rule is about it",
        told: &[],
        changes: "
            remove /actor/version
            remove /plan/planRef
            remove /outcome/effects
            remove /outcome/reason
            remove /verification/details
            remove /actions/0/authorization/policyRef
            remove /actions/0/preconditions
            remove /actions/0/preconditions/0
            remove /actions/0/rollbackPlan/instructions
            remove /actions/0/rollbackPlan/timeoutMs
            remove /actions/0/execution/executionSloMs
            remove /actions/0/execution/retryPolicy
            remove /actions/0/execution/retryPolicy/backoffMs
            remove /actions/0/execution/retryPolicy/maxRetries
            remove /degrade/rationale
        ",
    },
    Legal {
        why: "optional, and judged only where it is there: a timeout that is stated may not outlast its stage",
        told: &[],
        changes: "
            remove /actions/0/execution
            remove /actions/0/execution/timeoutMs
        ",
    },
    Legal {
        why: "the pack asks for no human where the action is small",
        told: &[],
        changes: "
            remove /actions/0/authorization/approver
        ",
    },
    Legal {
        why: "optional in the published contract: an episode that names no pack is held against the one that has rules for its decision type",
        told: &[],
        changes: "
            remove /dteRef/policyPackHash
            remove /policy
            remove /policy/policyPackHash
            remove /policy/policyPackId
            remove /policy/policyPackVersion
        ",
    },
    Legal {
        why: "no step was taken, which the telemetry says too, so the ladder is not asked",
        told: &[],
        changes: "
            remove /degrade
            remove /degrade/ladder
            remove /degrade/ladder/0
            remove /degrade/ladder/1
            remove /degrade/ladder/2
            remove /degrade/ladder/3
            remove /degrade/step
            1 MB /degrade/ladder/0
            1 MB /degrade/ladder/1
            1 MB /degrade/ladder/2
            1 MB /degrade/ladder/3
            10,000 items /degrade/ladder
        ",
    },
    Legal {
        why: "the context is fresh by the default, so no named evidence has to make it so",
        told: &[],
        changes: "
            remove /context/evidenceRefs/0
            remove /context/evidenceRefs/1
            1 MB /context/evidenceRefs/0
            1 MB /context/evidenceRefs/1
            10,000 items /context/evidenceRefs
        ",
    },
    Legal {
        why: "verification without an action is odd, and said to be",
        told: &["?act_without_action", "?pass_without_action"],
        changes: "
            remove /actions/0
        ",
    },
    Legal {
        why: "content of an object that the contract leaves to its author",
        told: &[],
        changes: "
            remove /actions/0/constraints/scope
            number /actions/0/constraints/scope
            bool /actions/0/constraints/scope
            null /actions/0/constraints/scope
            list /actions/0/constraints/scope
            object /actions/0/constraints/scope
            1 MB /actions/0/constraints/scope
            10^18 /actions/0/constraints/scope
            10,000 items /actions/0/constraints/scope
            10,000 members /actions/0/constraints/scope
            remove /actions/0/preconditions/0/equals
            number /actions/0/preconditions/0/equals
            bool /actions/0/preconditions/0/equals
            null /actions/0/preconditions/0/equals
            list /actions/0/preconditions/0/equals
            object /actions/0/preconditions/0/equals
            1 MB /actions/0/preconditions/0/equals
            10^18 /actions/0/preconditions/0/equals
            10,000 items /actions/0/preconditions/0/equals
            10,000 members /actions/0/preconditions/0/equals
            remove /actions/0/preconditions/0/field
            number /actions/0/preconditions/0/field
            bool /actions/0/preconditions/0/field
            null /actions/0/preconditions/0/field
            list /actions/0/preconditions/0/field
            object /actions/0/preconditions/0/field
            1 MB /actions/0/preconditions/0/field
            10^18 /actions/0/preconditions/0/field
            10,000 items /actions/0/preconditions/0/field
            10,000 members /actions/0/preconditions/0/field
            remove /actions/0/rollbackPlan/instructions/actionType
            number /actions/0/rollbackPlan/instructions/actionType
            bool /actions/0/rollbackPlan/instructions/actionType
            null /actions/0/rollbackPlan/instructions/actionType
            list /actions/0/rollbackPlan/instructions/actionType
            object /actions/0/rollbackPlan/instructions/actionType
            1 MB /actions/0/rollbackPlan/instructions/actionType
            10^18 /actions/0/rollbackPlan/instructions/actionType
            10,000 items /actions/0/rollbackPlan/instructions/actionType
            10,000 members /actions/0/rollbackPlan/instructions/actionType
            remove /degrade/rationale/reason
            number /degrade/rationale/reason
            bool /degrade/rationale/reason
            null /degrade/rationale/reason
            list /degrade/rationale/reason
            object /degrade/rationale/reason
            1 MB /degrade/rationale/reason
            10^18 /degrade/rationale/reason
            10,000 items /degrade/rationale/reason
            10,000 members /degrade/rationale/reason
            remove /degrade/rationale/remaining_ms
            string /degrade/rationale/remaining_ms
            bool /degrade/rationale/remaining_ms
            null /degrade/rationale/remaining_ms
            list /degrade/rationale/remaining_ms
            object /degrade/rationale/remaining_ms
            1 MB /degrade/rationale/remaining_ms
            10^18 /degrade/rationale/remaining_ms
            10,000 items /degrade/rationale/remaining_ms
            10,000 members /degrade/rationale/remaining_ms
            remove /outcome/effects/card
            number /outcome/effects/card
            bool /outcome/effects/card
            null /outcome/effects/card
            list /outcome/effects/card
            object /outcome/effects/card
            1 MB /outcome/effects/card
            10^18 /outcome/effects/card
            10,000 items /outcome/effects/card
            10,000 members /outcome/effects/card
        ",
    },
    Legal {
        why: "an object that the contract leaves open",
        told: &[],
        changes: "
            10,000 members /actions/0/constraints
            10,000 members /actions/0/preconditions/0
            10,000 members /actions/0/rollbackPlan/instructions
            10,000 members /degrade
            10,000 members /degrade/rationale
            10,000 members /outcome/effects
            10,000 members /policy
            10,000 members /verification/details
        ",
    },
    Legal {
        why: "a text of its author that the contract gives no bound; a document has one",
        told: &[],
        changes: "
            1 MB /actions/0/actionId
            1 MB /actions/0/authorization/approver
            1 MB /actions/0/authorization/policyRef
            1 MB /actions/0/idempotencyKey
            1 MB /actions/0/targetRefs/0/id
            1 MB /actions/0/targetRefs/0/type
            1 MB /actor/id
            1 MB /actor/version
            1 MB /context/snapshotId
            1 MB /episodeId
            1 MB /outcome/reason
            1 MB /plan/planRef
            1 MB /plan/summary
            1 MB /policy/policyPackId
            1 MB /policy/policyPackVersion
        ",
    },
    Legal {
        why: "the contract gives lists no bound, and no rule counts targets or conditions",
        told: &[],
        changes: "
            10,000 items /actions/0/preconditions
            10,000 items /actions/0/targetRefs
        ",
    },
    Legal {
        why: "a number that the envelope has no bound for",
        told: &[],
        changes: "
            10^18 /actions/0/execution/executionSloMs
            10^18 /actions/0/execution/retryPolicy/backoffMs
            10^18 /actions/0/execution/retryPolicy/maxRetries
            10^18 /actions/0/rollbackPlan/timeoutMs
            10^18 /telemetry/jitterMs
            10^18 /telemetry/p95Ms
            10^18 /telemetry/p99Ms
        ",
    },
    Legal {
        why: "what an action may take is not what it took",
        told: &["?action_timeout_over_budget"],
        changes: "
            10^18 /actions/0/execution/timeoutMs
        ",
    },
    Legal {
        why: "decided under another pack, and held against the one given",
        told: &["?pack_hash_differs"],
        changes: "
            1 MB /dteRef/policyPackHash
            1 MB /policy/policyPackHash
        ",
    },
    Legal {
        why: "what counts is the time of the whole; stages are told",
        told: &["?stage_sum", "?stage_over_budget"],
        changes: "
            10^18 /telemetry/stageMs/act
            10^18 /telemetry/stageMs/context
            10^18 /telemetry/stageMs/plan
        ",
    },
    Legal {
        why: "the context is held against the envelope's time to live",
        told: &["?ttl_differs"],
        changes: "
            10^18 /context/ttlMs
        ",
    },
    Legal {
        why: "the time is held against the envelope's deadline",
        told: &["?window_differs"],
        changes: "
            10^18 /decisionWindowMs
        ",
    },
];

pub(crate) const LEGAL_OF_SIGNALS: &[Legal] = &[
    Legal {
        why: "optional in the published contract",
        told: &[],
        changes: "
            remove /notes
            remove /evidenceRefs/0
        ",
    },
    Legal {
        why: "the contract gives texts and lists no bound; a document has one",
        told: &[],
        changes: "
            1 MB /driftId
            1 MB /episodeId
            1 MB /evidenceRefs/0
            1 MB /fingerprint/key
            1 MB /fingerprint/version
            1 MB /notes
            10,000 items /evidenceRefs
        ",
    },
];

pub(crate) const LEGAL_OF_ENVELOPES: &[Legal] = &[
    Legal {
        why: "optional in the published contract",
        told: &[],
        changes: "
            remove /description
            remove /freshness/allowStaleIfSafe
            remove /freshness/featureTtls
            remove /policyPack
            remove /policyPack/policyPackHash
            remove /policyPack/policyPackVersion
            remove /safeAction/allowedActionTypes
            remove /verification/verifyTimeoutMs
        ",
    },
    Legal {
        why: "one entry less, and the rest says the same",
        told: &[],
        changes: "
            remove /degradeLadder/0
            remove /degradeLadder/1
            remove /degradeLadder/2
            remove /degradeLadder/3
            remove /freshness/featureTtls/device
            remove /freshness/featureTtls/payments_1m
            remove /safeAction/allowedActionTypes/0
            remove /safeAction/allowedActionTypes/1
        ",
    },
];
