//! The simulated world: drives the machine over a script, checks at every step what a driver may
//! rely on, and dies where a schedule says so.

mod acts;
mod work;

use std::fmt;

use probity_core::{
    Charter, Delegation, Digest, Effect, Entry, Event, Handled, Input, Outcome, Stage,
};

use crate::crash::{Crash, Moment};
use crate::model::OPENED_MS;
use crate::prediction::{Order, Prediction};
use crate::report::{Report, rows};
use crate::script::{Script, digest};

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
    /// Where the delegate died: turn, beat.
    lost: Vec<(u32, usize)>,
    looks: Vec<(Option<u32>, usize, u32)>,
    orders: Vec<Order>,
    hooks: Vec<(usize, u32)>,
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
            lost: Vec::new(),
            looks: Vec::new(),
            orders: Vec::new(),
            hooks: Vec::new(),
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
        let (mut act, mut is_note) = (None, false);
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
                    effect if is_note && matches!(machine.stage(), Stage::Delegated { .. }) => {
                        return broken(format!("a note disturbs the delegate: {effect:?}"));
                    }
                    effect => act = self.perform(&machine, &effect)?,
                }
            }
            if is_note && act.is_none() {
                act = self.goes_on(&machine)?;
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
            is_note = matches!(input, Input::Noted { .. });
            if input == Input::Resume {
                self.loses(machine.turn());
            }
            feed(&mut machine, self.clock_ms, input)?;
        }
        broken("the run does not end")
    }

    fn take_up(&mut self) -> Result<Delegation, Stop> {
        if self.log.is_empty() {
            let Ok(run) = "run".parse() else { return broken("no run id") };
            let script = self.script;
            let charter = Charter {
                policy: script.policy.clone(),
                checks: script.checks.clone(),
                hooks: script.hooks.clone(),
                terms: script.terms.clone(),
                parent: None,
            };
            return match Delegation::open(self.clock_ms, run, digest(0, 1), charter) {
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
            Stage::Awaiting { until_ms, .. } if self.clock_ms < until_ms => {
                (Ok(Handled::Unchanged), machine.interruptions())
            }
            Stage::Parked { until_ms, .. } if until_ms.is_none_or(|it| self.clock_ms < it) => {
                (Ok(Handled::Unchanged), machine.interruptions())
            }
            Stage::Awaiting { .. } | Stage::Parked { .. } => {
                (Ok(Handled::Accepted), machine.interruptions())
            }
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
                self.look(machine, phase, check, tries, timeout_ms).map(Some)
            }
            Effect::CallHook { hook, turn, is_replay, timeout_ms } => {
                self.announced(|event| *event == Event::HookCalled { hook, turn })?;
                if is_replay != is_resumed {
                    return broken("a hook is not told whether it was called before");
                }
                self.call_hook(hook, turn, timeout_ms).map(Some)
            }
            Effect::Ask { check, until_ms } => {
                let Some(submission) = machine.submission().cloned() else {
                    return broken("a human is asked about nothing");
                };
                let asks = Event::CheckAwaits { check, submission, until_ms };
                self.announced(|event| *event == asks)?;
                self.ask_human(machine.turn(), check).map(Some)
            }
            Effect::Dispatch { turn, attempt, is_replay, correction, step, .. } => {
                self.announced(|event| match event {
                    Event::DelegateNoted { turn: of, .. }
                    | Event::DelegateWoken { turn: of, .. } => *of == turn,
                    event => *event == Event::DelegateDispatched { turn, attempt, step },
                })?;
                if is_replay != is_resumed {
                    return broken("a delegate is not told whether it was asked before");
                }
                self.order(machine, turn, step);
                let act = self.ask(turn, attempt, correction)?;
                self.hands_back(machine, turn)?;
                Ok(Some(act))
            }
            Effect::Park { turn, until_ms } => self.wait(turn, until_ms),
            Effect::Commit { candidate, claim, edited, .. } => {
                if edited != machine.edited_claim() {
                    return broken("another claim is handed on than the one that was edited");
                }
                self.commit(candidate, claim).map(|()| None)
            }
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
            Effect::Append(_) | Effect::Seal(_) => broken("handled before"),
        }
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
        let is_woken = |entry: &&Entry| matches!(entry.event, Event::DelegateWoken { .. });
        let waits = u32::try_from(self.log.iter().filter(is_woken).count()).unwrap_or(u32::MAX);
        let delivers = matches!(ending.outcome, Outcome::Verified | Outcome::Unverified);
        let judged = machine.judged().last().filter(|_| delivers);
        let committed = judged.map(|judged| judged.verified.candidate);
        let fallen = machine.degraded().iter();
        let fallen = fallen.map(|it| (it.turn.number, it.trigger, it.step)).collect();
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
                notes: Self::notes_of(machine),
                waits,
                looks: self.looks,
                calls: self.calls,
                orders: self.orders,
                hooks: self.hooks,
                fallen,
                committed: committed.map(|digest| number(&digest)),
                edited: machine.edited_claim().map(|digest| number(&digest)),
                ended_ms: ending.at_ms,
            },
            interruptions: machine.interruptions(),
            resumed: self.resumed,
            lost: u32::try_from(self.lost.len()).unwrap_or(u32::MAX),
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

/// The number that a digest stands for.
fn number(digest: &Digest) -> u8 {
    digest.as_bytes().get(7).copied().unwrap_or(u8::MAX)
}
