//! Verification hooks that put something in the place of the claim: who sees what, what is committed,
//! and who may not.

use probity_core::{
    CheckDecl, CheckIndex, Counting, Effect, Finding, HookDecision, HookPoint, Input, Judgement,
    Outcome, Phase, Policy, Presented, RedFirst, Refusal, Stage, VerdictKind,
};

use crate::rig::{
    Rig, TOUCHED, claim_check, code, d, fail, fault, hook, hook_check, human_check, inconclusive,
    pass, revise, submission, turn, verdict, world_check,
};

/// The claim that a candidate of this number stands for, as the rig makes them.
fn presented(n: u8) -> Presented {
    Presented { candidate: d(n), claim: d(n.wrapping_add(100)) }
}

/// `inline`, then verification hooks `h1` to `hn`, with the claim of candidate 1 at its first check.
fn checking(policy: Policy, hooks: usize) -> Rig {
    let mut checks: Vec<CheckDecl> = vec![claim_check("inline")];
    checks.extend((1..=hooks).map(|n| hook_check(&format!("h{n}"))));
    let mut rig = Rig::open(policy, checks);
    rig.observe(Phase::Before).claim(1).observe(Phase::After);
    rig
}

fn seen(rig: &Rig, check: u32) -> Presented {
    rig.machine.seen_by(CheckIndex(check)).unwrap()
}

/// Answers the check in flight with a pass that rewrites.
fn rewriting(rig: &mut Rig, to: u8) -> &mut Rig {
    let Stage::Checking { check, .. } = rig.machine.stage() else {
        panic!("{:?}", rig.machine.stage());
    };
    let input = rig.rewritten(check.0, pass(), to);
    rig.ok(input)
}

fn committed(rig: &Rig) -> Presented {
    assert_eq!(rig.ended().0, Outcome::Verified);
    let Some(Effect::Commit { candidate, claim, edited: None, .. }) = rig.due.first() else {
        panic!("{:?}", rig.due);
    };
    Presented { candidate: *candidate, claim: *claim }
}

#[test]
fn each_check_sees_what_those_before_it_made_of_the_claim() {
    let mut rig = checking(Policy::default(), 4);
    assert_eq!(seen(&rig, 0), presented(1));
    rig.finish(pass());
    assert_eq!(seen(&rig, 1), presented(1));
    rewriting(&mut rig, 50);
    assert_eq!(seen(&rig, 2), presented(50));
    rig.finish(pass());
    assert_eq!(seen(&rig, 3), presented(50), "one that does not rewrite hands on what it saw");
    rewriting(&mut rig, 51);
    assert_eq!(seen(&rig, 4), presented(51));
    assert_eq!((seen(&rig, 0), seen(&rig, 1)), (presented(1), presented(1)));
    rig.finish(Finding::NotApplicable);
    assert_eq!(committed(&rig), presented(51));
    let judged = rig.machine.judged().last().unwrap();
    assert_eq!((judged.candidate, judged.claim), (d(1), d(101)), "the delegate's own");
    assert_eq!(judged.verified, presented(51));
    assert_eq!(rig.machine.seen_by(CheckIndex(0)), None, "nothing is at work any more");
}

#[test]
fn without_a_rewrite_the_delegates_own_claim_is_committed() {
    let mut rig = checking(Policy::default(), 2);
    rig.finish(pass()).finish(pass()).finish(Finding::NotApplicable);
    assert_eq!(committed(&rig), presented(1));
}

/// Every subject that has a check in flight, beside a pass.
#[test]
fn only_a_hook_may_rewrite() {
    let mut red = Rig::open(Policy::default(), vec![world_check("w")]);
    red.observe(Phase::Before);
    let mut world = red.clone();
    world.finish(revise()).observe(Phase::Before).claim(1).observe(Phase::After);
    let claim = checking(Policy::default(), 1);
    for mut rig in [red, world, claim] {
        let input = rig.rewritten(0, pass(), 50);
        assert_eq!(rig.feed(input), Err(Refusal::Rewrite), "{:?}", rig.machine.stage());
        rig.finish(pass());
    }
}

#[test]
fn nothing_is_rewritten_beside_anything_but_a_pass() {
    let mut rig = checking(Policy::default(), 1);
    rig.finish(pass());
    for finding in [revise(), fail(), inconclusive(), fault(), Finding::NotApplicable] {
        let input = rig.rewritten(1, finding, 50);
        assert_eq!(rig.feed(input), Err(Refusal::Rewrite));
    }
    rewriting(&mut rig, 50);
    assert_eq!(committed(&rig), presented(50));
}

fn stage(check: u32, tries: u32) -> Stage {
    Stage::Checking { check: CheckIndex(check), tries }
}

