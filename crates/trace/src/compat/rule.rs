//! What the original finds: one code for each kind of its messages.

use probity_report::Rule;

/// The check under which it is told that a run was not read at all; none of the ten ran.
const READ: &str = "read";
const CORE: &str = "core_invariants";
const LINKAGE: &str = "tool_linkage";
const JUSTIFIED: &str = "claim_justifications";
const GROUNDED: &str = "derived_claim_grounding";
const REASONING: &str = "reasoning_trace";
const SUFFICIENT: &str = "insufficient_reasoning";
const FINALIZED: &str = "finalize_present";
const STEPS: &str = "required_steps";
const HASHES: &str = "evidence_hashes";
const SPANS: &str = "support_spans";

macro_rules! rules {
    ($($name:ident = $rule:expr;)+) => {
        $(pub(super) static $name: Rule = $rule;)+

        /// Every rule of the compatible reading.
        #[must_use]
        pub fn rules() -> Vec<&'static Rule> {
            vec![$(&$name),+]
        }
    };
}

/// A rule under an invariant of the original.
const fn rule(
    code: &'static str,
    check: &'static str,
    invariant_id: &'static str,
    finds: &'static str,
) -> Rule {
    Rule::error(code, check, finds).under(invariant_id)
}

rules! {
    UNREADABLE = Rule::malformed(
        "compat_unreadable", READ, "the original raises an exception and gives no report");
    NOT_REGULAR = Rule::malformed(
        "compat_not_regular", READ, "a file is a link, a pipe or a device, which is not followed");
    LIMIT = Rule::limit("compat_limit", READ, "a bound of the compatible reading was reached");

    NODE_REPEATED = rule(
        "compat_node_repeated", CORE, "INV-SCH-001", "two nodes of the plan have one id");
    DEPENDENCY_MISSING = rule(
        "compat_dependency_missing", CORE, "INV-SCH-001", "a node depends on one that is not there");
    PLAN_CYCLE = rule(
        "compat_plan_cycle", CORE, "INV-SCH-001", "no order satisfies the dependencies of the plan");
    VERSION = rule(
        "compat_version", CORE, "INV-SCH-001", "the header states a version that is not supported");
    IDX_MISSING = rule("compat_idx_missing", CORE, "INV-SCH-001", "an event has no number");
    IDX_ORDER = rule(
        "compat_idx_order", CORE, "INV-SCH-001", "the number of an event is not its position");
    CALL_REPEATED = rule("compat_call_repeated", CORE, "INV-SCH-001", "two calls have one id");
    RETURN_UNKNOWN = rule(
        "compat_return_unknown", CORE, "INV-SCH-001", "a result answers no call before it");
    EVIDENCE_STEP = rule(
        "compat_evidence_step", CORE, "INV-SCH-001", "an evidence names no step");
    EVIDENCE_REPEATED = rule(
        "compat_evidence_repeated", CORE, "INV-SCH-001", "two evidences have one id");
    CALL_UNANSWERED = rule(
        "compat_call_unanswered", CORE, "INV-SCH-001", "calls have no result");
    STEP_UNKNOWN = rule(
        "compat_step_unknown", CORE, "INV-SCH-001", "a started step is not in the plan");
    STEP_UNFINISHED = rule(
        "compat_step_unfinished", CORE, "INV-SCH-001", "started steps never finish");

    TOOL_LINKAGE = rule("compat_tool_linkage", LINKAGE, "INV-TLK-001", "calls have no result");
    REF_UNKNOWN = rule(
        "compat_ref_unknown", JUSTIFIED, "INV-LNK-001", "a support refers to what is not there");

    CLAIM_UNSUPPORTED = rule(
        "compat_claim_unsupported", GROUNDED, "INV-GRD-001", "a derived claim cites no evidence");
    SUPPORTS_FEW = rule(
        "compat_supports_few", GROUNDED, "INV-GRD-002", "a derived claim cites too few evidences");
    MARKER_MISSING = rule(
        "compat_marker_missing", GROUNDED, "INV-GRD-001", "a support has no marker");
    MARKER_UNMATCHED = rule(
        "compat_marker_unmatched", GROUNDED, "INV-GRD-001", "a marker has no support");

    REASONING_MISSING = Rule::error(
        "compat_reasoning_missing", REASONING, "the header says nothing of the reasoning");
    REASONING_HASH_MISSING = Rule::error(
        "compat_reasoning_hash_missing", REASONING, "the header states no hash of the reasoning");
    CLAIM_HASH_MISSING = Rule::error(
        "compat_claim_hash_missing", REASONING, "a derived claim states no hash of its reasoning");
    CLAIM_HASHES_DIFFER = Rule::error(
        "compat_claim_hashes_differ", REASONING, "derived claims state different hashes");
    REASONING_HASH_DIFFERS = Rule::error(
        "compat_reasoning_hash_differs", REASONING, "claims and header state different hashes");

    NO_CONCLUSION = Rule::error(
        "compat_no_conclusion", SUFFICIENT, "there is neither a derived claim nor insufficiency");
    TWO_CONCLUSIONS = Rule::error(
        "compat_two_conclusions", SUFFICIENT, "there are both derived claims and insufficiency");
    FINALIZE_MISSING = rule(
        "compat_finalize_missing", FINALIZED, "INV-ORD-001", "no step gives the final output");
    STEPS_MISSING = rule(
        "compat_steps_missing", STEPS, "INV-ORD-001", "the output of a required step is missing");

    EVIDENCE_PATH = rule(
        "compat_evidence_path", HASHES, "INV-EVD-001", "an evidence file is missing or outside");
    EVIDENCE_HASH = rule(
        "compat_evidence_hash", HASHES, "INV-EVD-001", "an evidence file has another hash");

    CHUNK_SPAN = rule(
        "compat_chunk_span", SPANS, "INV-EVD-001", "evidence and chunk table state other spans");
    CHUNK_HASH = rule(
        "compat_chunk_hash", SPANS, "INV-EVD-001", "an evidence file is not the listed chunk");
    EVIDENCE_BYTES = rule(
        "compat_evidence_bytes", SPANS, "INV-EVD-001", "the bytes of a cited evidence are missing");
    SPAN_BEYOND = rule(
        "compat_span_beyond", SPANS, "INV-EVD-001", "a cited span leaves its evidence file");
    SPAN_OUTSIDE = rule(
        "compat_span_outside", SPANS, "INV-EVD-001",
        "a cited span leaves the span that its evidence states");
    SNIPPET_HASH = rule(
        "compat_snippet_hash", SPANS, "INV-EVD-001", "the cited bytes have another hash");
}
