//! Random charters, and inputs that are mostly what the machine waits for.

use probity_core::{
    Answer, Charter, CheckDecl, CheckIndex, Counting, Feature, HookDecision, HookDecl, HookIndex,
    HookPoint, Input, OnFailure, Phase, Policy, RedFirst, Rung, Stage, StageBudgets, Step as Rungs,
    Subject, Terms, Tier, Turn, Usage,
};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use crate::rig::{OPENED_MS, Rig, check, code, hook};

/// One step, as numbers that are read against the state when the step is made.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    act: u8,
    text: u8,
    finding: u8,
    wait_ms: u64,
    spoil: u8,
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (0_u8..52, 0_u8..3, 0_u8..12, 0_u64..400, 0_u8..40).prop_map(
        |(act, text, finding, wait_ms, spoil)| Step { act, text, finding, wait_ms, spoil },
    );
    vec(step, 1..80)
}

pub(crate) fn charters() -> impl Strategy<Value = Charter> {
    let parent = of(Just("run-0".parse().unwrap()));
    (policies(), checks(), hooks(), of(terms()), parent).prop_map(
        |(policy, checks, hooks, terms, parent)| Charter { policy, checks, hooks, terms, parent },
    )
}

fn policies() -> impl Strategy<Value = Policy> {
    let by_candidate = (any::<bool>(), 1_u32..4, 1_u32..10, any::<bool>()).prop_map(
        |(count_after_work, max_identical, max_rejections, reuse_rejection)| {
            Counting::ByCandidate {
                count_after_work,
                max_identical,
                max_rejections,
                reuse_rejection,
            }
        },
    );
    let counting = prop_oneof![Just(Counting::EverySubmission), by_candidate];
    let red_first = select(vec![RedFirst::Warn, RedFirst::Require, RedFirst::Off]);
    let failure = select(vec![OnFailure::Reject, OnFailure::Escalate]);
    let bounds = (1_u32..5, 0_u32..6, 1_u32..4, of(100_u64..6_000), of(0_u64..40), of(0_u64..8));
    (bounds, counting, red_first, failure.clone(), failure).prop_map(
        |(bounds, counting, red_first, on_fail, on_exhausted)| Policy {
            max_attempts: bounds.0,
            counting,
            max_interruptions: bounds.1,
            max_verify_tries: bounds.2,
            verify_backoff_ms: 50,
            wall_ms: bounds.3,
            max_tokens: bounds.4,
            max_tool_calls: bounds.5,
            red_first,
            on_fail,
            on_exhausted,
        },
    )
}

fn checks() -> impl Strategy<Value = Vec<CheckDecl>> {
    let subject = select(vec![
        Subject::World,
        Subject::World,
        Subject::Claim,
        Subject::Hook,
        Subject::Hook,
        Subject::Human,
    ]);
    vec((subject, 1_u64..1_000), 0..5).prop_map(|mut checks| {
        checks.sort_by_key(|(subject, _)| subject.rank());
        let decl = |(n, (subject, timeout_ms)): (usize, (Subject, u64))| CheckDecl {
            timeout_ms,
            ..check(&format!("c{n}"), subject)
        };
        checks.into_iter().enumerate().map(decl).collect()
    })
}

fn hooks() -> impl Strategy<Value = Vec<HookDecl>> {
    vec((select(HookPoint::ALL.to_vec()), 1_u64..1_000), 0..4).prop_map(|hooks| {
        let decl =
            |(n, (point, timeout_ms))| HookDecl { timeout_ms, ..hook(&format!("h{n}"), point) };
        hooks.into_iter().enumerate().map(decl).collect()
    })
}

fn terms() -> impl Strategy<Value = Terms> {
    let rung = (select(Rungs::ALL.to_vec()), of(0_u64..2_000), prop::bool::weighted(0.8))
        .prop_map(|(step, max_extra_ms, is_ready)| Rung { step, max_extra_ms, is_ready });
    let flags =
        (any::<bool>(), any::<bool>(), prop::bool::weighted(0.1), prop::bool::weighted(0.2));
    let budgets = (0_u64..3_000, 0_u64..3_000, of(0_u64..3_000));
    (of(select(Tier::ALL.to_vec())), flags, budgets, vec(rung, 0..6)).prop_map(
        |(tier, (is_required, is_stale_soft, is_blocked, needs_approval), budgets, ladder)| Terms {
            envelope: probity_record::blob_digest(b"the envelope"),
            tier,
            is_required,
            stages: StageBudgets {
                context_ms: 100,
                plan_ms: 100,
                act_ms: budgets.0,
                verify_ms: budgets.1,
            },
            features: (budgets.2)
                .map(|ttl_ms| Feature { captured_at_ms: OPENED_MS, ttl_ms })
                .into_iter()
                .collect(),
            is_stale_soft,
            ladder,
            blocked: is_blocked.then(|| code("over_limit")),
            needs_approval,
        },
    )
}

