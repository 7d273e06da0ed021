//! Whether the check itself can be trusted: red first, and the sealed judge.

use probity_core::{
    CheckDecl, CheckIndex, Counting, Discrimination, Effect, Finding, Input, Outcome, Phase,
    Policy, RedFirst, Stage, World,
};

use crate::rig::{
    JUDGE, Rig, TOUCHED, claim_check, d, fail, fault, inconclusive, pass, revise, world_check,
};

fn red(mode: RedFirst, checks: Vec<CheckDecl>, findings: &[Finding]) -> Rig {
    let policy = Policy { red_first: mode, max_verify_tries: 1, ..Policy::default() };
    let mut rig = Rig::open(policy, checks);
    rig.observe(Phase::Before);
    for finding in findings {
        rig.finish(finding.clone());
    }
    if !findings.is_empty() {
        rig.observe(Phase::Before);
    }
    assert!(matches!(rig.machine.stage(), Stage::Delegated { .. }));
    rig
}

fn worlds(n: usize) -> Vec<CheckDecl> {
    (0..n).map(|n| world_check(&format!("w{n}"))).collect()
}

#[test]
fn what_a_red_run_says_of_a_check() {
    use Discrimination::{Discriminating, NonDiscriminating, NotAssessed};
    for (finding, expected) in [
        (pass(), NonDiscriminating),
        (revise(), Discriminating),
        (fail(), Discriminating),
        (inconclusive(), NotAssessed),
        (fault(), NotAssessed),
        (Finding::NotApplicable, NotAssessed),
    ] {
        let rig = red(RedFirst::Warn, worlds(1), &[finding]);
        assert_eq!(rig.machine.discrimination(), [expected]);
        assert_eq!(rig.machine.ending(), None, "the red run has no outcome");
        assert_eq!(rig.machine.attempts(), 0);
    }
}

#[test]
fn only_checks_of_the_world_run_before_the_delegate_and_without_a_submission() {
    let checks = vec![claim_check("c"), world_check("w"), claim_check("d"), world_check("x")];
    let policy = Policy::default();
    let mut rig = Rig::open(policy, checks);
    rig.observe(Phase::Before);
    for expected in [1, 3] {
        let [
            Effect::RunCheck {
                phase: Phase::Before,
                check,
                submission: None,
                attempt: 0,
                tries: 1,
                ..
            },
        ] = rig.due[..]
        else {
            panic!("{:?}", rig.due);
        };
        assert_eq!(check.0, expected);
        rig.finish(revise());
    }
    use Discrimination::{Discriminating, Exempt};
    assert_eq!(rig.machine.discrimination(), [Exempt, Discriminating, Exempt, Discriminating]);
}

#[test]
fn an_inconclusive_red_run_is_not_tried_again() {
    let policy = Policy { max_verify_tries: 5, ..Policy::default() };
    let mut rig = Rig::open(policy, worlds(1));
    rig.observe(Phase::Before).finish(inconclusive()).observe(Phase::Before);
    assert!(matches!(rig.machine.stage(), Stage::Delegated { .. }));
}

#[test]
fn off_runs_nothing_before_the_delegate() {
    let rig = red(RedFirst::Off, worlds(2), &[]);
    assert_eq!(rig.machine.discrimination(), [Discrimination::Exempt; 2]);
}

#[test]
fn what_a_pass_is_worth_by_mode() {
    let rows = [
        // mode, red findings, findings after the claim, outcome, code
        (RedFirst::Warn, vec![pass()], vec![pass()], Outcome::Verified, "ok"),
        (RedFirst::Off, vec![], vec![pass()], Outcome::Verified, "ok"),
        (RedFirst::Require, vec![revise()], vec![pass()], Outcome::Verified, "ok"),
        (RedFirst::Require, vec![pass()], vec![pass()], Outcome::Unverified, "non_discriminating"),
        (RedFirst::Require, vec![fault()], vec![pass()], Outcome::Unverified, "non_discriminating"),
        (
            RedFirst::Require,
            vec![pass(), pass()],
            vec![pass(), pass()],
            Outcome::Unverified,
            "non_discriminating",
        ),
        (RedFirst::Require, vec![pass(), revise()], vec![pass(), pass()], Outcome::Verified, "ok"),
        // What did not discriminate can still refuse.
        (RedFirst::Require, vec![pass()], vec![fail()], Outcome::Rejected, "forbidden"),
        (
            RedFirst::Require,
            vec![pass(), revise()],
            vec![fault(), pass()],
            Outcome::Faulted,
            "script_raised",
        ),
        (
            RedFirst::Require,
            vec![pass(), revise()],
            vec![pass(), inconclusive()],
            Outcome::Inconclusive,
            "http_timeout",
        ),
    ];
    for (mode, before, after, outcome, code) in rows {
        let checks = worlds(after.len());
        let mut rig = red(mode, checks, &before);
        rig.turn(1, &after);
        assert_eq!(rig.ended(), (outcome, code), "{mode:?} {before:?} {after:?}");
    }
}

#[test]
fn a_required_red_run_exempts_checks_of_the_claim() {
    let mut rig = red(RedFirst::Require, vec![claim_check("c")], &[]);
    rig.turn(1, &[pass()]);
    assert_eq!(rig.ended(), (Outcome::Verified, "ok"));
}

#[test]
fn the_judge_is_compared_when_the_claim_is_in_and_no_check_is_run() {
    let mut rig = red(RedFirst::Off, worlds(2), &[]);
    rig.judge = TOUCHED;
    rig.turn(1, &[]);
    assert_eq!(rig.ended(), (Outcome::Rejected, "judge_tampered"));
    assert_eq!(rig.verdicts(), ["fail counted"]);
    assert_eq!(rig.machine.judged()[0].findings, [None, None]);
}

