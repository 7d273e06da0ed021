//! Workflow definitions, and the machine that runs them.

mod input;
mod rule;

use std::sync::LazyLock;

use probity_core::RunId;
use probity_record::canonical::jcs;
use probity_record::read_step;
use probity_workflow::{Bounds, Definition, Effect, Input, Owner, Run, Start, Status, Step, Terms};
use serde_json::Map;

use super::Target;
use crate::seed;
use crate::tape::Tape;

pub(super) const TARGETS: [Target; 2] = [
    Target::new("definition", definition, definitions),
    Target::new("workflow", workflow, || seed::tapes(48, 96)),
];

/// When every run begins.
const START_MS: u64 = 1_000_000;
/// The most inputs of one run.
const MAX_INPUTS: usize = 120;

/// Every definition that the conformance kit brings.
static FIXTURES: LazyLock<Vec<Definition>> = LazyLock::new(|| {
    let texts = definitions();
    let read = texts.iter().filter_map(|text| read_step(text).ok());
    read.filter_map(|json| Definition::parse(&json).ok()).collect()
});

fn definitions() -> Vec<Vec<u8>> {
    seed::files_named("testdata/openwop", ".json")
}

/// A definition of a stranger. What is read is what is written again, and it runs.
fn definition(bytes: &[u8]) {
    let Ok(read) = Definition::from_slice(bytes) else { return };
    assert_eq!(Definition::parse(read.as_json()).as_ref(), Ok(&read), "read twice, it differs");
    // As a log keeps it: its numbers doubles.
    let recorded = jcs(read.as_json()).ok().and_then(|text| read_step(&text).ok());
    let recorded = recorded.and_then(|json| Definition::parse(&json).ok());
    if let Some(recorded) = recorded {
        play(recorded, &mut Tape::new(&[]));
    }
}

/// Any answers to what a run asks for, and inputs out of turn. Every step holds to the rules, and the
/// log folds to the live value.
fn workflow(bytes: &[u8]) {
    let mut tape = Tape::new(bytes);
    let Some(definition) = tape.pick(&FIXTURES).cloned() else { return };
    play(definition, &mut tape);
}

/// A run with its log.
struct Rig {
    run: Run,
    steps: Vec<Step>,
    now_ms: u64,
    is_gating: bool,
    definition: Definition,
}

fn play(definition: Definition, tape: &mut Tape<'_>) {
    let is_gating = !tape.one_in(4);
    let start = Start {
        definition: definition.clone(),
        inputs: Map::new(),
        owner: Owner { tenant: "acme".to_owned(), workspace: None, principal: None },
        origin: None,
        tags: Vec::new(),
        metadata: Map::new(),
        bounds: Bounds {
            max_node_executions: 60,
            max_run_duration_ms: 600_000,
            max_loop_iterations: 1 + u64::from(tape.below(12)),
        },
        terms: Terms {
            is_gating,
            confidence_floor: 0.5,
            escalation_threshold: 0.7,
            max_revisions: 2,
        },
    };
    let Ok((mut run, step)) = Run::open(START_MS, run_id(), start) else { return };
    while run.poll_effect().is_some() {}
    let mut rig = Rig { run, steps: vec![step], now_ms: START_MS, is_gating, definition };
    for _ in 0..MAX_INPUTS {
        if rig.run.is_ended() {
            break;
        }
        let mut given = input::next(&rig, tape);
        if given == Input::Timer {
            let due_ms = rig.run.poll_timeout();
            assert!(due_ms.is_some(), "a run that waits for nothing hangs");
            rig.now_ms = due_ms.unwrap_or_default().max(rig.now_ms);
            if rig.run.snapshot().status == Status::Paused && tape.one_in(2) {
                given = Input::Resume { reason: None };
            }
        }
        rig.give(given);
    }
    rule::holds(&rig);
}

impl Rig {
    fn give(&mut self, input: Input) {
        let before = self.run.snapshot();
        match self.run.handle(self.now_ms, input) {
            Ok(step) => self.steps.push(step),
            Err(_) => {
                assert_eq!(self.run.snapshot(), before, "a refusal left something behind");
                assert_eq!(self.run.poll_effect(), None, "a refusal has effects");
            }
        }
        while self.run.poll_effect().is_some() {}
    }

    /// What is outstanding, as a run that is taken up asks for it.
    fn wanted(&self) -> Vec<Effect> {
        let mut run = self.run.clone();
        run.pending();
        let effects = std::iter::from_fn(|| run.poll_effect());
        effects.filter(|effect| !matches!(effect, Effect::Stop { .. })).collect()
    }
}

fn run_id() -> RunId {
    RunId::from_uuid(7)
}