/// What is tried again before a hook is the claim that the hook sees.
#[test]
fn a_later_try_that_rewrites_comes_before_the_hooks_behind_it() {
    let mut rig = checking(Policy::default(), 3);
    rig.finish(pass()).finish(inconclusive());
    assert_eq!(rig.machine.stage(), Stage::Settled, "nothing behind it is called meanwhile");
    rig.timer().unwrap();
    assert_eq!((rig.machine.stage(), seen(&rig, 1)), (stage(1, 2), presented(1)));
    rewriting(&mut rig, 50);
    for check in [2, 3] {
        assert_eq!((rig.machine.stage(), seen(&rig, check)), (stage(check, 1), presented(50)));
        rig.finish(pass());
    }
    assert_eq!(committed(&rig), presented(50));
}

/// `inline` with no time left for another try, and the first hook at work.
fn without_time(hooks: usize) -> Rig {
    let mut rig = checking(Policy::default(), hooks);
    rig.wait(9_900).finish(inconclusive());
    assert_eq!(rig.machine.stage(), stage(1, 1));
    assert_eq!(rig.machine.judgement(), Some(Judgement::Inconclusive));
    rig
}

/// A crash gives the check its time back, and its next try finds something else than the hooks
/// behind it were shown.
#[test]
fn hooks_that_were_shown_another_verdict_are_called_again() {
    for found in [pass(), revise(), fail(), fault(), verdict(VerdictKind::Inconclusive, "other")] {
        let mut rig = without_time(2);
        rewriting(&mut rig, 60);
        assert_eq!((rig.machine.stage(), seen(&rig, 2)), (stage(2, 1), presented(60)));
        rig.crash().finish(pass());
        assert_eq!(rig.machine.stage(), Stage::Settled);
        rig.timer().unwrap();
        assert_eq!(rig.machine.stage(), stage(0, 2));
        rig.finish(found.clone());
        if found.verdict() == Some(VerdictKind::Inconclusive) {
            for tries in [3, 4] {
                rig.timer().unwrap();
                assert_eq!(rig.machine.stage(), stage(0, tries));
                rig.finish(found.clone());
            }
        }
        assert_eq!(rig.machine.stage(), stage(1, 1), "{found:?}");
        assert_eq!(rig.machine.judgement(), Some(probity_core::merge([&found])));
        assert_eq!(seen(&rig, 2), presented(1), "the rewrite of the cleared one is gone");
        rig.finish(pass()).finish(pass());
        assert_eq!(rig.machine.judged()[0].verified, presented(1));
    }
}

#[test]
fn hooks_that_were_shown_the_same_are_not_called_again() {
    let mut rig = without_time(1);
    rig.crash();
    rewriting(&mut rig, 60);
    for tries in [2, 3, 4] {
        rig.timer().unwrap();
        assert_eq!(rig.machine.stage(), stage(0, tries));
        rig.finish(inconclusive());
    }
    assert_eq!(rig.ended(), (Outcome::Inconclusive, "http_timeout"));
    assert_eq!(rig.machine.judged()[0].verified, presented(60));
}

/// No hook judges a verdict that is still to change: the retries of what stands before it come first.
#[test]
fn a_hook_waits_for_the_retries_of_the_checks_before_it() {
    let policy = Policy { max_verify_tries: 3, ..Policy::default() };
    for found in [pass(), revise(), inconclusive()] {
        let mut rig = checking(policy.clone(), 1);
        rig.finish(inconclusive());
        for tries in [2, 3] {
            assert_eq!((rig.machine.stage(), rig.due.len()), (Stage::Settled, 0));
            let mut crashed = rig.clone();
            crashed.crash();
            assert_eq!(crashed.machine.stage(), Stage::Settled);
            rig.timer().unwrap();
            assert_eq!(rig.machine.stage(), stage(0, tries));
            rig.finish(if tries == 3 { found.clone() } else { inconclusive() });
        }
        assert_eq!(rig.machine.stage(), stage(1, 1), "{found:?}");
        assert_eq!(rig.machine.judgement(), Some(probity_core::merge([&found])));
        rig.finish(pass());
        assert_eq!(rig.merged().len(), 1);
    }
}

/// What is refused is not tried again, so that a hook need not wait for it.
#[test]
fn a_hook_does_not_wait_for_what_cannot_change_the_verdict() {
    let checks = vec![claim_check("a"), claim_check("b"), hook_check("h")];
    let mut rig = Rig::open(Policy::default(), checks);
    rig.observe(Phase::Before).claim(1).observe(Phase::After);
    rig.finish(inconclusive()).finish(revise());
    assert_eq!(rig.machine.stage(), stage(2, 1));
    rig.finish(pass());
    assert_eq!(rig.verdicts(), ["revise counted"]);
}

