//! What holds of every log of a workflow run.

use probity_core::RunId;
use probity_record::canonical::jcs;
use probity_record::read_step;
use probity_workflow::{Entry, Event, Judgement, Phase, Run, Step};

use super::Rig;

pub(super) fn holds(rig: &Rig) {
    let entries: Vec<&Entry> = rig.steps.iter().flat_map(|step| &step.entries).collect();
    for (place, entry) in (0..).zip(&entries) {
        assert_eq!(entry.sequence, place, "a gap");
        assert!(entry.cause.is_none_or(|cause| cause < place), "a cause after its effect");
    }
    let ends = entries.iter().filter(|entry| entry.event.is_terminal()).count();
    assert_eq!(ends, usize::from(rig.run.is_ended()), "ends");
    let is_last = entries.last().is_some_and(|entry| entry.event.is_terminal());
    assert_eq!(is_last, rig.run.is_ended(), "something behind the end");
    assert_eq!(rig.run.len() as usize, entries.len());
    resumes(rig);
    turns(&entries);
    if rig.is_gating {
        gated(rig, &entries);
    }
}

/// As a log keeps it, it reads back, and a run that is taken up there is where the live one was and
/// wants what that wanted.
fn resumes(rig: &Rig) {
    let recorded: Vec<Step> = rig.steps.iter().filter_map(recorded).collect();
    assert_eq!(recorded, rig.steps, "the log reads back as it was not written");
    let replayed = Run::replay(super::run_id(), &recorded);
    assert!(replayed.is_ok(), "{:?}", replayed.err());
    let Ok(mut replayed) = replayed else { return };
    assert_eq!(replayed.snapshot(), rig.run.snapshot());
    assert_eq!(replayed.poll_timeout(), rig.run.poll_timeout());
    let mut live = rig.run.clone();
    live.pending();
    replayed.pending();
    let wants = |run: &mut Run| std::iter::from_fn(|| run.poll_effect()).collect::<Vec<_>>();
    assert_eq!(wants(&mut replayed), wants(&mut live), "taken up, it wants something else");
}

fn recorded(step: &Step) -> Option<Step> {
    serde_json::from_value(read_step(&jcs(step).ok()?).ok()?).ok()
}

/// A supervisor's turns are counted from one, each once.
fn turns(entries: &[&Entry]) {
    let mut last = 0;
    for entry in entries {
        if let Event::SupervisorDecided { iteration, .. } = entry.event {
            assert!(iteration > last, "turn {iteration} behind {last}");
            last = iteration;
        }
    }
}

/// Where somebody is to check a node's children, nothing of a child is taken over but behind a pass on
/// that child.
fn gated(rig: &Rig, entries: &[&Entry]) {
    let mut passed: Option<&RunId> = None;
    for entry in entries {
        match &entry.event {
            Event::AgentVerified(verified) => {
                passed = (verified.verdict == Judgement::Pass).then_some(&verified.target);
            }
            Event::Handoff { phase: Phase::Harvested, child: Some(child), .. } => {
                let node = entry.node.as_deref().unwrap_or_default();
                if rig.definition.verifier(node).is_some() {
                    assert_eq!(passed, Some(child), "taken over without a pass");
                }
            }
            _ => {}
        }
    }
    let snapshot = rig.run.snapshot();
    if !snapshot.withheld.is_empty() && rig.run.is_ended() {
        assert_ne!(snapshot.is_goal_satisfied, Some(true), "withheld, and the goal is met");
    }
}
