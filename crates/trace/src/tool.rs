//! Tools: every call has one result, and evidence comes from results.

mod offer;

use std::collections::{HashMap, HashSet};

use probity_report::{Failures, Place, Rule};

use crate::identity::Key;
use crate::model::{Body, Call, Event, Returned};
use crate::scene::{Family, Scene};

use offer::Offers;

const CHECK: &str = "tools";
const SCHEMA: &str = "INV-SCH-001";
const LINKAGE: &str = "INV-TLK-001";

static CALL_TWICE: Rule =
    Rule::error("trace_call_twice", CHECK, "a call with the id of another").under(SCHEMA);
static CALL_STEP: Rule =
    Rule::error("trace_call_step", CHECK, "a call that names another step than its event");
static CALL_IDX: Rule =
    Rule::error("trace_call_idx", CHECK, "a call whose number is not its place in the step");
static RESULT_WITHOUT_CALL: Rule =
    Rule::error("trace_result_without_call", CHECK, "a result of a call that was not made")
        .under(SCHEMA);
static RESULT_MISSING: Rule =
    Rule::error("trace_result_missing", CHECK, "a call without a result").under(LINKAGE);
static RESULT_TWICE: Rule =
    Rule::error("trace_result_twice", CHECK, "a second result of a call").under(LINKAGE);
static RESULT_STEP: Rule =
    Rule::error("trace_result_step", CHECK, "a result in another step than its call");
static RESULT_ERROR: Rule =
    Rule::error("trace_result_error", CHECK, "a success that tells an error");
static RESULT_NO_ERROR: Rule =
    Rule::error("trace_result_no_error", CHECK, "a failure that tells no error");
static RESULT_OF_FAILURE: Rule =
    Rule::error("trace_result_of_failure", CHECK, "a failure that has a result");
static EVIDENCE_NO_CALL: Rule =
    Rule::error("trace_evidence_no_call", CHECK, "evidence in a step that called no tool");
static EVIDENCE_EXCESS: Rule =
    Rule::error("trace_evidence_excess", CHECK, "more evidence than the tools of the step gave");

/// What is found of tools: calls, results, and what was made of them.
pub(crate) static RULES: &[&Rule] = &[
    &CALL_TWICE,
    &CALL_STEP,
    &CALL_IDX,
    &RESULT_WITHOUT_CALL,
    &RESULT_MISSING,
    &RESULT_TWICE,
    &RESULT_STEP,
    &RESULT_ERROR,
    &RESULT_NO_ERROR,
    &RESULT_OF_FAILURE,
    &EVIDENCE_NO_CALL,
    &EVIDENCE_EXCESS,
    &offer::LEFT_OUT,
    &offer::ORDER,
    &offer::TEXT,
    &offer::URI,
    &offer::SPAN,
    &offer::CHUNK_ID,
    &offer::ITEM,
];

/// The tool that gives evidence: all that it gives is registered.
const RETRIEVE: &str = "retrieve";

/// Calls and results.
#[derive(Debug, Default)]
pub(crate) struct Tools {
    /// How many steps have started.
    steps: u64,
    /// Calls since the last one started.
    calls_in_step: i64,
    waiting: HashMap<Key, Waiting>,
    answered: HashSet<Key>,
    offers: Offers,
}

/// A call without a result so far.
#[derive(Debug)]
struct Waiting {
    place: Place,
    /// The step that its event names.
    step: Key,
    /// The step that was open, by number.
    step_number: u64,
    is_retrieval: bool,
}

impl Family for Tools {
    fn event(&mut self, _scene: &Scene, event: &Event, failures: &mut Failures) {
        match &event.body {
            Body::StepStarted => {
                self.offers.close(failures);
                self.steps = self.steps.saturating_add(1);
                self.calls_in_step = 0;
            }
            Body::StepFinished(_) => self.offers.close(failures),
            Body::ToolCalled(call) => self.call(event, call, failures),
            Body::ToolReturned(returned) => self.result(event, returned, failures),
            Body::EvidenceRegistered(evidence) => {
                if self.offers.take(event, evidence, failures) {
                    return;
                }
                let rule =
                    if self.calls_in_step == 0 { &EVIDENCE_NO_CALL } else { &EVIDENCE_EXCESS };
                failures.add(rule, event.place("/evidence"), rule.finds);
            }
            Body::ClaimEmitted(_) => {}
        }
    }

    fn finish(&mut self, _scene: &Scene, failures: &mut Failures) {
        self.offers.close(failures);
        let mut waiting: Vec<Place> = self.waiting.drain().map(|(_, call)| call.place).collect();
        waiting.sort_unstable();
        for place in waiting {
            failures.add(&RESULT_MISSING, place, RESULT_MISSING.finds);
        }
    }
}

impl Tools {
    fn call(&mut self, event: &Event, call: &Call, failures: &mut Failures) {
        let number = self.calls_in_step;
        self.calls_in_step = number.saturating_add(1);
        if call.call_idx != number {
            failures.differs(&CALL_IDX, event.place("/call/call_idx"), number, call.call_idx);
        }
        if call.step_id != event.step_id {
            let place = event.place("/call/step_id");
            failures.differs(&CALL_STEP, place, &event.step_id, &call.step_id);
        }
        let key = Key::of(&call.id);
        if self.waiting.contains_key(&key) || self.answered.contains(&key) {
            failures.add(&CALL_TWICE, event.place("/call/id"), CALL_TWICE.finds);
            return;
        }
        let waiting = Waiting {
            place: event.place("/call/id"),
            step: Key::of(&event.step_id),
            step_number: self.steps,
            is_retrieval: call.tool_name == RETRIEVE,
        };
        self.waiting.insert(key, waiting);
    }

    fn result(&mut self, event: &Event, returned: &Returned, failures: &mut Failures) {
        check_outcome(event, returned, failures);
        let key = Key::of(&returned.call_id);
        let Some(call) = self.waiting.remove(&key) else {
            let is_known = self.answered.contains(&key);
            let rule = if is_known { &RESULT_TWICE } else { &RESULT_WITHOUT_CALL };
            failures.add(rule, event.place("/result/call_id"), rule.finds);
            return;
        };
        self.answered.insert(key);
        if call.step != Key::of(&event.step_id) {
            failures.differs(&RESULT_STEP, event.place("/step_id"), call.step, &event.step_id);
        } else if call.step_number != self.steps {
            let message = "other steps started between the call and its result";
            failures.add(&RESULT_STEP, event.place("/step_id"), message);
        }
        if returned.success {
            self.offers.add(event, returned.result, call.is_retrieval, failures);
        }
    }
}

/// A success has no error; a failure has one, and nothing else.
fn check_outcome(event: &Event, returned: &Returned, failures: &mut Failures) {
    let mut tell = |rule: &'static Rule, pointer: &str| {
        failures.add(rule, event.place(pointer), rule.finds);
    };
    match (returned.success, &returned.error) {
        (true, Some(_)) => tell(&RESULT_ERROR, "/result/error"),
        (false, None) => tell(&RESULT_NO_ERROR, "/result/error"),
        (true, None) | (false, Some(_)) => {}
    }
    if !returned.success && !returned.result.is_null() {
        tell(&RESULT_OF_FAILURE, "/result/result");
    }
}
