//! A paused run takes answers in and begins nothing.

use probity_workflow::{Effect, Input, Judgement, Origin, Status};
use serde_json::json;

use crate::rig::{Rig, checked_team, end, next, run_id, team};

fn pause(rig: &mut Rig) {
    let reason = Some("a look".to_owned());
    rig.give(Input::Pause { reason, drain_policy: Some("drain".to_owned()) });
}

fn resume(rig: &mut Rig) {
    rig.give(Input::Resume { reason: None });
}

#[test]
fn what_a_child_left_is_recorded_and_nothing_begins() {
    let mut rig = Rig::new(&checked_team(json!([next(&["writer"]), end()]), "again"));
    let effects = rig.effects();
    pause(&mut rig);
    assert_eq!(rig.snapshot().status, Status::Paused);
    let Some(Effect::StartChild { child, .. }) = effects.first() else { panic!("a child") };
    let outputs = json!({"out": "x"}).as_object().unwrap().clone();
    let completed = probity_workflow::ChildEnd::Completed { outputs, is_goal_satisfied: true };
    rig.give(Input::ChildEnded { child: child.clone(), end: completed });
    assert_eq!(
        rig.last_words(),
        ["handoff desk succeeded", "node-dispatched desk", "handoff desk child-completed"]
    );
    assert_eq!(rig.effects(), [], "no critic is asked");
    resume(&mut rig);
    let (verification, candidate) = rig.check();
    pause(&mut rig);
    let verdict = Judgement::Pass;
    rig.give(Input::Verified {
        verification,
        candidate,
        verdict,
        criteria: vec![],
        confidence: None,
    });
    assert_eq!(
        rig.last_words(),
        [
            "agent-verified desk pass",
            "handoff desk harvested",
            "variable-changed desk result=\"x\"",
            "node-completed desk",
        ]
    );
    assert!(!rig.run.is_ended());
    resume(&mut rig);
    assert_eq!(rig.last_words()[0], "run-resumed");
    assert_eq!(rig.snapshot().status, Status::Completed);
    rig.assert_sound();
}

#[test]
fn the_next_worker_waits_as_well() {
    let mut rig = Rig::new(&team(json!([next(&["a", "b"]), end()])));
    let effects = rig.effects();
    pause(&mut rig);
    let Some(Effect::StartChild { child, .. }) = effects.first() else { panic!("a child") };
    let completed = probity_workflow::ChildEnd::Completed {
        outputs: serde_json::Map::new(),
        is_goal_satisfied: true,
    };
    rig.give(Input::ChildEnded { child: child.clone(), end: completed });
    assert_eq!(rig.effects(), []);
    rig.assert_sound();
    resume(&mut rig);
    assert_eq!(rig.child().1, "b");
}

#[test]
fn a_run_that_took_too_long_does_not_go_on() {
    let mut rig = Rig::new(&team(json!([next(&["a"]), end()])));
    pause(&mut rig);
    rig.now_ms += 600_001;
    resume(&mut rig);
    assert_eq!(rig.last_words()[1], "run-failed run_timeout");
    let mut rig = Rig::new(&team(json!([next(&["a"]), end()])));
    rig.now_ms += 600_001;
    rig.give(Input::Cancel { reason: None, by: None, parent: None });
    assert_eq!(rig.snapshot().status, Status::Cancelled, "whoever stops it, stops it");
}

#[test]
fn only_what_runs_is_paused_and_only_what_is_paused_goes_on() {
    let mut rig = Rig::new(&team(json!([next(&["a"]), end()])));
    let resume = Input::Resume { reason: None };
    assert_eq!(rig.try_give(resume).unwrap_err().code(), "run_not_paused");
    pause(&mut rig);
    let again = Input::Pause { reason: None, drain_policy: None };
    assert_eq!(rig.try_give(again).unwrap_err().code(), "run_paused");
    rig.give(Input::Cancel { reason: None, by: None, parent: None });
    assert_eq!(rig.snapshot().status, Status::Cancelled);
    rig.assert_sound();
}

#[test]
fn only_a_fork_can_differ_from_its_source() {
    let waits = team(json!([next(&["a"]), end()]));
    let mut rig = Rig::new(&waits);
    let differs = |refusal| Input::Diverged { at_sequence: 3, refusal };
    assert_eq!(rig.try_give(differs(None)).unwrap_err().code(), "not_a_fork");
    for (refusal, word, code) in [
        (None, "replay-diverged", "replay_diverged"),
        (Some((true, false)), "replay-diverged-at-refusal", "replay_diverged_at_refusal"),
    ] {
        let mut fork = Rig::with(&waits, |start| {
            start.origin =
                Some(Origin::Fork { source: run_id(), from_sequence: 0, is_replay: true });
        });
        fork.give(differs(refusal));
        assert_eq!(fork.last_words(), [word.to_owned(), format!("run-failed {code}")]);
        fork.assert_sound();
    }
}
