//! The trace held against the plan: every step ran, and did what the plan says.

use std::borrow::Cow;

use probity_report::{Failures, Place, Rule};

use super::rule::{
    CALL_ARGUMENTS, CALL_TOOL, DERIVE_CLAIM_IDS, GATHER_EVIDENCE_IDS, HEADER_PLAN_ID,
    HEADER_SPEC_ID, OUTPUT_KIND, PROBLEM, QUESTION, REQUIRED_STEP_MISSING, SPEC_ID, STEP_NOT_RUN,
    STEP_UNKNOWN, TOOL_NOT_CALLED, TOOL_UNREQUESTED,
};
use super::{KINDS, Node, Plan, place, word};
use crate::identity::{Key, is_canonically};
use crate::model::{Body, Call, Event, Output, StepKind, TRACE};
use crate::scene::{Family, Scene};

/// The trace held against the plan.
///
/// What an event says of its step counts only where it is the step that started last: every other
/// event is found by the rules on the order of events.
#[derive(Debug, Default)]
pub(crate) struct Binding {
    /// The step that started last.
    step: String,
    /// Its place in the plan.
    node: Option<usize>,
    /// Calls in it.
    calls: usize,
    /// Evidence registered up to here, and how much of it before this step.
    evidence: Vec<Key>,
    evidence_before: usize,
    /// Claims emitted in this step.
    claims: Vec<Key>,
    /// Which nodes of the plan started.
    started: Vec<bool>,
    /// Which kinds of steps gave an output.
    given: [bool; KINDS.len()],
}

impl Family for Binding {
    fn event(&mut self, scene: &Scene, event: &Event, failures: &mut Failures) {
        if let Body::StepStarted = event.body {
            return self.start(scene, event, failures);
        }
        let is_current = event.step_id == self.step;
        match &event.body {
            Body::ToolCalled(call) if is_current => self.call(scene, event, call, failures),
            Body::EvidenceRegistered(evidence) if is_current => {
                self.evidence.push(Key::of(&evidence.id));
            }
            Body::ClaimEmitted(claim) if is_current => self.claims.push(Key::of(&claim.id)),
            Body::StepFinished(output) => {
                self.output(scene, event, output, failures);
                if is_current {
                    self.finish_step(scene, event, output, failures);
                }
            }
            _ => {}
        }
    }

    fn finish(&mut self, scene: &Scene, failures: &mut Failures) {
        compare_header(scene, failures);
        for (at, node) in scene.plan.into_iter().flat_map(|plan| plan.nodes.iter().enumerate()) {
            // A second step of one id is found in the plan.
            let is_own = scene.plan.is_some_and(|plan| plan.index.get(&node.id) == Some(&at));
            if is_own && !self.started.get(at).is_some_and(|started| *started) {
                failures.add(&STEP_NOT_RUN, place(format!("/nodes/{at}")), STEP_NOT_RUN.finds);
            }
        }
        for (kind, _) in KINDS.into_iter().zip(self.given).filter(|(_, is_given)| !is_given) {
            let message = format!("no step gave an output of kind {}", word(kind));
            failures.add(&REQUIRED_STEP_MISSING, Place::file(TRACE), message);
        }
    }
}

impl Binding {
    fn start(&mut self, scene: &Scene, event: &Event, failures: &mut Failures) {
        self.step.clear();
        self.step.push_str(&event.step_id);
        self.calls = 0;
        self.claims.clear();
        self.evidence_before = self.evidence.len();
        let Some(plan) = scene.plan else { return };
        self.started.resize(plan.nodes.len(), false);
        self.node = plan.index.get(self.step.as_str()).copied();
        match self.node.and_then(|at| self.started.get_mut(at)) {
            Some(started) => *started = true,
            None => failures.add(&STEP_UNKNOWN, event.place("/step_id"), STEP_UNKNOWN.finds),
        }
    }

