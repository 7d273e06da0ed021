//! The machine.

mod accept;
mod decide;
mod degrade;
mod fold;
mod hands;
mod hooks;
mod pending;
mod replay;
mod stage;
mod submission;
mod timing;

use std::collections::VecDeque;

pub use degrade::Degraded;
pub use fold::Ending;
pub use replay::ReplayError;
pub use stage::Stage;
pub use submission::{JudgedTurn, Presented, World};

use crate::{
    Charter, CheckDecl, CheckIndex, Digest, Discrimination, Effect, Entry, Event, Finding, Handled,
    HookDecl, Input, Judgement, Noted, OpenError, Parking, Policy, Refusal, RunId, Steered, Step,
    SubmissionId, Terms, Turn, Usage, Woken, merge,
};
use accept::Accepted;
use fold::Fold;

/// One run of one delegation: a task handed to a delegate under a policy.
///
/// Methods come in three classes:
///
/// - **getters**, bare nouns, which change nothing;
/// - [`handle`](Self::handle), which takes an input and the time;
/// - [`poll_effect`](Self::poll_effect) and [`poll_timeout`](Self::poll_timeout), which say what
///   should be done and when to come back.
///
/// After every `handle`, drain the effects, then read the timeout. Time never runs backwards for
/// the machine: a `now_ms` before the last one is taken for the last one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delegation {
    fold: Fold,
    now_ms: u64,
    effects: VecDeque<Effect>,
}

impl Delegation {
    /// Opens a run. The first effects are the append of its first event and the reading of the
    /// workspace.
    ///
    /// # Errors
    /// [`OpenError`] if a bound is out of range, two checks share a name, or one stands too late.
    pub fn open(
        now_ms: u64,
        run: RunId,
        request: Digest,
        charter: Charter,
    ) -> Result<Self, OpenError> {
        charter.validate()?;
        if charter.parent.as_ref() == Some(&run) {
            return Err(OpenError::OwnParent { run });
        }
        let event = Event::RunOpened {
            run: run.clone(),
            request,
            policy: charter.policy.clone(),
            checks: charter.checks.clone(),
            hooks: charter.hooks.clone(),
            terms: charter.terms.clone(),
            parent: charter.parent.clone(),
        };
        let fold = Fold::open(now_ms, run, request, charter);
        let mut machine = Self { fold, now_ms, effects: VecDeque::new() };
        machine.effects.push_back(Effect::Append(vec![Entry { at_ms: now_ms, event }]));
        machine.push_pending();
        Ok(machine)
    }

    /// Takes an input.
    ///
    /// # Errors
    /// [`Refusal`] if the input does not fit the state; nothing has changed then.
    pub fn handle(&mut self, now_ms: u64, input: Input) -> Result<Handled, Refusal> {
        let input = input.recordable();
        let is_timer = input == Input::Timer;
        let is_note = matches!(input, Input::Noted { .. });
        let is_seal = input == Input::Sealed;
        let is_resume = matches!(input, Input::Resume | Input::Lease { .. });
        // The closing entry was made when the seal was asked for; it keeps that time.
        let now_ms = if is_seal { self.now_ms } else { now_ms.max(self.now_ms) };
        let mut entries = Vec::new();
        let mut is_aside = false;
        match accept::accept(&self.fold, now_ms, input)? {
            Accepted::Event(event) => {
                let forced = accept::forced(&self.fold, &event);
                is_aside = event.is_aside();
                self.record(now_ms, event, &mut entries);
                if let Some(forced) = forced {
                    self.record(now_ms, forced, &mut entries);
                }
            }
            Accepted::Nothing(Handled::Unchanged) if is_timer => {}
            Accepted::Nothing(handled) => {
                // A run that waits for a human may have been interrupted before the call went out.
                if is_resume {
                    self.push_pending();
                }
                return Ok(handled);
            }
        }
        // Who leaves a run, or has something to say about it, does not drive it on.
        while !is_aside && let Some(event) = decide::follow_up(&self.fold, now_ms) {
            self.record(now_ms, event, &mut entries);
        }
        if entries.is_empty() {
            return Ok(Handled::Unchanged);
        }
        self.now_ms = now_ms;
        if !is_seal {
            self.push_append(entries);
        }
        // A note supersedes nothing: the delegate that wrote it is at work.
        let goes_on = is_note && matches!(self.fold.stage, Stage::Delegated { .. });
        if !is_aside && !goes_on {
            self.push_pending();
        }
        Ok(Handled::Accepted)
    }

