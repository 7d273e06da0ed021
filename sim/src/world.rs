//! The simulated world: drives the machine over a script, checks at every step what a driver may
//! rely on, and dies where a schedule says so.

use std::fmt;

use probity_core::{
    Answer, Charter, CheckIndex, Code, Delegation, Digest, Effect, Entry, Event, Handled, Input,
    Judgement, Outcome, Phase, Stage, Turn, Usage,
};

use crate::crash::{Crash, Moment};
use crate::model::OPENED_MS;
use crate::prediction::Prediction;
use crate::report::{Report, rows};
use crate::script::{
    CancelAt, Point, SEALED, Says, Script, Sight, TOUCHED, Touch, WRITTEN, digest, submission,
};

/// Something happened that a driver may rely on never to happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation(pub String);

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Violation {}

/// One run in the simulated world.
#[derive(Debug)]
pub struct World<'a> {
    script: &'a Script,
    crashes: &'a [Crash],
    log: Vec<Entry>,
    clock_ms: u64,
    appends: u32,
    acts: u32,
    asked: u32,
    commits: u32,
    resumed: u32,
    calls: u32,
    answers: usize,
    dispatched: Vec<u32>,
    looks: Vec<(Option<u32>, usize, u32)>,
}

/// Work in flight: when it is done and what it comes to.
struct Act {
    done_ms: u64,
    input: Input,
}

impl Act {
    /// A timer at the same time comes first; a cancel is already there.
    fn comes_before(&self, due_ms: u64) -> bool {
        self.done_ms < due_ms || matches!(self.input, Input::Cancel { .. })
    }
}

enum Stop {
    Died,
    Broken(Violation),
}

impl From<Violation> for Stop {
    fn from(violation: Violation) -> Self {
        Self::Broken(violation)
    }
}

fn broken<T, E: From<Violation>>(what: impl Into<String>) -> Result<T, E> {
    Err(Violation(what.into()).into())
}

/// No run of a script needs more steps than this.
const MAX_STEPS: u32 = 5_000;
/// How long it takes until another driver takes the run up.
const RESTART_MS: u64 = 7;

impl<'a> World<'a> {
    /// A world with an empty log.
    #[must_use]
    pub const fn new(script: &'a Script, crashes: &'a [Crash]) -> Self {
        Self {
            script,
            crashes,
            log: Vec::new(),
            clock_ms: OPENED_MS,
            appends: 0,
            acts: 0,
            asked: 0,
            commits: 0,
            resumed: 0,
            calls: 0,
            answers: 0,
            dispatched: Vec::new(),
            looks: Vec::new(),
        }
    }

    /// Drives the run until it is sealed, however often the driver dies.
    ///
    /// # Errors
    /// [`Violation`] if anything happened that may not.
    pub fn run(mut self) -> Result<Report, Violation> {
        for _ in 0..=self.crashes.len() {
            match self.live() {
                Ok(machine) => return self.report(&machine),
                Err(Stop::Died) => self.clock_ms += RESTART_MS,
                Err(Stop::Broken(violation)) => return Err(violation),
            }
        }
        broken("the driver died more often than the schedule says")
    }

    /// One driver, from its start to the seal.
    fn live(&mut self) -> Result<Delegation, Stop> {
        let mut machine = self.take_up()?;
        let mut act = None;
        for _ in 0..MAX_STEPS {
            let mut sealed = false;
            while let Some(effect) = machine.poll_effect() {
                match effect {
                    Effect::Append(entries) => {
                        act = None;
                        self.append(&entries)?;
                    }
                    Effect::Seal(entry) => {
                        let at_ms = entry.at_ms;
                        self.append(&[entry])?;
                        feed(&mut machine, at_ms, Input::Sealed)?;
                        sealed = true;
                    }
                    effect => act = self.perform(&machine, &effect)?,
                }
            }
            self.compare(&machine)?;
            if sealed || matches!(machine.stage(), Stage::Sealed { .. }) {
                return Ok(machine);
            }
            let due_ms = machine.poll_timeout().map(|due_ms| due_ms.max(self.clock_ms));
            let input = match (act.take(), due_ms) {
                (Some(done), due_ms) if due_ms.is_none_or(|due_ms| done.comes_before(due_ms)) => {
                    self.die_after_act()?;
                    self.clock_ms = done.done_ms;
                    done.input
                }
                (_, Some(due_ms)) => {
                    self.clock_ms = due_ms;
                    Input::Timer
                }
                (_, None) => return broken("nothing in flight and no timer"),
            };
            feed(&mut machine, self.clock_ms, input)?;
        }
        broken("the run does not end")
    }

