//! A run in the hands of a worker.

use std::time::Duration;

use probity_core::{Input, Refusal, Stage, WorkerId};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{Driver, Ended, Engine, Watch};
use crate::content;
use crate::found::Found;
use crate::{EngineError, Plan};

/// The terms on which a worker drives a run.
#[derive(Debug, Clone)]
pub struct Shift {
    /// The epoch of the lease: above every earlier one of the run.
    pub epoch: u64,
    /// Who holds it.
    pub worker: WorkerId,
    /// The answer that the run waits for, where the worker has it: who answers and what. It answers
    /// the wait that the run was found in.
    pub answer: Option<(String, Value)>,
    /// The longest time that the worker waits with nothing in flight; a longer wait is left to the
    /// queue.
    pub patience: Duration,
    /// Cancelled when the worker must let go at once: what is in flight is stopped, and nothing is
    /// appended any more.
    pub stop: CancellationToken,
}

/// How a worker got rid of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Rest {
    /// It ended, or it waits for somebody: [`probity_core::Outcome::Escalated`].
    Ended(Box<Ended>),
    /// It goes on by itself at a time, in milliseconds since the Unix epoch. Nobody drives it by then.
    Waits {
        /// When.
        until_ms: u64,
    },
    /// The worker was told to stop. Taking the run up again counts as an interruption.
    Stopped,
}

impl Engine {
    /// Takes a run up under a lease and drives it on. The first thing that is done is to append the
    /// lease, after which no earlier holder can append.
    ///
    /// # Errors
    /// [`EngineError::StaleLease`] if the log holds a later lease; [`EngineError::Fenced`] if another
    /// driver takes the run over; others as [`Engine::resume`].
    pub async fn work(
        &self,
        found: Found,
        plan: Plan,
        shift: Shift,
        watch: &dyn Watch,
        cancel: CancellationToken,
    ) -> Result<Rest, EngineError> {
        let is_sealed = matches!(found.machine.stage(), Stage::Sealed { .. });
        let mut driver = Box::pin(self.take_up_found(found, plan, watch, cancel)).await?;
        if !is_sealed {
            driver.lease(&shift).await?;
            driver.shift = Some(shift);
        }
        Box::pin(driver.drive_on()).await
    }
}

impl Driver<'_> {
    async fn lease(&mut self, shift: &Shift) -> Result<(), EngineError> {
        let Shift { epoch, worker, answer, .. } = shift;
        let waits = matches!(self.machine.stage(), Stage::Parked { until_ms: None, .. });
        let lease = Input::Lease { epoch: *epoch, worker: worker.clone() };
        self.feed(lease).map_err(|error| match error {
            EngineError::Refused(Refusal::StaleEpoch { held, got }) => {
                EngineError::StaleLease { run: self.plan.run.clone(), held, got }
            }
            other => other,
        })?;
        if let Some((by, value)) = answer.as_ref().filter(|_| waits) {
            let mut blobs = Vec::new();
            let answer = content::keep_woken(&mut blobs, by, value)?;
            self.perform_all().await?;
            self.journal.stage(blobs);
            self.feed(Input::Woken { answer })?;
        }
        // A human may have been waited for long enough; nobody waits with the run to find that out.
        if matches!(self.machine.stage(), Stage::Awaiting { .. }) {
            self.perform_all().await?;
            self.feed(Input::Timer)?;
        }
        Ok(())
    }

    /// Whether the worker must let go.
    pub(super) fn is_stopped(&self) -> bool {
        self.shift.as_ref().is_some_and(|shift| shift.stop.is_cancelled())
    }

    /// Leaves a run that waits for longer than the worker does with nothing in flight.
    pub(super) async fn leave_waiting(&mut self) -> Result<Option<Rest>, EngineError> {
        let Some(shift) = self.shift.as_ref().filter(|_| self.work.is_none()) else {
            return Ok(None);
        };
        let patience_ms = u64::try_from(shift.patience.as_millis()).unwrap_or(u64::MAX);
        let now_ms = self.engine.clock.now_ms().max(self.machine.now_ms());
        let due_ms = self.machine.poll_timeout();
        let Some(until_ms) = due_ms.filter(|due_ms| due_ms.saturating_sub(now_ms) > patience_ms)
        else {
            return Ok(None);
        };
        self.feed(Input::Release)?;
        self.perform_all().await?;
        // Told to stop meanwhile, the word that it was left may not be in the log.
        let is_left = !self.is_stopped();
        Ok(Some(if is_left { Rest::Waits { until_ms } } else { Rest::Stopped }))
    }
}

/// Ends when the worker must let go; never where there is none.
pub(super) async fn stopped(shift: Option<&Shift>) {
    match shift {
        Some(shift) => shift.stop.cancelled().await,
        None => std::future::pending().await,
    }
}
