//! One process' way to the store: it loses replies, refuses, is late, is cut off, and dies.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use probity_core::{Digest, Event, Outcome, RunId};
use probity_record::{Chain, Record, blob_digest};
use probity_store::{
    AppendError, Batch, BlobError, Blobs, Cursor, FaultKind, LogState, ReadError, RunLog,
    RunSummary, StoreFault,
};
use tokio::time::{Instant, sleep};

use super::invariant::{Defect, Invariant};
use super::life::Life;
use super::schedule::Faults;
use super::truth::{Acked, Truth};

/// How long it takes until somebody who is cut off is told so, at most, in milliseconds.
const TIMEOUT_MS: u64 = 2_000;

/// The store as one process has it.
#[derive(Clone)]
pub(crate) struct FaultyStore {
    pub(crate) truth: Arc<Truth>,
    pub(crate) life: Arc<Life>,
}

/// What becomes of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is done and answered.
    Answers,
    /// It is done, and its answer is lost.
    Loses,
    /// It is not done, and that is said.
    Refuses,
    /// It is not done, and nobody can tell.
    Vanishes,
}

impl FaultyStore {
    /// Before an operation: what becomes of it. Comes back never if the process dies here.
    pub(super) async fn fate(&self) -> Fate {
        self.life.pass().await;
        self.step().await;
        let Faults { lost_replies, refusals, .. } = self.truth.faults();
        self.truth.lock().tally.operations += 1;
        if self.life.is_cut_off() {
            sleep(Duration::from_millis(self.truth.draw(|rng| rng.below(TIMEOUT_MS)))).await;
            self.life.pass().await;
            return match self.truth.draw(|rng| rng.below(6)) {
                // Its last words came through.
                0 => Fate::Loses,
                1 => Fate::Refuses,
                _ => Fate::Vanishes,
            };
        }
        self.dawdle().await;
        if self.truth.chance(refusals) {
            self.truth.lock().tally.refusals += 1;
            return if self.truth.chance(500) { Fate::Refuses } else { Fate::Vanishes };
        }
        if self.truth.chance(lost_replies) {
            self.truth.lock().tally.lost_replies += 1;
            return Fate::Loses;
        }
        Fate::Answers
    }

    /// Before an answer.
    pub(super) async fn answer(&self) {
        self.step().await;
        self.dawdle().await;
    }

    async fn step(&self) {
        if self.life.step() {
            self.truth.trace(&self.life, "dies");
            self.life.die();
            self.truth.ends_all_of(&self.life);
        }
        self.life.pass().await;
    }

    async fn dawdle(&self) {
        let Faults { delays, delay_ms, .. } = self.truth.faults();
        if self.truth.chance(delays) {
            self.truth.lock().tally.delays += 1;
            sleep(Duration::from_millis(self.truth.draw(|rng| rng.below(delay_ms)))).await;
            self.life.pass().await;
        }
    }

    pub(super) fn fault(&self) -> StoreFault {
        StoreFault::new(FaultKind::Io, "the schedule says so")
    }

    /// Whether this operation fails, after it was done or not.
    async fn reads(&self) -> Result<(), StoreFault> {
        match self.fate().await {
            Fate::Answers => Ok(()),
            Fate::Loses | Fate::Refuses | Fate::Vanishes => Err(self.fault()),
        }
    }

    /// Who may append what, by the truth of the log.
    fn check_fence(&self, run: &RunId, batch: &Batch) {
        let records = batch.records.iter().filter_map(|line| Record::parse(line).ok());
        let events: Vec<_> = records.map(|record| record.entry.event).collect();
        let state = self.truth.lock();
        let last = state.logs.get(run).and_then(|log| log.leases.last()).copied();
        drop(state);
        let Some(first) = events.first() else { return };
        let is_said = matches!(
            first,
            Event::RunOpened { .. }
                | Event::LeaseTaken { .. }
                | Event::CancelRequested { .. }
                | Event::Steered { .. }
                | Event::Answered { .. }
                | Event::DelegateWoken { .. }
        );
        let is_holder = last.is_some_and(|held| held.actor == self.life.actor);
        if !is_said && !is_holder {
            let what = format!("{} appends {} to {run}", self.life.name, first.name());
            self.truth.breach(Invariant::Fenced, format!("{what} behind the lease {last:?}"));
        }
        let mut epoch = last.map_or(0, |held| held.epoch);
        for event in &events {
            if let Event::LeaseTaken { epoch: of, .. } = event {
                if *of <= epoch {
                    let what = format!("{run}: {of} behind {epoch}");
                    self.truth.breach(Invariant::EpochsRise, what);
                }
                epoch = *of;
            }
        }
    }

