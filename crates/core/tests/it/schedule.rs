//! Random schedules: policies, and inputs that are mostly legal and sometimes not.

use probity_core::{
    Answer, CheckDecl, CheckIndex, Counting, Finding, Handled, Input, OnFailure, Phase, Policy,
    RedFirst, Refusal, Stage, Usage, VerdictKind,
};
use proptest::prelude::*;

use crate::rig::{JUDGE, Rig, TOUCHED, claim_check, code, d, fault, turn, verdict, world_check};

/// One step, as numbers that are read against the state when the step is made.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) act: u8,
    pub(crate) candidate: u8,
    pub(crate) finding: u8,
    pub(crate) wait_ms: u64,
    pub(crate) spoil: u8,
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (0u8..40, 0u8..3, 0u8..12, 0u64..400, 0u8..40).prop_map(
        |(act, candidate, finding, wait_ms, spoil)| Step {
            act,
            candidate,
            finding,
            wait_ms,
            spoil,
        },
    );
    proptest::collection::vec(step, 1..60)
}

pub(crate) fn policies() -> impl Strategy<Value = Policy> {
    let counting = prop_oneof![
        Just(Counting::EverySubmission),
        (any::<bool>(), 1u32..4, 1u32..10, any::<bool>()).prop_map(
            |(count_after_work, max_identical, max_rejections, reuse_rejection)| {
                Counting::ByCandidate {
                    count_after_work,
                    max_identical,
                    max_rejections,
                    reuse_rejection,
                }
            }
        ),
    ];
    let red_first = prop_oneof![Just(RedFirst::Warn), Just(RedFirst::Require), Just(RedFirst::Off)];
    let failure = prop_oneof![Just(OnFailure::Reject), Just(OnFailure::Escalate)];
    let wall = prop_oneof![Just(None), (100u64..5_000).prop_map(Some)];
    let tokens = prop_oneof![Just(None), (1u64..30).prop_map(Some)];
    (1u32..5, counting, 0u32..6, 1u32..4, wall, tokens, red_first, failure.clone(), failure)
        .prop_map(
            |(
                max_attempts,
                counting,
                max_interruptions,
                max_verify_tries,
                wall_ms,
                max_tokens,
                red_first,
                on_fail,
                on_exhausted,
            )| Policy {
                max_attempts,
                counting,
                max_interruptions,
                max_verify_tries,
                verify_backoff_ms: 50,
                wall_ms,
                max_tokens,
                max_tool_calls: max_tokens,
                red_first,
                on_fail,
                on_exhausted,
            },
        )
}

pub(crate) fn checks() -> impl Strategy<Value = Vec<CheckDecl>> {
    proptest::collection::vec((any::<bool>(), 1u64..1_000), 0..4).prop_map(|checks| {
        let check = |(n, (is_world, timeout_ms)): (usize, (bool, u64))| {
            let id = format!("c{n}");
            let decl = if is_world { world_check(&id) } else { claim_check(&id) };
            CheckDecl { timeout_ms, ..decl }
        };
        checks.into_iter().enumerate().map(check).collect()
    })
}

pub(crate) fn finding(n: u8) -> Finding {
    match n {
        0..=2 => verdict(VerdictKind::Pass, "ok"),
        3..=5 => verdict(VerdictKind::Revise, "missing"),
        6 => verdict(VerdictKind::Fail, "forbidden"),
        7 | 8 => verdict(VerdictKind::Inconclusive, "http_timeout"),
        9 => verdict(VerdictKind::Inconclusive, "refused"),
        10 => fault(),
        _ => Finding::NotApplicable,
    }
}

/// The input of a step: what the machine waits for, or something else altogether.
pub(crate) fn input(rig: &mut Rig, step: &Step) -> Input {
    rig.tree = rig.tree.wrapping_add(u8::from(step.spoil % 5 == 1));
    rig.work += u64::from(step.spoil % 5 == 2);
    rig.judge = if step.spoil == 0 { TOUCHED } else { JUDGE };
    rig.usage = Usage { tokens: step.candidate.into(), tool_calls: 1 };
    let phase = if step.spoil.is_multiple_of(2) { Phase::Before } else { Phase::After };
    let some_turn = turn(step.candidate.into());
    match step.act {
        0 => Input::Cancel { code: code("user") },
        1 => Input::Sealed,
        2 => rig.observed(phase),
        3 => rig.finished(step.candidate.into(), finding(step.finding)),
        4 => rig.claimed(some_turn, step.candidate),
        5 => Input::DelegateFailed { turn: some_turn, code: code("exit_1"), detail: d(3) },
        6 => Rig::answered(Answer::Continue { attempts: step.spoil.into() }),
        7 => Input::Unreadable { phase, code: code("too_large"), detail: d(4) },
        8..=11 => Input::Timer,
        12 => Input::Resume,
        _ => expected(rig, step),
    }
}

fn expected(rig: &Rig, step: &Step) -> Input {
    match rig.machine.stage() {
        Stage::Opened | Stage::RedDone => rig.observed(Phase::Before),
        Stage::Claimed => rig.observed(Phase::After),
        Stage::RedChecking { check, .. } | Stage::Checking { check, .. } => {
            let CheckIndex(check) = check;
            rig.finished(check, finding(step.finding))
        }
        Stage::Delegated { turn } => rig.claimed(turn, step.candidate),
        Stage::Escalated { .. } => Rig::answered(match step.finding {
            0..=3 => Answer::Reject,
            4 => Answer::Waive,
            _ => Answer::Continue { attempts: 1 },
        }),
        Stage::Decided { .. } => Input::Sealed,
        _ => Input::Timer,
    }
}

/// Plays a schedule. The rig checks after every input that the log replays to the live value.
pub(crate) fn play(policy: Policy, checks: Vec<CheckDecl>, steps: &[Step]) -> Rig {
    let mut rig = Rig::open(policy, checks);
    for step in steps {
        rig.wait(step.wait_ms);
        let input = input(&mut rig, step);
        let _: Result<Handled, Refusal> = rig.feed(input);
    }
    rig
}
