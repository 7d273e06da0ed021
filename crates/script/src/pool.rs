//! A bounded number of worker processes, started when needed, killed when they misbehave.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::conversation::{Ended, Job, converse};
use crate::fault::{self, FaultFrame};
use crate::interpreter::Report;
use crate::process::WorkerProcess;

/// The program that serves as a worker.
#[derive(Debug, Clone)]
pub struct WorkerProgram {
    /// The executable.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

impl WorkerProgram {
    /// The running program, as `<program> script-worker`.
    ///
    /// # Errors
    /// When the system does not say where the running program is.
    pub fn current_exe() -> io::Result<Self> {
        Ok(Self { program: std::env::current_exe()?, args: vec!["script-worker".into()] })
    }
}

/// Sizes of a pool.
#[derive(Debug, Clone)]
pub struct PoolConfig {
    /// What to start.
    pub program: WorkerProgram,
    /// Scripts that run at the same time. 1 to 64.
    pub workers: usize,
    /// Address space of one worker in bytes: what stops a script that the heap limit does not see.
    /// 128 MiB to 16 GiB.
    pub memory_bytes: u64,
    /// Calls that may wait for a worker; one more is inconclusive at once. 1 to 1 000 000.
    pub max_waiting: usize,
}

impl PoolConfig {
    /// Two workers of 512 MiB, at most 1024 waiting calls.
    #[must_use]
    pub const fn new(program: WorkerProgram) -> Self {
        Self { program, workers: 2, memory_bytes: 512 << 20, max_waiting: 1024 }
    }
}

/// A size of the pool is out of its range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("script pool `{field}` must be {min} to {max}, got {value}")]
pub struct PoolError {
    /// The field's name.
    pub field: &'static str,
    /// Its value.
    pub value: u64,
    /// Smallest legal value.
    pub min: u64,
    /// Largest legal value.
    pub max: u64,
}

/// Worker processes that run scripts one at a time each. They outlive calls and are shared by
/// scripts; dropping the pool ends them.
#[derive(Debug)]
pub struct WorkerPool {
    config: PoolConfig,
    permits: Semaphore,
    waiting: AtomicUsize,
    idle: Mutex<Vec<WorkerProcess>>,
}

impl WorkerPool {
    /// A pool that has started nothing yet.
    ///
    /// # Errors
    /// [`PoolError`] naming the first size out of its range.
    pub fn new(config: PoolConfig) -> Result<Self, PoolError> {
        let count = |value: usize| u64::try_from(value).unwrap_or(u64::MAX);
        bound("workers", count(config.workers), 1, 64)?;
        bound("memory_bytes", config.memory_bytes, 128 << 20, 16 << 30)?;
        bound("max_waiting", count(config.max_waiting), 1, 1_000_000)?;
        Ok(Self {
            permits: Semaphore::new(config.workers),
            waiting: AtomicUsize::new(0),
            idle: Mutex::new(Vec::new()),
            config,
        })
    }

    /// Process ids of the workers that wait for work, in no order.
    #[must_use]
    pub fn idle_pids(&self) -> Vec<u32> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.iter().filter_map(WorkerProcess::pid).collect()
    }

    /// Runs one job on a worker of its own.
    pub(crate) async fn run(&self, job: &Job<'_>) -> Result<Report, Ended> {
        let _permit = self.permit(job.until, job.cancel).await?;
        let mut worker = match self.take_idle() {
            Some(worker) => worker,
            None => WorkerProcess::start(&self.config.program, self.config.memory_bytes)
                .await
                .map_err(|error| {
                    let program = self.config.program.program.display();
                    let message = format!("cannot start `{program}` as a script worker: {error}");
                    Ended::Fault(FaultFrame::new(fault::WORKER, message))
                })?,
        };
        // If this future is dropped here, the worker goes with it and is killed.
        match converse(&mut worker, job).await {
            Ok(report) => {
                self.put_idle(worker);
                Ok(report)
            }
            Err(Ended::Refused(fault)) => {
                self.put_idle(worker);
                Err(Ended::Refused(fault))
            }
            Err(ended) => {
                worker.kill().await;
                Err(ended)
            }
        }
    }

    async fn permit(
        &self,
        until: Instant,
        cancel: &CancellationToken,
    ) -> Result<SemaphorePermit<'_>, Ended> {
        if let Ok(permit) = self.permits.try_acquire() {
            return Ok(permit);
        }
        let _place = Place::take(&self.waiting, self.config.max_waiting).ok_or(Ended::Busy)?;
        tokio::select! {
            permit = self.permits.acquire() => permit.map_err(|_| Ended::Busy),
            () = cancel.cancelled() => Err(Ended::cancelled()),
            () = tokio::time::sleep_until(until) => Err(Ended::Busy),
        }
    }

    /// A worker that is still alive. One that died while idle took nothing with it.
    fn take_idle(&self) -> Option<WorkerProcess> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(mut worker) = idle.pop() {
            if worker.is_alive() {
                return Some(worker);
            }
        }
        None
    }

    fn put_idle(&self, worker: WorkerProcess) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
    }
}

/// A place in the queue, given back on drop.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(waiting: &'a AtomicUsize, max: usize) -> Option<Self> {
        let place = Self(waiting);
        (place.0.fetch_add(1, Ordering::Relaxed) < max).then_some(place)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn bound(field: &'static str, value: u64, min: u64, max: u64) -> Result<(), PoolError> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    Err(PoolError { field, value, min, max })
}

/// Time a worker gets beyond its script's own limit to say so itself, with a line number.
pub(crate) const GRACE: Duration = Duration::from_millis(500);
