//! Every rule of an audit: its code, its weight, and what it asks.

use crate::Severity;

/// One rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// The code of its findings.
    pub code: &'static str,
    /// How much they weigh, where no rule says otherwise.
    pub severity: Severity,
    /// What it finds, in a line.
    pub finds: &'static str,
}

impl Rule {
    const fn hard(code: &'static str, finds: &'static str) -> Self {
        Self { code, severity: Severity::Error, finds }
    }

    const fn soft(code: &'static str, finds: &'static str) -> Self {
        Self { code, severity: Severity::Warning, finds }
    }

    const fn note(code: &'static str, finds: &'static str) -> Self {
        Self { code, severity: Severity::Note, finds }
    }
}

macro_rules! rules {
    ($($name:ident = $rule:expr;)*) => {
        $(pub(crate) static $name: Rule = $rule;)*

        /// Every rule, in the order of `docs/episodes.md`.
        pub static RULES: &[&Rule] = &[$(&$name),*];
    };
}

#[rustfmt::skip]
rules! {
    // Reading
    DOCUMENT_TOO_LARGE = Rule::hard("document_too_large", "more bytes or values than are read");
    DOCUMENT_NOT_UTF8 = Rule::hard("document_not_utf8", "bytes that are not UTF-8");
    DOCUMENT_SYNTAX = Rule::hard("document_syntax", "text that is not JSON");
    DOCUMENT_NUMBER = Rule::hard("document_number", "`NaN`, an infinity, or a number beyond a double");
    DOCUMENT_TOO_DEEP = Rule::hard("document_too_deep", "arrays and objects nested too deep");
    DOCUMENT_TRAILING = Rule::hard("document_trailing", "text behind the value");
    DOCUMENT_DUPLICATE_KEY = Rule::hard("document_duplicate_key", "a key twice in one object");
    DOCUMENT_UNKNOWN = Rule::hard("document_unknown", "neither episode, drift signal, envelope nor pack");
    FINDINGS_CUT = Rule::note("findings_cut", "more findings than are listed");
    // Shape
    OTHER_VOCABULARY = Rule::hard("other_vocabulary", "names of another system or version");
    SHAPE_TYPE = Rule::hard("shape_type", "a value of another kind");
    SHAPE_MISSING = Rule::hard("shape_missing", "a member that must be there");
    SHAPE_UNKNOWN = Rule::hard("shape_unknown", "a member that may not be there");
    SHAPE_VALUE = Rule::hard("shape_value", "a word or number that is not allowed");
    SHAPE_TIME = Rule::hard("shape_time", "a time that is not RFC 3339");
    TIER_UNKNOWN = Rule::hard("tier_unknown", "a blast radius that is none of the four");
    STEP_UNKNOWN = Rule::hard("step_unknown", "a degrade step that is none of the six");
    // Seal
    SEAL_MISMATCH = Rule::hard("seal_mismatch", "another digest than the bytes give");
    SEAL_NOT_A_DIGEST = Rule::hard("seal_not_a_digest", "a seal that no hash function gave");
    SEAL_OF_NOTHING = Rule::hard("seal_of_nothing", "the digest of the empty input");
    SEAL_PREFIXED = Rule::soft("seal_prefixed", "`sha256:` in front of the digest");
    SEAL_BY_VALUE = Rule::note("seal_by_value", "a seal that matches by RFC 8785 alone");
    SEAL_WITH_PLACE = Rule::soft("seal_with_place", "a seal taken over an empty `seal`");
    RECEIPT_DIFFERS = Rule::hard("receipt_differs", "not the episode that the receipt was given for");
    // Times
    TIME_ORDER = Rule::hard("time_order", "an end before the start");
    SEALED_BEFORE_END = Rule::hard("sealed_before_end", "a seal older than the end");
    CAPTURED_AFTER_END = Rule::hard("captured_after_end", "a context younger than the end");
    STAGE_SUM = Rule::soft("stage_sum", "stages longer than the whole");
    ACT_WITHOUT_ACTION = Rule::soft("act_without_action", "time of the act stage without an action");
    DURATION_IMPLAUSIBLE = Rule::soft("duration_implausible", "a decision of more than 30 days");
    DEADLINE_EXCEEDED = Rule::hard("deadline_exceeded", "more time than the window or deadline");
    WINDOW_DIFFERS = Rule::soft("window_differs", "a window wider than the envelope's deadline");
    STAGE_OVER_BUDGET = Rule::soft("stage_over_budget", "a stage longer than its budget");
    VERIFY_TOO_LATE = Rule::hard("verify_too_late", "a pass that came after the verify timeout");
    ACTION_TIMEOUT_OVER_BUDGET = Rule::soft("action_timeout_over_budget", "an action that may outlast its stage");
    // Freshness
    CONTEXT_STALE = Rule::note("context_stale", "a context older than it may be");
    STALE_NOT_ABSTAINED = Rule::hard("stale_not_abstained", "a decision on a stale context");
    TTL_DIFFERS = Rule::soft("ttl_differs", "a time to live longer than the envelope's");
    // Verification
    REQUIRED_NA = Rule::hard("required_na", "a required verification that was not made");
    REQUIRED_FALSE = Rule::hard("required_false", "a mandatory verification marked as not required");
    OUTCOME_UNVERIFIED = Rule::hard("outcome_unverified", "success or part of it after a non-pass");
    SUCCESS_UNCHECKED = Rule::soft("success_unchecked", "a success that nothing checked");
    PASS_WITHOUT_ACTION = Rule::soft("pass_without_action", "a pass with nothing to verify");
    PASS_DEGRADED = Rule::hard("pass_degraded", "a pass on a step that does not act, or bypasses");
    METHOD_PLACEHOLDER = Rule::hard("method_placeholder", "a pass by a method that is none");
    METHOD_MISSING = Rule::hard("method_missing", "a result without a verifier that must have run");
    METHOD_UNKNOWN = Rule::hard("method_unknown", "a verifier that the envelope does not name");
    // Actions
    TIER_ABOVE_MAX = Rule::hard("tier_above_max", "an action wider than the envelope allows");
    IDEMPOTENCY_MISSING = Rule::hard("idempotency_missing", "an action that cannot be repeated safely");
    ROLLBACK_MISSING = Rule::hard("rollback_missing", "a wide action without a way back");
    ACTION_TYPE_DENIED = Rule::hard("action_type_denied", "an action that the envelope does not name");
    AUTHORIZATION_WEAK = Rule::hard("authorization_weak", "less authorization than the pack asks for");
    APPROVER_MISSING = Rule::hard("approver_missing", "a human's approval without the human");
    TWO_PERSON_UNPROVEN = Rule::hard("two_person_unproven", "two approvers asked for, fewer named");
    ACTION_ID_TWICE = Rule::hard("action_id_twice", "two actions of one name");
    ACTION_BLOCKED = Rule::hard("action_blocked", "a blocked action with an effect");
    LIMIT_EXCEEDED = Rule::hard("limit_exceeded", "more hops or fan-out than the envelope allows");
    // Fallback
    STEP_NOT_IN_LADDER = Rule::hard("step_not_in_ladder", "a step that the ladder does not have");
    FALLBACK_DIFFERS = Rule::soft("fallback_differs", "telemetry and degrade name two steps");
    FALLBACK_FLAG = Rule::soft("fallback_flag", "`fallbackUsed` and the step contradict each other");
    BYPASSED_NOTHING = Rule::hard("bypassed_nothing", "`bypassed` where nothing was done");
    ABSTAIN_ACTED = Rule::hard("abstain_acted", "`abstain` beside an action");
    BYPASS_USED = Rule::soft("bypass_used", "an action without the safeguards");
    // References
    ENVELOPE_MISSING = Rule::hard("envelope_missing", "a decision type whose envelope was not given");
    PACK_MISSING = Rule::hard("pack_missing", "a decision type that no given pack has rules for");
    DECISION_TYPE_DIFFERS = Rule::hard("decision_type_differs", "two decision types in one episode");
    ENVELOPE_VERSION_DIFFERS = Rule::hard("envelope_version_differs", "another version of the envelope");
    PACK_HASH_DIFFERS = Rule::soft("pack_hash_differs", "another pack than the one given");
}
