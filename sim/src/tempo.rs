//! Random scripts, of two tempers.

use probity_core::{
    Answer, CheckDecl, Code, Counting, Digest, Feature, HookDecl, HookPoint, MAX_CHECK_MS,
    MAX_WALL_MS, NoteKind, OnFailure, Policy, RedFirst, Rung, StageBudgets, Step, Subject, Terms,
    Tier, Usage,
};

use crate::model::OPENED_MS;
use crate::{
    Beat, CancelAt, Does, HookSays, Point, Rng, Saw, Says, Script, Sight, Spoke, Touch, TurnScript,
};

/// How close the clock is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tempo {
    /// No bound of time is ever reached, and at most one check of a turn needs another try, so a
    /// crash, which costs time, cannot change how the run ends.
    Relaxed,
    /// Every bound of time may bind.
    Tight,
}

impl Script {
    /// A random script. Equal seeds give equal scripts.
    #[must_use]
    pub fn random(rng: &mut Rng, tempo: Tempo) -> Self {
        let checks = checks(rng, tempo);
        let hooks = hooks(rng, tempo);
        let turns = (0..rng.between(1, 6)).map(|_| turn(rng, tempo, &checks, &hooks)).collect();
        let red = (0..checks.len()).map(|_| saw(rng, true)).collect();
        let human = (0..rng.below(4)).map(|_| answer(rng)).collect();
        Self {
            policy: policy(rng, tempo),
            terms: rng.one_in(3).then(|| terms(rng, tempo)),
            hooks,
            starts_unreadable: rng.one_in(60),
            red,
            red_writes: rng.one_in(3),
            red_unreadable: rng.one_in(80),
            turns,
            human,
            human_ms: rng.below(100),
            reading_ms: rng.below(5),
            cancel: rng.one_in(8).then(|| cancel(rng, checks.len())),
            checks,
        }
    }
}

fn policy(rng: &mut Rng, tempo: Tempo) -> Policy {
    let is_tight = tempo == Tempo::Tight;
    let counting = if rng.one_in(2) {
        Counting::EverySubmission
    } else {
        Counting::ByCandidate {
            count_after_work: !rng.one_in(3),
            max_identical: small(rng, 1, 3),
            max_rejections: small(rng, 1, 9),
            reuse_rejection: rng.one_in(2),
        }
    };
    let on_failure = |rng: &mut Rng| {
        if rng.one_in(4) { OnFailure::Escalate } else { OnFailure::Reject }
    };
    Policy {
        max_attempts: small(rng, 1, 5),
        counting,
        max_interruptions: 1_000,
        max_verify_tries: small(rng, 1, 4),
        verify_backoff_ms: rng.between(1, 40),
        wall_ms: (is_tight && rng.one_in(2)).then(|| rng.between(1, 600)),
        max_tokens: rng.one_in(5).then(|| rng.between(1, 60)),
        max_tool_calls: rng.one_in(5).then(|| rng.between(1, 8)),
        red_first: match rng.below(3) {
            0 => RedFirst::Warn,
            1 => RedFirst::Require,
            _ => RedFirst::Off,
        },
        on_fail: on_failure(rng),
        on_exhausted: on_failure(rng),
    }
}

fn checks(rng: &mut Rng, tempo: Tempo) -> Vec<CheckDecl> {
    let count = if rng.one_in(12) { 0 } else { rng.between(1, 3) };
    let mut subjects: Vec<_> =
        (0..count).map(|_| if rng.one_in(3) { Subject::Claim } else { Subject::World }).collect();
    for (subject, most) in [(Subject::Hook, 3), (Subject::Human, 2)] {
        let more = if rng.one_in(4) { rng.between(1, most) } else { 0 };
        subjects.extend((0..more).map(|_| subject));
    }
    let decl = |(n, subject): (usize, Subject)| CheckDecl {
        id: Code::slug(&format!("check-{n}")),
        subject,
        timeout_ms: match (tempo, subject) {
            (Tempo::Relaxed, Subject::Human) => MAX_WALL_MS,
            (Tempo::Relaxed, _) => MAX_CHECK_MS,
            (Tempo::Tight, _) => rng.between(1, 150),
        },
    };
    subjects.into_iter().enumerate().map(decl).collect()
}

fn hooks(rng: &mut Rng, tempo: Tempo) -> Vec<HookDecl> {
    let count = if rng.one_in(3) { rng.between(1, 5) } else { 0 };
    (0..count)
        .map(|n| HookDecl {
            id: Code::slug(&format!("hook-{n}")),
            point: *rng.pick(&HookPoint::ALL).unwrap_or(&HookPoint::AttemptStart),
            timeout_ms: match tempo {
                Tempo::Relaxed => MAX_CHECK_MS,
                Tempo::Tight => rng.between(10, 150),
            },
        })
        .collect()
}

