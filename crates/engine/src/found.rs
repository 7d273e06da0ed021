//! A run as its log has it, before anybody drives it on.

use std::sync::Arc;

use probity_core::{Delegation, RunId, Stage};
use probity_record::{Chain, read_records};
use probity_store::{Store, read_run};

use crate::content::{self, StoredParking};
use crate::journal::Journal;
use crate::{Engine, EngineError, Plan};

/// A run that was read.
pub struct Found {
    pub(crate) machine: Delegation,
    pub(crate) journal: Journal,
}

/// What a run waits for at its delegate's wish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// The delegate's name of the wait, which an answer must carry.
    pub key: String,
    /// What is asked, for people.
    pub question: String,
    /// The runs whose ends are the answer; empty where somebody answers.
    pub children: Vec<RunId>,
    /// When the run goes on by itself, in milliseconds since the Unix epoch.
    pub until_ms: Option<u64>,
}

impl Engine {
    /// Reads a run. Nothing is appended.
    ///
    /// # Errors
    /// [`EngineError::Missing`] if there is no such run; others if its log cannot be read.
    pub async fn find(&self, run: &RunId) -> Result<Found, EngineError> {
        Found::read(&self.store, run).await
    }

    /// A run that is in no log yet, with what it is opened with staged.
    pub(crate) fn open(&self, plan: &Plan) -> Result<(Delegation, Journal), EngineError> {
        plan.complete(plan.terms.as_ref())?;
        let mut journal = Journal::create(Arc::clone(&self.store), plan.run.clone());
        let mut blobs = Vec::new();
        let request = content::keep(&mut blobs, plan.request.clone());
        if plan.terms.is_some() {
            content::keep(&mut blobs, plan.envelope.clone());
        }
        journal.stage(blobs);
        let (now_ms, run) = (self.clock.now_ms(), plan.run.clone());
        Ok((Delegation::open(now_ms, run, request, plan.charter())?, journal))
    }
}

impl Found {
    pub(crate) async fn read(store: &Arc<dyn Store>, run: &RunId) -> Result<Self, EngineError> {
        Self::read_to(store, run, u64::MAX).await
    }

    /// The run as it was with so many records.
    pub(crate) async fn read_to(
        store: &Arc<dyn Store>,
        run: &RunId,
        len: u64,
    ) -> Result<Self, EngineError> {
        let mut records = read_run(store.as_ref(), run).await?;
        records.truncate(usize::try_from(len).unwrap_or(usize::MAX));
        let Some(last) = records.last() else {
            return Err(EngineError::Missing { run: run.clone() });
        };
        let log = read_records(&records)?;
        let machine = Delegation::replay(&log.entries)?;
        let journal = Journal::behind(Arc::clone(store), Chain::resume(last)?);
        Ok(Self { machine, journal })
    }

    /// The run, as far as its log goes.
    #[must_use]
    pub const fn machine(&self) -> &Delegation {
        &self.machine
    }

    /// What the run waits for at its delegate's wish; `None` while it does not.
    ///
    /// # Errors
    /// [`EngineError`] if what it waits for cannot be read.
    pub async fn wait(&self) -> Result<Option<Wait>, EngineError> {
        let parking = match (self.machine.stage(), self.machine.parking()) {
            (Stage::Parked { .. }, Some(parking)) => parking,
            _ => return Ok(None),
        };
        let StoredParking { key, question, children } =
            self.journal.json(parking.detail, "wait").await?;
        Ok(Some(Wait { key, question, children, until_ms: parking.until_ms }))
    }

    /// The request that the run was opened with, as bytes.
    ///
    /// # Errors
    /// [`EngineError`] if it cannot be read.
    pub async fn request(&self) -> Result<Vec<u8>, EngineError> {
        self.journal.blob(self.machine.request()).await
    }
}