    fn take_up(&mut self) -> Result<Delegation, Stop> {
        if self.log.is_empty() {
            let Ok(run) = "run".parse() else { return broken("no run id") };
            let (policy, checks) = (self.script.policy.clone(), self.script.checks.clone());
            return match Delegation::open(
                self.clock_ms,
                run,
                digest(0, 1),
                Charter::new(policy, checks),
            ) {
                Ok(machine) => Ok(machine),
                Err(error) => broken(error.to_string()),
            };
        }
        let mut machine = match Delegation::replay(&self.log) {
            Ok(machine) => machine,
            Err(error) => return broken(error.to_string()),
        };
        if matches!(machine.stage(), Stage::Sealed { .. }) {
            return Ok(machine);
        }
        let expected = match machine.stage() {
            Stage::Escalated { .. } => (Ok(Handled::Unchanged), machine.interruptions()),
            _ => (Ok(Handled::Accepted), machine.interruptions() + 1),
        };
        let handled = machine.handle(self.clock_ms, Input::Resume);
        if (handled, machine.interruptions()) != expected {
            return broken("a resumption was not counted as one");
        }
        Ok(machine)
    }

    fn append(&mut self, entries: &[Entry]) -> Result<(), Stop> {
        let nth = self.appends;
        self.appends += 1;
        if self.dies(Moment::BeforeAppend, nth) {
            return Err(Stop::Died);
        }
        self.log.extend_from_slice(entries);
        let is_resumption = |entry: &&Entry| matches!(entry.event, Event::RunResumed { .. });
        self.resumed += u32::try_from(entries.iter().filter(is_resumption).count()).unwrap_or(0);
        if self.dies(Moment::AfterAppend, nth) {
            return Err(Stop::Died);
        }
        Ok(())
    }

    fn die_after_act(&mut self) -> Result<(), Stop> {
        let nth = self.acts;
        self.acts += 1;
        if self.dies(Moment::AfterAct, nth) { Err(Stop::Died) } else { Ok(()) }
    }

    fn dies(&self, moment: Moment, nth: u32) -> bool {
        self.crashes.contains(&Crash { moment, nth })
    }

    /// The live value is what its log folds to.
    fn compare(&self, machine: &Delegation) -> Result<(), Violation> {
        match Delegation::replay(&self.log) {
            Ok(replayed) if replayed == *machine => Ok(()),
            Ok(replayed) => broken(format!("live {machine:#?}\nreplayed {replayed:#?}")),
            Err(error) => broken(error.to_string()),
        }
    }

    /// Begins an effect, if the log announces it.
    fn perform(&mut self, machine: &Delegation, effect: &Effect) -> Result<Option<Act>, Violation> {
        let is_resumed = self.resumed_last();
        match *effect {
            Effect::Snapshot { phase } => self.read(machine.turn(), phase).map(Some),
            Effect::RunCheck { phase, check, tries, is_replay, timeout_ms, .. } => {
                self.announced(|event| *event == Event::CheckStarted { phase, check, tries })?;
                if is_replay != is_resumed {
                    return broken("a check is not told whether it ran before");
                }
                self.look(machine.turn(), phase, check, tries, timeout_ms).map(Some)
            }
            Effect::Dispatch { turn, attempt, is_replay, correction, step, .. } => {
                self.announced(|event| {
                    *event == Event::DelegateDispatched { turn, attempt, step }
                })?;
                if is_replay != is_resumed {
                    return broken("a delegate is not told whether it was asked before");
                }
                self.ask(turn, attempt, correction).map(Some)
            }
            Effect::Commit { candidate, .. } => self.commit(candidate).map(|()| None),
            Effect::Reject { outcome } => {
                self.announced(|event| {
                    matches!(event, Event::OutcomeDecided { outcome: decided, .. } if *decided == outcome)
                })?;
                if outcome.delivers() { broken("a claim was withheld") } else { Ok(None) }
            }
            Effect::Escalate { .. } => {
                self.announced(|event| matches!(event, Event::Escalated { .. }))?;
                self.call(machine.turn()).map(Some)
            }
            Effect::CallHook { .. } | Effect::Ask { .. } => broken("no script has hooks or humans"),
            Effect::Append(_) | Effect::Seal(_) => broken("handled before"),
        }
    }

    fn resumed_last(&self) -> bool {
        matches!(self.log.last(), Some(Entry { event: Event::RunResumed { .. }, .. }))
    }

    /// The last entry, resumptions aside, is the one that announces what is about to be done.
    fn announced(&self, is_it: impl Fn(&Event) -> bool) -> Result<(), Violation> {
        let last = self.last_step();
        match last {
            Some(event) if is_it(event) => Ok(()),
            _ => broken(format!("done without being announced, behind {last:?}")),
        }
    }