#[test]
fn the_judge_is_compared_after_every_check_and_no_pass_outweighs_it() {
    for touched_in in 0..3 {
        let mut rig = red(RedFirst::Off, worlds(3), &[]);
        rig.claim(1).observe(Phase::After);
        for check in 0..3 {
            if rig.machine.ending().is_some() {
                break;
            }
            // Touched while one check runs, and put back afterwards.
            rig.judge = if check == touched_in { TOUCHED } else { JUDGE };
            rig.finish(pass());
        }
        assert_eq!(rig.ended(), (Outcome::Rejected, "judge_tampered"));
        assert_eq!(rig.machine.attempts(), 1);
    }
}

#[test]
fn a_touched_judge_outweighs_a_fault_and_reuse() {
    let mut rig = red(RedFirst::Off, worlds(2), &[]);
    rig.claim(1).observe(Phase::After);
    rig.judge = TOUCHED;
    rig.finish(fault());
    assert_eq!(rig.ended(), (Outcome::Rejected, "judge_tampered"));

    let policy = Policy { counting: Counting::by_candidate(3), ..Policy::default() };
    let mut rig = Rig::delegated(policy, 1);
    rig.turn(1, &[revise()]);
    rig.judge = TOUCHED;
    rig.turn(1, &[]);
    assert_eq!(rig.ended(), (Outcome::Rejected, "judge_tampered"));
}

#[test]
fn a_judge_without_checks_is_guarded_too() {
    let mut rig = Rig::delegated(Policy::default(), 0);
    rig.judge = TOUCHED;
    rig.turn(1, &[]);
    assert_eq!(rig.ended(), (Outcome::Rejected, "judge_tampered"));
}

#[test]
fn the_seal_is_the_reading_before_the_delegate_in_every_turn() {
    let mut rig = red(RedFirst::Off, worlds(1), &[]);
    rig.turn(1, &[revise()]);
    rig.judge = TOUCHED;
    rig.turn(2, &[]);
    assert_eq!(rig.ended(), (Outcome::Rejected, "judge_tampered"));
    assert_eq!(rig.verdicts(), ["revise counted", "fail counted"]);
}

#[test]
fn what_red_checks_write_is_not_the_delegates_work() {
    let mut rig = Rig::open(Policy::default(), vec![world_check("w"), claim_check("c")]);
    let before = World { manifest: d(rig.tree), judge: d(JUDGE) };
    rig.observe(Phase::Before);
    assert_eq!(rig.machine.baseline(), Some(before));
    // The check leaves a cache beside the workspace and one beside the judge's own files.
    (rig.tree, rig.judge) = (rig.tree + 1, TOUCHED);
    rig.finish(revise());
    assert_eq!(rig.machine.stage(), Stage::RedDone);
    assert_eq!(rig.due, [Effect::Snapshot { phase: Phase::Before }]);
    let after = World { manifest: d(rig.tree), judge: d(TOUCHED) };
    rig.observe(Phase::Before);
    assert_eq!(rig.machine.baseline(), Some(after));
    let mut touched = rig.clone();
    rig.turn(1, &[pass(), pass()]);
    assert_eq!(rig.ended(), (Outcome::Verified, "ok"));
    // The judge as it was before the red run is another judge than the sealed one.
    touched.judge = JUDGE;
    touched.turn(1, &[]);
    assert_eq!(touched.ended(), (Outcome::Rejected, "judge_tampered"));
}

#[test]
fn the_world_is_read_again_only_behind_red_checks() {
    for (mode, checks, readings) in [
        (RedFirst::Warn, worlds(2), 2),
        (RedFirst::Require, worlds(1), 2),
        (RedFirst::Off, worlds(2), 1),
        (RedFirst::Warn, vec![claim_check("c")], 1),
        (RedFirst::Warn, vec![], 1),
        (RedFirst::Warn, vec![world_check("w"), claim_check("c")], 2),
    ] {
        let mut rig = Rig::open(Policy { red_first: mode, ..Policy::default() }, checks);
        rig.observe(Phase::Before);
        while matches!(rig.machine.stage(), Stage::RedChecking { .. }) {
            rig.finish(fault());
        }
        if rig.machine.stage() == Stage::RedDone {
            rig.observe(Phase::Before);
        }
        assert!(matches!(rig.machine.stage(), Stage::Delegated { .. }));
        let read = rig.log.iter().filter(|entry| entry.event.name() == "world.observed");
        assert_eq!(read.count(), readings);
    }
}

#[test]
fn an_interruption_behind_the_red_run_reads_the_world_again() {
    let mut rig = Rig::open(Policy::default(), worlds(1));
    rig.observe(Phase::Before).finish(revise()).crash();
    assert_eq!(rig.due, [Effect::Snapshot { phase: Phase::Before }]);
    rig.observe(Phase::Before);
    assert!(matches!(rig.machine.stage(), Stage::Delegated { .. }));
}

/// Where nobody looked there is nothing to hold against the delegate; the next look still counts.
#[test]
fn a_judge_that_was_not_looked_at_is_not_tampered_with() {
    let unlooked = |check, finding| Input::CheckFinished {
        check: CheckIndex(check),
        finding,
        judge: None,
        elapsed_ms: 5,
        rewrite: None,
    };
    let mut rig = red(RedFirst::Off, worlds(2), &[]);
    rig.claim(1).observe(Phase::After).ok(unlooked(0, fault()));
    let mut touched = rig.clone();
    rig.ok(unlooked(1, pass()));
    assert_eq!(rig.ended(), (Outcome::Faulted, "script_raised"));
    touched.judge = TOUCHED;
    touched.finish(pass());
    assert_eq!(touched.ended(), (Outcome::Rejected, "judge_tampered"));
}
