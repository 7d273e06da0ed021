//! The control plane: it appends and enqueues, and drives nothing.

use std::sync::Arc;
use std::time::Duration;

use probity_core::{Answer, Code, RunId, Stage, SubmissionId};
use probity_engine::{Approval, Clock, Engine, EngineError, Plan, Post, Posted};
use probity_store::{Enqueued, Job, Pool, QueueError, Standing, Store, WorkStore};

/// How often a queue that fails is asked again.
const MAX_ENQUEUES: u32 = 4;
/// The pause before it is asked again; doubles.
const ENQUEUE_AGAIN: Duration = Duration::from_millis(50);
/// How often an answer is given again that another append was faster than.
const MAX_ANSWERS: u32 = 8;
/// A submission that took longer than this asks for its job again: the first one may have been
/// given up meanwhile, because no run was there.
const SLOW_SUBMIT_MS: u64 = 10_000;

/// Submits runs, says things to them, has them looked at. Clones share one store.
#[derive(Clone)]
pub struct Fleet {
    engine: Engine,
    store: Arc<dyn WorkStore>,
    clock: Arc<dyn Clock>,
}

/// What came of saying something to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told {
    /// Whether anything was appended: not where the run was asked to stop before.
    pub is_new: bool,
    /// Whether the run is in the queue for a worker to look at. Where it is not, somebody drives it who
    /// needs none.
    pub is_queued: bool,
}

/// A run was not submitted, or was not told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FleetError {
    /// The run's log refuses it, or cannot be read or written.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The queue could not be asked. What was to be appended may be in the log; have the run looked at
    /// with [`Fleet::resume`].
    #[error("the queue could not be asked to have the run looked at: {0}")]
    Queue(#[from] QueueError),
    /// The run is a dead letter, and nothing was done.
    #[error("run `{run}` is a dead letter ({}); resume or discard it first", .code.as_str())]
    Buried {
        /// The run.
        run: RunId,
        /// Why it is one.
        code: Code,
    },
}

impl FleetError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Engine(error) => error.code(),
            Self::Queue(error) => error.code(),
            Self::Buried { .. } => "run_buried",
        }
    }
}

impl Fleet {
    /// A control plane on a store.
    #[must_use]
    pub fn new(store: Arc<dyn WorkStore>, clock: Arc<dyn Clock>) -> Self {
        let logs: Arc<dyn Store> = Arc::clone(&store) as Arc<dyn Store>;
        Self { engine: Engine::new(logs, Arc::clone(&clock)), store, clock }
    }

    /// The engine on the same store.
    #[must_use]
    pub const fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The store.
    #[must_use]
    pub const fn store(&self) -> &Arc<dyn WorkStore> {
        &self.store
    }

    /// Opens a run and leaves it for a worker of the pool, which looks at it after `delay`. Submitting
    /// it again with the same request changes nothing.
    ///
    /// # Errors
    /// [`EngineError::Exists`] if there is a run of that name with another request;
    /// [`FleetError::Buried`] if it is a dead letter; others if the store fails. Nothing else needs to
    /// be done after an error: submit it again or not.
    pub async fn submit(
        &self,
        plan: &Plan,
        pool: &Pool,
        delay: Duration,
    ) -> Result<Posted, FleetError> {
        // The job first: a run that is open without a job would never be looked at. A job without a
        // run is given up by the workers.
        let asked_ms = self.clock.now_ms();
        let job = Job { run: plan.run.clone(), pool: pool.clone(), delay, epoch_floor: 0 };
        if self.enqueue(&job).await? == Enqueued::Dead {
            let code = match self.store.standing(&plan.run).await? {
                Some(Standing::Dead { cause, .. }) => cause.code,
                _ => Code::slug("run_buried"),
            };
            return Err(FleetError::Buried { run: plan.run.clone(), code });
        }
        let posted = self.engine.submit(plan).await?;
        if self.clock.now_ms().saturating_sub(asked_ms) > SLOW_SUBMIT_MS {
            self.enqueue(&Job { epoch_floor: posted.epoch, ..job }).await?;
        }
        Ok(posted)
    }

    /// Says something to a run and has it looked at, unless somebody drives it without the queue, who
    /// hears of it by itself. A request to cancel revives a dead letter.
    ///
    /// # Errors
    /// As [`Engine::post`]; [`FleetError::Queue`] if it was said but the queue could not be asked.
    pub async fn post(&self, run: &RunId, post: &Post) -> Result<Told, FleetError> {
        let Posted { is_new, epoch } = self.engine.post(run, post).await?;
        // Once is enough, even where the run has a job already. Whoever holds that job follows the log
        // while the run is driven, and so hears of requests to cancel and of steering by itself; where
        // it leaves the run to wait, it looks at the log once more behind that.
        let revives = matches!(post, Post::Cancel { .. });
        let is_queued = self.look_unless_driven(run, epoch, revives).await?;
        Ok(Told { is_new, is_queued })
    }

