//! Random schedules: policies, and inputs that are mostly legal and sometimes not.

use probity_core::{
    Answer, Charter, CheckDecl, CheckIndex, Counting, Feature, Finding, Handled, HookDecision,
    HookDecl, HookPoint, Input, OnFailure, Phase, Policy, RedFirst, Refusal, Rung, Stage,
    StageBudgets, Step as Rungs, Subject, Terms, Tier, Usage, VerdictKind,
};
use proptest::prelude::*;

use crate::rig::{JUDGE, Rig, TOUCHED, WOKEN_BY, code, d, fault, turn, verdict, world_check};

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
    let step = (0u8..51, 0u8..3, 0u8..12, 0u64..400, 0u8..40).prop_map(
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

fn policies() -> impl Strategy<Value = Policy> {
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

/// Checks of every subject in their order, some hooks, and terms in every other run.
pub(crate) fn charters() -> impl Strategy<Value = Charter> {
    let terms = prop_oneof![Just(None), terms().prop_map(Some)];
    (policies(), checks(), hooks(), terms).prop_map(|(policy, checks, hooks, terms)| Charter {
        policy,
        checks,
        hooks,
        terms,
        parent: None,
    })
}

fn checks() -> impl Strategy<Value = Vec<CheckDecl>> {
    let subjects = prop_oneof![
        2 => Just(Subject::World),
        2 => Just(Subject::Claim),
        2 => Just(Subject::Hook),
        1 => Just(Subject::Human),
    ];
    proptest::collection::vec((subjects, 1u64..1_000), 0..5).prop_map(|mut checks| {
        checks.sort_by_key(|(subject, _)| subject.rank());
        let check = |(n, (subject, timeout_ms)): (usize, (Subject, u64))| CheckDecl {
            subject,
            timeout_ms,
            ..world_check(&format!("c{n}"))
        };
        checks.into_iter().enumerate().map(check).collect()
    })
}

fn hooks() -> impl Strategy<Value = Vec<HookDecl>> {
    let point = proptest::sample::select(HookPoint::ALL.to_vec());
    proptest::collection::vec((point, 1u64..1_000), 0..4).prop_map(|hooks| {
        let hook =
            |(n, (point, timeout_ms))| HookDecl { id: code(&format!("h{n}")), point, timeout_ms };
        hooks.into_iter().enumerate().map(hook).collect()
    })
}

fn terms() -> impl Strategy<Value = Terms> {
    let rung = (
        proptest::sample::select(Rungs::ALL.to_vec()),
        proptest::option::of(0u64..2_000),
        prop::bool::weighted(0.8),
    )
        .prop_map(|(step, max_extra_ms, is_ready)| Rung { step, max_extra_ms, is_ready });
    let stages = (0u64..3_000, 0u64..3_000).prop_map(|(act_ms, verify_ms)| StageBudgets {
        context_ms: 100,
        plan_ms: 100,
        act_ms,
        verify_ms,
    });
    (
        proptest::option::of(proptest::sample::select(Tier::ALL.to_vec())),
        any::<bool>(),
        stages,
        proptest::option::of(0u64..3_000),
        any::<bool>(),
        proptest::collection::vec(rung, 0..6),
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.2),
    )
        .prop_map(
            |(
                tier,
                is_required,
                stages,
                ttl,
                is_stale_soft,
                ladder,
                is_blocked,
                needs_approval,
            )| {
                // The rig opens runs at 1 s.
                let feature = |ttl_ms| Feature { captured_at_ms: 1_000, ttl_ms };
                Terms {
                    envelope: d(90),
                    tier,
                    is_required,
                    stages,
                    features: ttl.map(feature).into_iter().collect(),
                    is_stale_soft,
                    ladder,
                    blocked: is_blocked.then(|| code("over_limit")),
                    needs_approval,
                }
            },
        )
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

fn decision(step: &Step) -> HookDecision {
    let (code, detail) = (code("hook_offline"), d(63));
    match step.finding {
        0 => HookDecision::Block { reason: d(60) },
        1 => HookDecision::Inconclusive { code, detail },
        2 => HookDecision::Fault { code, detail },
        3..=5 => HookDecision::Modify { to: d(step.spoil), delta: d(61) },
        6 => HookDecision::NotApplicable,
        _ => HookDecision::Allow,
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
        13 => Rig::hooked(step.candidate.into(), decision(step)),
        14 => rig.said(step.candidate.into(), finding(step.finding)),
        16 => Rig::noted(some_turn, step.spoil, rig.usage),
        17 => Rig::parked(some_turn, step.spoil.is_multiple_of(2).then_some(rig.now_ms)),
        18 => Input::Woken { answer: d(WOKEN_BY) },
        15 => rig.rewritten(step.candidate.into(), finding(step.finding), step.spoil),
        // One in four comes too late.
        43..=45 => Rig::leased(rig.machine.epoch() + u64::from(step.spoil % 4)),
        46 => Input::Release,
        47 => Input::RequestCancel { by: d(step.spoil) },
        48..=50 => Input::Steer { content: d(step.spoil) },
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
            let finding = finding(step.finding);
            let decl = rig.machine.checks().get(check as usize);
            let is_hook = decl.is_some_and(|decl| decl.subject == Subject::Hook);
            if is_hook
                && step.spoil.is_multiple_of(3)
                && finding.verdict() == Some(VerdictKind::Pass)
            {
                return rig.rewritten(check, finding, 100 + step.spoil);
            }
            rig.finished(check, finding)
        }
        Stage::Hooking { hook, .. } => Rig::hooked(hook.0, decision(step)),
        Stage::Awaiting { check, .. } => rig.said(check.0, finding(step.finding)),
        Stage::Delegated { turn } => match step.finding {
            0..=2 => Rig::noted(turn, step.spoil, rig.usage),
            3 => Rig::parked(turn, Some(rig.now_ms + step.wait_ms)),
            4 => Rig::parked(turn, None),
            5 => Input::DelegateFailed { turn, code: code("budget_tool_calls"), detail: d(3) },
            6 => Input::Resume,
            _ => rig.claimed(turn, step.candidate),
        },
        Stage::Parked { until_ms: None, .. } => Input::Woken { answer: d(WOKEN_BY) },
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
pub(crate) fn play(charter: Charter, steps: &[Step]) -> Rig {
    let mut rig = Rig::of(charter);
    for step in steps {
        rig.wait(step.wait_ms);
        let input = input(&mut rig, step);
        let _: Result<Handled, Refusal> = rig.feed(input);
    }
    rig
}
