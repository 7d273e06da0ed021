//! The reference model: what a script must come to, worked out straight from the rules, one turn
//! after the other, with a clock that it moves itself. It knows nothing of events, stages or effects.

use probity_core::{Answer, Counting, Drift, Judgement, OnFailure, Outcome, RedFirst, Subject};

use crate::prediction::{Prediction, Row};
use crate::script::{CancelAt, Point, Says, Script, Sight, Touch};

/// When every run begins, in milliseconds since the Unix epoch.
pub(crate) const OPENED_MS: u64 = 1_000_000;

/// Works out how a script ends.
#[must_use]
pub fn predict(script: &Script) -> Prediction {
    let mut model = Model::new(script);
    let end = match model.play() {
        Ok(never) => match never {},
        Err(end) => end,
    };
    let delivers = matches!(end.outcome, Outcome::Verified | Outcome::Unverified);
    let counted = model.rows.iter().filter(|row| row.counted).count();
    Prediction {
        outcome: end.outcome,
        code: end.code.to_owned(),
        waived: end.waived,
        attempts: u32::try_from(counted).unwrap_or(u32::MAX),
        tokens: model.tokens,
        tool_calls: model.tool_calls,
        rows: model.rows,
        dispatched: model.dispatched,
        looks: model.looks,
        calls: model.calls,
        committed: model.candidate.filter(|_| delivers),
        ended_ms: model.clock_ms,
    }
}

struct End {
    outcome: Outcome,
    code: &'static str,
    waived: bool,
}

fn end<T>(outcome: Outcome, code: &'static str) -> Result<T, End> {
    Err(End { outcome, code, waived: false })
}

/// A rejected submission: turn, candidate, and how much had been done by then.
struct Rejection {
    turn: u32,
    candidate: u8,
    work: (u64, u64),
}

/// What a check has come to in this turn.
#[derive(Clone, Copy)]
struct Look {
    sight: Sight,
    tries: u32,
    since_ms: u64,
    took_ms: u64,
    back_ms: u64,
    /// The judge's files were looked at afterwards.
    is_whole: bool,
}

struct Ruling {
    judgement: Judgement,
    code: &'static str,
    reused: Option<u32>,
}

struct Model<'a> {
    script: &'a Script,
    clock_ms: u64,
    stop_ms: Option<u64>,
    /// Checks whose pass proves nothing.
    blunt: Vec<bool>,
    candidate: Option<u8>,
    allowed: u32,
    tokens: u64,
    tool_calls: u64,
    /// Tokens and tool calls spent before a human let the run go on.
    settled: (u64, u64),
    rejections: Vec<Rejection>,
    since_grant: u32,
    streak: u32,
    answers: usize,
    rows: Vec<Row>,
    dispatched: Vec<u32>,
    looks: Vec<(Option<u32>, usize, u32)>,
    calls: u32,
}

impl<'a> Model<'a> {
    fn new(script: &'a Script) -> Self {
        Self {
            script,
            clock_ms: OPENED_MS,
            stop_ms: script.policy.wall_ms.map(|wall_ms| OPENED_MS + wall_ms),
            blunt: vec![false; script.checks.len()],
            candidate: None,
            allowed: script.policy.max_attempts,
            tokens: 0,
            tool_calls: 0,
            settled: (0, 0),
            rejections: Vec::new(),
            since_grant: 0,
            streak: 0,
            answers: 0,
            rows: Vec::new(),
            dispatched: Vec::new(),
            looks: Vec::new(),
            calls: 0,
        }
    }

    fn play(&mut self) -> Result<std::convert::Infallible, End> {
        let out_of_time = End { outcome: Outcome::Exhausted, code: "budget_wall", waived: false };
        if !self.spend(self.script.reading_ms) {
            return Err(out_of_time);
        }
        if self.script.starts_unreadable {
            return end(Outcome::Faulted, "unreadable");
        }
        if !self.red_run() {
            return Err(out_of_time);
        }
        // What the checks wrote is not the delegate's work: the workspace is read once more.
        if !self.looks.is_empty() {
            if !self.spend(self.script.reading_ms) {
                return Err(out_of_time);
            }
            if self.script.red_unreadable {
                return end(Outcome::Faulted, "unreadable");
            }
        }
        let mut turn = 0;
        loop {
            self.one_turn(turn)?;
            turn += 1;
        }
    }

