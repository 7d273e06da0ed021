//! Every outcome is reached, has its exit code, and hands on the claim only behind the verdict that
//! allows it.

use std::collections::BTreeMap;

use probity_core::{
    Answer, Charter, CheckDecl, Delegation, Drift, Effect, Finding, Input, MAX_CHECK_MS,
    MAX_CHECKS, OnFailure, OpenError, Outcome, Phase, Policy, PolicyError, Stage,
};

use crate::rig::{
    Rig, TOUCHED, claim_checks, code, d, fail, fault, inconclusive, pass, revise, submission, turn,
    verdict, world_check,
};

#[test]
fn exit_codes_and_words() {
    let table: Vec<_> = Outcome::ALL
        .into_iter()
        .map(|outcome| (outcome.as_str(), outcome.exit_code(), outcome.delivers()))
        .collect();
    assert_eq!(
        table,
        [
            ("verified", 0, true),
            ("exhausted", 1, false),
            ("rejected", 1, false),
            ("inconclusive", 2, false),
            ("unverified", 3, true),
            ("faulted", 4, false),
            ("delegate_failed", 5, false),
            ("cancelled", 6, false),
            ("escalated", 7, false),
        ]
    );
    for outcome in Outcome::ALL {
        assert_eq!(outcome.to_string(), outcome.as_str());
        assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.as_str());
    }
}

/// What every scenario starts from: two checks of the claim, one try each, 100 s.
fn start(checks: usize) -> Rig {
    let policy = Policy { max_verify_tries: 1, wall_ms: Some(100_000), ..Policy::default() };
    Rig::delegated(policy, checks)
}

fn failed_delegate(rig: &mut Rig) -> &mut Rig {
    let detail = d(3);
    rig.ok(Input::DelegateFailed { turn: turn(0), code: code("exit_1"), detail })
}

#[test]
fn every_outcome_is_reached_and_no_other_commit_is_possible() {
    type Play = fn(&mut Rig) -> &mut Rig;
    let scenarios: [(usize, Play, Outcome, &str); 20] = [
        (2, |rig| rig.turn(1, &[pass(), pass()]), Outcome::Verified, "ok"),
        (2, |rig| rig.turn(1, &[Finding::NotApplicable, pass()]), Outcome::Verified, "ok"),
        (
            2,
            |rig| {
                for _ in 0..3 {
                    rig.turn(1, &[pass(), revise()]);
                }
                rig
            },
            Outcome::Exhausted,
            "attempts",
        ),
        (2, |rig| rig.turn(1, &[revise(), fail()]), Outcome::Rejected, "forbidden"),
        (2, |rig| rig.turn(1, &[pass(), inconclusive()]), Outcome::Inconclusive, "http_timeout"),
        (2, |rig| rig.turn(1, &[fault(), pass()]), Outcome::Faulted, "script_raised"),
        (2, |rig| rig.turn(1, &[pass(), fault()]), Outcome::Faulted, "script_raised"),
        (
            2,
            |rig| {
                rig.turn(1, &[Finding::NotApplicable, Finding::NotApplicable]);
                rig
            },
            Outcome::Unverified,
            "not_applicable",
        ),
        (0, |rig| rig.turn(1, &[]), Outcome::Unverified, "no_checks"),
        (2, failed_delegate, Outcome::DelegateFailed, "exit_1"),
        (2, |rig| rig.cancel(), Outcome::Cancelled, "user"),
        (2, |rig| rig.claim(1).cancel(), Outcome::Cancelled, "user"),
        (
            2,
            |rig| {
                rig.claim(1).observe(Phase::After).finish(pass()).cancel();
                rig
            },
            Outcome::Cancelled,
            "user",
        ),
        (
            2,
            |rig| {
                rig.timer().unwrap();
                rig
            },
            Outcome::Exhausted,
            "budget_wall",
        ),
        (
            2,
            |rig| {
                rig.claim(1).timer().unwrap();
                rig
            },
            Outcome::Inconclusive,
            "wall_timeout",
        ),
        (
            2,
            |rig| {
                rig.judge = TOUCHED;
                rig.turn(1, &[]);
                rig
            },
            Outcome::Rejected,
            "judge_tampered",
        ),
        (
            2,
            |rig| {
                for _ in 0..11 {
                    rig.crash();
                }
                rig
            },
            Outcome::Exhausted,
            "interruptions",
        ),
        (
            2,
            |rig| {
                let phase = Phase::After;
                let unreadable = Input::Unreadable { phase, code: code("too_large"), detail: d(3) };
                rig.claim(1).ok(unreadable);
                rig
            },
            Outcome::Inconclusive,
            "too_large",
        ),
        // A code that happens to be the machine's own word for a budget changes nothing.
        (
            1,
            |rig| {
                rig.turn(1, &[verdict(probity_core::VerdictKind::Fail, "wall_timeout")]);
                rig
            },
            Outcome::Rejected,
            "wall_timeout",
        ),
        (
            1,
            |rig| {
                rig.ok(Input::Cancel { code: code("budget_wall") });
                rig
            },
            Outcome::Cancelled,
            "budget_wall",
        ),
    ];
    let mut seen = BTreeMap::new();
    for (checks, play, outcome, why) in scenarios {
        let mut rig = start(checks);
        play(&mut rig);
        // `ended` checks that the claim is handed on if and only if the outcome delivers.
        assert_eq!(rig.ended(), (outcome, why));
        *seen.entry(outcome).or_insert(0) += 1;
        rig.ok(Input::Sealed);
        assert_eq!(rig.machine.stage(), Stage::Sealed { outcome });
        assert_eq!(rig.due, []);
        assert_eq!(rig.machine.poll_timeout(), None);
    }
    let policy = Policy { on_fail: OnFailure::Escalate, ..Policy::default() };
    let mut rig = Rig::delegated(policy, 1);
    rig.turn(1, &[fail()]);
    assert_eq!(rig.machine.stage(), Stage::Escalated { instead_of: Outcome::Rejected });
    assert_eq!(rig.due, [Effect::Escalate { instead_of: Outcome::Rejected }]);
    seen.insert(Outcome::Escalated, 1);
    assert_eq!(seen.keys().copied().collect::<Vec<_>>(), Outcome::ALL);
}

