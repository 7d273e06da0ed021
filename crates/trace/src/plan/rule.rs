//! What is found of plans, and of traces that do not keep to theirs.

use probity_report::Rule;

const CHECK: &str = "plan";
const SCHEMA: &str = "INV-SCH-001";
const ORDER: &str = "INV-ORD-001";

/// Rules on the file, on the graph, on the binding.
pub(crate) static RULES: &[&Rule] = &[
    &JSON,
    &NUMBER,
    &SURROGATE,
    &LIMIT,
    &KEY_TWICE,
    &WRAPPED,
    &KEY_UNKNOWN,
    &KEY_MISSING,
    &TYPE,
    &KIND,
    &EMPTY,
    &STEP_KIND,
    &UNCANONICAL,
    &NODE_TWICE,
    &DEPENDENCY_MISSING,
    &DEPENDENCY_SELF,
    &CYCLE,
    &EDGES,
    &HEADER_PLAN_ID,
    &HEADER_SPEC_ID,
    &SPEC_ID,
    &PROBLEM,
    &STEP_UNKNOWN,
    &STEP_NOT_RUN,
    &OUTPUT_KIND,
    &TOOL_UNREQUESTED,
    &TOOL_NOT_CALLED,
    &CALL_TOOL,
    &CALL_ARGUMENTS,
    &GATHER_EVIDENCE_IDS,
    &DERIVE_CLAIM_IDS,
    &REQUIRED_STEP_MISSING,
    &QUESTION,
];

pub(super) static JSON: Rule =
    Rule::malformed("trace_plan_json", "json", "a plan that is no JSON document");
pub(super) static NUMBER: Rule =
    Rule::error("trace_plan_number", "json", "a number that not every reader keeps");
pub(super) static SURROGATE: Rule =
    Rule::error("trace_plan_surrogate", "json", "an escape for half a character");
pub(super) static LIMIT: Rule =
    Rule::limit("trace_plan_limit", "json", "a plan beyond what is read");
pub(super) static KEY_TWICE: Rule =
    Rule::error("trace_plan_key_twice", "json", "a key that stands twice in its object");
pub(super) static WRAPPED: Rule =
    Rule::error("trace_plan_wrapped", "json", "a plan inside another document, not on its own");
pub(super) static KEY_UNKNOWN: Rule =
    Rule::error("trace_plan_key_unknown", "json", "a key that plans do not have").under(SCHEMA);
pub(super) static KEY_MISSING: Rule =
    Rule::error("trace_plan_key_missing", "json", "a key that every plan has is missing")
        .under(SCHEMA);
pub(super) static TYPE: Rule =
    Rule::error("trace_plan_type", "json", "a value of the wrong JSON type").under(SCHEMA);
pub(super) static KIND: Rule =
    Rule::error("trace_plan_kind", "json", "a kind that no step has").under(SCHEMA);
pub(super) static EMPTY: Rule = Rule::error("trace_plan_empty", CHECK, "a plan without steps");
pub(super) static STEP_KIND: Rule =
    Rule::error("trace_plan_step_kind", CHECK, "instructions of another kind than their step");
pub(super) static UNCANONICAL: Rule =
    Rule::error("trace_plan_uncanonical", "canonical", "a plan that is not in canonical form");
pub(super) static NODE_TWICE: Rule =
    Rule::error("trace_plan_node_twice", CHECK, "two steps of a plan with one id").under(SCHEMA);
pub(super) static DEPENDENCY_MISSING: Rule = Rule::error(
    "trace_plan_dependency_missing",
    CHECK,
    "a step that waits for one that is not there",
)
.under(SCHEMA);
pub(super) static DEPENDENCY_SELF: Rule =
    Rule::error("trace_plan_dependency_self", CHECK, "a step that waits for itself").under(SCHEMA);
pub(super) static CYCLE: Rule =
    Rule::error("trace_plan_cycle", CHECK, "steps that wait for each other").under(SCHEMA);
pub(super) static EDGES: Rule =
    Rule::error("trace_plan_edges", CHECK, "edges that are not the dependencies of the steps");
pub(super) static HEADER_PLAN_ID: Rule =
    Rule::error("trace_header_plan_id", CHECK, "a trace that names another plan than the one here");
pub(super) static HEADER_SPEC_ID: Rule = Rule::error(
    "trace_header_spec_id",
    CHECK,
    "a trace that names another problem than the one here",
);
pub(super) static SPEC_ID: Rule =
    Rule::error("trace_plan_spec_id", CHECK, "a plan that names another problem than the one here");
pub(super) static PROBLEM: Rule =
    Rule::error("trace_plan_problem", CHECK, "a plan that words the problem in another way");
pub(super) static STEP_UNKNOWN: Rule =
    Rule::error("trace_step_unknown", CHECK, "a step that is not in the plan").under(SCHEMA);
pub(super) static STEP_NOT_RUN: Rule =
    Rule::error("trace_step_not_run", CHECK, "a step of the plan that never ran");
pub(super) static OUTPUT_KIND: Rule =
    Rule::error("trace_output_kind", CHECK, "an output of another kind than its step");
pub(super) static TOOL_UNREQUESTED: Rule =
    Rule::error("trace_tool_unrequested", CHECK, "a tool call that the plan does not ask for");
pub(super) static TOOL_NOT_CALLED: Rule =
    Rule::error("trace_tool_not_called", CHECK, "a tool call that the plan asks for is not there");
pub(super) static CALL_TOOL: Rule =
    Rule::error("trace_call_tool", CHECK, "a call of another tool than the plan asks for");
pub(super) static CALL_ARGUMENTS: Rule =
    Rule::error("trace_call_arguments", CHECK, "arguments other than the plan asks for");
pub(super) static GATHER_EVIDENCE_IDS: Rule = Rule::error(
    "trace_gather_evidence_ids",
    CHECK,
    "a gather output that lists other evidence than was registered",
);
pub(super) static DERIVE_CLAIM_IDS: Rule = Rule::error(
    "trace_derive_claim_ids",
    CHECK,
    "a derive output that lists other claims than were emitted",
);
pub(super) static REQUIRED_STEP_MISSING: Rule = Rule::error(
    "trace_required_step_missing",
    CHECK,
    "a kind of output that every trace has is missing",
)
.under(ORDER);
pub(super) static QUESTION: Rule =
    Rule::warning("trace_question_differs", CHECK, "a question other than the problem of the plan");
