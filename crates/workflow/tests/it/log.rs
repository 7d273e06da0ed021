//! A log that is read back is the run; one that was touched is refused. Names follow from their parent.

use std::collections::BTreeSet;

use probity_core::RunId;
use probity_workflow::{Event, Input, Judgement, Kin, Run, Step, child_id};
use serde_json::json;

use crate::rig::{Rig, checked_team, end, next, run_id};

fn log() -> Vec<Step> {
    let mut rig = Rig::new(&checked_team(json!([next(&["writer"]), end()]), "again"));
    rig.complete_child(json!({"out": "bad"}));
    rig.judge(Judgement::Fail);
    rig.complete_child(json!({"out": "good"}));
    rig.judge(Judgement::Pass);
    rig.steps
}

fn refusal(steps: &[Step]) -> &'static str {
    Run::replay(run_id(), steps).expect_err("it was touched").code()
}

#[test]
fn every_prefix_is_a_run_that_goes_on_to_the_same_log() {
    let log = log();
    for length in 1..log.len() {
        let mut run = Run::replay(run_id(), &log[..length]).unwrap();
        assert_eq!(run.poll_effect(), None);
        for step in &log[length..] {
            assert_eq!(run.handle(step.at_ms, step.input.clone()).unwrap(), *step);
        }
        assert!(run.is_ended());
    }
}

#[test]
fn a_log_that_was_touched_is_refused() {
    let log = log();
    assert_eq!(refusal(&[]), "workflow_log_start");
    assert_eq!(refusal(&log[1..]), "workflow_log_start");
    let mut dropped = log.clone();
    dropped.remove(1);
    assert_eq!(refusal(&dropped), "workflow_log_refused");
    let mut doubled = log.clone();
    doubled.push(log.last().unwrap().clone());
    assert_eq!(refusal(&doubled), "workflow_log_refused");
    for step in 0..log.len() {
        let mut without = log.clone();
        without[step].entries.pop();
        assert_eq!(refusal(&without), "workflow_log_differs");
    }
    let mut forged = log.clone();
    for entry in forged.iter_mut().flat_map(|step| &mut step.entries) {
        if let Event::AgentVerified(verified) = &mut entry.event {
            verified.verdict = Judgement::Pass;
        }
    }
    assert_eq!(refusal(&forged), "workflow_log_differs");
    let mut forged = log.clone();
    if let Input::Verified { verdict, .. } = &mut forged[2].input {
        *verdict = Judgement::Pass;
    }
    assert_eq!(refusal(&forged), "workflow_log_differs");
    let other = Run::replay("other".parse().unwrap(), &log).unwrap_err();
    assert_eq!(other.code(), "workflow_log_differs", "its children have other names");
}

#[test]
fn a_replay_is_asked_only_for_what_is_outstanding_and_stops_what_nobody_wants() {
    let mut rig = Rig::new(&checked_team(json!([next(&["writer"]), end()]), "again"));
    let (child, _, _) = rig.child();
    rig.give(Input::Cancel { reason: None, by: None, parent: None });
    let stop = rig.effects();
    let mut replayed = Run::replay(run_id(), &rig.steps).unwrap();
    assert_eq!(replayed.poll_effect(), None);
    replayed.pending();
    let asked: Vec<_> = std::iter::from_fn(|| replayed.poll_effect()).collect();
    assert_eq!(asked, stop, "a crash behind the last record must not leave the child running");
    assert!(
        matches!(&asked[..], [probity_workflow::Effect::Stop { run, kind: Kin::Child }] if *run == child)
    );
}

#[test]
fn names_are_stable_apart_and_keep_the_mark_of_their_parent() {
    let parent = run_id();
    let child = child_id(&parent, "desk", Kin::Child, 0);
    assert_eq!(child.as_str(), "acme-b415a012-978f-57b3-8ccc-233d6cd6becc");
    assert_eq!(child.as_str().len(), parent.as_str().len());
    let bare: RunId = "0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000".parse().unwrap();
    assert_eq!(child_id(&bare, "desk", Kin::Child, 0).as_str().len(), 36);
    let short: RunId = "r".parse().unwrap();
    let names: BTreeSet<RunId> = [&parent, &bare, &short]
        .into_iter()
        .flat_map(|parent| ["a", "b"].map(|node| (parent, node)))
        .flat_map(|(parent, node)| {
            [Kin::Child, Kin::Delegation, Kin::Verification].map(|kind| (parent, node, kind))
        })
        .flat_map(|(parent, node, kind)| [0, 1].map(|n| child_id(parent, node, kind, n)))
        .collect();
    assert_eq!(names.len(), 3 * 2 * 3 * 2);
}
