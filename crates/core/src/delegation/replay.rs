//! From a log back to the machine. Replaying proves the log while it folds it: an event that the
//! machine would not have decided stops the replay.

use std::collections::VecDeque;

use crate::delegation::accept::{self, Accepted};
use crate::delegation::decide;
use crate::delegation::fold::Fold;
use crate::delegation::stage::Stage;
use crate::{Charter, Delegation, Entry, Event, Input, OpenError, Outcome};

/// The log is not one that the machine wrote.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// There is no entry at all.
    #[error("the log is empty: a run begins with `run.opened`")]
    Empty,
    /// The first entry does not open a run.
    #[error("entry 0 is `{got}`: a run begins with `run.opened`")]
    NotOpened {
        /// The event that stands there.
        got: &'static str,
    },
    /// The run could not have been opened like this.
    #[error("entry 0 opens a run that is not legal: {0}")]
    Open(#[from] OpenError),
    /// An event that cannot follow the ones before it.
    #[error("entry {seq} is `{got}`, which cannot happen while the run is {stage:?}")]
    Impossible {
        /// Its 0-based place.
        seq: u64,
        /// The event that stands there.
        got: &'static str,
        /// Where the run was.
        stage: Stage,
    },
    /// An event that the machine decides alone, with another content than it would have decided.
    #[error("entry {seq} is `{got}` with a content that the entries before it do not lead to")]
    Differs {
        /// Its 0-based place.
        seq: u64,
        /// The event that stands there.
        got: &'static str,
    },
    /// An event that lies before the one it follows.
    #[error("entry {seq} lies {back_ms} ms before the entry that it follows")]
    Time {
        /// Its 0-based place.
        seq: u64,
        /// How far back.
        back_ms: u64,
    },
    /// The log ends where something follows of itself: the rest of an append is gone.
    #[error("the log ends inside an append: `{next}` must follow entry {seq}; restore the log")]
    Cut {
        /// The 0-based place of the last entry.
        seq: u64,
        /// The event that is missing.
        next: &'static str,
    },
}

impl Delegation {
    /// Rebuilds a run from its events. The result has no effects; [`Input::Resume`] asks for what
    /// is pending.
    ///
    /// # Errors
    /// [`ReplayError`] naming the first event that the machine would not have written there.
    pub fn replay<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Result<Self, ReplayError> {
        let mut entries = entries.into_iter();
        let first = entries.next().ok_or(ReplayError::Empty)?;
        let Event::RunOpened { run, request, policy, checks, hooks, terms, parent } = &first.event
        else {
            return Err(ReplayError::NotOpened { got: first.event.name() });
        };
        let charter = Charter {
            policy: policy.clone(),
            checks: checks.clone(),
            hooks: hooks.clone(),
            terms: terms.clone(),
            parent: parent.clone(),
        };
        let mut machine = Self::open(first.at_ms, run.clone(), *request, charter)?;
        machine.effects = VecDeque::new();
        let mut forced = None;
        // What follows of itself was written with this time, whoever wrote beside since.
        let mut followed_ms = machine.now_ms;
        for entry in entries {
            let seq = machine.fold.entries;
            if entry.at_ms < machine.now_ms {
                return Err(ReplayError::Time { seq, back_ms: machine.now_ms - entry.at_ms });
            }
            admit(&machine.fold, followed_ms, seq, entry, forced.take())?;
            forced = accept::forced(&machine.fold, &entry.event);
            machine.fold.apply(entry.at_ms, &entry.event);
            machine.now_ms = entry.at_ms;
            if !entry.event.is_aside() {
                followed_ms = entry.at_ms;
            }
        }
        match forced.or_else(|| decide::follow_up(&machine.fold, followed_ms)) {
            Some(next) => {
                Err(ReplayError::Cut { seq: machine.fold.entries - 1, next: next.name() })
            }
            None => Ok(machine),
        }
    }
}