    /// False if the wall time ended first.
    fn red_run(&mut self) -> bool {
        if self.script.policy.red_first == RedFirst::Off {
            return true;
        }
        for check in 0..self.script.checks.len() {
            let Some(decl) = self.script.checks.get(check) else { continue };
            if decl.subject != Subject::World {
                continue;
            }
            let Some(saw) = self.script.red.get(check).copied() else { continue };
            self.looks.push((None, check, 1));
            let Some(sight) = self.look(saw.sight, saw.took_ms, decl.timeout_ms) else {
                return false;
            };
            let tells = matches!(sight, Sight::Bad | Sight::Wrong);
            if let Some(blunt) = self.blunt.get_mut(check) {
                *blunt = !tells && self.script.policy.red_first == RedFirst::Require;
            }
        }
        true
    }

    fn one_turn(&mut self, turn: u32) -> Result<(), End> {
        let Some(happens) = self.script.turn(turn) else {
            return end(Outcome::Faulted, "no_turns");
        };
        self.dispatched.push(turn);
        self.cancelled(turn, Point::AtWork)?;
        if !self.spend(happens.took_ms) {
            let on_failure = self.script.policy.on_exhausted;
            return self.refuse(turn, Outcome::Exhausted, "budget_wall", on_failure);
        }
        let Says::Done(candidate) = happens.says else {
            return end(Outcome::DelegateFailed, "exit_1");
        };
        self.candidate = Some(candidate);
        self.tokens += happens.tokens;
        self.tool_calls += happens.tool_calls;
        self.cancelled(turn, Point::Reading)?;
        if !self.spend(self.script.reading_ms) {
            return end(Outcome::Inconclusive, "wall_timeout");
        }
        if happens.unreadable {
            return end(Outcome::Inconclusive, "unreadable");
        }
        let work = (self.script.work_until(turn), self.script.edits_until(turn));
        let ruling = self.rule(turn, candidate, work, happens.touches)?;
        self.write_down(turn, candidate, work, &ruling);
        self.go_on(turn, &ruling)
    }

    /// The verdict of a turn.
    fn rule(
        &mut self,
        turn: u32,
        candidate: u8,
        work: (u64, u64),
        touches: Option<Touch>,
    ) -> Result<Ruling, End> {
        let tampered =
            || Ok(Ruling { judgement: Judgement::Fail, code: "judge_tampered", reused: None });
        if touches == Some(Touch::AtWork) {
            return tampered();
        }
        if let Counting::ByCandidate { reuse_rejection: true, .. } = self.script.policy.counting
            && let Some(last) = self.rejections.last()
            && last.candidate == candidate
            && last.work == work
        {
            let reused = Some(last.turn);
            return Ok(Ruling { judgement: Judgement::Revise, code: "reused", reused });
        }
        let mut looks: Vec<Look> = Vec::new();
        for check in 0..self.script.checks.len() {
            if self.is_over() {
                looks.push(self.cut(1, self.clock_ms));
                break;
            }
            let look = self.try_check(turn, check, 1, self.clock_ms)?;
            looks.push(look);
            if touches == Some(Touch::During(check)) && look.is_whole {
                return tampered();
            }
        }
        loop {
            let (judgement, code) = self.merged(&looks);
            let is_open = judgement == Judgement::Inconclusive && !self.is_over();
            let again = if is_open { self.again(&looks) } else { None };
            let Some((check, due_ms)) = again else {
                return Ok(Ruling { judgement, code, reused: None });
            };
            if due_ms > self.clock_ms {
                if self.stop_ms.is_some_and(|stop_ms| stop_ms <= due_ms) {
                    self.clock_ms = self.clock_ms.max(self.stop_ms.unwrap_or(0));
                    return Ok(Ruling { judgement, code, reused: None });
                }
                self.clock_ms = due_ms;
            }
            if let Some(old) = looks.get(check).copied() {
                let new = self.try_check(turn, check, old.tries + 1, old.since_ms)?;
                if let Some(place) = looks.get_mut(check) {
                    *place = new;
                }
            }
        }
    }

