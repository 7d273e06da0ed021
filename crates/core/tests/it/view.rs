//! What a run tells whoever looks at it.

use probity_core::{Charter, CheckIndex, Claim, Effect, NoteKind, Phase, Policy, Usage};

use crate::rig::{Rig, claim_checks, d, hook, inconclusive, pass, revise, turn, world_check};

#[test]
fn a_run_shows_what_it_was_opened_with() {
    let checks = claim_checks(2);
    let hooks = vec![hook("h", probity_core::HookPoint::DelegationPre)];
    let charter =
        Charter { hooks: hooks.clone(), ..Charter::new(Policy::default(), checks.clone()) };
    let rig = Rig::of(charter);
    assert_eq!(rig.machine.checks(), checks);
    assert_eq!(rig.machine.hooks(), hooks);
    assert_eq!(rig.machine.opened_at_ms(), 1_000);
}

#[test]
fn the_opening_time_stays_while_time_goes_on() {
    let mut rig = Rig::delegated(Policy::default(), 1);
    rig.wait(700).claim(1);
    assert_eq!((rig.machine.opened_at_ms(), rig.machine.now_ms()), (1_000, 1_700));
}

#[test]
fn findings_appear_as_checks_finish() {
    let mut rig = Rig::delegated(Policy::default(), 2);
    assert_eq!(rig.machine.findings(), vec![]);
    rig.claim(1).observe(Phase::After);
    assert_eq!(rig.machine.findings(), vec![None, None]);
    rig.finish(pass());
    assert_eq!(rig.machine.findings(), vec![Some(pass()), None]);
    rig.finish(inconclusive());
    assert_eq!(rig.machine.findings(), vec![Some(pass()), Some(inconclusive())]);
}

#[test]
fn the_claim_and_the_world_it_was_read_in_outlast_their_verdict() {
    let mut rig = Rig::delegated(Policy::default(), 1);
    assert_eq!((rig.machine.claim(), rig.machine.observed()), (None, None));
    rig.claim(1);
    assert_eq!((rig.machine.claim(), rig.machine.observed()), (Some(d(101)), None));
    rig.observe(Phase::After);
    let world = rig.machine.observed().unwrap();
    assert_eq!((world.manifest, world.judge), (d(rig.tree), d(rig.judge)));
    rig.finish(revise());
    assert_eq!(rig.machine.judged().len(), 1);
    assert_eq!((rig.machine.claim(), rig.machine.observed()), (Some(d(101)), Some(world)));
    rig.claim(2);
    assert_eq!((rig.machine.claim(), rig.machine.observed()), (Some(d(102)), None));
}

#[test]
fn waits_are_counted() {
    let mut rig = Rig::delegated(Policy::default(), 1);
    assert_eq!(rig.machine.waits(), 0);
    for waits in 1..=3 {
        rig.park(None).wake();
        assert_eq!(rig.machine.waits(), waits);
    }
    rig.ok(Rig::noted(turn(0), 9, Usage::default()));
    assert_eq!(rig.machine.notes().iter().map(|it| it.kind).collect::<Vec<_>>(), [NoteKind::Model]);
    assert_eq!(rig.machine.waits(), 3);
}

#[test]
fn what_begins_something_is_told_from_what_ends_it() {
    let mut rig =
        Rig::open(Policy { max_attempts: 1, ..Policy::default() }, vec![world_check("c")]);
    let mut begun = vec![];
    let steps: [fn(&mut Rig) -> &mut Rig; 7] = [
        |rig| rig,
        |rig| rig.observe(Phase::Before),
        |rig| rig.finish(revise()),
        |rig| rig.observe(Phase::Before),
        |rig| rig.claim(1),
        |rig| rig.observe(Phase::After),
        |rig| rig.finish(pass()),
    ];
    for step in steps {
        step(&mut rig);
        begun.extend(rig.due.iter().map(|due| (name(due), due.acts())));
    }
    let acts = ["read", "check", "read", "dispatch", "read", "check"].map(|name| (name, true));
    assert_eq!(begun, [&acts[..], &[("commit", false), ("seal", false)]].concat());
}

fn name(effect: &Effect) -> &'static str {
    match effect {
        Effect::Snapshot { .. } => "read",
        Effect::RunCheck { check, .. } if *check == CheckIndex(0) => "check",
        Effect::Dispatch { .. } => "dispatch",
        Effect::Commit { .. } => "commit",
        Effect::Seal(_) => "seal",
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_claim_of_text_is_that_text() {
    let claim = Claim::text("done");
    assert_eq!(claim, Claim { response: "done".to_owned(), ..Claim::default() });
    assert_eq!(serde_json::to_value(&claim).unwrap()["response"], "done");
}
