//! Who is charged for what.

use probity_core::{
    Counting, Effect, Finding, Handled, Input, Judgement, MAX_ATTEMPTS, MAX_RECORDED, Outcome,
    Phase, Policy, PolicyError, Stage, Usage, VerdictKind,
};
use proptest::prelude::*;

use crate::rig::{Rig, code, d, fail, fault, inconclusive, pass, revise, turn};

fn by_candidate(max_attempts: u32) -> Policy {
    Policy { max_attempts, counting: Counting::by_candidate(max_attempts), ..Policy::default() }
}

/// The four knobs of counting by candidate.
fn knobs(
    policy: Policy,
    count_after_work: bool,
    max_identical: u32,
    max_rejections: u32,
    reuse_rejection: bool,
) -> Policy {
    Policy {
        counting: Counting::ByCandidate {
            count_after_work,
            max_identical,
            max_rejections,
            reuse_rejection,
        },
        ..policy
    }
}

/// Plays a script. `A` to `F` submit that candidate, `w` is a completed tool call, `e` an edit of
/// the workspace that no tool call reports. The answer of the check follows the candidate: `r`
/// revise, `p` pass, `f` fail, `x` fault, or nothing where no check may be run. `|` ends the run.
fn play(policy: Policy, script: &str) -> Rig {
    let mut rig = Rig::delegated(policy, 1);
    for step in script.split_whitespace() {
        match step {
            "w" => rig.work += 1,
            "e" => rig.tree += 1,
            step => {
                let mut letters = step.chars();
                let candidate = letters.next().unwrap() as u8;
                let findings: Vec<Finding> = letters
                    .map(|letter| match letter {
                        'r' => revise(),
                        'p' => pass(),
                        'f' => fail(),
                        'x' => fault(),
                        other => panic!("no answer `{other}`"),
                    })
                    .collect();
                rig.turn(candidate, &findings);
                let is_settled =
                    matches!(rig.machine.stage(), Stage::Delegated { .. } | Stage::Decided { .. });
                assert!(is_settled, "after {step}: {:?}", rig.machine.stage());
            }
        }
    }
    rig
}

struct Row {
    name: &'static str,
    policy: Policy,
    script: &'static str,
    verdicts: &'static [&'static str],
    attempts: u32,
    end: Option<(Outcome, &'static str)>,
}

