//! Names that are computed: recomputed here.
//!
//! An id is the SHA-256 of the canonical text of what it names. The source system never recomputes
//! one when it verifies.

mod canonical;
mod key;
mod stable;

use probity_report::{Failures, Rule};

use crate::model::{Body, Call, Event, Evidence};
use crate::scene::{Family, Scene};
use crate::tape::Value;

pub(crate) use canonical::{canonical, is_canonically};
pub(crate) use key::{Key, digest};

pub(crate) use stable::{differs_from, name};

pub(crate) use canonical::quoted;
use stable::names;

const CHECK: &str = "content_ids";

static PLAN: Rule =
    Rule::error("trace_id_plan", CHECK, "a plan whose id is not that of its content");
static NODE: Rule =
    Rule::error("trace_id_node", CHECK, "a step of the plan whose id is not that of its content");
static CALL: Rule =
    Rule::error("trace_id_call", CHECK, "a tool call whose id is not that of its content");
static EVIDENCE: Rule =
    Rule::error("trace_id_evidence", CHECK, "evidence whose id is not that of its content");
static CLAIM: Rule =
    Rule::error("trace_id_claim", CHECK, "a claim whose id is not that of its content");

/// What is found of content ids.
pub(crate) static RULES: &[&Rule] = &[&PLAN, &NODE, &CALL, &EVIDENCE, &CLAIM];

/// Content ids of calls, evidence and claims.
#[derive(Debug, Default)]
pub(crate) struct Identity {}

impl Family for Identity {
    fn event(&mut self, _scene: &Scene, event: &Event, failures: &mut Failures) {
        let (rule, pointer, found, right) = match &event.body {
            Body::ToolCalled(call) => (&CALL, "/call/id", &call.id, of_call(call)),
            Body::EvidenceRegistered(evidence) => {
                let object = event.value.get("evidence");
                let right = object.and_then(|object| of_evidence(evidence, object));
                (&EVIDENCE, "/evidence/id", &evidence.id, right)
            }
            Body::ClaimEmitted(claim) => {
                let right = differs_from(&claim.id, "claim", claim.value, &["id"]);
                (&CLAIM, "/claim/id", &claim.id, right)
            }
            _ => return,
        };
        if let Some(right) = right {
            failures.differs(rule, event.place(pointer), right, found);
        }
    }

    fn finish(&mut self, _scene: &Scene, _failures: &mut Failures) {}
}

/// The rule that an id of a plan breaks, with the id that should stand there.
pub(crate) fn of_plan(id: &str, plan: Value) -> Option<(&'static Rule, String)> {
    differs_from(id, "plan", plan, &["id"]).map(|right| (&PLAN, right))
}

/// The rule that an id of a plan's step breaks, with the id that should stand there.
///
/// The planner names a step by its kind, dependencies and parameters; the model of the source system
/// by these and its instructions.
pub(crate) fn of_node(id: &str, node: Value) -> Option<(&'static Rule, String)> {
    let keys = ["dependencies", "kind", "parameters", "step"];
    let raw = keys.map(|key| node.get(key).map(Value::raw).unwrap_or_default());
    if is_node(id, raw) {
        return None;
    }
    let texts = keys.map(|key| node.get(key).map(canonical).unwrap_or_default());
    let [deps, kind, params, step] = texts.each_ref();
    let canonical = [deps, kind, params, step].map(String::as_str);
    if is_node(id, canonical) {
        return None;
    }
    let [deps, kind, params, _] = canonical;
    let right =
        name("node", &["{\"deps\":", deps, ",\"kind\":", kind, ",\"params\":", params, "}"]);
    Some((&NODE, right))
}

fn is_node(id: &str, [deps, kind, params, step]: [&str; 4]) -> bool {
    let planned = ["{\"deps\":", deps, ",\"kind\":", kind, ",\"params\":", params, "}"];
    let modelled =
        ["{\"deps\":", deps, ",\"kind\":", kind, ",\"params\":", params, ",\"step\":", step, "}"];
    names(id, "node", &planned) || names(id, "node", &modelled)
}

/// The id that a call should have, where it has another one.
///
/// The executor of the source system calls the number of a call `i`, its model `call_idx`.
fn of_call(call: &Call) -> Option<String> {
    let number = call.call_idx.to_string();
    let (step, tool) = (quoted(&call.step_id), quoted(&call.tool_name));
    let named = |key: &str, arguments: &str| {
        let pieces = pieces_of_call(key, arguments, &number, &step, &tool);
        names(&call.id, "call", &pieces)
    };
    let is_named = |arguments: &str| KEYS.iter().any(|key| named(key, arguments));
    if is_named(call.arguments.raw()) {
        return None;
    }
    let arguments = canonical(call.arguments);
    if is_named(&arguments) {
        return None;
    }
    let [executed, _] = KEYS;
    Some(name("call", &pieces_of_call(executed, &arguments, &number, &step, &tool)))
}

/// What the number of a call is called where its id is computed.
const KEYS: [&str; 2] = [",\"i\":", ",\"call_idx\":"];

fn pieces_of_call<'t>(
    number_key: &'t str,
    arguments: &'t str,
    number: &'t str,
    step: &'t str,
    tool: &'t str,
) -> [&'t str; 9] {
    let (step_key, tool_key) = (",\"step_id\":", ",\"tool\":");
    ["{\"args\":", arguments, number_key, number, step_key, step, tool_key, tool, "}"]
}

/// The id that evidence should have, where it has another one. Evidence without a file is named by
/// another formula.
fn of_evidence(evidence: &Evidence, object: Value) -> Option<String> {
    match evidence.content_path.is_empty() {
        true => differs_from(&evidence.id, "evidence", object, &["id"]),
        false => differs_from(&evidence.id, "ev", object, &["content_path", "id"]),
    }
}
