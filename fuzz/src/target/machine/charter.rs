//! What a run is opened with, out of bytes.

use probity_core::{
    Charter, CheckDecl, Code, Counting, Feature, HookDecl, HookPoint, OnFailure, Policy, RedFirst,
    Rung, StageBudgets, Step, Subject, Terms, Tier,
};

use super::{OPENED_MS, digest};
use crate::tape::Tape;

pub(super) fn read(tape: &mut Tape<'_>) -> Charter {
    let policy = policy(tape);
    let mut checks: Vec<CheckDecl> = (0..tape.below(5))
        .map(|n| CheckDecl {
            id: Code::slug(&format!("c{n}")),
            subject: subject(tape),
            timeout_ms: 1 + tape.number() % 2_000,
        })
        .collect();
    checks.sort_by_key(|check| check.subject.rank());
    let hooks = (0..tape.below(4))
        .map(|n| HookDecl {
            id: Code::slug(&format!("h{n}")),
            point: tape.pick(&HookPoint::ALL).copied().unwrap_or(HookPoint::ALL[0]),
            timeout_ms: 1 + tape.number() % 2_000,
        })
        .collect();
    let terms = tape.one_in(3).then(|| terms(tape));
    Charter { policy, checks, hooks, terms, parent: None }
}

fn subject(tape: &mut Tape<'_>) -> Subject {
    match tape.below(7) {
        0..=2 => Subject::World,
        3 | 4 => Subject::Claim,
        5 => Subject::Hook,
        _ => Subject::Human,
    }
}

fn policy(tape: &mut Tape<'_>) -> Policy {
    let failure = |escalates| if escalates { OnFailure::Escalate } else { OnFailure::Reject };
    let counting = match tape.below(2) {
        0 => Counting::EverySubmission,
        _ => Counting::ByCandidate {
            count_after_work: tape.one_in(2),
            max_identical: 1 + u32::from(tape.below(3)),
            max_rejections: 1 + u32::from(tape.below(9)),
            reuse_rejection: tape.one_in(2),
        },
    };
    Policy {
        max_attempts: 1 + u32::from(tape.below(4)),
        counting,
        max_interruptions: u32::from(tape.below(6)),
        max_verify_tries: 1 + u32::from(tape.below(4)),
        verify_backoff_ms: 50,
        wall_ms: tape.one_in(3).then(|| 100 + tape.number() % 10_000),
        max_tokens: tape.one_in(3).then(|| 1 + tape.number() % 30),
        max_tool_calls: tape.one_in(3).then(|| 1 + tape.number() % 30),
        red_first: match tape.below(3) {
            0 => RedFirst::Off,
            1 => RedFirst::Warn,
            _ => RedFirst::Require,
        },
        on_fail: failure(tape.one_in(3)),
        on_exhausted: failure(tape.one_in(3)),
    }
}

fn terms(tape: &mut Tape<'_>) -> Terms {
    let rungs = (0..tape.below(6))
        .map(|_| Rung {
            step: tape.pick(&Step::ALL).copied().unwrap_or(Step::ALL[0]),
            max_extra_ms: tape.one_in(2).then(|| tape.number() % 2_000),
            is_ready: !tape.one_in(5),
        })
        .collect();
    let stages = StageBudgets {
        context_ms: 100,
        plan_ms: 100,
        act_ms: tape.number() % 3_000,
        verify_ms: tape.number() % 3_000,
    };
    let feature = |ttl_ms| Feature { captured_at_ms: OPENED_MS, ttl_ms };
    Terms {
        envelope: digest(90),
        tier: tape.one_in(2).then(|| tape.pick(&Tier::ALL).copied()).flatten(),
        is_required: tape.one_in(2),
        stages,
        features: tape.one_in(2).then(|| feature(tape.number() % 3_000)).into_iter().collect(),
        is_stale_soft: tape.one_in(2),
        ladder: rungs,
        blocked: tape.one_in(10).then(|| Code::slug("over_limit")),
        needs_approval: tape.one_in(5),
    }
}
