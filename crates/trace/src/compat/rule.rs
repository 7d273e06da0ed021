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

rules! {
    UNREADABLE = Rule::malformed(
        "compat_unreadable", READ, "the original raises an exception and gives no report");
    NOT_REGULAR = Rule::malformed(
        "compat_not_regular", READ, "a file is a link, a pipe or a device, which is not followed");
    LIMIT = Rule::limit("compat_limit", READ, "a bound of the compatible reading was reached");

    NODE_REPEATED = Rule::error("compat_node_repeated", CORE, "two nodes of the plan have one id").under("INV-SCH-001");
    DEPENDENCY_MISSING = Rule::error("compat_dependency_missing", CORE, "a node depends on one that is not there").under("INV-SCH-001");
    PLAN_CYCLE = Rule::error("compat_plan_cycle", CORE, "no order satisfies the dependencies of the plan").under("INV-SCH-001");
    VERSION = Rule::error("compat_version", CORE, "the header states a version that is not supported").under("INV-SCH-001");
    IDX_MISSING = Rule::error("compat_idx_missing", CORE, "an event has no number").under("INV-SCH-001");
    IDX_ORDER = Rule::error("compat_idx_order", CORE, "the number of an event is not its position").under("INV-SCH-001");
    CALL_REPEATED = Rule::error("compat_call_repeated", CORE, "two calls have one id").under("INV-SCH-001");
    RETURN_UNKNOWN = Rule::error("compat_return_unknown", CORE, "a result answers no call before it").under("INV-SCH-001");
    EVIDENCE_STEP = Rule::error("compat_evidence_step", CORE, "an evidence names no step").under("INV-SCH-001");
    EVIDENCE_REPEATED = Rule::error("compat_evidence_repeated", CORE, "two evidences have one id").under("INV-SCH-001");
    CALL_UNANSWERED = Rule::error("compat_call_unanswered", CORE, "calls have no result").under("INV-SCH-001");
    STEP_UNKNOWN = Rule::error("compat_step_unknown", CORE, "a started step is not in the plan").under("INV-SCH-001");
    STEP_UNFINISHED = Rule::error("compat_step_unfinished", CORE, "started steps never finish").under("INV-SCH-001");

    TOOL_LINKAGE = Rule::error("compat_tool_linkage", LINKAGE, "calls have no result").under("INV-TLK-001");
    REF_UNKNOWN = Rule::error("compat_ref_unknown", JUSTIFIED, "a support refers to what is not there").under("INV-LNK-001");

    CLAIM_UNSUPPORTED = Rule::error("compat_claim_unsupported", GROUNDED, "a derived claim cites no evidence").under("INV-GRD-001");
    SUPPORTS_FEW = Rule::error("compat_supports_few", GROUNDED, "a derived claim cites too few evidences").under("INV-GRD-002");
    MARKER_MISSING = Rule::error("compat_marker_missing", GROUNDED, "a support has no marker").under("INV-GRD-001");
    MARKER_UNMATCHED = Rule::error("compat_marker_unmatched", GROUNDED, "a marker has no support").under("INV-GRD-001");

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
    FINALIZE_MISSING = Rule::error("compat_finalize_missing", FINALIZED, "no step gives the final output").under("INV-ORD-001");
    STEPS_MISSING = Rule::error("compat_steps_missing", STEPS, "the output of a required step is missing").under("INV-ORD-001");

    EVIDENCE_PATH = Rule::error("compat_evidence_path", HASHES, "an evidence file is missing or outside").under("INV-EVD-001");
    EVIDENCE_HASH = Rule::error("compat_evidence_hash", HASHES, "an evidence file has another hash").under("INV-EVD-001");

    CHUNK_SPAN = Rule::error("compat_chunk_span", SPANS, "evidence and chunk table state other spans").under("INV-EVD-001");
    CHUNK_HASH = Rule::error("compat_chunk_hash", SPANS, "an evidence file is not the listed chunk").under("INV-EVD-001");
    EVIDENCE_BYTES = Rule::error("compat_evidence_bytes", SPANS, "the bytes of a cited evidence are missing").under("INV-EVD-001");
    SPAN_BEYOND = Rule::error("compat_span_beyond", SPANS, "a cited span leaves its evidence file").under("INV-EVD-001");
    SPAN_OUTSIDE = Rule::error("compat_span_outside", SPANS, "a cited span leaves the span that its evidence states").under("INV-EVD-001");
    SNIPPET_HASH = Rule::error("compat_snippet_hash", SPANS, "the cited bytes have another hash").under("INV-EVD-001");
}