/// In a relaxed script what is stale was so from the beginning, and no stage ends.
fn terms(rng: &mut Rng, tempo: Tempo) -> Terms {
    let is_tight = tempo == Tempo::Tight;
    let stage =
        |rng: &mut Rng| if is_tight && rng.one_in(2) { rng.below(150) } else { MAX_WALL_MS };
    let ttl_ms = match tempo {
        Tempo::Relaxed if rng.one_in(3) => 0,
        Tempo::Relaxed => MAX_WALL_MS,
        Tempo::Tight => rng.below(600),
    };
    let feature = |captured_at_ms| Feature { captured_at_ms, ttl_ms };
    let captured_ms = if is_tight { OPENED_MS } else { OPENED_MS - 1 };
    let rung = |rng: &mut Rng| Rung {
        step: *rng.pick(&Step::ALL).unwrap_or(&Step::Abstain),
        max_extra_ms: rng.one_in(3).then(|| rng.below(400)),
        is_ready: !rng.one_in(4),
    };
    Terms {
        envelope: Digest::from_bytes([91; 32]),
        tier: rng.pick(&[None, Some(Tier::Small), Some(Tier::Medium)]).copied().flatten(),
        is_required: rng.one_in(2),
        stages: StageBudgets {
            context_ms: MAX_WALL_MS,
            plan_ms: MAX_WALL_MS,
            act_ms: stage(rng),
            verify_ms: stage(rng),
        },
        features: if rng.one_in(2) { vec![feature(captured_ms)] } else { Vec::new() },
        is_stale_soft: rng.one_in(4),
        ladder: (0..rng.below(5)).map(|_| rung(rng)).collect(),
        blocked: rng.one_in(20).then(|| Code::slug("over_limit")),
        needs_approval: rng.one_in(4),
    }
}

fn turn(rng: &mut Rng, tempo: Tempo, decls: &[CheckDecl], hooks: &[HookDecl]) -> TurnScript {
    let checks = decls.len();
    let at = |rng: &mut Rng| usize::try_from(rng.below(checks as u64)).unwrap_or(0);
    let shaky = at(rng);
    let sees = (0..checks)
        .map(|check| {
            let may_shake = tempo == Tempo::Tight || check == shaky;
            let tries = if may_shake { rng.between(1, 5) } else { 1 };
            (0..tries).map(|_| saw(rng, may_shake)).collect()
        })
        .collect();
    let touches = match rng.below(40) {
        0 => Some(Touch::AtWork),
        1 if checks > 0 => Some(Touch::During(at(rng))),
        _ => None,
    };
    let beats = if rng.one_in(3) { rng.between(1, 5) } else { 0 };
    TurnScript {
        beats: (0..beats).map(|_| beat(rng)).collect(),
        says: match rng.below(50) {
            0 | 1 => Says::Nothing,
            2 => Says::Spent,
            _ => Says::Done(byte(rng, 3)),
        },
        took_ms: rng.below(60),
        tool_calls: rng.below(3),
        tokens: rng.below(20),
        edits: rng.one_in(2),
        touches,
        unreadable: rng.one_in(60),
        sees,
        spoken: hooks.iter().map(|hook| spoke(rng, hook.point)).collect(),
    }
}

fn beat(rng: &mut Rng) -> Beat {
    let usage = Usage { tokens: rng.below(8), tool_calls: rng.below(2) };
    let does = match rng.below(10) {
        0 => Does::Sleeps(rng.below(200)),
        1 => Does::Asks(rng.below(200)),
        2 => Does::Dies,
        3 => Does::Notes(NoteKind::Session, Usage::default()),
        4..=6 => Does::Notes(NoteKind::Tool, usage),
        _ => Does::Notes(NoteKind::Model, usage),
    };
    Beat { does, took_ms: rng.below(30) }
}

fn spoke(rng: &mut Rng, point: HookPoint) -> Spoke {
    let says = match rng.below(24) {
        0 => HookSays::Blocks,
        1 => HookSays::Offline,
        2 => HookSays::Breaks,
        3..=5 => HookSays::Skips,
        6..=13 if point.may_modify() => HookSays::Modifies,
        _ => HookSays::Allows,
    };
    Spoke { says, took_ms: rng.below(30) }
}

fn saw(rng: &mut Rng, may_shake: bool) -> Saw {
    let sight = match rng.below(24) {
        0..=8 => Sight::Good,
        9..=15 => Sight::Bad,
        16 => Sight::Wrong,
        17 => Sight::Broken,
        18 => Sight::Moot,
        19 | 20 if may_shake => Sight::Away,
        21 | 22 if may_shake => Sight::Late,
        _ => Sight::Good,
    };
    Saw { sight, took_ms: rng.below(40), rewrites: rng.one_in(2) }
}

fn answer(rng: &mut Rng) -> Answer {
    match rng.below(4) {
        0 => Answer::Reject,
        1 => Answer::Waive,
        _ => Answer::Continue { attempts: small(rng, 1, 3) },
    }
}

fn cancel(rng: &mut Rng, checks: usize) -> CancelAt {
    let point = match rng.below(4) {
        0 => Point::AtWork,
        1 => Point::Reading,
        2 => Point::Waiting,
        _ => Point::Checking(usize::try_from(rng.below(checks as u64)).unwrap_or(0)),
    };
    CancelAt { turn: small(rng, 0, 3), point }
}

fn small(rng: &mut Rng, low: u64, high: u64) -> u32 {
    u32::try_from(rng.between(low, high)).unwrap_or(1)
}

fn byte(rng: &mut Rng, bound: u64) -> u8 {
    u8::try_from(rng.below(bound)).unwrap_or(0)
}