    fn last_step(&self) -> Option<&Event> {
        let mut events = self.log.iter().rev().map(|entry| &entry.event);
        events.find(|event| !matches!(event, Event::RunResumed { .. }))
    }

    fn read(&self, turn: Turn, phase: Phase) -> Result<Act, Violation> {
        self.announced(|event| match phase {
            Phase::Before => matches!(event, Event::RunOpened { .. } | Event::CheckRed { .. }),
            Phase::After => matches!(event, Event::ClaimReceived { turn: of, .. } if *of == turn),
        })?;
        let happens = self.script.turn(turn.number);
        let is_after = phase == Phase::After;
        if is_after && self.stops(turn, Point::Reading) {
            return Ok(self.cancel());
        }
        let unreadable = match phase {
            Phase::Before if self.has_red() => self.script.red_unreadable,
            Phase::Before => self.script.starts_unreadable,
            Phase::After => happens.is_some_and(|happens| happens.unreadable),
        };
        let done_ms = self.clock_ms + self.script.reading_ms;
        if unreadable {
            let (code, detail) = (Code::slug("unreadable"), digest(0, 98));
            return Ok(Act { done_ms, input: Input::Unreadable { phase, code, detail } });
        }
        let touches = happens.and_then(|happens| happens.touches).filter(|_| is_after);
        let judge = if touches == Some(Touch::AtWork) { TOUCHED } else { self.judge() };
        let edits = if is_after { self.script.edits_until(turn.number) } else { 0 };
        let input = Input::Observed { phase, manifest: digest(edits, 10), judge: digest(0, judge) };
        Ok(Act { done_ms, input })
    }

    /// A check has come back before the delegate started.
    fn has_red(&self) -> bool {
        self.log.iter().any(|entry| matches!(entry.event, Event::CheckRed { .. }))
    }

    /// The judge's files as nobody touched them.
    fn judge(&self) -> u8 {
        if self.script.red_writes && self.has_red() { WRITTEN } else { SEALED }
    }

    fn look(
        &mut self,
        turn: Turn,
        phase: Phase,
        check: CheckIndex,
        tries: u32,
        timeout_ms: u64,
    ) -> Result<Act, Violation> {
        let index = check.as_usize();
        let of = (phase == Phase::After).then_some(turn.number);
        if of.is_some() && self.is_judged(turn) {
            return broken("a judged turn is checked again");
        }
        if !self.looks.contains(&(of, index, tries)) {
            self.looks.push((of, index, tries));
        }
        if of.is_some() && tries == 1 && self.stops(turn, Point::Checking(index)) {
            return Ok(self.cancel());
        }
        let saw = match of {
            None => self.script.red.get(index).copied(),
            Some(turn) => self.script.sight(turn, index, tries),
        };
        let (sight, took_ms) = match saw {
            Some(saw) if saw.took_ms < timeout_ms => (saw.sight, saw.took_ms),
            Some(_) => (Sight::Late, timeout_ms),
            None => (Sight::Moot, 0),
        };
        let touches = self.script.turn(turn.number).and_then(|happens| happens.touches);
        let is_touched = of.is_some() && touches == Some(Touch::During(index));
        // A driver does not look at the judge's files behind a check that broke or was cut off.
        let is_whole = saw.is_some_and(|saw| saw.took_ms < timeout_ms && sight != Sight::Broken);
        let judge = is_whole.then(|| digest(0, if is_touched { TOUCHED } else { self.judge() }));
        let finding = sight.finding();
        let input =
            Input::CheckFinished { check, finding, judge, elapsed_ms: took_ms, rewrite: None };
        Ok(Act { done_ms: self.clock_ms + took_ms, input })
    }

    fn ask(
        &mut self,
        turn: Turn,
        attempt: u32,
        correction: Option<Turn>,
    ) -> Result<Act, Violation> {
        let is_claim = |entry: &Entry| matches!(entry.event, Event::ClaimReceived { turn: of, .. } if of == turn);
        if self.log.iter().any(is_claim) {
            return broken("a recorded claim was asked for again");
        }
        if attempt != self.counted() + 1 {
            return broken(format!("attempt {attempt} after {} counted ones", self.counted()));
        }
        if correction != self.last_judged() {
            return broken("the correction does not quote the last verdict");
        }
        self.asked += 1;
        if !self.dispatched.contains(&turn.number) {
            self.dispatched.push(turn.number);
        }
        if self.stops(turn, Point::AtWork) {
            return Ok(self.cancel());
        }
        let Some(happens) = self.script.turn(turn.number) else { return broken("no turns") };
        let done_ms = self.clock_ms + happens.took_ms;
        let Says::Done(candidate) = happens.says else {
            let (code, detail) = (Code::slug("exit_1"), digest(0, 97));
            return Ok(Act { done_ms, input: Input::DelegateFailed { turn, code, detail } });
        };
        let Some(submission) = submission(turn) else { return broken("no submission id") };
        let input = Input::Claimed {
            turn,
            submission,
            candidate: digest(candidate.into(), 2),
            claim: digest(turn.number.into(), 3),
            work: self.script.work_until(turn.number),
            usage: Usage { tokens: happens.tokens, tool_calls: happens.tool_calls },
        };
        Ok(Act { done_ms, input })
    }

