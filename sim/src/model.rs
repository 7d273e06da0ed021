//! The reference model: what a script must come to, worked out straight from the rules, one turn
//! after the other, with a clock that it moves itself. It knows nothing of events, stages or effects.

mod around;
mod rule;
mod work;

use probity_core::{
    Answer, Counting, Drift, Judgement, OnFailure, Outcome, RedFirst, Step, Subject, Tier, Trigger,
};

use crate::model::rule::Ruling;
use crate::prediction::{Order, Prediction, Row};
use crate::script::{CancelAt, Point, Says, Script, Sight};

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
        notes: model.notes,
        waits: model.waits,
        looks: model.looks,
        calls: model.calls,
        orders: model.orders,
        hooks: model.called,
        fallen: model.fallen,
        committed: model.shown.filter(|_| delivers),
        edited: model.edited,
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

struct Model<'a> {
    script: &'a Script,
    clock_ms: u64,
    stop_ms: Option<u64>,
    /// When the stage at work ends, under terms that bound it.
    stage_ms: Option<u64>,
    /// Checks whose pass proves nothing.
    blunt: Vec<bool>,
    /// The last claim as the last check saw it.
    shown: Option<u8>,
    /// The turn that each hook was last answered for.
    answered: Vec<Option<u32>>,
    called: Vec<(usize, u32)>,
    task: Option<u8>,
    prompt: Option<(u32, u8)>,
    edited: Option<u8>,
    /// A human let the decision be acted on.
    is_approved: bool,
    /// The step whose delegate acts.
    acting: Option<Step>,
    fallen: Vec<(u32, Trigger, Step)>,
    orders: Vec<Order>,
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
    notes: Vec<(u32, usize)>,
    waits: u32,
    looks: Vec<(Option<u32>, usize, u32)>,
    calls: u32,
}

impl<'a> Model<'a> {
    fn new(script: &'a Script) -> Self {
        Self {
            script,
            clock_ms: OPENED_MS,
            stop_ms: script.policy.wall_ms.map(|wall_ms| OPENED_MS + wall_ms),
            stage_ms: None,
            blunt: vec![false; script.checks.len()],
            shown: None,
            answered: vec![None; script.hooks.len()],
            called: Vec::new(),
            task: None,
            prompt: None,
            edited: None,
            is_approved: false,
            acting: None,
            fallen: Vec::new(),
            orders: Vec::new(),
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
            notes: Vec::new(),
            waits: 0,
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
        self.before_act(turn)?;
        self.dispatched.push(turn);
        self.orders.push(Order {
            turn,
            step: self.acting,
            task: self.task,
            prompt: self.prompt.filter(|(of, _)| *of == turn).map(|(_, hook)| hook),
        });
        self.cancelled(turn, Point::AtWork)?;
        let is_in_time = self.works(turn, happens);
        self.stage_ms = None;
        if !is_in_time {
            return match (self.is_over(), &self.script.terms) {
                (true, Some(_)) => end(Outcome::Exhausted, "budget_wall"),
                (false, Some(_)) => end(Outcome::Exhausted, "budget_act"),
                (_, None) => self.out_of_budget(turn, "budget_wall"),
            };
        }
        let candidate = match happens.says {
            Says::Done(candidate) => candidate,
            Says::Nothing => return end(Outcome::DelegateFailed, "exit_1"),
            Says::Spent => return self.out_of_budget(turn, "budget_model_calls"),
        };
        self.shown = Some(candidate);
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
        self.stage_ms = self.stages().map(|stages| self.clock_ms + stages.verify_ms);
        let ruling = self.rule(turn, candidate, work, happens.touches)?;
        self.stage_ms = None;
        self.write_down(turn, candidate, work, &ruling);
        self.go_on(turn, &ruling)
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
            drift: self.drift(judgement, ruling.code),
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

    fn drift(&self, judgement: Judgement, code: &str) -> Option<Drift> {
        let terms = self.script.terms.as_ref();
        let is_wide = terms.is_some_and(|terms| terms.tier >= Some(Tier::Medium));
        let is_red = match judgement {
            Judgement::Pass => return None,
            Judgement::Unverified if !self.is_required() => return None,
            Judgement::Revise | Judgement::Fail => false,
            Judgement::Inconclusive | Judgement::Unverified => is_wide || code.ends_with("timeout"),
            Judgement::Fault => true,
        };
        Some(if is_red { Drift::Red } else { Drift::Yellow })
    }

    /// The decision must be verified.
    fn is_required(&self) -> bool {
        self.script.terms.as_ref().is_some_and(|terms| terms.is_required)
    }

    /// The run ends, or there is another turn.
    fn go_on(&mut self, turn: u32, ruling: &Ruling) -> Result<(), End> {
        if !self.behind_verdict(turn, ruling)? {
            return Ok(());
        }
        let policy = &self.script.policy;
        let (outcome, code, on_failure) = match ruling.judgement {
            Judgement::Pass => return self.hand_on(turn, Outcome::Verified, ruling.code),
            Judgement::Unverified if self.is_required() => {
                (Outcome::Inconclusive, "no_method", OnFailure::Reject)
            }
            Judgement::Unverified => return self.hand_on(turn, Outcome::Unverified, ruling.code),
            Judgement::Inconclusive => (Outcome::Inconclusive, ruling.code, OnFailure::Reject),
            Judgement::Fault => return end(Outcome::Faulted, ruling.code),
            Judgement::Fail => (Outcome::Rejected, ruling.code, policy.on_fail),
            Judgement::Revise => match self.spent().or(self.is_over().then_some("budget_wall")) {
                Some(code) => (Outcome::Exhausted, code, policy.on_exhausted),
                None => return Ok(()),
            },
        };
        self.refuse(turn, outcome, code, on_failure)
    }

    fn out_of_budget(&mut self, turn: u32, code: &'static str) -> Result<(), End> {
        self.refuse(turn, Outcome::Exhausted, code, self.script.policy.on_exhausted)
    }

    /// The run ends as a refusal, or a human is asked: by the ladder where there is one, else by the
    /// policy.
    fn refuse(
        &mut self,
        turn: u32,
        outcome: Outcome,
        code: &'static str,
        on_failure: OnFailure,
    ) -> Result<(), End> {
        let is_asked = match self.script.terms {
            Some(_) => self.fall(turn, Trigger::Verification) == Step::Hitl,
            None => on_failure == OnFailure::Escalate,
        };
        if is_asked { self.ask_human(turn, outcome, code) } else { end(outcome, code) }
    }

    fn ask_human(&mut self, turn: u32, outcome: Outcome, code: &'static str) -> Result<(), End> {
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
                self.is_approved = true;
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

    /// When the run's wall time or the stage at work ends.
    fn limit_ms(&self) -> Option<u64> {
        self.stop_ms.into_iter().chain(self.stage_ms).min()
    }

    /// Time passes. False if the run's wall time or that of the stage ends first, or at the same
    /// time.
    fn spend(&mut self, ms: u64) -> bool {
        let then_ms = self.clock_ms + ms;
        match self.limit_ms() {
            Some(limit_ms) if limit_ms <= then_ms => {
                self.clock_ms = self.clock_ms.max(limit_ms);
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
