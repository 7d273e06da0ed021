//! One lease in hand: it is kept while the run is at work, and ended by what came of that.

use std::sync::Arc;
use std::time::Duration;

use probity_core::{Event, RunId};
use probity_engine::{EngineError, read_entries};
use probity_store::{Cause, Job, Lease, LeaseError, Store};
use tokio::task::JoinError;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::drive::Ending;
use crate::heart::beat;
use crate::kit::Kit;
use crate::look::Todo;
use crate::pause::{Jitter, after_failure, millis};
use crate::trouble::{Fate, Trouble};
use crate::{How, Tally, WorkerEvent};

/// How long a run may take to stop before it is dropped: longer than the engine gives what it stops.
const GRACE: Duration = Duration::from_secs(12);
/// How often a lease is tried to be ended.
const MAX_ENDS: u32 = 4;
/// The pause between two tries; doubles.
const END_AGAIN: Duration = Duration::from_millis(50);
/// The pause before a job is looked at again whose epochs were behind those of its log.
const STALE: Duration = Duration::from_secs(1);
/// How often a parent is told of a child that became a dead letter.
const MAX_TELLS: u32 = 4;

/// Holds a lease until its job is ended, or the lease is lost.
pub(crate) async fn hold(kit: Arc<Kit>, lease: Lease, letting_go: CancellationToken) -> Tally {
    kit.tell(&WorkerEvent::Leased { run: lease.run.clone(), epoch: lease.epoch });
    let stop = letting_go.child_token();
    let work = {
        let (kit, lease, stop) = (Arc::clone(&kit), lease.clone(), stop.clone());
        async move { kit.look_after(&lease, &stop).await }
    };
    // A task of its own: its panic is not the worker's, and a delegate that blocks its thread does not
    // keep the lease from being kept.
    let mut work = AbortOnDropHandle::new(tokio::spawn(work));
    let overstayed = async {
        stop.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    let ending = tokio::select! {
        biased;
        ending = &mut work => ending.unwrap_or_else(|error| panicked(&error)),
        () = beat(kit.store(), &lease) => {
            stop.cancel();
            // For what it started to be stopped; what it says no longer counts.
            let _ = timeout(GRACE, &mut work).await;
            Ending::Lost
        }
        () = overstayed => Ending::Stopped,
    };
    drop(work);
    let mut tally = Tally { leased: 1, ..Tally::default() };
    kit.end(&lease, ending, &mut tally).await;
    tally
}

fn panicked(error: &JoinError) -> Ending {
    Ending::Trouble(Trouble::passing("worker_panic", error.to_string()))
}

/// How a lease is ended.
enum End {
    Settle,
    Release(Duration),
    Park,
    Bury(Cause),
}

impl Kit {
    async fn end(&self, lease: &Lease, ending: Ending, tally: &mut Tally) {
        match ending {
            Ending::Settle(How::NeverCreated) => {
                if self.end_lease(lease, End::Settle, tally).await {
                    let how = self.look_for_it(lease).await;
                    match how {
                        How::NeverCreated => tally.ended += 1,
                        _ => tally.left += 1,
                    }
                    self.rested(lease, how);
                }
            }
            Ending::Settle(how) => {
                if self.end_lease(lease, End::Settle, tally).await {
                    tally.ended += 1;
                    self.rested(lease, how);
                }
            }
            Ending::Park => {
                if self.end_lease(lease, End::Park, tally).await {
                    tally.left += 1;
                    let how = self.look_again(lease).await;
                    self.rested(lease, how);
                }
            }
            Ending::Release { delay, how } => {
                if self.end_lease(lease, End::Release(delay), tally).await {
                    tally.left += 1;
                    self.rested(lease, how);
                }
            }
            Ending::Return { delay, how } => {
                if self.put_back(lease, delay, lease.epoch, tally).await {
                    tally.left += 1;
                    self.rested(lease, how);
                }
            }
            Ending::Stopped => {
                if self.end_lease(lease, End::Release(Duration::ZERO), tally).await {
                    tally.left += 1;
                    self.rested(lease, How::Stopped);
                }
            }
            Ending::Trouble(trouble) => self.failed(lease, trouble, tally).await,
            Ending::Lost => self.lost(lease, tally),
        }
    }

    async fn failed(&self, lease: &Lease, trouble: Trouble, tally: &mut Tally) {
        let jitter = Jitter::of(self.options.seed, lease.run.as_str(), lease.epoch);
        match trouble.fate {
            Fate::Never => self.bury(lease, trouble, tally).await,
            Fate::Stale { held } => {
                if self.put_back(lease, STALE, held, tally).await {
                    self.retried(lease, trouble, STALE, tally);
                }
            }
            Fate::Again if lease.deliveries < self.options.max_failures.max(1) => {
                let delay = after_failure(lease.deliveries, jitter);
                if self.end_lease(lease, End::Release(delay), tally).await {
                    self.retried(lease, trouble, delay, tally);
                }
            }
            Fate::Again => match self.failures(lease).await {
                failures if failures < self.options.max_failures => {
                    let delay = after_failure(failures.max(1), jitter);
                    if self.put_back(lease, delay, lease.epoch, tally).await {
                        self.retried(lease, trouble, delay, tally);
                    }
                }
                _ => self.bury(lease, trouble, tally).await,
            },
        }
    }

    /// How many deliveries in a row made no progress. Deliveries alone count those of workers that
    /// died in the midst of good work too; the log tells them apart: it names the epoch of every lease.
    async fn failures(&self, lease: &Lease) -> u32 {
        let store: &dyn Store = self.fleet.store().as_ref();
        let entries = match read_entries(store, &lease.run).await {
            Ok(entries) => entries,
            Err(EngineError::Missing { .. } | _) => return lease.deliveries,
        };
        let (mut at, mut progressed) = (0, 0);
        for entry in entries {
            match entry.event {
                Event::LeaseTaken { epoch, .. } => at = epoch,
                Event::RunReleased | Event::CancelRequested { .. } | Event::Steered { .. } => {}
                _ => progressed = at,
            }
        }
        let since = lease.epoch.saturating_sub(progressed);
        lease.deliveries.min(u32::try_from(since).unwrap_or(u32::MAX))
    }

    async fn bury(&self, lease: &Lease, trouble: Trouble, tally: &mut Tally) {
        let Trouble { code, message, .. } = trouble;
        let cause = Cause::new(code.clone(), message.clone());
        if !self.end_lease(lease, End::Bury(cause), tally).await {
            return;
        }
        tally.buried += 1;
        let run = lease.run.clone();
        self.tell(&WorkerEvent::Failed {
            run: run.clone(),
            code: code.clone(),
            message: message.clone(),
            retry_in_ms: None,
        });
        self.tell(&WorkerEvent::Buried { run, code, message });
        self.tell_parent_of_dead(&lease.run).await;
    }

    /// Behind the burial, because the parent counts its children by how the queue has them. Its job can
    /// no longer wait for the parent then; where all tries fail, the sweep brings the parent in.
    async fn tell_parent_of_dead(&self, run: &RunId) {
        for tries in 1..=MAX_TELLS {
            let told = match self.parent_of(run).await {
                Ok(Some(parent)) => self.tell_parent(&parent, run).await,
                Ok(None) => return,
                Err(trouble) => Err(trouble),
            };
            match told {
                Ok(true) => return,
                Ok(false) => {}
                Err(trouble) => self.trouble(trouble),
            }
            tokio::time::sleep(END_AGAIN * (1 << tries)).await;
        }
    }

    /// Looks at a run behind its parking: what was appended between the look before and the parking had
    /// nobody to wake.
    async fn look_again(&self, lease: &Lease) -> How {
        let looked = match self.engine().find(&lease.run).await {
            Ok(found) => self.look_at(&found).await,
            Err(error) => Err(Trouble::from(error)),
        };
        let delay = match looked {
            Ok(Todo::Idle) => return How::Parked,
            Ok(Todo::Wait { delay }) => delay,
            Ok(Todo::Drive { .. } | Todo::Ended) => Duration::ZERO,
            // Somebody else may find out more; the sweep would, at the latest.
            Err(trouble) => {
                self.trouble(trouble);
                Duration::ZERO
            }
        };
        match self.enqueue_again(lease, delay, lease.epoch).await {
            true => How::Waits { again_in_ms: millis(delay) },
            false => How::Parked,
        }
    }

    /// Looks for a run behind the end of its job, because none was there: whoever opened it since found
    /// that job in the queue and took it for theirs.
    async fn look_for_it(&self, lease: &Lease) -> How {
        match self.store().state(&lease.run).await {
            Ok(None) => return How::NeverCreated,
            Ok(Some(_)) => {}
            Err(error) => self.trouble(error.into()),
        }
        match self.enqueue_again(lease, Duration::ZERO, lease.epoch).await {
            true => How::Waits { again_in_ms: 0 },
            false => How::NeverCreated,
        }
    }

    /// Puts a job back without counting the delivery against it: what is parked and woken counts its
    /// deliveries from the beginning. Between the two it is parked, which the sweep looks after.
    async fn put_back(
        &self,
        lease: &Lease,
        delay: Duration,
        floor: u64,
        tally: &mut Tally,
    ) -> bool {
        if !self.end_lease(lease, End::Park, tally).await {
            return false;
        }
        self.enqueue_again(lease, delay, floor).await;
        true
    }

    async fn enqueue_again(&self, lease: &Lease, delay: Duration, epoch_floor: u64) -> bool {
        let (run, pool) = (lease.run.clone(), lease.pool.clone());
        match self.fleet.enqueue(&Job { run, pool, delay, epoch_floor }).await {
            Ok(_) => true,
            Err(error) => {
                self.trouble(error.into());
                false
            }
        }
    }

    /// Ends the lease. False if it was lost, or nobody could say: the job comes back by itself then.
    async fn end_lease(&self, lease: &Lease, end: End, tally: &mut Tally) -> bool {
        let mut tries = 1;
        loop {
            let ended = match &end {
                End::Settle => self.store().settle(lease).await,
                End::Release(delay) => self.store().release(lease, *delay).await,
                End::Park => self.store().park(lease).await,
                End::Bury(cause) => self.store().bury(lease, cause.clone()).await,
            };
            match ended {
                Ok(()) => return true,
                // The try before may have ended it, and nobody heard of that.
                Err(LeaseError::Lost) if tries > 1 => return true,
                Err(LeaseError::Unavailable(_)) if tries < MAX_ENDS => {
                    tokio::time::sleep(END_AGAIN * (1 << tries)).await;
                    tries += 1;
                }
                Err(error) => {
                    if let LeaseError::Unavailable(fault) = error {
                        self.trouble(Trouble::passing(fault.code(), fault.to_string()));
                    }
                    self.lost(lease, tally);
                    return false;
                }
            }
        }
    }

    fn lost(&self, lease: &Lease, tally: &mut Tally) {
        tally.lost += 1;
        self.tell(&WorkerEvent::LeaseLost { run: lease.run.clone() });
    }

    fn rested(&self, lease: &Lease, how: How) {
        self.tell(&WorkerEvent::Rested { run: lease.run.clone(), how });
    }

    fn retried(&self, lease: &Lease, trouble: Trouble, delay: Duration, tally: &mut Tally) {
        tally.failed += 1;
        let Trouble { code, message, .. } = trouble;
        let (run, retry_in_ms) = (lease.run.clone(), Some(millis(delay)));
        self.tell(&WorkerEvent::Failed { run, code, message, retry_in_ms });
    }

    pub(crate) fn trouble(&self, trouble: Trouble) {
        let Trouble { code, message, .. } = trouble;
        self.tell(&WorkerEvent::StoreTrouble { code, message });
    }
}