#[test]
fn golden_tables_of_both_counting_modes() {
    let every = |max_attempts| Policy { max_attempts, ..Policy::default() };
    let exhausted = |why| Some((Outcome::Exhausted, why));
    let rows = [
        Row {
            name: "every submission counts, even the same one",
            policy: every(3),
            script: "Ar Ar Ar",
            verdicts: &[
                "revise counted",
                "revise counted repeat_of=0",
                "revise counted repeat_of=0",
            ],
            attempts: 3,
            end: exhausted("attempts"),
        },
        Row {
            name: "a pass is an attempt too",
            policy: every(3),
            script: "Ar Bp",
            verdicts: &["revise counted", "pass counted"],
            attempts: 2,
            end: Some((Outcome::Verified, "ok")),
        },
        Row {
            name: "a fail is an attempt and ends the run",
            policy: every(3),
            script: "Ar Bf",
            verdicts: &["revise counted", "fail counted"],
            attempts: 2,
            end: Some((Outcome::Rejected, "forbidden")),
        },
        Row {
            name: "a fault is none",
            policy: every(3),
            script: "Ar Bx",
            verdicts: &["revise counted", "fault"],
            attempts: 1,
            end: Some((Outcome::Faulted, "script_raised")),
        },
        Row {
            name: "the same candidate without work: not charged, answered from the record",
            policy: by_candidate(5),
            script: "Ar A",
            verdicts: &["revise counted", "revise repeat_of=0 reused=0"],
            attempts: 1,
            end: None,
        },
        Row {
            name: "twice the same again is no progress",
            policy: by_candidate(5),
            script: "Ar A A",
            verdicts: &[
                "revise counted",
                "revise repeat_of=0 reused=0",
                "revise repeat_of=0 reused=1",
            ],
            attempts: 1,
            end: exhausted("no_progress"),
        },
        Row {
            name: "the same candidate after a tool call is charged",
            policy: by_candidate(3),
            script: "Ar w Ar w Ar",
            verdicts: &[
                "revise counted",
                "revise counted repeat_of=0",
                "revise counted repeat_of=0",
            ],
            attempts: 3,
            end: exhausted("attempts"),
        },
        Row {
            name: "the same candidate after an edit that no tool call reports is charged",
            policy: by_candidate(2),
            script: "Ar e Ar",
            verdicts: &["revise counted", "revise counted repeat_of=0"],
            attempts: 2,
            end: exhausted("attempts"),
        },
        Row {
            name: "A, B, A, B: each is new against the last one, and marked as a repeat",
            policy: by_candidate(4),
            script: "Ar Br Ar Br",
            verdicts: &[
                "revise counted",
                "revise counted",
                "revise counted repeat_of=0",
                "revise counted repeat_of=1",
            ],
            attempts: 4,
            end: exhausted("attempts"),
        },
        Row {
            name: "the letter of seed 003: the same candidate is never charged, work or not",
            policy: knobs(every(5), false, 2, 15, true),
            script: "Ar w Ar w Ar",
            verdicts: &["revise counted", "revise repeat_of=0", "revise repeat_of=0"],
            attempts: 1,
            end: exhausted("no_progress"),
        },
        Row {
            name: "the letter of seed 003, bounded by the belt alone",
            policy: knobs(every(5), false, 100, 4, true),
            script: "Ar w Ar w Ar w Ar",
            verdicts: &[
                "revise counted",
                "revise repeat_of=0",
                "revise repeat_of=0",
                "revise repeat_of=0",
            ],
            attempts: 1,
            end: exhausted("rejections"),
        },
        Row {
            name: "a new candidate ends the streak",
            policy: by_candidate(5),
            script: "Ar A Br B Cr C",
            verdicts: &[
                "revise counted",
                "revise repeat_of=0 reused=0",
                "revise counted",
                "revise repeat_of=2 reused=2",
                "revise counted",
                "revise repeat_of=4 reused=4",
            ],
            attempts: 3,
            end: None,
        },
        Row {
            name: "the belt counts rejections of any kind",
            policy: knobs(every(100), true, 100, 4, true),
            script: "Ar A Br B",
            verdicts: &[
                "revise counted",
                "revise repeat_of=0 reused=0",
                "revise counted",
                "revise repeat_of=2 reused=2",
            ],
            attempts: 2,
            end: exhausted("rejections"),
        },
        Row {
            name: "without reuse the checks run again, and a second draw that passes is flaky",
            policy: knobs(every(5), true, 2, 15, false),
            script: "Ar Ap",
            verdicts: &["revise counted", "pass counted repeat_of=0 flaky"],
            attempts: 2,
            end: Some((Outcome::Verified, "ok")),
        },
        Row {
            name: "without reuse the second draw is still not charged",
            policy: knobs(every(5), true, 2, 15, false),
            script: "Ar Ar Ar",
            verdicts: &["revise counted", "revise repeat_of=0", "revise repeat_of=0"],
            attempts: 1,
            end: exhausted("no_progress"),
        },
        Row {
            name: "a pass after work is not flaky",
            policy: by_candidate(5),
            script: "Ar w Ap",
            verdicts: &["revise counted", "pass counted repeat_of=0"],
            attempts: 2,
            end: Some((Outcome::Verified, "ok")),
        },
        Row {
            name: "only the last rejection is reused: after B, A is checked again",
            policy: by_candidate(5),
            script: "Ar Br Ap",
            verdicts: &["revise counted", "revise counted", "pass counted repeat_of=0 flaky"],
            attempts: 3,
            end: Some((Outcome::Verified, "ok")),
        },
        Row {
            name: "a flaky pass is marked in the other mode as well",
            policy: every(3),
            script: "Ar Ap",
            verdicts: &["revise counted", "pass counted repeat_of=0 flaky"],
            attempts: 2,
            end: Some((Outcome::Verified, "ok")),
        },
        Row {
            name: "an uncharged repeat that fails is charged: fail always is",
            policy: knobs(every(5), true, 2, 15, false),
            script: "Ar Af",
            verdicts: &["revise counted", "fail counted repeat_of=0"],
            attempts: 2,
            end: Some((Outcome::Rejected, "forbidden")),
        },
    ];
    for row in rows {
        let rig = play(row.policy, row.script);
        assert_eq!(rig.verdicts(), row.verdicts, "{}", row.name);
        assert_eq!(rig.machine.attempts(), row.attempts, "{}", row.name);
        let end = rig.machine.ending().is_some().then(|| rig.ended());
        assert_eq!(end, row.end, "{}", row.name);
        let counted = rig.merged().iter().filter(|merged| merged.counted).count();
        assert_eq!(counted as u32, row.attempts, "{}", row.name);
    }
}