/// Before the delegate it is the fault of whoever set the run up; with a claim in hand, ground truth
/// is out of reach.
#[test]
fn a_world_that_cannot_be_read_says_nothing_about_the_delegate() {
    let unreadable = |phase| Input::Unreadable { phase, code: code("too_large"), detail: d(3) };
    let mut rig = Rig::open(Policy::default(), vec![world_check("w")]);
    let mut opened = rig.clone();
    opened.ok(unreadable(Phase::Before));
    assert_eq!(opened.ended(), (Outcome::Faulted, "too_large"));
    rig.observe(Phase::Before).finish(revise());
    let mut red_done = rig.clone();
    red_done.ok(unreadable(Phase::Before));
    assert_eq!(red_done.ended(), (Outcome::Faulted, "too_large"));
    rig.observe(Phase::Before).claim(1).ok(unreadable(Phase::After));
    assert_eq!(rig.ended(), (Outcome::Inconclusive, "too_large"));
    assert_eq!((rig.machine.attempts(), rig.verdicts().len()), (0, 0));
}

#[test]
fn what_is_committed_is_what_was_judged() {
    let mut rig = start(1);
    rig.turn(1, &[revise()]).turn(2, &[pass()]);
    assert_eq!(
        rig.due[0],
        Effect::Commit {
            submission: submission(turn(1)),
            candidate: d(2),
            claim: d(102),
            edited: None
        }
    );
    let judged = rig.machine.judged().last().unwrap();
    assert_eq!((judged.candidate, judged.claim), (d(2), d(102)));
    let mut rig = start(0);
    rig.turn(7, &[]);
    assert_eq!(
        rig.due[0],
        Effect::Commit {
            submission: submission(turn(0)),
            candidate: d(7),
            claim: d(107),
            edited: None
        }
    );
}