    fn try_check(
        &mut self,
        turn: u32,
        check: usize,
        tries: u32,
        since_ms: u64,
    ) -> Result<Look, End> {
        self.looks.push((Some(turn), check, tries));
        if tries == 1 {
            self.cancelled(turn, Point::Checking(check))?;
        }
        let whole_ms = self.script.checks.get(check).map_or(0, |decl| decl.timeout_ms);
        let left_ms = whole_ms.saturating_sub(self.clock_ms - since_ms).max(1);
        let (sight, took_ms) = match self.script.sight(turn, check, tries) {
            Some(saw) => (saw.sight, saw.took_ms),
            None => (Sight::Moot, 0),
        };
        let Some(seen) = self.look(sight, took_ms, left_ms) else {
            return Ok(self.cut(tries, since_ms));
        };
        let is_whole = took_ms < left_ms && sight != Sight::Broken;
        let (took_ms, back_ms) = (took_ms.min(left_ms), self.clock_ms);
        Ok(Look { sight: seen, tries, since_ms, took_ms, back_ms, is_whole })
    }

    /// What a check comes to that the end of the run's time cut off or kept from running.
    fn cut(&self, tries: u32, since_ms: u64) -> Look {
        let back_ms = self.clock_ms;
        Look { sight: Sight::Cut, tries, since_ms, took_ms: 0, back_ms, is_whole: false }
    }

    /// The check whose next try is due first, where its tries and its time leave one.
    fn again(&self, looks: &[Look]) -> Option<(usize, u64)> {
        let policy = &self.script.policy;
        let mut first: Option<(usize, u64)> = None;
        for (check, look) in looks.iter().enumerate() {
            let is_open = matches!(look.sight, Sight::Away | Sight::Late);
            if !is_open || look.tries >= policy.max_verify_tries {
                continue;
            }
            let mut wait_ms = policy.verify_backoff_ms;
            for _ in 1..look.tries {
                wait_ms = (wait_ms * 2).min(10_000);
            }
            let due_ms = look.back_ms + wait_ms.min(10_000);
            let whole_ms = self.script.checks.get(check).map_or(0, |decl| decl.timeout_ms);
            let is_enough = due_ms + look.took_ms < look.since_ms + whole_ms;
            if is_enough && first.is_none_or(|(_, ms)| due_ms < ms) {
                first = Some((check, due_ms));
            }
        }
        first
    }

    fn merged(&self, looks: &[Look]) -> (Judgement, &'static str) {
        let seen: Vec<Sight> = looks
            .iter()
            .zip(&self.blunt)
            .map(|(look, blunt)| match look.sight {
                Sight::Good if *blunt => Sight::Moot,
                sight => sight,
            })
            .collect();
        let ranks: [(&[Sight], Judgement); 5] = [
            (&[Sight::Broken], Judgement::Fault),
            (&[Sight::Wrong], Judgement::Fail),
            (&[Sight::Bad], Judgement::Revise),
            (&[Sight::Away, Sight::Late, Sight::Cut], Judgement::Inconclusive),
            (&[Sight::Good], Judgement::Pass),
        ];
        for (sights, judgement) in ranks {
            if let Some(sight) = seen.iter().find(|sight| sights.contains(sight)) {
                return (judgement, sight.code());
            }
        }
        let why = match self.script.policy.red_first {
            _ if looks.is_empty() => "no_checks",
            RedFirst::Require => "non_discriminating",
            RedFirst::Warn | RedFirst::Off => "not_applicable",
        };
        (Judgement::Unverified, why)
    }

    fn write_down(&mut self, turn: u32, candidate: u8, work: (u64, u64), ruling: &Ruling) {
        let judgement = ruling.judgement;
        let is_new = match (self.script.policy.counting, self.rejections.last()) {
            (Counting::EverySubmission, _) | (_, None) => true,
            (Counting::ByCandidate { count_after_work, .. }, Some(last)) => {
                last.candidate != candidate || (count_after_work && last.work != work)
            }
        };
        let counted = match judgement {
            Judgement::Revise => is_new,
            Judgement::Pass | Judgement::Fail => true,
            Judgement::Inconclusive | Judgement::Fault | Judgement::Unverified => false,
        };
        let mut same = self.rejections.iter().filter(|old| old.candidate == candidate);
        let flaky = judgement == Judgement::Pass && same.clone().any(|old| old.work == work);
        self.rows.push(Row {
            turn,
            judgement,
            code: ruling.code.to_owned(),
            counted,
            drift: match judgement {
                Judgement::Pass | Judgement::Unverified => None,
                Judgement::Inconclusive
                    if [Sight::Late.code(), Sight::Cut.code()].contains(&ruling.code) =>
                {
                    Some(Drift::Red)
                }
                Judgement::Fault => Some(Drift::Red),
                _ => Some(Drift::Yellow),
            },
            repeat_of: same.next().map(|old| old.turn),
            reused: ruling.reused,
            flaky,
        });
        if judgement == Judgement::Revise {
            self.since_grant += 1;
            self.streak = if counted { 0 } else { self.streak + 1 };
            self.rejections.push(Rejection { turn, candidate, work });
        }
    }