/// `last_ms` is the time of the last entry that anything could follow. What follows of itself at that
/// time belongs to the same
/// append, so nothing else may stand in its place; what only became due later may be overtaken by an
/// input.
fn admit(
    fold: &Fold,
    last_ms: u64,
    seq: u64,
    entry: &Entry,
    forced: Option<Event>,
) -> Result<(), ReplayError> {
    let got = entry.event.name();
    let refused = |is_same_kind: bool| match is_same_kind {
        true => Err(ReplayError::Differs { seq, got }),
        false => Err(ReplayError::Impossible { seq, got, stage: fold.stage }),
    };
    if let Some(must) = forced.or_else(|| decide::follow_up(fold, last_ms)) {
        return if must == entry.event { Ok(()) } else { refused(must.name() == got) };
    }
    let due = decide::follow_up(fold, entry.at_ms);
    if due.as_ref() == Some(&entry.event) {
        return Ok(());
    }
    match input_of(fold.stage, &entry.event).map(|input| accept::accept(fold, entry.at_ms, input)) {
        Some(Ok(Accepted::Event(event))) if event == entry.event => Ok(()),
        Some(Ok(Accepted::Event(_))) => refused(true),
        _ => refused(due.is_some_and(|due| due.name() == got)),
    }
}

/// The input that leads to an event; `None` for events that the machine decides alone.
pub(crate) fn input_of(stage: Stage, event: &Event) -> Option<Input> {
    Some(match event.clone() {
        Event::WorldObserved { phase, manifest, judge } => {
            Input::Observed { phase, manifest, judge }
        }
        Event::WorldUnreadable { phase, code, detail } => Input::Unreadable { phase, code, detail },
        Event::CheckRed { check, finding, elapsed_ms, .. } => {
            Input::CheckFinished { check, finding, judge: None, elapsed_ms, rewrite: None }
        }
        Event::CheckFinished { .. } if matches!(stage, Stage::Awaiting { .. }) => Input::Timer,
        Event::CheckFinished { check, finding, judge, elapsed_ms, rewrite } => {
            Input::CheckFinished { check, finding, judge, elapsed_ms, rewrite }
        }
        Event::HookAnswered { hook, decision, elapsed_ms } => {
            Input::HookAnswered { hook, decision, elapsed_ms }
        }
        Event::CheckAnswered { check, submission, finding, by, judge } => {
            Input::CheckAnswered { check, submission, finding, by, judge }
        }
        Event::ClaimReceived { turn, submission, candidate, claim, work, usage } => {
            Input::Claimed { turn, submission, candidate, claim, work, usage }
        }
        Event::DelegateNoted { turn, kind, content, usage } => {
            Input::Noted { turn, kind, content, usage }
        }
        Event::DelegateParked { turn, until_ms, detail } => {
            Input::Parked { turn, until_ms, detail }
        }
        Event::DelegateWoken { answer: Some(answer), .. } => Input::Woken { answer },
        Event::DelegateWoken { answer: None, .. } => Input::Timer,
        Event::DelegateFailed { turn, code, detail } => {
            Input::DelegateFailed { turn, code, detail }
        }
        Event::RunResumed { .. } => Input::Resume,
        Event::LeaseTaken { epoch, worker, .. } => Input::Lease { epoch, worker },
        Event::RunReleased => Input::Release,
        Event::CancelRequested { by } => Input::RequestCancel { by },
        Event::Steered { content } => Input::Steer { content },
        Event::Answered { by, answer } => Input::Answered { by, answer },
        Event::Sealed { .. } => Input::Sealed,
        Event::OutcomeDecided { outcome: Outcome::Cancelled, code, .. } => Input::Cancel { code },
        // Everything else that ends a run follows of itself, or it is the time that ends it.
        Event::OutcomeDecided { .. } | Event::Escalated { .. } => Input::Timer,
        Event::RunOpened { .. }
        | Event::CheckStarted { .. }
        | Event::CheckAwaits { .. }
        | Event::HookCalled { .. }
        | Event::DegradeChosen { .. }
        | Event::DelegateDispatched { .. }
        | Event::VerdictMerged { .. } => return None,
    })
}