#[test]
fn after_the_seal_nothing_follows() {
    let mut rig = start(1);
    rig.turn(1, &[pass()]).ok(Input::Sealed);
    for input in [
        Input::Sealed,
        Input::Resume,
        Input::Cancel { code: code("user") },
        Rig::answered(Answer::Waive),
        rig.observed(Phase::After),
        rig.finished(0, fail()),
        rig.claimed(turn(1), 3),
    ] {
        rig.feed(input).unwrap_err();
    }
    let mut wrong_way = rig.machine.clone();
    assert_eq!(wrong_way.poll_effect(), None);
}

#[test]
fn drift_by_judgement() {
    let rows: [(Vec<Finding>, Option<Drift>); 8] = [
        (vec![pass()], None),
        (vec![Finding::NotApplicable], None),
        (vec![revise()], Some(Drift::Yellow)),
        (vec![fail()], Some(Drift::Yellow)),
        (vec![verdict(probity_core::VerdictKind::Inconclusive, "dns")], Some(Drift::Yellow)),
        (vec![inconclusive()], Some(Drift::Red)),
        (vec![fault()], Some(Drift::Red)),
        (vec![revise(), inconclusive()], Some(Drift::Yellow)),
    ];
    for (findings, drift) in rows {
        let mut rig = start(findings.len());
        rig.turn(1, &findings);
        assert_eq!(rig.merged()[0].drift, drift, "{findings:?}");
    }
}

#[test]
fn the_code_is_that_of_the_first_finding_that_decided() {
    let say = |kind, word| verdict(kind, word);
    use probity_core::VerdictKind::{Fail, Revise};
    let rows = [
        (vec![say(Revise, "a"), say(Revise, "b")], "a"),
        (vec![say(Revise, "a"), say(Fail, "b"), say(Fail, "c")], "b"),
        (vec![say(Fail, "a"), fault()], "script_raised"),
        (vec![pass(), say(Revise, "z")], "z"),
    ];
    for (findings, word) in rows {
        let mut rig = start(findings.len());
        rig.turn(1, &findings);
        assert_eq!(rig.merged()[0].code, word);
        let kept: Vec<_> = findings.into_iter().map(Some).collect();
        assert_eq!(rig.machine.judged()[0].findings, kept, "all checks ran");
    }
}

#[test]
fn all_checks_run_even_behind_one_that_decides() {
    for first in [fail(), fault(), revise(), inconclusive()] {
        let mut rig = start(3);
        rig.claim(1).observe(Phase::After);
        for expected in 0..3 {
            let [Effect::RunCheck { check, .. }] = rig.due[..] else {
                panic!("{:?}", rig.due);
            };
            assert_eq!(check.0, expected);
            rig.finish(if expected == 0 { first.clone() } else { pass() });
        }
        assert_eq!(rig.merged().len(), 1);
    }
}

#[test]
fn a_delegation_that_is_not_legal_does_not_open() {
    let open = |policy, checks| {
        Delegation::open(0, "r".parse().unwrap(), d(1), Charter::new(policy, checks)).map(|_| ())
    };
    let policy = Policy::default();
    let twice = vec![world_check("a"), world_check("a")];
    assert_eq!(open(policy.clone(), twice), Err(OpenError::DuplicateCheck { id: code("a") }));
    for (timeout_ms, legal) in
        [(0, false), (1, true), (MAX_CHECK_MS, true), (MAX_CHECK_MS + 1, false)]
    {
        let check = CheckDecl { timeout_ms, ..world_check("a") };
        let expected = if legal {
            Ok(())
        } else {
            Err(OpenError::CheckTimeout { id: code("a"), timeout_ms, max_ms: MAX_CHECK_MS })
        };
        assert_eq!(open(policy.clone(), vec![check]), expected);
    }
    let (max, got) = (MAX_CHECKS, MAX_CHECKS + 1);
    assert_eq!(open(policy.clone(), claim_checks(max)), Ok(()));
    assert_eq!(open(policy.clone(), claim_checks(got)), Err(OpenError::TooManyChecks { max, got }));
    let none = Policy { max_attempts: 0, ..policy };
    assert!(matches!(
        open(none, vec![]),
        Err(OpenError::Policy(PolicyError::Bound { field: "max_attempts", .. }))
    ));
}