/// Plays a schedule; what does not fit is refused and changes nothing.
pub(crate) fn play(charter: Charter, steps: &[Step], ends: bool) -> Rig {
    let mut rig = Rig::of(charter);
    for step in steps {
        rig.now_ms += step.wait_ms;
        rig.tree += u32::from(step.spoil % 5 == 1);
        rig.work += u64::from(step.spoil % 5 == 2);
        rig.judge = if step.spoil == 0 { "another judge" } else { "the judge" };
        rig.usage = Usage { tokens: step.text.into(), tool_calls: 1 };
        let input = input(&mut rig, step);
        let _ = rig.feed(input);
    }
    if ends {
        let _ = rig.feed(Input::Cancel { code: code("user") });
        let _ = rig.feed(Input::Sealed);
    }
    rig
}

fn input(rig: &mut Rig, step: &Step) -> Input {
    let phase = if step.spoil.is_multiple_of(2) { Phase::Before } else { Phase::After };
    let text = ["a", "b", "c"][usize::from(step.text)];
    let turn = Turn { epoch: 0, number: step.text.into() };
    match step.act {
        0 => Input::Cancel { code: code("user") },
        1 => Input::Sealed,
        2 => rig.observed(phase),
        3 => rig.claimed(turn, text),
        4 => {
            let detail = rig.shelf.keep("exit status 1");
            Input::DelegateFailed { turn, code: code("exit_1"), detail }
        }
        5 => {
            let detail = rig.shelf.keep("too many files");
            Input::Unreadable { phase, code: code("too_large"), detail }
        }
        6 => {
            let by = rig.shelf.keep("kim");
            Input::Answered { by, answer: Answer::Continue { attempts: step.spoil.into() } }
        }
        7 => Input::HookAnswered {
            hook: HookIndex(step.text.into()),
            decision: HookDecision::Allow,
            elapsed_ms: 1,
        },
        8 => {
            let finding = rig.finding("pass");
            let check = CheckIndex(step.text.into());
            let judge = Some(rig.shelf.keep(rig.judge));
            Input::CheckFinished { check, finding, judge, elapsed_ms: 1, rewrite: None }
        }
        9..=11 => Input::Timer,
        12 => Input::Resume,
        13 => rig.noted(turn),
        14 => rig.parked(turn, step.spoil.is_multiple_of(2).then_some(rig.now_ms)),
        15 => rig.waking(),
        // One in four comes too late.
        16..=18 => Input::Lease {
            epoch: rig.machine.epoch() + u64::from(step.spoil % 4),
            worker: "worker-1".parse().unwrap(),
        },
        19..=20 => Input::Release,
        21 => Input::RequestCancel { by: rig.shelf.keep("kim") },
        22..=24 => Input::Steer { content: rig.shelf.keep(text) },
        _ => expected(rig, step, text),
    }
}

fn expected(rig: &mut Rig, step: &Step, text: &str) -> Input {
    let word = match step.finding {
        0..=3 => "pass",
        4 | 5 => "revise",
        6 => "fail",
        7 => "timeout",
        8 => "unread",
        9 => "fault",
        _ => "not applicable",
    };
    match rig.machine.stage() {
        Stage::Opened | Stage::RedDone => rig.observed(Phase::Before),
        Stage::Claimed => rig.observed(Phase::After),
        Stage::RedChecking { .. } => {
            let finding = rig.finding(word);
            rig.finished(finding, None)
        }
        Stage::Checking { check, .. } => {
            let is_hook = rig.machine.checks()[check.as_usize()].subject == Subject::Hook;
            let rewrites = is_hook && word == "pass" && step.spoil.is_multiple_of(3);
            let rewrite = rewrites.then(|| rig.rewrite(&format!("{text} by {}", step.spoil)));
            let finding = rig.finding(word);
            rig.finished(finding, rewrite)
        }
        Stage::Hooking { hook, .. } => {
            let decision = decision(rig, step);
            Input::HookAnswered { hook, decision, elapsed_ms: 3 }
        }
        Stage::Awaiting { .. } => {
            let finding = rig.finding(word);
            rig.said(finding)
        }
        Stage::Delegated { turn } => match step.finding {
            0..=2 => rig.noted(turn),
            3 => rig.parked(turn, Some(rig.now_ms + step.wait_ms)),
            4 => rig.parked(turn, None),
            5 if step.spoil.is_multiple_of(2) => {
                let (code, detail) = (code("budget_tokens"), rig.shelf.keep("none left"));
                Input::DelegateFailed { turn, code, detail }
            }
            6 => Input::Resume,
            _ => rig.claimed(turn, text),
        },
        Stage::Parked { until_ms: None, .. } => rig.waking(),
        Stage::Escalated { .. } => {
            let by = rig.shelf.keep("kim");
            let answer = match step.finding {
                0..=2 => Answer::Reject,
                3 => Answer::Waive,
                _ => Answer::Continue { attempts: 1 + u32::from(step.text) },
            };
            Input::Answered { by, answer }
        }
        Stage::Decided { .. } => Input::Sealed,
        _ => Input::Timer,
    }
}

fn decision(rig: &mut Rig, step: &Step) -> HookDecision {
    let (code, text) = (code("hook_offline"), rig.shelf.keep("text"));
    match step.finding {
        0 => HookDecision::Block { reason: text },
        1 => HookDecision::Inconclusive { code, detail: text },
        2 => HookDecision::Fault { code, detail: text },
        3..=5 => HookDecision::Modify { to: text, delta: text },
        6 => HookDecision::NotApplicable,
        _ => HookDecision::Allow,
    }
}