#[test]
fn a_reused_rejection_carries_the_findings_of_the_earlier_turn() {
    let rig = play(by_candidate(5), "Ar A");
    let judged = rig.machine.judged();
    assert_eq!(judged[1].findings, judged[0].findings);
    assert_eq!(judged[1].findings, [Some(revise())]);
    assert_eq!(judged[1].code.as_str(), "reused");
    assert_eq!(judged[1].elapsed_ms, [0]);
    assert_eq!(judged[0].elapsed_ms, [5]);
}

#[test]
fn judgements_that_say_nothing_about_the_delegate_are_not_charged() {
    let mut rig = Rig::delegated(Policy { max_verify_tries: 1, ..Policy::default() }, 1);
    rig.turn(1, &[inconclusive()]);
    assert_eq!(rig.verdicts(), ["inconclusive"]);
    let mut rig = Rig::delegated(Policy::default(), 1);
    rig.turn(1, &[Finding::NotApplicable]);
    assert_eq!(rig.verdicts(), ["unverified"]);
    assert_eq!(rig.machine.attempts(), 0);
}

#[test]
fn retries_become_attempts() {
    for (retries, attempts) in [
        (None, Some(3)),
        (Some(0), Some(1)),
        (Some(1), Some(2)),
        (Some(99), Some(100)),
        (Some(100), None),
        (Some(-1), None),
        (Some(i64::MIN), None),
        (Some(i64::MAX), None),
    ] {
        let result = Policy::attempts_for_retries(retries);
        match (retries, attempts) {
            (Some(retries), None) => assert_eq!(result, Err(PolicyError::Retries { retries })),
            (_, attempts) => assert_eq!(result.ok(), attempts, "{retries:?}"),
        }
    }
}

#[test]
fn attempts_are_retries_plus_one() {
    for max_attempts in [1, 2, 3, MAX_ATTEMPTS] {
        let policy = Policy { max_attempts, ..Policy::default() };
        let mut rig = Rig::delegated(policy, 1);
        for attempt in 1..=max_attempts {
            let asked = rig.due.clone();
            let [Effect::Dispatch { attempt: told, max_attempts: of, correction, .. }] = asked[..]
            else {
                panic!("{asked:?}");
            };
            assert_eq!((told, of), (attempt, max_attempts));
            assert_eq!(correction, (attempt > 1).then(|| turn(attempt - 2)));
            rig.turn(1, &[revise()]);
        }
        assert_eq!(rig.ended(), (Outcome::Exhausted, "attempts"));
        assert_eq!(rig.machine.attempts(), max_attempts);
        assert_eq!(rig.machine.judged().len() as u32, max_attempts);
    }
}

#[test]
fn a_turn_that_was_judged_counts_nothing_when_it_comes_again() {
    let mut rig = play(Policy::default(), "Ar");
    for candidate in [b'A', b'Z'] {
        let again = rig.claimed(turn(0), candidate);
        assert_eq!(rig.feed(again), Ok(Handled::Replay(Judgement::Revise)));
    }
    let failed = Input::DelegateFailed { turn: turn(0), code: code("exit_1"), detail: d(3) };
    assert_eq!(rig.feed(failed), Ok(Handled::Replay(Judgement::Revise)));
    assert_eq!(rig.machine.attempts(), 1);
    assert_eq!(rig.log.len(), rig.machine.entries() as usize);
}

#[test]
fn a_claim_at_work_that_comes_again_changes_nothing() {
    let mut rig = Rig::delegated(Policy::default(), 1);
    rig.claim(1);
    let again = rig.claimed(turn(0), 1);
    assert_eq!(rig.feed(again.clone()), Ok(Handled::Unchanged));
    rig.observe(Phase::After);
    assert_eq!(rig.feed(again), Ok(Handled::Unchanged));
    rig.finish(pass());
    assert_eq!(rig.machine.attempts(), 1);
}