    /// Answers a run that waits for a human, and leaves it for a worker.
    ///
    /// # Errors
    /// As [`Engine::leave_answer`]; [`FleetError::Queue`] if it was answered but the queue could not be
    /// asked.
    pub async fn answer(&self, plan: Plan, by: &str, answer: Answer) -> Result<Posted, FleetError> {
        let run = plan.run.clone();
        self.leave(&run, || self.engine.leave_answer(plan.clone(), by, answer)).await
    }

    /// Answers the human check that a run waits for, and leaves it for a worker.
    ///
    /// # Errors
    /// As [`Engine::leave_approval`]; [`FleetError::Queue`] if it was answered but the queue could not
    /// be asked.
    pub async fn approve(
        &self,
        plan: Plan,
        by: &str,
        about: &SubmissionId,
        approval: Approval,
    ) -> Result<Posted, FleetError> {
        let run = plan.run.clone();
        let left = || self.engine.leave_approval(plan.clone(), by, about, approval.clone());
        self.leave(&run, left).await
    }

    /// Has a run looked at now, and revives it if it is a dead letter. `pool` is who may take it where
    /// the queue has no job for it.
    ///
    /// # Errors
    /// [`EngineError::Missing`] if there is no such run; others if the store fails.
    pub async fn resume(&self, run: &RunId, pool: &Pool) -> Result<Enqueued, FleetError> {
        let standing = self.store.standing(run).await?;
        // Without a look at the log: it may be what made the run a dead letter.
        if let Some(Standing::Dead { .. }) = standing
            && self.store.revive(run).await?
        {
            return Ok(Enqueued::Added);
        }
        let epoch = self.engine.find(run).await?.machine().epoch();
        let pool = standing.map_or_else(|| pool.clone(), |standing| standing.pool().clone());
        Ok(self.enqueue(&Job::now(run.clone(), pool, epoch)).await?)
    }

    /// Leaves an answer in the log, once more where somebody else was faster, and has the run looked at.
    async fn leave<F>(&self, run: &RunId, mut left: impl FnMut() -> F) -> Result<Posted, FleetError>
    where
        F: Future<Output = Result<Posted, EngineError>>,
    {
        let mut tries = 1;
        let posted = loop {
            match left().await {
                Err(EngineError::Fenced { .. }) if tries < MAX_ANSWERS => tries += 1,
                other => break other?,
            }
        };
        self.look(run, posted.epoch, false).await?;
        Ok(posted)
    }

    /// Has a run looked at by a worker of its pool.
    pub(crate) async fn look(
        &self,
        run: &RunId,
        epoch: u64,
        revives: bool,
    ) -> Result<Enqueued, QueueError> {
        let standing = self.store.standing(run).await?;
        self.bring(run, standing, epoch, revives).await
    }

    /// As [`Self::look`], but for a run that may be in the hands of somebody who needs no queue: a
    /// worker would take it away. False if it was left to them.
    pub(crate) async fn look_unless_driven(
        &self,
        run: &RunId,
        epoch: u64,
        revives: bool,
    ) -> Result<bool, FleetError> {
        let standing = self.store.standing(run).await?;
        if standing.is_none() && !self.is_left(run).await? {
            return Ok(false);
        }
        self.bring(run, standing, epoch, revives).await?;
        Ok(true)
    }

    /// Whether nobody is at work on a run, by its log: it was left, or it waits.
    async fn is_left(&self, run: &RunId) -> Result<bool, EngineError> {
        let found = self.engine.find(run).await?;
        let machine = found.machine();
        let waits = matches!(
            machine.stage(),
            Stage::Parked { .. } | Stage::Awaiting { .. } | Stage::Escalated { .. }
        );
        Ok(machine.is_released() || waits)
    }

    async fn bring(
        &self,
        run: &RunId,
        standing: Option<Standing>,
        epoch: u64,
        revives: bool,
    ) -> Result<Enqueued, QueueError> {
        if revives
            && let Some(Standing::Dead { .. }) = standing
            && self.store.revive(run).await?
        {
            return Ok(Enqueued::Added);
        }
        let pool = standing.map_or_else(Pool::default, |standing| standing.pool().clone());
        self.enqueue(&Job::now(run.clone(), pool, epoch)).await
    }

    pub(crate) async fn enqueue(&self, job: &Job) -> Result<Enqueued, QueueError> {
        let mut tries = 1;
        loop {
            match self.store.enqueue(job.clone()).await {
                Err(QueueError::Unavailable(_)) if tries < MAX_ENQUEUES => {
                    tokio::time::sleep(ENQUEUE_AGAIN * (1 << tries)).await;
                    tries += 1;
                }
                other => return other,
            }
        }
    }
}