    /// The run ends, or there is another turn.
    fn go_on(&mut self, turn: u32, ruling: &Ruling) -> Result<(), End> {
        let policy = &self.script.policy;
        let (outcome, code, on_failure) = match ruling.judgement {
            Judgement::Pass => return end(Outcome::Verified, ruling.code),
            Judgement::Unverified => return end(Outcome::Unverified, ruling.code),
            Judgement::Inconclusive => return end(Outcome::Inconclusive, ruling.code),
            Judgement::Fault => return end(Outcome::Faulted, ruling.code),
            Judgement::Fail => (Outcome::Rejected, ruling.code, policy.on_fail),
            Judgement::Revise => match self.spent().or(self.is_over().then_some("budget_wall")) {
                Some(code) => (Outcome::Exhausted, code, policy.on_exhausted),
                None => return Ok(()),
            },
        };
        self.refuse(turn, outcome, code, on_failure)
    }

    /// The run ends as a refusal, or a human is asked.
    fn refuse(
        &mut self,
        turn: u32,
        outcome: Outcome,
        code: &'static str,
        on_failure: OnFailure,
    ) -> Result<(), End> {
        if on_failure == OnFailure::Reject {
            return end(outcome, code);
        }
        self.calls += 1;
        self.cancelled(turn, Point::Waiting)?;
        self.clock_ms += self.script.human_ms;
        let answer = self.script.human.get(self.answers).copied().unwrap_or(Answer::Reject);
        self.answers += 1;
        match answer {
            Answer::Reject => end(outcome, code),
            Answer::Waive => Err(End { outcome, code, waived: true }),
            Answer::Continue { attempts } => {
                let counted = self.rows.iter().filter(|row| row.counted).count();
                self.allowed = attempts + u32::try_from(counted).unwrap_or(u32::MAX);
                self.settled = (self.tokens, self.tool_calls);
                self.stop_ms = self.script.policy.wall_ms.map(|wall_ms| self.clock_ms + wall_ms);
                (self.since_grant, self.streak) = (0, 0);
                Ok(())
            }
        }
    }

    /// The budget that is used up.
    fn spent(&self) -> Option<&'static str> {
        let policy = &self.script.policy;
        let counted = self.rows.iter().filter(|row| row.counted).count();
        let (identical, rejections) = match policy.counting {
            Counting::EverySubmission => (u32::MAX, u32::MAX),
            Counting::ByCandidate { max_identical, max_rejections, .. } => {
                (max_identical, max_rejections)
            }
        };
        let (tokens, calls) = (self.tokens - self.settled.0, self.tool_calls - self.settled.1);
        let used_up = [
            (counted >= self.allowed as usize, "attempts"),
            (self.streak >= identical, "no_progress"),
            (self.since_grant >= rejections, "rejections"),
            (policy.max_tokens.is_some_and(|max| tokens >= max), "budget_tokens"),
            (policy.max_tool_calls.is_some_and(|max| calls >= max), "budget_tool_calls"),
        ];
        used_up.into_iter().find(|(is_used_up, _)| *is_used_up).map(|(_, code)| code)
    }

    /// A check looks: what it sees, or too late. `None` if the run's wall time ends first.
    fn look(&mut self, sight: Sight, took_ms: u64, timeout_ms: u64) -> Option<Sight> {
        if took_ms >= timeout_ms {
            return self.spend(timeout_ms).then_some(Sight::Late);
        }
        self.spend(took_ms).then_some(sight)
    }

    /// The run's wall time has ended.
    fn is_over(&self) -> bool {
        self.stop_ms.is_some_and(|stop_ms| stop_ms <= self.clock_ms)
    }

    /// Time passes. False if the run's wall time ends first, or at the same time.
    fn spend(&mut self, ms: u64) -> bool {
        let then_ms = self.clock_ms + ms;
        match self.stop_ms {
            Some(stop_ms) if stop_ms <= then_ms => {
                self.clock_ms = self.clock_ms.max(stop_ms);
                false
            }
            _ => {
                self.clock_ms = then_ms;
                true
            }
        }
    }

    fn cancelled(&self, turn: u32, point: Point) -> Result<(), End> {
        if self.script.cancel == Some(CancelAt { turn, point }) {
            return end(Outcome::Cancelled, "user");
        }
        Ok(())
    }
}