#[test]
fn interruptions_have_their_own_budget() {
    for max_interruptions in [0, 1, 2, 10] {
        let policy = Policy { max_interruptions, ..Policy::default() };
        let mut rig = Rig::delegated(policy, 1);
        rig.turn(1, &[revise()]);
        for survived in 1..=max_interruptions {
            rig.crash();
            assert_eq!(rig.machine.interruptions(), survived);
            assert_eq!(rig.machine.stage(), Stage::Delegated { turn: turn(1) });
        }
        rig.crash();
        assert_eq!(rig.ended(), (Outcome::Exhausted, "interruptions"));
        assert_eq!(rig.machine.attempts(), 1, "crashes are no attempts");
        assert_eq!(rig.machine.interruptions(), max_interruptions + 1);
    }
}

#[test]
fn attempts_are_no_interruptions() {
    let rig = play(Policy::default(), "Ar Br Cr");
    assert_eq!(rig.machine.interruptions(), 0);
}

#[test]
fn a_decided_run_stays_decided_however_often_it_is_interrupted() {
    let policy = Policy { max_interruptions: 1, ..Policy::default() };
    let mut rig = play(policy, "Ap");
    for _ in 0..3 {
        rig.crash();
        assert_eq!(rig.ended(), (Outcome::Verified, "ok"));
    }
    assert_eq!(rig.machine.interruptions(), 3);
}

#[test]
fn tokens_and_tool_calls_are_shared_by_all_attempts() {
    let usage = Usage { tokens: 40, tool_calls: 3 };
    let base = Policy { max_attempts: 10, ..Policy::default() };
    let rows = [
        (Some(120), None, 3u8, "budget_tokens"),
        (Some(119), None, 3, "budget_tokens"),
        (Some(121), None, 4, "budget_tokens"),
        (Some(0), None, 1, "budget_tokens"),
        (None, Some(6), 2, "budget_tool_calls"),
        (None, Some(7), 3, "budget_tool_calls"),
        (Some(40), Some(3), 1, "budget_tokens"),
        (Some(400), None, 10, "attempts"),
    ];
    for (max_tokens, max_tool_calls, attempts, why) in rows {
        let policy = Policy { max_tokens, max_tool_calls, ..base.clone() };
        let mut rig = Rig::delegated(policy, 1);
        rig.usage = usage;
        for _ in 0..u32::from(attempts) {
            assert_eq!(rig.machine.ending(), None);
            rig.turn(1, &[revise()]);
        }
        assert_eq!(rig.ended(), (Outcome::Exhausted, why), "{max_tokens:?}");
        assert_eq!(rig.machine.usage().tokens, 40 * u64::from(attempts));
        assert_eq!(rig.machine.usage().tool_calls, 3 * u64::from(attempts));
    }
}

#[test]
fn a_pass_on_the_last_token_is_a_pass() {
    let policy = Policy { max_tokens: Some(1), ..Policy::default() };
    let mut rig = Rig::delegated(policy, 1);
    rig.usage.tokens = u64::MAX;
    rig.turn(1, &[pass()]);
    assert_eq!(rig.ended(), (Outcome::Verified, "ok"));
}

#[test]
fn spent_budgets_saturate() {
    let policy = Policy { max_attempts: 3, ..Policy::default() };
    let mut rig = Rig::delegated(policy, 1);
    rig.usage = Usage { tokens: u64::MAX, tool_calls: u64::MAX };
    rig.turn(1, &[revise()]).turn(2, &[pass()]);
    assert_eq!(rig.machine.usage(), Usage { tokens: MAX_RECORDED, tool_calls: MAX_RECORDED });
}

/// A record holds no larger number, so a run with one could not be written down, nor ever ended.
#[test]
fn what_a_delegate_says_in_numbers_fits_a_record() {
    let mut rig = Rig::delegated(Policy::default(), 1);
    let usage = Usage { tokens: u64::MAX, tool_calls: u64::MAX };
    (rig.usage, rig.work, rig.elapsed_ms) = (usage, u64::MAX, u64::MAX);
    let parked = Rig::parked(rig.machine.turn(), Some(u64::MAX));
    rig.note(1, usage).ok(parked);
    let text = serde_json::to_string(&rig.log).unwrap();
    assert!(text.contains(&MAX_RECORDED.to_string()) && !text.contains(&u64::MAX.to_string()));
    let mut rig = Rig::delegated(Policy::default(), 1);
    (rig.usage, rig.work, rig.elapsed_ms) = (usage, u64::MAX, u64::MAX);
    rig.turn(1, &[pass()]);
    let text = serde_json::to_string(&rig.log).unwrap();
    assert_eq!(text.matches(&MAX_RECORDED.to_string()).count(), 4, "{text}");
    assert!(!text.contains(&u64::MAX.to_string()), "{text}");
}

