//! Answers from outside: to a run that waits for a human, and to one that its delegate parked. Whoever
//! answers drives the run on, or leaves it for a worker.

use std::sync::Arc;

use probity_core::{Answer, Input, SubmissionId};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{Driver, Ended, Engine, Watch};
use crate::content;
use crate::found::Found;
use crate::journal::AppendFailure;
use crate::post::entries_of;
use crate::work::{Sealed, look_at_judge};
use crate::{Approval, EngineError, Plan, Posted};

/// Nobody watches an answer that is left.
struct Unwatched;

impl Watch for Unwatched {
    fn entry(&self, _: &probity_core::Entry) {}
}

impl Engine {
    /// Answers a run that waits for a human, and drives it on.
    ///
    /// # Errors
    /// As [`Engine::resume`]; [`EngineError::Answer`] if the run does not wait, or the answer is out
    /// of its bounds; [`EngineError::NotAsked`] if it waits for the approval of somebody else.
    pub async fn answer(
        &self,
        plan: Plan,
        by: &str,
        answer: Answer,
        watch: &dyn Watch,
        cancel: CancellationToken,
    ) -> Result<Ended, EngineError> {
        let mut driver = Box::pin(self.take_up(plan, watch, cancel)).await?;
        driver.answer(by, answer)?;
        Box::pin(driver.drive()).await
    }

    /// As [`Engine::answer`], but leaves the run for a worker to take up.
    ///
    /// # Errors
    /// As [`Engine::answer`].
    pub async fn leave_answer(
        &self,
        plan: Plan,
        by: &str,
        answer: Answer,
    ) -> Result<Posted, EngineError> {
        let cancel = CancellationToken::new();
        let mut driver = Box::pin(self.take_up(plan, &Unwatched, cancel)).await?;
        driver.answer(by, answer)?;
        driver.leave().await
    }

    /// Answers the human check that a run waits for, and drives the run on. The answer is about one
    /// submission, as [`crate::Report::asked_about`] names it. The judge's files are looked at again:
    /// they may have been touched while the human thought.
    ///
    /// # Errors
    /// As [`Engine::resume`]; [`EngineError::NotAsked`] if somebody else is asked,
    /// [`EngineError::Answer`] if nobody is, no more, or about another submission.
    pub async fn approve(
        &self,
        plan: Plan,
        by: &str,
        about: &SubmissionId,
        approval: Approval,
        watch: &dyn Watch,
        cancel: CancellationToken,
    ) -> Result<Ended, EngineError> {
        let mut driver = Box::pin(self.take_up(plan, watch, cancel)).await?;
        driver.approve(by, about, approval).await?;
        Box::pin(driver.drive()).await
    }

    /// As [`Engine::approve`], but leaves the run for a worker to take up.
    ///
    /// # Errors
    /// As [`Engine::approve`].
    pub async fn leave_approval(
        &self,
        plan: Plan,
        by: &str,
        about: &SubmissionId,
        approval: Approval,
    ) -> Result<Posted, EngineError> {
        let cancel = CancellationToken::new();
        let mut driver = Box::pin(self.take_up(plan, &Unwatched, cancel)).await?;
        driver.approve(by, about, approval).await?;
        driver.leave().await
    }

    /// Answers what a parked run waits for, and drives it on: its delegate is given the answer. It is
    /// about one wait, as [`crate::Report::parked_for`] names it.
    ///
    /// # Errors
    /// As [`Engine::resume`]; [`EngineError::NotParked`] if the run does not wait for that.
    pub async fn wake(
        &self,
        plan: Plan,
        about: &str,
        by: &str,
        value: Value,
        watch: &dyn Watch,
        cancel: CancellationToken,
    ) -> Result<Ended, EngineError> {
        let found = Found::read(&self.store, &plan.run).await?;
        found.require_wait(about).await?;
        let mut driver = Box::pin(self.take_up_found(found, plan, watch, cancel)).await?;
        let mut blobs = Vec::new();
        let answer = content::keep_woken(&mut blobs, by, &value)?;
        driver.journal.stage(blobs);
        driver.feed(Input::Woken { answer }).map_err(of_answer)?;
        Box::pin(driver.drive()).await
    }
}

impl Driver<'_> {
    fn answer(&mut self, by: &str, answer: Answer) -> Result<(), EngineError> {
        if let Some(who) = self.approver().filter(|who| *who != by) {
            return Err(EngineError::NotAsked { who: who.to_owned(), by: by.to_owned() });
        }
        let mut blobs = Vec::new();
        let by = content::keep_answer(&mut blobs, by, "")?;
        self.journal.stage(blobs);
        self.feed(Input::Answered { by, answer }).map_err(of_answer)
    }

    async fn approve(
        &mut self,
        by: &str,
        about: &SubmissionId,
        approval: Approval,
    ) -> Result<(), EngineError> {
        let (check, human) = self.asked();
        if let Some(human) = human.filter(|human| human.who != by) {
            return Err(EngineError::NotAsked { who: human.who.clone(), by: by.to_owned() });
        }
        let verdict = approval.verdict(by);
        let text = verdict.reason.clone();
        let (finding, mut blobs) = content::finding(Ok(verdict))?;
        let by = content::keep_answer(&mut blobs, by, &text)?;
        let judge = look_at_judge(Arc::clone(&self.plan.judge)).await;
        let Sealed { digest: judge, bytes } = judge.map_err(|_| EngineError::Stuck)?;
        if self.machine.baseline().is_some_and(|baseline| baseline.judge != judge) {
            content::keep(&mut blobs, bytes);
        }
        self.journal.stage(blobs);
        let input = Input::CheckAnswered { check, submission: about.clone(), finding, by, judge };
        self.feed(input).map_err(of_answer)
    }

    /// Appends what follows of itself and leaves what is to be done for a worker.
    async fn leave(&mut self) -> Result<Posted, EngineError> {
        self.feed_unless_ended(Input::Release)?;
        let entries = entries_of(&mut self.machine);
        match self.journal.append(&entries).await {
            Ok(()) => Ok(Posted { is_new: true, epoch: self.machine.epoch() }),
            Err(AppendFailure::Overtaken) => {
                Err(EngineError::Fenced { run: self.plan.run.clone() })
            }
            Err(AppendFailure::Engine(error)) => Err(error),
        }
    }

    /// An answer may end the run: nobody is left anything but the seal then.
    fn feed_unless_ended(&mut self, input: Input) -> Result<(), EngineError> {
        match self.machine.stage().outcome() {
            Some(_) => Ok(()),
            None => self.feed(input),
        }
    }
}

/// A refusal of an answer is its giver's business.
fn of_answer(error: EngineError) -> EngineError {
    match error {
        EngineError::Refused(refusal) => EngineError::Answer(refusal),
        other => other,
    }
}