    fn current<'p>(&self, plan: &'p Plan) -> Option<&'p Node> {
        self.node.and_then(|at| plan.nodes.get(at))
    }

    fn call(&mut self, scene: &Scene, event: &Event, call: &Call, failures: &mut Failures) {
        let number = self.calls;
        self.calls = number.saturating_add(1);
        let Some(node) = scene.plan.and_then(|plan| self.current(plan)) else { return };
        let Some(request) = node.requests.get(number) else {
            failures.add(&TOOL_UNREQUESTED, event.place("/call"), TOOL_UNREQUESTED.finds);
            return;
        };
        if call.tool_name != request.tool_name {
            let place = event.place("/call/tool_name");
            failures.differs(&CALL_TOOL, place, &request.tool_name, &call.tool_name);
        }
        if !is_canonically(call.arguments, &request.arguments) {
            let place = event.place("/call/arguments");
            failures.differs(&CALL_ARGUMENTS, place, &request.arguments, call.arguments.raw());
        }
    }

    /// The kind of an output, wherever it stands.
    fn output(&mut self, scene: &Scene, event: &Event, output: &Output, failures: &mut Failures) {
        let kind = kind_of(output);
        if let Some((_, given)) = KINDS.iter().zip(&mut self.given).find(|(of, _)| **of == kind) {
            *given = true;
        }
        let Some(plan) = scene.plan else { return };
        let is_current = event.step_id == self.step;
        let node = if is_current { self.current(plan) } else { plan.node(&event.step_id) };
        match node {
            Some(node) if node.kind == kind => {}
            Some(node) => {
                let place = event.place("/output/type");
                failures.differs(&OUTPUT_KIND, place, word(node.kind), name_of(output));
            }
            // Told when it started.
            None if is_current => {}
            None => failures.add(&STEP_UNKNOWN, event.place("/step_id"), STEP_UNKNOWN.finds),
        }
    }

    fn finish_step(&self, scene: &Scene, event: &Event, output: &Output, failures: &mut Failures) {
        let node = scene.plan.and_then(|plan| self.current(plan));
        if let Some(missing) = node.and_then(|node| node.requests.get(self.calls)) {
            let message = format!("the plan asks for {}, which was not called", missing.tool_name);
            failures.add(&TOOL_NOT_CALLED, event.place("/step_id"), message);
        }
        match output {
            Output::Gather { evidence_ids, retrieval_queries, .. } => {
                for (at, query) in retrieval_queries.iter().enumerate() {
                    let pointer = format!("/output/retrieval_queries/{at}");
                    asked(scene, event, &pointer, query, failures);
                }
                let own = self.evidence.get(self.evidence_before..).unwrap_or_default();
                // The source system lists what all steps up to here have gathered.
                let is_all = evidence_ids.len() == self.evidence.len();
                let expected = if is_all { &self.evidence } else { own };
                let pointer = "/output/evidence_ids";
                compare_ids(&GATHER_EVIDENCE_IDS, expected, evidence_ids, event, pointer, failures);
            }
            Output::Understand { normalized_question } => {
                asked(scene, event, "/output/normalized_question", normalized_question, failures);
            }
            Output::Derive { claim_ids } => {
                let pointer = "/output/claim_ids";
                compare_ids(&DERIVE_CLAIM_IDS, &self.claims, claim_ids, event, pointer, failures);
            }
            _ => {}
        }
    }
}

/// Tells a question that is not the plan's problem. Blanks around it do not count: the source system
/// strips them. Nothing rests on a question, so the trace is accepted.
fn asked(scene: &Scene, event: &Event, pointer: &str, question: &str, failures: &mut Failures) {
    let Some(plan) = scene.plan else { return };
    if question.trim() != plan.problem.trim() && !failures.is_only_counted(&QUESTION) {
        failures.differs(&QUESTION, event.place(pointer), &plan.problem, question);
    }
}

/// Tells the first place at which a list of ids is not what it should be.
fn compare_ids(
    rule: &'static Rule,
    expected: &[Key],
    listed: &[Cow<str>],
    event: &Event,
    pointer: &str,
    failures: &mut Failures,
) {
    let mut pairs = expected.iter().zip(listed).enumerate();
    match pairs.find(|(_, (key, id))| **key != Key::of(id)) {
        Some((at, (key, id))) => {
            failures.differs(rule, event.place(&format!("{pointer}/{at}")), key, id);
        }
        None if expected.len() == listed.len() => {}
        None => {
            let count = |length: usize| format!("{length} ids");
            let place = event.place(pointer);
            failures.differs(rule, place, count(expected.len()), count(listed.len()));
        }
    }
}

fn compare_header(scene: &Scene, failures: &mut Failures) {
    let header = |pointer: &str| Place::file(TRACE).line(1).pointer(pointer);
    let found = &scene.header.spec_id;
    let asked = scene.spec.map(|spec| &spec.id).or(scene.plan.map(|plan| &plan.spec_id));
    if let Some(id) = asked.filter(|id| *id != found) {
        failures.differs(&HEADER_SPEC_ID, header("/spec_id"), id, found);
    }
    let Some(plan) = scene.plan else { return };
    if scene.header.plan_id != plan.id {
        failures.differs(&HEADER_PLAN_ID, header("/plan_id"), &plan.id, &scene.header.plan_id);
    }
    let Some(spec) = scene.spec else { return };
    if plan.spec_id != spec.id {
        failures.differs(&SPEC_ID, place("/spec_id"), &spec.id, &plan.spec_id);
    }
    if plan.problem != spec.description {
        failures.differs(&PROBLEM, place("/problem"), &spec.description, &plan.problem);
    }
}

/// The kind of step that gives such an output. Only a derive step may say that evidence is short.
const fn kind_of(output: &Output) -> StepKind {
    match output {
        Output::Understand { .. } => StepKind::Understand,
        Output::Gather { .. } => StepKind::Gather,
        Output::Derive { .. } | Output::Insufficient { .. } => StepKind::Derive,
        Output::Verify { .. } => StepKind::Verify,
        Output::Finalize { .. } => StepKind::Finalize,
    }
}

const fn name_of(output: &Output) -> &'static str {
    match output {
        Output::Insufficient { .. } => "insufficient_evidence",
        _ => word(kind_of(output)),
    }
}