/// Where red-first is required, what proves nothing does not count as a pass before the verdict
/// either.
#[test]
fn what_is_known_so_far_is_what_the_verdict_takes_it_for() {
    for (red_first, red, expected) in [
        (RedFirst::Require, pass(), Judgement::Unverified),
        (RedFirst::Require, inconclusive(), Judgement::Unverified),
        (RedFirst::Require, revise(), Judgement::Pass),
        (RedFirst::Warn, pass(), Judgement::Pass),
    ] {
        let policy = Policy { red_first, ..Policy::default() };
        let mut rig = Rig::open(policy, vec![world_check("w"), hook_check("h")]);
        assert_eq!(rig.machine.judgement(), None);
        rig.observe(Phase::Before).finish(red).observe(Phase::Before).claim(1);
        rig.observe(Phase::After).finish(pass());
        assert_eq!(rig.machine.judgement(), Some(expected));
        rig.finish(Finding::NotApplicable);
        assert_eq!(rig.machine.judged()[0].judgement, expected, "and so it is merged");
    }
}

#[test]
fn a_round_begins_with_the_delegates_own_claim() {
    let mut rig = checking(Policy::default(), 2);
    rig.finish(pass());
    rewriting(&mut rig, 50).finish(revise());
    assert_eq!(rig.machine.judged()[0].verified, presented(50));
    rig.claim(2).observe(Phase::After);
    assert_eq!(seen(&rig, 0), presented(2));
    rig.finish(pass());
    assert_eq!(seen(&rig, 1), presented(2));
    rig.finish(pass());
    assert_eq!(seen(&rig, 2), presented(2));
    rig.finish(pass());
    assert_eq!(committed(&rig), presented(2), "what the refused round was made into is gone");
    let Effect::Commit { submission: of, .. } = &rig.due[0] else { panic!() };
    assert_eq!(*of, submission(turn(1)));
}

/// Attempts are counted by what the delegate claimed, not by what hooks made of it.
#[test]
fn a_repeated_candidate_is_one_whatever_a_hook_made_of_it() {
    let counting = Counting::ByCandidate {
        count_after_work: true,
        max_identical: 5,
        max_rejections: 9,
        reuse_rejection: false,
    };
    let mut rig = checking(Policy { counting, ..Policy::default() }, 2);
    rig.finish(pass());
    rewriting(&mut rig, 50).finish(revise()).claim(1).observe(Phase::After).finish(pass());
    rewriting(&mut rig, 51).finish(revise());
    assert_eq!(rig.verdicts(), ["revise counted", "revise repeat_of=0"]);
}

#[test]
fn a_rewrite_survives_a_crash() {
    let mut rig = checking(Policy::default(), 2);
    rig.finish(pass());
    rewriting(&mut rig, 50).crash();
    assert_eq!(rig.machine.stage(), Stage::Checking { check: CheckIndex(2), tries: 1 });
    assert_eq!(seen(&rig, 2), presented(50));
    rig.finish(pass());
    assert_eq!(committed(&rig), presented(50));
}

#[test]
fn a_rewrite_beside_a_touched_judge_is_none() {
    let mut rig = checking(Policy::default(), 1);
    rig.finish(pass());
    rig.judge = TOUCHED;
    rewriting(&mut rig, 50);
    assert_eq!(rig.ended(), (Outcome::Rejected, "judge_tampered"));
}

#[test]
fn a_human_is_shown_what_the_hooks_made() {
    let checks = vec![hook_check("h0"), human_check("approval")];
    let mut rig = Rig::open(Policy::default(), checks);
    rig.observe(Phase::Before).claim(1).observe(Phase::After);
    rewriting(&mut rig, 50);
    assert!(matches!(rig.machine.stage(), Stage::Awaiting { check: CheckIndex(1), .. }));
    assert_eq!(seen(&rig, 1), presented(50));
    rig.human(pass());
    assert_eq!(committed(&rig), presented(50));
}

/// Behind the verdict nothing verifies any more: the verified claim and the edited one stand side by
/// side.
#[test]
fn an_edit_behind_the_verdict_does_not_become_the_verified_claim() {
    let charter = probity_core::Charter {
        hooks: vec![hook("post", HookPoint::DelegationPost)],
        ..probity_core::Charter::new(Policy::default(), vec![hook_check("h0")])
    };
    let mut rig = Rig::of(charter);
    rig.observe(Phase::Before).claim(1).observe(Phase::After);
    rewriting(&mut rig, 50).hook(HookDecision::Modify { to: d(70), delta: d(71) });
    let Effect::Commit { candidate, claim, edited, .. } = rig.due[0] else { panic!() };
    assert_eq!((Presented { candidate, claim }, edited), (presented(50), Some(d(70))));
}

/// A hook that was cut off by the end of the time rewrote nothing.
#[test]
fn a_hook_that_was_cut_off_rewrote_nothing() {
    let mut rig = checking(Policy { wall_ms: Some(20_000), ..Policy::default() }, 1);
    rig.finish(pass());
    rig.timer().unwrap();
    assert_eq!(rig.ended(), (Outcome::Inconclusive, "wall_timeout"));
    assert_eq!(rig.machine.judged()[0].verified, presented(1));
    let late = rig.rewritten(1, pass(), 50);
    rig.feed(late).unwrap_err();
    let other = Input::Cancel { code: code("user") };
    rig.feed(other).unwrap_err();
}
