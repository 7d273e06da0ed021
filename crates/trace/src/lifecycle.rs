//! Steps: each starts once, when it may, and finishes before the next.

use std::collections::HashMap;

use probity_report::{Failures, Place, Rule};

use crate::identity::Key;
use crate::model::{Body, Event, Output, StepKind};
use crate::scene::{Family, Scene};

const CHECK: &str = "lifecycle";
const SCHEMA: &str = "INV-SCH-001";
const ORDER: &str = "INV-ORD-001";

static IDX: Rule =
    Rule::error("trace_idx", CHECK, "an event whose number is not its place").under(SCHEMA);
static STEP_TWICE: Rule = Rule::error("trace_step_twice", CHECK, "a step that starts again");
static STEP_INTERLEAVED: Rule =
    Rule::error("trace_step_interleaved", CHECK, "a step that starts while another is open");
static STEP_BEFORE_DEPENDENCY: Rule = Rule::error(
    "trace_step_before_dependency",
    CHECK,
    "a step that starts before one that it waits for has finished",
)
.under(ORDER);
static STEP_NOT_STARTED: Rule =
    Rule::error("trace_step_not_started", CHECK, "a step that finishes without having started");
static STEP_FINISHED_TWICE: Rule =
    Rule::error("trace_step_finished_twice", CHECK, "a step that finishes again");
static STEP_UNFINISHED: Rule =
    Rule::error("trace_step_unfinished", CHECK, "a step that never finishes").under(SCHEMA);
static EVENT_OUTSIDE_STEP: Rule =
    Rule::error("trace_event_outside_step", CHECK, "an event while no step is open");
static STEP_MISMATCH: Rule =
    Rule::error("trace_step_mismatch", CHECK, "an event of another step than the one that is open");
static CLAIM_OUTSIDE_DERIVE: Rule =
    Rule::error("trace_claim_outside_derive", CHECK, "a claim of a step that derives nothing");
static FINALIZE_TWICE: Rule =
    Rule::error("trace_finalize_twice", CHECK, "a second final output").under(ORDER);
static FINALIZE_NOT_LAST: Rule =
    Rule::error("trace_finalize_not_last", CHECK, "an event behind the final output").under(ORDER);

/// What is found of the order of events.
pub(crate) static RULES: &[&Rule] = &[
    &IDX,
    &STEP_TWICE,
    &STEP_INTERLEAVED,
    &STEP_BEFORE_DEPENDENCY,
    &STEP_NOT_STARTED,
    &STEP_FINISHED_TWICE,
    &STEP_UNFINISHED,
    &EVENT_OUTSIDE_STEP,
    &STEP_MISMATCH,
    &CLAIM_OUTSIDE_DERIVE,
    &FINALIZE_TWICE,
    &FINALIZE_NOT_LAST,
];

/// The order of the events.
#[derive(Debug, Default)]
pub(crate) struct Lifecycle {
    numbers: Numbers,
    steps: Steps,
    /// Steps that started and did not finish: where they started.
    open: HashMap<Step, Place>,
    final_outputs: u64,
    is_end_told: bool,
}

impl Family for Lifecycle {
    fn event(&mut self, scene: &Scene, event: &Event, failures: &mut Failures) {
        self.numbers.check(event, failures);
        if self.final_outputs > 0 && !self.is_end_told {
            self.is_end_told = true;
            failures.add(&FINALIZE_NOT_LAST, event.place(""), FINALIZE_NOT_LAST.finds);
        }
        let step = self.steps.find(scene, &event.step_id);
        match &event.body {
            Body::StepStarted => self.start(scene, step, event, failures),
            Body::StepFinished(output) => self.finish_step(step, output, event, failures),
            body => {
                self.inside(step, event, failures);
                if let Body::ClaimEmitted(_) = body
                    && kind_of(scene, step).is_some_and(|kind| kind != StepKind::Derive)
                {
                    let place = event.place("/step_id");
                    failures.add(&CLAIM_OUTSIDE_DERIVE, place, CLAIM_OUTSIDE_DERIVE.finds);
                }
            }
        }
    }

    fn finish(&mut self, _scene: &Scene, failures: &mut Failures) {
        let mut open: Vec<Place> = self.open.drain().map(|(_, place)| place).collect();
        open.sort_unstable();
        for place in open {
            failures.add(&STEP_UNFINISHED, place, STEP_UNFINISHED.finds);
        }
    }
}

impl Lifecycle {
    fn start(&mut self, scene: &Scene, step: Step, event: &Event, failures: &mut Failures) {
        let place = || event.place("/step_id");
        let past = self.steps.past(step);
        if past.has_started {
            failures.add(&STEP_TWICE, place(), STEP_TWICE.finds);
        } else if !self.open.is_empty() {
            failures.add(&STEP_INTERLEAVED, place(), STEP_INTERLEAVED.finds);
        }
        // Looked for once for each step: its dependencies can be many.
        if !past.has_started
            && let Some(missing) = self.unfinished_dependency(scene, step)
        {
            let message = format!("it waits for {missing}, which has not finished");
            failures.add(&STEP_BEFORE_DEPENDENCY, place(), message);
        }
        self.steps.mark(step, Past { has_started: true, ..past });
        self.open.insert(step, place());
    }