    /// The append as the store does it, which is not always what was asked for.
    async fn store(&self, run: &RunId, expected: u64, batch: Batch) -> Result<u64, AppendError> {
        let actual = self.truth.store.state(run).await.ok().flatten().unwrap_or_default();
        let defect = self.truth.defect.filter(|_| actual.len > 0 && !actual.sealed);
        let mut at = expected;
        let mut batch = batch;
        match defect {
            Some(Defect::IgnoresLength) => at = actual.len,
            Some(Defect::LosesPass | Defect::RepeatsEpoch) if actual.len == expected => {
                batch = self.forged(run, batch).await;
            }
            Some(Defect::AcksUnstored) if actual.len == expected && self.truth.chance(50) => {
                return Ok(expected + batch.records.len() as u64);
            }
            Some(Defect::AcksEarly) if actual.len == expected => {
                let (this, run, len) = (self.clone(), run.clone(), batch.records.len() as u64);
                tokio::spawn(async move {
                    sleep(Duration::from_millis(20)).await;
                    let _ = this.truth.append(&this.life, &run, expected, batch).await;
                });
                return Ok(expected + len);
            }
            _ => {}
        }
        if at == actual.len && !actual.sealed {
            self.check_fence(run, &batch);
        }
        self.truth.append(&self.life, run, at, batch).await
    }

    /// The batch with another story in it, chained as it should be.
    async fn forged(&self, run: &RunId, batch: Batch) -> Batch {
        let Ok(last) = self.truth.store.read(run, 0, usize::MAX).await else { return batch };
        let Some(Ok(mut chain)) = last.last().map(|line| Chain::resume(line)) else { return batch };
        let epoch = {
            let state = self.truth.lock();
            state.logs.get(run).and_then(|log| log.leases.last()).map(|held| held.epoch)
        };
        let mut records = Vec::new();
        for line in &batch.records {
            let Ok(mut entry) = Record::parse(line).map(|record| record.entry) else {
                return batch;
            };
            match (&mut entry.event, self.truth.defect) {
                (Event::LeaseTaken { epoch: of, .. }, Some(Defect::RepeatsEpoch)) => {
                    *of = epoch.unwrap_or(*of);
                }
                (Event::OutcomeDecided { outcome, .. }, Some(Defect::LosesPass))
                | (Event::Sealed { outcome }, Some(Defect::LosesPass))
                    if *outcome == Outcome::Verified =>
                {
                    *outcome = Outcome::Cancelled;
                }
                _ => {}
            }
            match chain.append(&entry) {
                Ok(line) => records.push(line.into_bytes()),
                Err(_) => return batch,
            }
        }
        Batch { records, ..batch }
    }
}

#[async_trait]
impl RunLog for FaultyStore {
    async fn append(
        &self,
        run: &RunId,
        expected_len: u64,
        batch: Batch,
    ) -> Result<u64, AppendError> {
        let fate = self.fate().await;
        match fate {
            Fate::Refuses => return Err(AppendError::Unavailable(self.fault())),
            Fate::Vanishes => return Err(AppendError::Unknown(self.fault())),
            Fate::Answers | Fate::Loses => {}
        }
        let digests = batch.records.iter().map(|record| blob_digest(record)).collect();
        let appended = self.store(run, expected_len, batch).await;
        self.answer().await;
        match (fate, appended) {
            (Fate::Loses, _) => Err(AppendError::Unknown(self.fault())),
            (_, Ok(len)) => {
                let acked = Acked { run: run.clone(), from: expected_len, digests };
                self.truth.lock().acked.push(acked);
                Ok(len)
            }
            (_, Err(error)) => Err(error),
        }
    }

    async fn read(
        &self,
        run: &RunId,
        from_seq: u64,
        max_records: usize,
    ) -> Result<Vec<Vec<u8>>, ReadError> {
        self.reads().await?;
        let read = self.truth.store.read(run, from_seq, max_records).await;
        self.answer().await;
        read
    }

    async fn state(&self, run: &RunId) -> Result<Option<LogState>, ReadError> {
        self.reads().await?;
        let state = self.truth.store.state(run).await;
        self.answer().await;
        state
    }

    async fn list(
        &self,
        after: Option<Cursor>,
        limit: usize,
    ) -> Result<Vec<RunSummary>, ReadError> {
        self.reads().await?;
        let list = self.truth.store.list(after, limit).await;
        self.answer().await;
        list
    }

    async fn wait_beyond(
        &self,
        run: &RunId,
        len: u64,
        timeout: Duration,
    ) -> Result<LogState, ReadError> {
        let deaf = || {
            let life = self.life.actor;
            self.truth.lock().deaf.push((life, run.clone(), Instant::now()));
        };
        self.reads().await.inspect_err(|_| deaf())?;
        if self.truth.has(Defect::SwallowsLoss) {
            sleep(timeout).await;
            return Ok(LogState { len, sealed: false });
        }
        let state = self.truth.store.wait_beyond(run, len, timeout).await;
        if self.life.is_cut_off() {
            deaf();
            return Err(self.fault().into());
        }
        self.answer().await;
        state
    }
}

#[async_trait]
impl Blobs for FaultyStore {
    async fn put(&self, bytes: Vec<u8>) -> Result<Digest, BlobError> {
        let fate = self.fate().await;
        if matches!(fate, Fate::Refuses | Fate::Vanishes) {
            return Err(self.fault().into());
        }
        let put = self.truth.store.put(bytes).await;
        self.answer().await;
        if fate == Fate::Loses { Err(self.fault().into()) } else { put }
    }

    async fn get(&self, digest: &Digest, max_bytes: u64) -> Result<Option<Vec<u8>>, BlobError> {
        self.reads().await?;
        let got = self.truth.store.get(digest, max_bytes).await;
        self.answer().await;
        got
    }
}