    fn call(&mut self, turn: Turn) -> Result<Act, Violation> {
        let is_call = |entry: &&Entry| matches!(entry.event, Event::Escalated { .. });
        let is_answer = |entry: &&Entry| matches!(entry.event, Event::Answered { .. });
        self.calls = u32::try_from(self.log.iter().filter(is_call).count()).unwrap_or(0);
        self.answers = self.log.iter().filter(is_answer).count();
        if self.stops(turn, Point::Waiting) {
            return Ok(self.cancel());
        }
        let answer = self.script.human.get(self.answers).copied().unwrap_or(Answer::Reject);
        let input = Input::Answered { by: digest(0, 96), answer };
        Ok(Act { done_ms: self.clock_ms + self.script.human_ms, input })
    }

    fn commit(&mut self, candidate: Digest) -> Result<(), Violation> {
        self.commits += 1;
        self.announced(
            |event| matches!(event, Event::OutcomeDecided { outcome, .. } if outcome.delivers()),
        )?;
        let judged = self.log.iter().rev().find_map(|entry| match &entry.event {
            Event::VerdictMerged { candidate, judgement, .. } => Some((*candidate, *judgement)),
            _ => None,
        });
        match judged {
            Some((of, Judgement::Pass | Judgement::Unverified)) if of == candidate => Ok(()),
            _ => broken(format!("committed {candidate} behind {judged:?}")),
        }
    }

    fn stops(&self, turn: Turn, point: Point) -> bool {
        self.script.cancel == Some(CancelAt { turn: turn.number, point })
    }

    fn cancel(&self) -> Act {
        Act { done_ms: self.clock_ms, input: Input::Cancel { code: Code::slug("user") } }
    }

    fn is_judged(&self, turn: Turn) -> bool {
        rows(&self.log).iter().any(|row| row.turn == turn.number)
    }

    fn counted(&self) -> u32 {
        let counted = rows(&self.log).iter().filter(|row| row.counted).count();
        u32::try_from(counted).unwrap_or(u32::MAX)
    }

    fn last_judged(&self) -> Option<Turn> {
        let last = rows(&self.log).last()?.turn;
        Some(Turn { epoch: 0, number: last })
    }

    fn report(self, machine: &Delegation) -> Result<Report, Violation> {
        let Some(ending) = machine.ending() else { return broken("sealed without an outcome") };
        let rows = rows(&self.log);
        let turns: std::collections::BTreeSet<_> = rows.iter().map(|row| row.turn).collect();
        if turns.len() != rows.len() {
            return broken("a turn was judged twice");
        }
        if machine.attempts() != self.counted() {
            return broken("the machine counts other attempts than its log");
        }
        if (self.commits == 0) == ending.outcome.delivers() {
            return broken(format!("{} after {} commits", ending.outcome, self.commits));
        }
        let delivers = matches!(ending.outcome, Outcome::Verified | Outcome::Unverified);
        let committed = machine.judged().last().filter(|_| delivers).map(|judged| judged.candidate);
        Ok(Report {
            account: Prediction {
                outcome: ending.outcome,
                code: ending.code.to_string(),
                waived: ending.waived,
                attempts: machine.attempts(),
                tokens: machine.usage().tokens,
                tool_calls: machine.usage().tool_calls,
                rows,
                dispatched: self.dispatched,
                looks: self.looks,
                calls: self.calls,
                committed: committed.and_then(|digest| digest.as_bytes().get(7).copied()),
                ended_ms: ending.at_ms,
            },
            interruptions: machine.interruptions(),
            resumed: self.resumed,
            appends: self.appends,
            acts: self.acts,
            asked: self.asked,
            commits: self.commits,
        })
    }
}

fn feed(machine: &mut Delegation, now_ms: u64, input: Input) -> Result<(), Violation> {
    let (stage, name) = (machine.stage(), input.name());
    match machine.handle(now_ms, input) {
        Ok(Handled::Accepted) => Ok(()),
        other => broken(format!("{name} in {stage:?}: {other:?}")),
    }
}
