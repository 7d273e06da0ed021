//! One run at work: everything that can reach it, one after the other.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use probity_core::{Code, RunId};
use probity_workflow::{ChildEnd, DelegationEnd, Entry, Failure, Input, Refusal};
use tokio::sync::{broadcast, mpsc};
use tokio::time::Instant;

use crate::ConductError;
use crate::errands::{Errands, Word};
use crate::house::{House, Message, Seat};
use crate::tale::{Taken, Tale};

/// How long nothing happens here before the log is followed: others may append as well.
const FOLLOW_AFTER: Duration = Duration::from_millis(250);
/// How long one wait for somebody else's append lasts.
const FOLLOW_PERIOD: Duration = Duration::from_secs(5);
/// The longest pause between two looks of a run that nobody follows.
const MAX_FOLLOW_PAUSE: Duration = Duration::from_secs(30);
/// How soon a new follower is noticed.
const FOLLOWED: Duration = Duration::from_secs(1);
/// The longest sleep: a clock that is not that of the runtime is looked at again.
const MAX_SLEEP: Duration = Duration::from_secs(60);

/// Drives one run.
pub(crate) struct Driver {
    house: Arc<House>,
    run: RunId,
    mailbox: mpsc::Receiver<Message>,
    entries: broadcast::Sender<Arc<Entry>>,
    errands: Errands,
    /// Answers that are not in the log yet.
    backlog: VecDeque<Input>,
    /// How often the store failed in a row.
    failures: u32,
    retry_at: Option<Instant>,
}

/// What comes next.
enum Next {
    Drain,
    Word(Word),
    Retry,
    Due,
    Asked(Option<Message>),
    Overtaken,
}

impl Driver {
    pub(crate) fn new(
        house: Arc<House>,
        run: RunId,
        mailbox: mpsc::Receiver<Message>,
        entries: broadcast::Sender<Arc<Entry>>,
    ) -> Self {
        let errands = Errands::new(Arc::clone(&house), run.clone());
        Self {
            house,
            run,
            mailbox,
            entries,
            errands,
            backlog: VecDeque::new(),
            failures: 0,
            retry_at: None,
        }
    }

    /// Drives the run until it ends, the conductor drains, or the store fails for too long.
    pub(crate) async fn drive(mut self, tale: Option<Tale>, seat: &Seat) {
        let tale = match tale {
            Some(tale) => Ok(tale),
            None => self.load().await,
        };
        let told = match tale {
            Ok(mut tale) => {
                let driven = Box::pin(self.go_on(&mut tale)).await;
                // Whoever asks from here on finds the run in its log.
                seat.leave();
                if driven.is_ok() && tale.machine.is_ended() {
                    self.answer_rest(|| Ok(tale.machine.snapshot()));
                    self.errands.finish().await;
                    return;
                }
                match driven {
                    Ok(()) => Err(ConductError::Stopping),
                    Err(error) => Err(error),
                }
            }
            Err(error) => {
                seat.leave();
                Err(error)
            }
        };
        self.answer_rest(|| told.clone());
    }

    async fn load(&self) -> Result<Tale, ConductError> {
        let found = Tale::find(&self.house.store, &self.run).await?;
        let mut tale = found.ok_or_else(|| ConductError::Missing { run: self.run.clone() })?;
        crate::fork::catch_up(&self.house, &mut tale).await?;
        if !tale.machine.is_ended() {
            tale.machine.pending();
        }
        Ok(tale)
    }

    async fn go_on(&mut self, tale: &mut Tale) -> Result<(), ConductError> {
        self.perform(tale);
        while !tale.machine.is_ended() {
            match self.next(tale).await {
                Next::Drain => return Ok(()),
                Next::Word(word) => {
                    self.backlog.extend(word.into_input());
                    self.work_off(tale).await?;
                }
                Next::Retry => self.work_off(tale).await?,
                Next::Due => {
                    self.backlog.push_back(Input::Timer);
                    self.work_off(tale).await?;
                }
                Next::Asked(Some(message)) => self.reply(tale, message).await,
                Next::Asked(None) => return Ok(()),
                Next::Overtaken => self.hear(tale).await?,
            }
        }
        Ok(())
    }

