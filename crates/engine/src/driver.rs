//! The loop: effects out of the machine, what they came to back in. It appends before it acts.

mod answer;
mod at_hand;
mod begin;
mod intake;
mod noting;
mod overheard;
mod restore;
mod shift;
mod writing;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use probity_core::{
    CheckIndex, Claim, Code, Delegation, Effect, Entry, Handled, Input, Outcome, RunId, Stage,
    Step, Trigger,
};
use probity_delegate::{DelegateError, NoteError, Said};
use probity_store::Store;
use probity_verifier::Manifest;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::found::Found;
use crate::journal::Journal;
use crate::notebook::Wanted;
use crate::plan::Decider;
use crate::work::{Done, Wake, Work, observe_nothing};
use crate::{Clock, EngineError, Human, Plan};
use begin::{CheckRun, Dispatch};
pub use shift::{Rest, Shift};
use writing::Written;

/// Drives runs on one store.
#[derive(Clone)]
pub struct Engine {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// Told of every entry once it is durable. For progress on a screen; it cannot change the run.
pub trait Watch: Send + Sync {
    /// An entry is in the log.
    fn entry(&self, entry: &Entry);
}

/// A run that was driven to its end, or to the point where it waits for a human.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// The run.
    pub run: RunId,
    /// How it ended; [`Outcome::Escalated`] if it waits.
    pub outcome: Outcome,
    /// Why, in one word.
    pub code: Code,
    /// The claim that is handed on: after a pass, or unchecked and labelled so.
    pub delivered: Option<Claim>,
    /// A `delegation.post` hook edited that claim after it was verified.
    pub is_edited: bool,
    /// What a check put in the place of the claim's output when it passed: the last one that did.
    pub result: Option<Value>,
    /// A delegate of the run asked to wait, for whatever.
    pub has_waited: bool,
}

impl Engine {
    /// An engine on a store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    /// Opens a run and drives it to its end.
    ///
    /// # Errors
    /// [`EngineError`] if the run could not be opened or driven on; what the log holds stays valid,
    /// and [`Engine::resume`] goes on from there. Everything that can go wrong with the work or
    /// with a check is not an error but an outcome.
    pub async fn run(
        &self,
        plan: Plan,
        watch: &dyn Watch,
        cancel: CancellationToken,
    ) -> Result<Ended, EngineError> {
        let (machine, journal) = self.open(&plan)?;
        Box::pin(self.driver(plan, machine, journal, watch, cancel).drive()).await
    }

    /// Takes up a run that was interrupted. A run that has ended is read, not driven; one that waits for
    /// somebody is cancelled where `cancel` is by then.
    ///
    /// # Errors
    /// As [`Engine::run`]; [`EngineError::PlanDiffers`] if the plan is not that of the run.
    pub async fn resume(
        &self,
        plan: Plan,
        watch: &dyn Watch,
        cancel: CancellationToken,
    ) -> Result<Ended, EngineError> {
        let mut driver = Box::pin(self.take_up(plan, watch, cancel)).await?;
        if !matches!(driver.machine.stage(), Stage::Sealed { .. }) {
            driver.feed(Input::Resume)?;
        }
        Box::pin(driver.drive()).await
    }

    /// From the log to a driver that knows what the interrupted one knew.
    async fn take_up<'a>(
        &'a self,
        plan: Plan,
        watch: &'a dyn Watch,
        cancel: CancellationToken,
    ) -> Result<Box<Driver<'a>>, EngineError> {
        let found = self.find(&plan.run).await?;
        self.take_up_found(found, plan, watch, cancel).await
    }

    async fn take_up_found<'a>(
        &'a self,
        found: Found,
        plan: Plan,
        watch: &'a dyn Watch,
        cancel: CancellationToken,
    ) -> Result<Box<Driver<'a>>, EngineError> {
        let Found { machine, journal } = found;
        plan.check(&machine)?;
        let mut driver = self.driver(plan, machine, journal, watch, cancel);
        driver.restore().await?;
        Ok(driver)
    }

    fn driver<'a>(
        &'a self,
        plan: Plan,
        machine: Delegation,
        journal: Journal,
        watch: &'a dyn Watch,
        cancel: CancellationToken,
    ) -> Box<Driver<'a>> {
        let task = Arc::clone(&plan.task);
        // On the heap, because whoever drives a run holds it across every wait.
        Box::new(Driver {
            engine: self,
            plan,
            task,
            machine,
            journal,
            effects: VecDeque::new(),
            held: Vec::new(),
            unwritten: Vec::new(),
            watch,
            cancel,
            shift: None,
            said: tokio::sync::watch::Sender::default(),
            work: None,
            before: Arc::default(),
            after: Arc::default(),
            claim: Arc::default(),
            session: None,
            session_step: None,
            wanted: None,
            delivered: None,
            is_edited: false,
            result: None,
        })
    }
}

