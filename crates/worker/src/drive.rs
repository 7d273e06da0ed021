//! One run in hand, from the first look to the word of what is to become of its job.

use std::time::Duration;

use probity_core::{Code, Outcome};
use probity_engine::{Ended, EngineError, Found, Rest, Shift};
use probity_store::Lease;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::How;
use crate::kit::Kit;
use crate::look::Todo;
use crate::pause::doubled;
use crate::trouble::{Fate, Trouble};

/// How long a worker waits for a run that is not there to be opened, with the lease in its hand.
const CREATION: Duration = Duration::from_secs(2);
/// The pause before it is looked for again; doubles.
const ABSENT: Duration = Duration::from_secs(1);
/// The longest such pause.
const ABSENT_MAX: Duration = Duration::from_secs(16);
/// Deliveries after which a job without a run is given up. With the waits and pauses of those before
/// it, a minute has passed.
const MAX_ABSENT: u32 = 7;
/// The shortest and the longest pause before a parent that may not have heard is told again, in
/// milliseconds. The longest is for a parent whose pool has no worker: nothing else changes by then.
const UNHEARD: (u64, u64) = (200, 30_000);

/// What is to become of a job.
#[derive(Debug)]
pub(crate) enum Ending {
    /// Nothing is left to do.
    Settle(How),
    /// It waits. Whatever it waits for is looked at once more behind the parking.
    Park,
    /// It is put back, and the delivery counts as one without progress.
    Release { delay: Duration, how: How },
    /// It is put back, and the delivery does not count.
    Return { delay: Duration, how: How },
    /// It could not be driven on.
    Trouble(Trouble),
    /// The worker was told to let go.
    Stopped,
    /// The lease is lost: nothing may be done with the job.
    Lost,
}

impl Kit {
    /// Looks at a leased run and does what is to be done. Lets go of it when `stop` is cancelled.
    pub(crate) async fn look_after(&self, lease: &Lease, stop: &CancellationToken) -> Ending {
        match self.try_look_after(lease, stop).await {
            Ok(ending) => ending,
            Err(trouble) => Ending::Trouble(trouble),
        }
    }

    async fn try_look_after(
        &self,
        lease: &Lease,
        stop: &CancellationToken,
    ) -> Result<Ending, Trouble> {
        let found = match self.engine().find(&lease.run).await {
            Err(EngineError::Missing { .. }) => {
                let waited = self.store().wait_beyond(&lease.run, 0, CREATION);
                let state = tokio::select! {
                    biased;
                    () = stop.cancelled() => return Ok(self.absent(lease)),
                    state = waited => state?,
                };
                if state.len == 0 {
                    return Ok(self.absent(lease));
                }
                self.engine().find(&lease.run).await?
            }
            found => found?,
        };
        match self.look_at(&found).await? {
            Todo::Ended => self.ended(&found).await,
            Todo::Wait { .. } | Todo::Idle => Ok(Ending::Park),
            Todo::Drive { answer } => self.drive(found, lease, answer, stop).await,
        }
    }

    async fn drive(
        &self,
        found: Found,
        lease: &Lease,
        answer: Option<(String, Value)>,
        stop: &CancellationToken,
    ) -> Result<Ending, Trouble> {
        let request = found.request().await?;
        let plan = tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(Ending::Stopped),
            plan = self.planner.plan(&lease.run, request) => plan?,
        };
        if plan.run != lease.run {
            let message =
                format!("the plan made for run `{}` is that of `{}`", lease.run, plan.run);
            let code = Code::slug("run_plan_differs");
            return Err(Trouble { code, message, fate: Fate::Never });
        }
        let shift = Shift {
            epoch: lease.epoch,
            worker: self.options.worker.clone(),
            answer,
            patience: self.options.patience,
            stop: stop.clone(),
        };
        let parent = found.machine().parent().cloned();
        let eye = self.eye(&lease.run);
        // Who wants it to stop says so in its log.
        let cancel = CancellationToken::new();
        let rest = Box::pin(self.engine().work(found, plan, shift, &eye, cancel)).await?;
        match rest {
            Rest::Ended(ended) if ended.outcome == Outcome::Escalated => Ok(Ending::Park),
            // Nobody around it needs to hear of it, so its log is not read once more.
            Rest::Ended(ended) if parent.is_none() && !ended.has_waited => {
                let Ended { outcome, code, .. } = *ended;
                Ok(Ending::Settle(How::Ended { outcome, code }))
            }
            Rest::Ended(_) => self.ended(&self.engine().find(&lease.run).await?).await,
            Rest::Waits { .. } => Ok(Ending::Park),
            Rest::Stopped => Ok(Ending::Stopped),
        }
    }

    /// A run that has ended: those around it hear of it, then its job is done.
    async fn ended(&self, found: &Found) -> Result<Ending, Trouble> {
        let machine = found.machine();
        self.stop_children(found).await?;
        if let Some(parent) = machine.parent()
            && !self.tell_parent(parent, machine.run()).await?
        {
            let ended_ms = self.clock.now_ms().saturating_sub(machine.now_ms());
            // Longer as time goes by, without a count that a crash could lose.
            let again_in_ms = (ended_ms / 2).clamp(UNHEARD.0, UNHEARD.1);
            let delay = Duration::from_millis(again_in_ms);
            return Ok(Ending::Return { delay, how: How::Unheard { again_in_ms } });
        }
        let ending = machine.ending();
        let outcome = machine.stage().outcome().unwrap_or(Outcome::Escalated);
        let code = ending.map_or_else(|| Code::slug(outcome.as_str()), |it| it.code.clone());
        Ok(Ending::Settle(How::Ended { outcome, code }))
    }

    /// There is no such run yet: whoever submits it puts its job in first.
    fn absent(&self, lease: &Lease) -> Ending {
        if lease.deliveries >= MAX_ABSENT {
            return Ending::Settle(How::NeverCreated);
        }
        let delay = doubled(ABSENT, lease.deliveries, ABSENT_MAX);
        let again_in_ms = crate::pause::millis(delay);
        Ending::Release { delay, how: How::NotThere { again_in_ms } }
    }
}