#[test]
fn every_bound_of_the_policy_is_checked() {
    let default = Policy::default();
    let by = |max_identical, max_rejections| {
        knobs(Policy::default(), true, max_identical, max_rejections, true)
    };
    let rows: [(&str, Policy); 14] = [
        ("max_attempts", Policy { max_attempts: 0, ..default.clone() }),
        ("max_attempts", Policy { max_attempts: 101, ..default.clone() }),
        ("max_interruptions", Policy { max_interruptions: 1001, ..default.clone() }),
        ("max_verify_tries", Policy { max_verify_tries: 0, ..default.clone() }),
        ("max_verify_tries", Policy { max_verify_tries: 101, ..default.clone() }),
        ("verify_backoff_ms", Policy { verify_backoff_ms: 0, ..default.clone() }),
        ("verify_backoff_ms", Policy { verify_backoff_ms: 60_001, ..default.clone() }),
        ("wall_ms", Policy { wall_ms: Some(0), ..default.clone() }),
        ("wall_ms", Policy { wall_ms: Some(30 * 24 * 3_600_000 + 1), ..default }),
        ("max_identical", by(0, 1)),
        ("max_identical", by(101, 1)),
        ("max_rejections", by(1, 0)),
        ("max_rejections", by(1, 1001)),
        ("", by(100, 1000)),
    ];
    for (expected, policy) in rows {
        let got = match policy.validate() {
            Err(PolicyError::Bound { field, value, min, max }) => {
                assert!(!(min..=max).contains(&value));
                field
            }
            Err(other) => panic!("{other}"),
            Ok(()) => "",
        };
        assert_eq!(got, expected, "{policy:?}");
    }
}

proptest! {
    /// A run that is only ever told `revise` ends: every rejection is charged or lengthens the
    /// streak, and the belt holds whatever happens.
    #[test]
    fn every_run_ends(
        max_attempts in 1u32..6,
        max_identical in 1u32..4,
        max_rejections in 1u32..30,
        count_after_work: bool,
        reuse_rejection: bool,
        steps in proptest::collection::vec((0u8..3, 0u64..2, 0u8..2), 40),
    ) {
        let base = Policy { max_attempts, ..Policy::default() };
        let policy = knobs(base, count_after_work, max_identical, max_rejections, reuse_rejection);
        let mut rig = Rig::delegated(policy, 1);
        let mut rejections = 0;
        for (candidate, work, edit) in steps {
            if rig.machine.ending().is_some() {
                break;
            }
            rig.work += work;
            rig.tree += edit;
            rig.claim(candidate).observe(Phase::After);
            if matches!(rig.machine.stage(), Stage::Checking { .. }) {
                rig.finish(revise());
            }
            rejections += 1;
        }
        prop_assert_eq!(rig.ended().0, Outcome::Exhausted);
        prop_assert!(rejections <= max_rejections);
        prop_assert!(rejections <= max_attempts * (max_identical + 1));
        prop_assert!(rig.machine.attempts() <= max_attempts);
    }

    /// The sums in the log, the getter and the verdicts agree at every step.
    #[test]
    fn the_count_is_a_fold_over_the_verdicts(
        kinds in proptest::collection::vec(0usize..4, 1..8),
        candidates in proptest::collection::vec(0u8..3, 8),
    ) {
        let mut rig = Rig::delegated(by_candidate(100), 1);
        for (kind, candidate) in kinds.iter().zip(candidates) {
            if rig.machine.ending().is_some() {
                break;
            }
            rig.claim(candidate).observe(Phase::After);
            if matches!(rig.machine.stage(), Stage::Checking { .. }) {
                let finding = [
                    crate::rig::verdict(VerdictKind::Revise, "a"),
                    revise(),
                    fail(),
                    pass(),
                ];
                rig.finish(finding[*kind].clone());
            }
            let counted = rig.merged().iter().filter(|merged| merged.counted).count();
            prop_assert_eq!(rig.machine.attempts() as usize, counted);
            prop_assert_eq!(rig.merged().last().unwrap().attempts as usize, counted);
        }
    }
}