    /// Takes in an entry that somebody else appended beside the driver: one that [`Event::is_beside`].
    /// What is in flight goes on.
    ///
    /// # Errors
    /// [`Refusal`] if the entry is none of these, or cannot stand here; nothing has changed then.
    pub fn overhear(&mut self, entry: &Entry) -> Result<(), Refusal> {
        let refused = Refusal::NotNow { stage: self.fold.stage, input: entry.event.name() };
        let is_beside = entry.event.is_beside();
        let input = is_beside.then(|| replay::input_of(self.fold.stage, &entry.event)).flatten();
        let at_ms = entry.at_ms.max(self.now_ms);
        match accept::accept(&self.fold, at_ms, input.ok_or_else(|| refused.clone())?)? {
            Accepted::Event(event) => {
                self.fold.apply(at_ms, &event);
                self.now_ms = at_ms;
                Ok(())
            }
            Accepted::Nothing(_) => Err(refused),
        }
    }

    /// The next thing to do. Drain until `None` after every input.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// When to hand in [`Input::Timer`], in milliseconds since the Unix epoch: the end of the run's
    /// wall time or the next try of a check, whichever comes first.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<u64> {
        [accept::deadline_ms(&self.fold), decide::retry_due_ms(&self.fold)]
            .into_iter()
            .flatten()
            .min()
    }

    /// The run.
    #[must_use]
    pub const fn run(&self) -> &RunId {
        &self.fold.run
    }

    /// Blob of the request.
    #[must_use]
    pub const fn request(&self) -> Digest {
        self.fold.request
    }

    /// The run that waits for this one, if one does.
    #[must_use]
    pub const fn parent(&self) -> Option<&RunId> {
        self.fold.parent.as_ref()
    }

    /// The epoch of the last lease; 0 where there was none.
    #[must_use]
    pub const fn epoch(&self) -> u64 {
        self.fold.epoch
    }

    /// Whether nobody drives the run, by the word of whoever did last.
    #[must_use]
    pub const fn is_released(&self) -> bool {
        self.fold.released_ms.is_some()
    }

    /// Blob that names who wants the run to stop, if somebody does.
    #[must_use]
    pub const fn cancel_requested(&self) -> Option<Digest> {
        self.fold.cancel_requested
    }

    /// What was said to the delegates of this run in the midst of their work, oldest first.
    #[must_use]
    pub fn steers(&self) -> &[Steered] {
        &self.fold.steers
    }

    /// Where the run is.
    #[must_use]
    pub const fn stage(&self) -> Stage {
        self.fold.stage
    }

    /// The bounds.
    #[must_use]
    pub const fn policy(&self) -> &Policy {
        &self.fold.policy
    }

    /// The checks, in order of evaluation.
    #[must_use]
    pub fn checks(&self) -> &[CheckDecl] {
        &self.fold.checks
    }

    /// The hooks that are called by themselves, in order.
    #[must_use]
    pub fn hooks(&self) -> &[HookDecl] {
        &self.fold.hooks.decls
    }

    /// The terms of the decision, where the run is one under an envelope.
    #[must_use]
    pub const fn terms(&self) -> Option<&Terms> {
        self.fold.terms.as_ref()
    }

    /// The steps that the decision fell back to, oldest first.
    #[must_use]
    pub fn degraded(&self) -> &[Degraded] {
        &self.fold.degraded
    }

    /// The step of the ladder whose delegate acts; `None` for the usual one.
    #[must_use]
    pub fn acting_step(&self) -> Option<Step> {
        self.fold.acting_step()
    }

    /// Blob of the task as hooks rewrote it.
    #[must_use]
    pub const fn rewritten_task(&self) -> Option<Digest> {
        self.fold.hooks.rewritten.task
    }

    /// Blob of the prompt of a round as hooks rewrote it.
    #[must_use]
    pub fn rewritten_prompt(&self, turn: Turn) -> Option<Digest> {
        self.fold.hooks.rewritten.prompt.filter(|(of, _)| *of == turn).map(|(_, prompt)| prompt)
    }

    /// Blob of the claim as a hook edited it after it was verified.
    #[must_use]
    pub fn edited_claim(&self) -> Option<Digest> {
        let judged = self.fold.judged.last()?;
        let edited = self.fold.hooks.rewritten.edited.filter(|(of, _)| *of == judged.turn);
        edited.map(|(_, claim)| claim)
    }

    /// The submission whose checks are at work.
    #[must_use]
    pub fn submission(&self) -> Option<&SubmissionId> {
        self.fold.current.as_ref().map(|current| &current.id)
    }

    /// The claim as a check at work sees it: the delegate's, or what the hooks before it made of it.
    #[must_use]
    pub fn seen_by(&self, check: CheckIndex) -> Option<Presented> {
        self.fold.current.as_ref().map(|current| current.seen_by(check))
    }

    /// What the checks of the claim at work gave so far, in order.
    #[must_use]
    pub fn findings(&self) -> Vec<Option<Finding>> {
        let progress = self.fold.current.iter().flat_map(|current| &current.progress);
        progress.map(|progress| progress.finding.clone()).collect()
    }

    /// What the checks of the claim at work come to so far, as the verdict takes them: where red-first
    /// is required, a pass that proves nothing is no check at all. `None` while no claim is at work.
    #[must_use]
    pub fn judgement(&self) -> Option<Judgement> {
        let current = self.fold.current.as_ref()?;
        Some(merge(&decide::effective_findings(&self.fold, current)))
    }

    /// When the run was opened, in milliseconds since the Unix epoch.
    #[must_use]
    pub const fn opened_at_ms(&self) -> u64 {
        self.fold.opened_at_ms
    }

    /// The last time that an input changed anything, in milliseconds since the Unix epoch.
    #[must_use]
    pub const fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// Entries recorded so far, those still in undrained effects included.
    #[must_use]
    pub const fn entries(&self) -> u64 {
        self.fold.entries
    }

    /// The world before the delegate, once it was read.
    #[must_use]
    pub const fn baseline(&self) -> Option<World> {
        self.fold.baseline
    }

    /// How each check stands after the red run, in order.
    #[must_use]
    pub fn discrimination(&self) -> Vec<Discrimination> {
        (0..self.fold.checks.len()).map(|check| self.fold.discrimination(check)).collect()
    }

    /// Claims that were checked and charged to the delegate.
    #[must_use]
    pub const fn attempts(&self) -> u32 {
        self.fold.accounting.attempts
    }

    /// Attempts allowed in all, those a human added included.
    #[must_use]
    pub fn max_attempts(&self) -> u32 {
        self.fold.accounting.max_attempts(&self.fold.policy)
    }

    /// Crashes, restarts and lost leases survived.
    #[must_use]
    pub const fn interruptions(&self) -> u32 {
        self.fold.interruptions
    }

    /// What the delegates of this run wrote down, oldest first.
    #[must_use]
    pub fn notes(&self) -> &[Noted] {
        &self.fold.notes
    }

    /// How often its delegates asked to wait.
    #[must_use]
    pub const fn waits(&self) -> usize {
        self.fold.waits
    }

    /// What the run waits for at its delegate's wish.
    #[must_use]
    pub const fn parking(&self) -> Option<&Parking> {
        self.fold.parking.as_ref()
    }

    /// The end of the last such wait.
    #[must_use]
    pub const fn woken(&self) -> Option<&Woken> {
        self.fold.woken.as_ref()
    }

    /// Model tokens that the run leaves to spend; `None` is unbounded.
    #[must_use]
    pub fn tokens_left(&self) -> Option<u64> {
        let spent = self.fold.accounting.spent().tokens;
        self.fold.policy.max_tokens.map(|max| max.saturating_sub(spent))
    }

    /// Tool calls that the run leaves to make; `None` is unbounded.
    #[must_use]
    pub fn tool_calls_left(&self) -> Option<u64> {
        let spent = self.fold.accounting.spent().tool_calls;
        self.fold.policy.max_tool_calls.map(|max| max.saturating_sub(spent))
    }

    /// What all attempts spent.
    #[must_use]
    pub const fn usage(&self) -> Usage {
        self.fold.accounting.usage
    }

    /// The turn at work, or the last one.
    #[must_use]
    pub const fn turn(&self) -> Turn {
        self.fold.turn
    }

    /// The turns that have a verdict, oldest first.
    #[must_use]
    pub fn judged(&self) -> &[JudgedTurn] {
        &self.fold.judged
    }

    /// Blob of the claim at work, or of the last one.
    #[must_use]
    pub fn claim(&self) -> Option<Digest> {
        let current = self.fold.current.as_ref().map(|current| current.claim);
        current.or_else(|| self.fold.judged.last().map(|judged| judged.claim))
    }

    /// The workspace that the checks at work are about, once it was read after the claim.
    #[must_use]
    pub fn observed(&self) -> Option<World> {
        let current = self.fold.current.as_ref().map(|current| current.world);
        current.unwrap_or_else(|| self.fold.judged.last().and_then(|judged| judged.world))
    }

    /// How the run ends, once that is decided.
    #[must_use]
    pub const fn ending(&self) -> Option<&Ending> {
        self.fold.ended.as_ref()
    }

    fn record(&mut self, at_ms: u64, event: Event, entries: &mut Vec<Entry>) {
        self.fold.apply(at_ms, &event);
        entries.push(Entry { at_ms, event });
    }

    /// Entries of inputs that nothing was done between go into one append.
    fn push_append(&mut self, entries: Vec<Entry>) {
        match self.effects.back_mut() {
            Some(Effect::Append(before)) => before.extend(entries),
            _ => self.effects.push_back(Effect::Append(entries)),
        }
    }

    fn push_pending(&mut self) {
        self.effects.extend(pending::pending(&self.fold, self.now_ms));
    }
}
