//! One run of a definition.

mod act;
mod answer;
mod begin;
mod child;
mod content;
mod delegation;
mod end;
mod flow;
mod merge;
mod mock;
mod open;
mod report;
mod state;
mod supervisor;
mod verdict;
mod wait;
mod withhold;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use probity_core::RunId;
use serde_json::{Map, Value};

use crate::decision::Criterion;
use crate::effect::{Effect, Kin};
use crate::event::Entry;
use crate::input::{Input, Start};
use crate::refusal::{OpenError, Refusal, ReplayError};
use crate::snapshot::{Snapshot, Withheld};
use crate::step::Step;
use state::{End, Loop, Place, Work};

/// A run. Pure: the same inputs at the same times give the same steps.
#[derive(Debug, Clone)]
pub struct Run {
    id: RunId,
    start: Arc<Start>,
    started_ms: u64,
    /// When it was last touched: the time, while an input is handled.
    now_ms: u64,
    length: u64,
    /// What came of the input at hand.
    entries: Vec<Entry>,
    variables: Map<String, Value>,
    /// Of the variables.
    held_bytes: usize,
    /// What the input at hand copied so far.
    copied_bytes: usize,
    places: Vec<Place>,
    loops: BTreeMap<usize, Loop>,
    work: Work,
    executions: u64,
    iterations: u64,
    interrupts: u64,
    /// What was not taken over, and nothing else was in its stead: by node and worker.
    standing: BTreeMap<(usize, String), Withheld>,
    supervisor: Option<String>,
    success_criteria: Option<Vec<Criterion>>,
    is_paused: bool,
    end: Option<End>,
    effects: VecDeque<Effect>,
    /// What nobody wants any more, and did not end by itself.
    stopped: Vec<(RunId, Kin)>,
}

impl Run {
    /// Begins a run.
    ///
    /// # Errors
    /// What it would begin with does not fit the definition.
    pub fn open(now_ms: u64, run: RunId, start: Start) -> Result<(Self, Step), OpenError> {
        let mut opened = Self::new(now_ms, run, &start)?;
        opened.announce();
        opened.advance();
        let step = opened.step(Input::Start(Box::new(start)));
        Ok((opened, step))
    }

    /// Takes an input in. Once the step is in the log, [`Self::poll_effect`] says what is to be done.
    /// Time does not go back: an earlier `now_ms` counts as the last one.
    ///
    /// # Errors
    /// The input is refused; the run is as it was.
    pub fn handle(&mut self, now_ms: u64, input: Input) -> Result<Step, Refusal> {
        let now_ms = now_ms.max(self.now_ms);
        let act = self.judge(now_ms, &input)?;
        self.now_ms = now_ms;
        self.copied_bytes = 0;
        self.act(act);
        self.advance();
        Ok(self.step(input))
    }

    /// Folds a log back. Nothing is left to be done by it: see [`Self::pending`].
    ///
    /// # Errors
    /// This machine would not have written the log.
    pub fn replay<'a>(
        run: RunId,
        steps: impl IntoIterator<Item = &'a Step>,
    ) -> Result<Self, ReplayError> {
        let mut steps = steps.into_iter();
        let Some((first, Input::Start(start))) = steps.next().map(|step| (step, &step.input))
        else {
            return Err(ReplayError::NoStart);
        };
        let opened = Self::open(first.at_ms, run, start.as_ref().clone());
        let (mut replayed, again) = opened.map_err(ReplayError::Open)?;
        if !first.reads_like(&again) {
            return Err(ReplayError::Differs { step: 0 });
        }
        for (step, recorded) in (1..).zip(steps) {
            let again = replayed
                .handle(recorded.at_ms, recorded.input.clone())
                .map_err(|refusal| ReplayError::Refused { step, refusal })?;
            if !recorded.reads_like(&again) {
                return Err(ReplayError::Differs { step });
            }
            replayed.effects.clear();
        }
        replayed.effects.clear();
        Ok(replayed)
    }

    /// Asks again for everything whose answer is outstanding, by the same names.
    pub fn pending(&mut self) {
        self.effects.clear();
        for (run, kind) in self.stopped.clone() {
            self.effects.push_back(Effect::Stop { run, kind });
        }
        self.effects.extend(self.outstanding());
    }

    /// What is to be done next.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// When [`Input::Timer`] is due, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<u64> {
        if self.end.is_some() {
            return None;
        }
        Some(self.work.due_ms().map_or(self.overdue_ms(), |due| due.min(self.overdue_ms())))
    }

    /// Where it is.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.report()
    }

    /// Its name.
    #[must_use]
    pub const fn run(&self) -> &RunId {
        &self.id
    }

    /// Whether it came to its end.
    #[must_use]
    pub const fn is_ended(&self) -> bool {
        self.end.is_some()
    }

    /// How many events there are.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a run is never without its first event")]
    pub const fn len(&self) -> u64 {
        self.length
    }

    fn step(&mut self, input: Input) -> Step {
        Step { at_ms: self.now_ms, input, entries: std::mem::take(&mut self.entries) }
    }
}
