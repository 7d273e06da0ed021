//! A store that fails now and then, in every way that it may.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use probity_conductor::ConductorOptions;
use probity_core::{Digest, RunId};
use probity_store::{
    AppendError, Ask, Batch, BlobError, Blobs, Cause, Cursor, DeadJob, Enqueued, FaultKind, Job,
    Lease, LeaseError, LogState, MemoryStore, ParkedJob, Queue, QueueError, ReadError, RunLog,
    RunSummary, Standing, StoreFault, WorkStore,
};
use probity_workflow::Judgement;

use crate::cast::Part;
use crate::rig::{Rig, assert_sound, bounded, cancel, id, start, timeless, to_end};

/// Of the calls with a number that is no multiple of `every`, each fails: in turn without a trace, with
/// the batch stored, and with the batch lost.
struct Flaky {
    inner: Arc<MemoryStore>,
    every: u64,
    calls: AtomicU64,
    reads: AtomicU64,
}

fn fault() -> StoreFault {
    StoreFault { kind: FaultKind::Busy, detail: "now and then".to_owned() }
}

#[async_trait]
impl RunLog for Flaky {
    async fn append(&self, run: &RunId, len: u64, batch: Batch) -> Result<u64, AppendError> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        if call.is_multiple_of(self.every) {
            return self.inner.append(run, len, batch).await;
        }
        match call % 3 {
            0 => Err(AppendError::Unavailable(fault())),
            1 => {
                self.inner.append(run, len, batch).await?;
                Err(AppendError::Unknown(fault()))
            }
            _ => Err(AppendError::Unknown(fault())),
        }
    }

    async fn read(&self, run: &RunId, from: u64, max: usize) -> Result<Vec<Vec<u8>>, ReadError> {
        if self.reads.fetch_add(1, Ordering::SeqCst) % 7 == 3 {
            return Err(fault().into());
        }
        self.inner.read(run, from, max).await
    }

    async fn state(&self, run: &RunId) -> Result<Option<LogState>, ReadError> {
        self.inner.state(run).await
    }

    async fn list(&self, after: Option<Cursor>, max: usize) -> Result<Vec<RunSummary>, ReadError> {
        self.inner.list(after, max).await
    }

    async fn wait_beyond(
        &self,
        run: &RunId,
        len: u64,
        timeout: Duration,
    ) -> Result<LogState, ReadError> {
        self.inner.wait_beyond(run, len, timeout).await
    }
}

#[async_trait]
impl Blobs for Flaky {
    async fn put(&self, bytes: Vec<u8>) -> Result<Digest, BlobError> {
        self.inner.put(bytes).await
    }

    async fn get(&self, digest: &Digest, max_bytes: u64) -> Result<Option<Vec<u8>>, BlobError> {
        self.inner.get(digest, max_bytes).await
    }
}

#[async_trait]
impl Queue for Flaky {
    fn lease_ttl(&self) -> Duration {
        Duration::from_secs(1)
    }

    async fn enqueue(&self, _: Job) -> Result<Enqueued, QueueError> {
        Err(QueueError::Unavailable(fault()))
    }

    async fn lease(&self, _: &Ask) -> Result<Vec<Lease>, QueueError> {
        Ok(Vec::new())
    }

    async fn heartbeat(&self, _: &Lease) -> Result<(), LeaseError> {
        Err(LeaseError::Lost)
    }

    async fn settle(&self, _: &Lease) -> Result<(), LeaseError> {
        Err(LeaseError::Lost)
    }

    async fn release(&self, _: &Lease, _: Duration) -> Result<(), LeaseError> {
        Err(LeaseError::Lost)
    }

    async fn park(&self, _: &Lease) -> Result<(), LeaseError> {
        Err(LeaseError::Lost)
    }

    async fn bury(&self, _: &Lease, _: Cause) -> Result<(), LeaseError> {
        Err(LeaseError::Lost)
    }

    async fn standing(&self, _: &RunId) -> Result<Option<Standing>, QueueError> {
        Ok(None)
    }

    async fn parked(&self, _: Option<&RunId>, _: usize) -> Result<Vec<ParkedJob>, QueueError> {
        Ok(Vec::new())
    }

    async fn dead(&self, _: Option<&RunId>, _: usize) -> Result<Vec<DeadJob>, QueueError> {
        Ok(Vec::new())
    }

    async fn revive(&self, _: &RunId) -> Result<bool, QueueError> {
        Ok(false)
    }

    async fn discard(&self, _: &RunId) -> Result<bool, QueueError> {
        Ok(false)
    }
}

fn flaky(every: u64) -> Arc<dyn WorkStore> {
    let (calls, reads) = (AtomicU64::new(0), AtomicU64::new(0));
    Arc::new(Flaky { inner: Arc::default(), every, calls, reads })
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_now_and_then_changes_nothing_in_the_log() {
    let part = || Part::Verdicts(vec![Judgement::Revise]);
    for workflow in ["checked", "again", "two-turns"] {
        let steady = Rig::new(part()).conductor();
        steady.begin(id("wf-1"), start(&steady, workflow)).await.unwrap();
        if workflow == "checked" {
            steady.tell(&id("wf-1"), cancel()).await.unwrap();
        }
        let as_ever = timeless(&to_end(&steady, &id("wf-1")).await);
        for every in 1..6 {
            let options = ConductorOptions { max_tries: 40, ..ConductorOptions::default() };
            let rig = Rig { options, ..Rig::on(flaky(every), part()) };
            let conductor = rig.conductor();
            bounded(async {
                while conductor.begin(id("wf-1"), start(&conductor, workflow)).await.is_err() {}
                if workflow == "checked" {
                    while !conductor
                        .tell(&id("wf-1"), cancel())
                        .await
                        .is_err_and(|error| error.code() == "run_terminal")
                    {}
                }
            })
            .await;
            let mut seen = Vec::new();
            let mut follower = None;
            bounded(async {
                loop {
                    if follower.is_none() {
                        follower = conductor.follow(&id("wf-1"), 0).await.unwrap_or_default();
                        continue;
                    }
                    match follower.as_mut().unwrap().next().await {
                        Ok(Some(entry)) => seen.push(entry),
                        Ok(None) => break,
                        // Asking again is safe.
                        Err(_) => {}
                    }
                }
            })
            .await;
            assert_sound(&seen);
            if workflow != "checked" {
                assert_eq!(timeless(&seen), as_ever, "{workflow} {every}");
            }
        }
    }
}