    /// A dependency that the plan has; one that it has not is found there.
    fn unfinished_dependency<'s>(&self, scene: &Scene<'s>, step: Step) -> Option<&'s str> {
        let plan = scene.plan?;
        let Step::Planned(at) = step else { return None };
        let mut dependencies = plan.nodes.get(at)?.dependencies.iter();
        let is_unfinished = |id: &&String| {
            let at = plan.index.get(*id).copied().filter(|other| *other != at);
            at.is_some_and(|at| !self.steps.past(Step::Planned(at)).has_finished)
        };
        dependencies.find(is_unfinished).map(String::as_str)
    }

    fn finish_step(&mut self, step: Step, output: &Output, event: &Event, failures: &mut Failures) {
        let past = self.steps.past(step);
        if self.open.remove(&step).is_none() {
            let rule = match past.has_finished {
                true => &STEP_FINISHED_TWICE,
                false => &STEP_NOT_STARTED,
            };
            failures.add(rule, event.place("/step_id"), rule.finds);
        }
        self.steps.mark(step, Past { has_finished: true, ..past });
        if let Output::Finalize { .. } = output {
            if self.final_outputs > 0 {
                failures.add(&FINALIZE_TWICE, event.place("/output"), FINALIZE_TWICE.finds);
            }
            self.final_outputs = self.final_outputs.saturating_add(1);
        }
    }

    fn inside(&self, step: Step, event: &Event, failures: &mut Failures) {
        if self.open.contains_key(&step) {
            return;
        }
        let rule = match self.open.is_empty() {
            true => &EVENT_OUTSIDE_STEP,
            false => &STEP_MISMATCH,
        };
        failures.add(rule, event.place("/step_id"), rule.finds);
    }
}

fn kind_of(scene: &Scene, step: Step) -> Option<StepKind> {
    match step {
        Step::Planned(at) => scene.plan?.nodes.get(at).map(|node| node.kind),
        Step::Other(_) => None,
    }
}

/// The numbers of the events: from 0, one by one.
#[derive(Debug, Default)]
struct Numbers {
    /// The line of the event before; 0 before the first.
    line: u64,
    /// The number behind that of the event before.
    next: u64,
}

impl Numbers {
    /// After a wrong number the count goes on from there, so that one gap is one finding. Lines that
    /// held no event were found before; they may have had a number or not.
    fn check(&mut self, event: &Event, failures: &mut Failures) {
        let first = if self.line == 0 { 2 } else { self.line.saturating_add(1) };
        let skipped = event.line.saturating_sub(first);
        let is_right = (self.next..=self.next.saturating_add(skipped)).contains(&event.idx);
        if !is_right {
            failures.differs(&IDX, event.place("/idx"), self.next, event.idx);
        }
        self.line = event.line;
        self.next = event.idx.saturating_add(1);
    }
}

/// A step that an event names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Step {
    /// Its place in the plan.
    Planned(usize),
    /// Not in the plan, or there is none.
    Other(Key),
}

/// What became of a step.
#[derive(Debug, Clone, Copy, Default)]
struct Past {
    has_started: bool,
    has_finished: bool,
}

/// What became of the steps.
#[derive(Debug, Default)]
struct Steps {
    planned: Vec<Past>,
    others: HashMap<Key, Past>,
    /// The step that was asked for last.
    last: Option<(String, Step)>,
}

impl Steps {
    /// The step of an id. Most events are of the step of the event before.
    fn find(&mut self, scene: &Scene, id: &str) -> Step {
        if let Some((last, step)) = &self.last
            && last == id
        {
            return *step;
        }
        let at = scene.plan.and_then(|plan| plan.index.get(id));
        let step = at.map_or_else(|| Step::Other(Key::of(id)), |at| Step::Planned(*at));
        let mut text = self.last.take().map(|(text, _)| text).unwrap_or_default();
        text.clear();
        text.push_str(id);
        self.last = Some((text, step));
        step
    }

    fn past(&self, step: Step) -> Past {
        let past = match step {
            Step::Planned(at) => self.planned.get(at),
            Step::Other(key) => self.others.get(&key),
        };
        past.copied().unwrap_or_default()
    }

    fn mark(&mut self, step: Step, past: Past) {
        match step {
            Step::Planned(at) => {
                if self.planned.len() <= at {
                    self.planned.resize(at.saturating_add(1), Past::default());
                }
                if let Some(slot) = self.planned.get_mut(at) {
                    *slot = past;
                }
            }
            Step::Other(key) => {
                self.others.insert(key, past);
            }
        }
    }
}
