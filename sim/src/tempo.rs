//! Random scripts, of two tempers.

use probity_core::{Answer, CheckDecl, Code, Counting, OnFailure, Policy, RedFirst, Subject};

use crate::{CancelAt, Point, Rng, Saw, Says, Script, Sight, Touch, TurnScript};

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
        let turns = (0..rng.between(1, 6)).map(|_| turn(rng, tempo, checks.len())).collect();
        let red = (0..checks.len()).map(|_| saw(rng, true)).collect();
        let human = (0..rng.below(4)).map(|_| answer(rng)).collect();
        Self {
            policy: policy(rng, tempo),
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
    (0..count)
        .map(|n| CheckDecl {
            id: Code::slug(&format!("check-{n}")),
            subject: if rng.one_in(3) { Subject::Claim } else { Subject::World },
            timeout_ms: match tempo {
                Tempo::Relaxed => probity_core::MAX_CHECK_MS,
                Tempo::Tight => rng.between(1, 150),
            },
        })
        .collect()
}

fn turn(rng: &mut Rng, tempo: Tempo, checks: usize) -> TurnScript {
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
    TurnScript {
        says: if rng.one_in(25) { Says::Nothing } else { Says::Done(byte(rng, 3)) },
        took_ms: rng.below(60),
        tool_calls: rng.below(3),
        tokens: rng.below(20),
        edits: rng.one_in(2),
        touches,
        unreadable: rng.one_in(60),
        sees,
    }
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
    Saw { sight, took_ms: rng.below(40) }
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