    async fn next(&mut self, tale: &Tale) -> Next {
        let retry_at = self.retry_at;
        let timer = tale.machine.poll_timeout().filter(|_| self.backlog.is_empty());
        let due = timer.map(|at_ms| {
            let left_ms = at_ms.saturating_sub(self.house.clock.now_ms());
            Duration::from_millis(left_ms).min(MAX_SLEEP)
        });
        tokio::select! {
            biased;
            () = self.house.draining.cancelled() => Next::Drain,
            Some(word) = self.errands.next() => Next::Word(word),
            () = sleep_until(retry_at) => Next::Retry,
            () = sleep(due) => Next::Due,
            message = self.mailbox.recv() => Next::Asked(message),
            () = overtaken(&self.house, &self.run, tale.len(), &self.entries) => Next::Overtaken,
        }
    }

    /// Puts answers into the log. Where the store fails they are kept for later.
    async fn work_off(&mut self, tale: &mut Tale) -> Result<(), ConductError> {
        self.retry_at = None;
        while let Some(input) = self.backlog.pop_front() {
            if tale.machine.is_ended() {
                self.backlog.clear();
                return Ok(());
            }
            match self.take(tale, &input).await {
                Ok(()) => self.failures = 0,
                Err(ConductError::Refused(refusal)) => {
                    self.backlog.extend(instead(&input, &refusal));
                }
                Err(ConductError::Unrecordable { .. }) => {
                    self.backlog.extend(unrecordable(input));
                }
                Err(error) if error.is_storage() => {
                    self.backlog.push_front(input);
                    self.failures = self.failures.saturating_add(1);
                    if self.failures >= self.house.options.max_tries {
                        return Err(error);
                    }
                    let pause = self.house.options.pause(self.failures);
                    self.retry_at = Some(Instant::now() + pause);
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// One input: into the log, then told, then done.
    async fn take(&mut self, tale: &mut Tale, input: &Input) -> Result<(), ConductError> {
        let Taken { heard, told } = tale.take(self.house.clock.now_ms(), input).await;
        self.publish(&heard);
        if let Ok(entries) = &told {
            self.publish(entries);
            self.house.tell_subscribers(&self.run, entries);
        }
        if !heard.is_empty() {
            self.errands.keep(&outstanding(tale));
        }
        self.perform(tale);
        told.map(drop)
    }

    /// What others appended.
    async fn hear(&mut self, tale: &mut Tale) -> Result<(), ConductError> {
        let len = tale.len();
        let heard = match tale.read_on().await {
            // A store that cannot be read now says so at the next append.
            Err(error) if error.is_storage() => return Ok(()),
            heard => heard?,
        };
        self.publish(&heard);
        if tale.len() != len {
            self.errands.keep(&outstanding(tale));
            tale.machine.pending();
            self.perform(tale);
        }
        Ok(())
    }

    async fn reply(&mut self, tale: &mut Tale, message: Message) {
        // Whoever asked may have gone: nobody to tell.
        match message {
            Message::Look(reply) => {
                let heard = self.hear(tale).await;
                let _ = reply.send(heard.map(|()| tale.machine.snapshot()));
            }
            Message::Tell(input, reply) => {
                let taken = self.take(tale, &input).await;
                let _ = reply.send(taken.map(|()| tale.machine.snapshot()));
            }
        }
    }

    fn perform(&mut self, tale: &mut Tale) {
        while let Some(effect) = tale.machine.poll_effect() {
            self.errands.perform(effect);
        }
    }

    fn publish(&self, entries: &[Entry]) {
        if self.entries.receiver_count() == 0 {
            return;
        }
        for entry in entries {
            // Nobody following is no error.
            let _ = self.entries.send(Arc::new(entry.clone()));
        }
    }

    /// Answers whoever asked while the run was being left. What nobody answers is asked again by its
    /// asker.
    fn answer_rest(&mut self, told: impl Fn() -> Result<probity_workflow::Snapshot, ConductError>) {
        self.mailbox.close();
        while let Ok(message) = self.mailbox.try_recv() {
            let _ = match (message, told()) {
                (Message::Tell(_, reply), Ok(_)) => reply.send(Err(Refusal::Ended.into())),
                (Message::Tell(_, reply) | Message::Look(reply), told) => reply.send(told),
            };
        }
    }
}

/// The names of everything whose answer is waited for.
fn outstanding(tale: &Tale) -> Vec<RunId> {
    let mut machine = tale.machine.clone();
    machine.pending();
    let mut names = Vec::new();
    while let Some(effect) = machine.poll_effect() {
        names.extend(crate::errands::awaited(&effect).cloned());
    }
    names
}

/// What is handed in for an answer that was refused: a verdict that does not fit is no verdict.
fn instead(input: &Input, refusal: &Refusal) -> Option<Input> {
    match (input, refusal) {
        (
            Input::Verified { verification, .. },
            Refusal::CandidateDiffers { .. } | Refusal::Answer { .. },
        ) => {
            let code = Code::slug(refusal.code());
            Some(Input::VerifierBroke { verification: verification.clone(), code })
        }
        _ => None,
    }
}

/// What is handed in for an answer that no record can hold, or where what comes of it is such. A run that
/// cannot go on is stopped: nobody waits for what will not come.
fn unrecordable(input: Input) -> Option<Input> {
    let code = Code::slug("input_unrecordable");
    let message = "what was left cannot be recorded".to_owned();
    Some(match input {
        Input::DelegationEnded { delegation, end } if end.delivered.is_some() => {
            let outcome = "faulted".to_owned();
            let (verdict, criteria, delivered, candidate) = (None, Vec::new(), None, None);
            let attempts = end.attempts;
            let end = DelegationEnd {
                outcome,
                code,
                verdict,
                criteria,
                attempts,
                delivered,
                candidate,
                is_edited: false,
            };
            Input::DelegationEnded { delegation, end }
        }
        Input::ChildEnded { child, end: ChildEnd::Completed { .. } } => {
            let error = Failure { code: code.to_string(), message, details: None };
            Input::ChildEnded { child, end: ChildEnd::Failed { error, was_started: true } }
        }
        Input::Verified { verification, .. } => Input::VerifierBroke { verification, code },
        Input::Cancel { .. } => return None,
        _ => {
            let reason = Some("what comes next cannot be recorded (input_unrecordable)".to_owned());
            Input::Cancel { reason, by: None, parent: None }
        }
    })
}

async fn sleep(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Waits until somebody else appends to the run. Every commit wakes whoever waits in the store, and
/// most runs wait for days: only one that somebody follows does so, others look now and then.
async fn overtaken(house: &House, run: &RunId, len: u64, entries: &broadcast::Sender<Arc<Entry>>) {
    let mut pause = FOLLOW_AFTER;
    tokio::time::sleep(pause).await;
    loop {
        let state = match entries.receiver_count() {
            0 => house.store.state(run).await.map(Option::unwrap_or_default),
            _ => house.store.wait_beyond(run, len, FOLLOW_PERIOD).await,
        };
        if state.as_ref().is_ok_and(|state| state.len > len) {
            return;
        }
        pause = pause.saturating_mul(2).min(MAX_FOLLOW_PAUSE);
        let until = Instant::now() + pause;
        let is_followed = || state.is_ok() && entries.receiver_count() > 0;
        while Instant::now() < until && !is_followed() {
            tokio::time::sleep_until(until.min(Instant::now() + FOLLOWED)).await;
        }
    }
}