struct Driver<'a> {
    engine: &'a Engine,
    plan: Plan,
    /// The task as the hooks before the run left it.
    task: Arc<str>,
    machine: Delegation,
    journal: Journal,
    /// What a driver that was overtaken is still to do, before it asks the machine again.
    effects: VecDeque<Effect>,
    /// Entries on their way into the log.
    held: Vec<Entry>,
    /// The inputs whose entries are not in the log yet, each with its time.
    unwritten: Vec<(u64, Input)>,
    watch: &'a dyn Watch,
    cancel: CancellationToken,
    /// The lease that the run is driven under, if it is under one.
    shift: Option<Shift>,
    /// What people said to the delegate so far.
    said: tokio::sync::watch::Sender<Vec<Said>>,
    work: Option<Work>,
    before: Arc<Manifest>,
    after: Arc<Manifest>,
    claim: Arc<Claim>,
    session: Option<String>,
    /// The step of the ladder whose delegate holds that conversation.
    session_step: Option<Step>,
    /// Where the delegate at work hands in its notes.
    wanted: Option<mpsc::Receiver<Wanted>>,
    delivered: Option<Claim>,
    is_edited: bool,
    result: Option<Value>,
}

impl Driver<'_> {
    async fn drive(&mut self) -> Result<Ended, EngineError> {
        match self.drive_on().await? {
            Rest::Ended(ended) => Ok(*ended),
            // Nobody but a worker leaves a run that goes on by itself.
            Rest::Waits { .. } | Rest::Stopped => Err(EngineError::Stuck),
        }
    }

    async fn drive_on(&mut self) -> Result<Rest, EngineError> {
        let result = self.turn_over().await;
        self.stop_work().await;
        result
    }

    async fn turn_over(&mut self) -> Result<Rest, EngineError> {
        loop {
            self.perform_all().await?;
            if self.is_stopped() {
                return Ok(Rest::Stopped);
            }
            let wake = match self.ended() {
                // Somebody who no longer wants it to wait would not be heard otherwise.
                Some(Ended { outcome: Outcome::Escalated, .. }) if self.is_cancelled() => {
                    Wake::Cancel
                }
                Some(ended) => return Ok(Rest::Ended(Box::new(ended))),
                None if self.is_cancelled() => Wake::Cancel,
                None => match self.leave_waiting().await? {
                    Some(rest) => return Ok(rest),
                    None => self.wait().await?,
                },
            };
            self.take(wake).await?;
        }
    }

    /// Performs what the machine asks for. Entries wait for each other as long as nothing is done
    /// between them, so that they become one append.
    async fn perform_all(&mut self) -> Result<(), EngineError> {
        loop {
            // Told to stop in the midst of it, a worker begins nothing more.
            while !self.is_stopped()
                && let Some(effect) =
                    self.effects.pop_front().or_else(|| self.machine.poll_effect())
            {
                self.perform(effect).await?;
            }
            if self.held.is_empty() || self.is_stopped() {
                return Ok(());
            }
            self.write().await?;
        }
    }

    /// Hands an input to the machine.
    fn feed(&mut self, input: Input) -> Result<(), EngineError> {
        let now_ms = self.engine.clock.now_ms();
        // What changed nothing then might change something later, and is not to be handed in again.
        if self.machine.handle(now_ms, input.clone())? == Handled::Accepted {
            self.unwritten.push((now_ms, input));
        }
        Ok(())
    }

    /// Who must approve what the run waits to do, where it waits for that and somebody is named.
    fn approver(&self) -> Option<&str> {
        let last = self.machine.degraded().last()?;
        let waits = matches!(self.machine.stage(), Stage::Escalated { .. });
        let is_approval = waits && last.trigger == Trigger::Approval;
        self.plan.approver.as_deref().filter(|_| is_approval)
    }

    /// The human that the run waits for. Where it waits for none, the machine refuses the answer.
    fn asked(&self) -> (CheckIndex, Option<&Human>) {
        let Stage::Awaiting { check, .. } = self.machine.stage() else {
            return (CheckIndex(0), None);
        };
        match self.plan.checks.get(check.as_usize()).map(|check| &check.by) {
            Some(Decider::Human(human)) => (check, Some(human)),
            _ => (check, None),
        }
    }

    async fn perform(&mut self, effect: Effect) -> Result<(), EngineError> {
        match effect {
            Effect::Append(entries) => {
                self.stop_work().await;
                self.held.extend(entries);
                return Ok(());
            }
            Effect::Snapshot { phase }
                if let Some(nothing) = observe_nothing(phase, &self.plan) =>
            {
                return self.take(Wake::Done(Box::new(nothing))).await;
            }
            // Nothing happens outside, and nobody is told before the seal is in the log: the end of a
            // run is one append with it.
            Effect::Commit { .. } | Effect::Reject { .. } => {
                return self.act_unannounced(effect).await;
            }
            Effect::Seal(_) => return self.act(effect).await,
            // Nor does anything happen where a delegate hands over what is there.
            Effect::Dispatch { step, .. } if self.delegate(step).is_at_hand() => {
                self.act_unannounced(effect).await?;
                return self.take_at_hand().await;
            }
            _ => {}
        }
        // What announces an effect is in the log before the effect. Where somebody was faster, the
        // machine was asked once more and says anew what is to be done.
        if self.write().await? != Written::AsAsked || self.is_stopped() {
            return Ok(());
        }
        self.act(effect).await
    }

    /// Does what the log announces.
    async fn act(&mut self, effect: Effect) -> Result<(), EngineError> {
        // Who takes up a run that nobody wants any more does not begin.
        if effect.acts() && self.machine.cancel_requested().is_some() {
            return self.take(Wake::Cancel).await;
        }
        match effect {
            Effect::Append(entries) => {
                self.held.extend(entries);
                Ok(())
            }
            Effect::Snapshot { phase } => {
                self.start(Work::observe(phase, &self.plan)).await;
                Ok(())
            }
            Effect::RunCheck {
                phase, check, submission, attempt, is_replay, timeout_ms, ..
            } => {
                let run = CheckRun { phase, check, submission, attempt, is_replay, timeout_ms };
                self.run_check(run).await
            }
            Effect::CallHook { hook, turn, is_replay, timeout_ms } => {
                self.call_hook(hook, turn, is_replay, timeout_ms).await
            }
            Effect::Dispatch {
                turn, attempt, max_attempts, step, correction, is_replay, ..
            } => {
                let dispatch =
                    Dispatch { turn, attempt, max_attempts, step, correction, is_replay };
                self.dispatch(dispatch).await
            }
            Effect::Commit { claim, edited, .. } => {
                self.is_edited = edited.is_some();
                self.delivered = Some(self.journal.claim(edited.unwrap_or(claim)).await?.claim);
                self.result = self.replacement().await?;
                Ok(())
            }
            Effect::Reject { .. }
            | Effect::Escalate { .. }
            | Effect::Ask { .. }
            | Effect::Park { .. } => {
                self.stop_work().await;
                Ok(())
            }
            Effect::Seal(entry) => {
                let at_ms = entry.at_ms;
                self.held.push(entry);
                if self.write().await? == Written::AsAsked {
                    self.machine.handle(at_ms, Input::Sealed)?;
                }
                Ok(())
            }
        }
    }

    async fn wait(&mut self) -> Result<Wake, EngineError> {
        let due_ms = self.machine.poll_timeout();
        if self.work.is_none() && due_ms.is_none() {
            return Err(EngineError::Stuck);
        }
        let now_ms = self.engine.clock.now_ms().max(self.machine.now_ms());
        let wait_ms = due_ms.map(|due_ms| due_ms.saturating_sub(now_ms));
        let timer = async {
            match wait_ms {
                Some(wait_ms) => tokio::time::sleep(Duration::from_millis(wait_ms)).await,
                None => std::future::pending().await,
            }
        };
        let work = async {
            match &mut self.work {
                Some(work) => work.done().await,
                None => std::future::pending().await,
            }
        };
        let wanted = async {
            match &mut self.wanted {
                Some(wanted) => wanted.recv().await,
                None => None,
            }
        };
        let done = tokio::select! {
            biased;
            () = shift::stopped(self.shift.as_ref()) => return Ok(Wake::Stop),
            () = self.cancel.cancelled() => return Ok(Wake::Cancel),
            done = work => done,
            Some(wanted) = wanted => return Ok(Wake::Note(wanted)),
            () = self.journal.overtaken() => return Ok(Wake::Overtaken),
            () = timer => return Ok(Wake::Timer),
        };
        match (done, self.work.take()) {
            (Some(done), _) => Ok(Wake::Done(Box::new(done))),
            (None, Some(lost)) => Ok(Wake::Done(Box::new(lost.lost()))),
            (None, None) => Err(EngineError::Stuck),
        }
    }

    async fn take(&mut self, wake: Wake) -> Result<(), EngineError> {
        let input = match wake {
            Wake::Timer => Input::Timer,
            Wake::Note(wanted) => return self.note(wanted).await,
            Wake::Overtaken => return self.overhear().await,
            // The driver looks for itself before it does anything.
            Wake::Stop => return Ok(()),
            Wake::Cancel => {
                self.cancel = CancellationToken::new();
                Input::Cancel { code: Code::slug("cancelled") }
            }
            Wake::Done(done) => match *done {
                Done::Observed { phase, world } => self.observed(phase, world)?,
                Done::Checked { check, answer, judge, elapsed_ms } => {
                    self.checked(check, answer, judge, elapsed_ms)?
                }
                Done::Hooked { hook, reply, shown, elapsed_ms } => {
                    self.hooked(hook, reply, &shown, elapsed_ms)?
                }
                Done::Answered { turn, answer } => {
                    if let Err(DelegateError::Notes(NoteError::Unavailable { .. })) = &answer {
                        Box::pin(self.require_notes()).await?;
                    }
                    let (notes, input) = self.answered(turn, answer)?;
                    for note in notes {
                        self.feed(note)?;
                        // The run's time may be over: what the delegate brings comes too late then.
                        if !matches!(self.machine.stage(), Stage::Delegated { .. }) {
                            return Ok(());
                        }
                    }
                    input
                }
            },
        };
        self.feed(input)
    }

    async fn start(&mut self, work: Work) {
        self.stop_work().await;
        self.work = Some(work);
    }

    async fn stop_work(&mut self) {
        // First of all, so that a delegate that waits for its note hears that nobody keeps it.
        self.wanted = None;
        if let Some(work) = self.work.take() {
            work.stop().await;
        }
    }

    fn ended(&self) -> Option<Ended> {
        let (outcome, code) = match self.machine.stage() {
            Stage::Sealed { outcome } => {
                let code = self.machine.ending().map(|ending| ending.code.clone());
                (outcome, code.unwrap_or_else(|| Code::slug(outcome.as_str())))
            }
            Stage::Escalated { instead_of } => {
                (Outcome::Escalated, Code::slug(instead_of.as_str()))
            }
            Stage::Awaiting { .. } => (Outcome::Escalated, Code::slug("awaits_human")),
            Stage::Parked { until_ms: None, .. } => (Outcome::Escalated, Code::slug("parked")),
            _ => return None,
        };
        let delivered = self.delivered.clone();
        let (run, is_edited, result) = (self.plan.run.clone(), self.is_edited, self.result.clone());
        let has_waited = self.machine.waits() > 0;
        Some(Ended { run, outcome, code, delivered, is_edited, result, has_waited })
    }
}
