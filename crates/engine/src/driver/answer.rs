//! Answers from outside: to a run that waits for a human, and to one that its delegate parked.

use std::sync::Arc;

use probity_core::{Answer, Input, SubmissionId};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{Ended, Engine, Watch};
use crate::content::{self, StoredAnswer, StoredParking, StoredWoken};
use crate::work::{Sealed, look_at_judge};
use crate::{Approval, EngineError, Plan};

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
        if let Some(who) = driver.approver().filter(|who| *who != by) {
            return Err(EngineError::NotAsked { who: who.to_owned(), by: by.to_owned() });
        }
        let mut blobs = Vec::new();
        let by = StoredAnswer { by: by.to_owned(), text: String::new() };
        let by = content::keep_json(&mut blobs, &by)?;
        driver.journal.stage(blobs);
        let input = Input::Answered { by, answer };
        driver.machine.handle(self.clock.now_ms(), input).map_err(EngineError::Answer)?;
        Box::pin(driver.drive()).await
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
        let (check, human) = driver.asked();
        if let Some(human) = human.filter(|human| human.who != by) {
            return Err(EngineError::NotAsked { who: human.who.clone(), by: by.to_owned() });
        }
        let verdict = approval.verdict(by);
        let text = content::cut(&verdict.reason).to_owned();
        let (finding, mut blobs) = content::finding(Ok(verdict))?;
        let by = content::keep_json(&mut blobs, &StoredAnswer { by: by.to_owned(), text })?;
        let judge = look_at_judge(Arc::clone(&driver.plan.judge)).await;
        let Sealed { digest: judge, bytes } = judge.map_err(|_| EngineError::Stuck)?;
        if driver.machine.baseline().is_some_and(|baseline| baseline.judge != judge) {
            content::keep(&mut blobs, bytes);
        }
        driver.journal.stage(blobs);
        let input = Input::CheckAnswered { check, submission: about.clone(), finding, by, judge };
        driver.machine.handle(self.clock.now_ms(), input).map_err(EngineError::Answer)?;
        Box::pin(driver.drive()).await
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
        let mut driver = Box::pin(self.take_up(plan, watch, cancel)).await?;
        let waits_for = match driver.machine.parking() {
            Some(parking) if parking.until_ms.is_none() => {
                Some(driver.journal.json::<StoredParking>(parking.detail, "wait").await?.key)
            }
            _ => None,
        };
        if waits_for.as_deref() != Some(about) {
            let (run, about) = (driver.plan.run.clone(), about.to_owned());
            return Err(EngineError::NotParked { run, about, waits_for });
        }
        let mut blobs = Vec::new();
        let stored = StoredWoken { by: by.to_owned(), value };
        let answer = content::keep_json(&mut blobs, &stored)?;
        driver.journal.stage(blobs);
        let input = Input::Woken { answer };
        driver.machine.handle(self.clock.now_ms(), input).map_err(EngineError::Answer)?;
        Box::pin(driver.drive()).await
    }
}
