//! A store that keeps an account of its appends, keeps every batch, and breaks where it is told to.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use probity_core::{Digest, RunId};
use probity_record::Record;
use probity_store::{
    AppendError, Batch, BlobError, Blobs, Cursor, FaultKind, LogState, MemoryStore, ReadError,
    RunLog, RunSummary, StoreFault,
};

use crate::rig::Account;

/// How an append goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Break {
    /// Nothing stored, and said so.
    Unavailable,
    /// Nothing stored: someone else was faster.
    Conflict,
    /// Stored, but the answer was lost.
    UnknownStored,
    /// Not stored, and not known.
    UnknownLost,
}

impl Break {
    pub(crate) const ALL: [Self; 4] =
        [Self::Unavailable, Self::Conflict, Self::UnknownStored, Self::UnknownLost];
}

/// A memory store that is watched.
#[derive(Debug)]
pub(crate) struct Ledger {
    inner: MemoryStore,
    account: Account,
    batches: Mutex<Vec<Batch>>,
    breaks: Mutex<Option<(usize, Break)>>,
    for_good: bool,
    is_blind: AtomicBool,
    tries: Mutex<usize>,
}

impl Ledger {
    pub(crate) fn new(account: Account) -> Self {
        Self {
            inner: MemoryStore::new(),
            account,
            batches: Mutex::default(),
            breaks: Mutex::default(),
            for_good: false,
            is_blind: AtomicBool::new(false),
            tries: Mutex::default(),
        }
    }

    /// Breaks the n-th append, counted from 0.
    pub(crate) fn breaking(self, nth: usize, how: Break) -> Self {
        *self.breaks.lock().unwrap() = Some((nth, how));
        self
    }

    /// Breaks the n-th append and every one after it.
    pub(crate) fn breaking_from(mut self, nth: usize, how: Break) -> Self {
        self.for_good = true;
        self.breaking(nth, how)
    }

    /// Breaks an append of those to come, counted from 0.
    pub(crate) fn break_later(&self, nth: usize, how: Break) {
        let nth = *self.tries.lock().unwrap() + nth;
        *self.breaks.lock().unwrap() = Some((nth, how));
    }

    /// Reads no blob until it is mended.
    pub(crate) fn blind(&self) {
        self.is_blind.store(true, Ordering::SeqCst);
    }

    /// Works again.
    pub(crate) fn mend(&self) {
        self.is_blind.store(false, Ordering::SeqCst);
        *self.breaks.lock().unwrap() = None;
    }

    /// All that was stored.
    pub(crate) fn batches(&self) -> Vec<Batch> {
        self.batches.lock().unwrap().clone()
    }

    fn breaks(&self) -> Option<Break> {
        let mut tries = self.tries.lock().unwrap();
        let nth = *tries;
        *tries += 1;
        let (at, how) = (*self.breaks.lock().unwrap())?;
        (nth == at || (self.for_good && nth > at)).then_some(how)
    }

    async fn store(&self, run: &RunId, len: u64, batch: Batch) -> Result<u64, AppendError> {
        let stored = self.inner.append(run, len, batch.clone()).await?;
        let names = batch.records.iter().map(|line| Record::parse(line).unwrap().entry.event);
        let names: Vec<_> = names.map(|event| event.name()).collect();
        self.account.note(format!("append {}", names.join(" ")));
        self.batches.lock().unwrap().push(batch);
        Ok(stored)
    }
}

#[async_trait]
impl RunLog for Ledger {
    async fn append(&self, run: &RunId, len: u64, batch: Batch) -> Result<u64, AppendError> {
        let fault = || StoreFault::new(FaultKind::Io, "the test says so");
        let Some(how) = self.breaks() else { return self.store(run, len, batch).await };
        match how {
            Break::Unavailable => {
                self.account.note("broken");
                Err(AppendError::Unavailable(fault()))
            }
            Break::Conflict => {
                self.account.note("broken");
                Err(AppendError::Conflict { expected: len, actual: len + 1 })
            }
            Break::UnknownStored => {
                self.store(run, len, batch).await?;
                Err(AppendError::Unknown(fault()))
            }
            Break::UnknownLost => {
                self.account.note("broken");
                Err(AppendError::Unknown(fault()))
            }
        }
    }

    async fn read(&self, run: &RunId, from: u64, max: usize) -> Result<Vec<Vec<u8>>, ReadError> {
        self.inner.read(run, from, max).await
    }

    async fn state(&self, run: &RunId) -> Result<Option<LogState>, ReadError> {
        self.inner.state(run).await
    }

    async fn list(
        &self,
        after: Option<Cursor>,
        limit: usize,
    ) -> Result<Vec<RunSummary>, ReadError> {
        self.inner.list(after, limit).await
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
impl Blobs for Ledger {
    async fn put(&self, bytes: Vec<u8>) -> Result<Digest, BlobError> {
        self.inner.put(bytes).await
    }

    async fn get(&self, digest: &Digest, max_bytes: u64) -> Result<Option<Vec<u8>>, BlobError> {
        if self.is_blind.load(Ordering::SeqCst) {
            return Err(BlobError::Unavailable(StoreFault::new(FaultKind::Io, "the test says so")));
        }
        self.inner.get(digest, max_bytes).await
    }
}
