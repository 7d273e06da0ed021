//! What the host needs of whatever takes delegations, and tells how they ended.

mod failure;
mod fleet;
mod merge;
mod waiver;

use std::time::Duration;

use async_trait::async_trait;
use probity_core::{Code, Digest, Outcome, RunId};
use probity_engine::{Plan, Report};
use probity_record::Record;
use probity_store::Pool;
use serde_json::Value;

use crate::error::Failure;

pub use fleet::FleetDelegated;
pub use merge::{Merge, may_merge};

/// Takes delegations and tells of them. What it acknowledges survives it; `None` stands for a run that is
/// not there, or is no delegation.
#[async_trait]
pub trait Delegated: Send + Sync + 'static {
    /// Leaves a run for a worker. The same request under the same name changes nothing.
    ///
    /// # Errors
    /// The request cannot be carried out, another one has that name, or the store takes none.
    async fn submit(
        &self,
        run: &RunId,
        request: Value,
        pool: Option<Pool>,
        delay: Duration,
    ) -> Result<Submitted, Failure>;

    /// What a run came to, with its content.
    ///
    /// # Errors
    /// Its log or its content cannot be read.
    async fn report(&self, run: &RunId) -> Result<Option<Report>, Failure>;

    /// Where a run is, by its log, which is checked on the way.
    ///
    /// # Errors
    /// Its log cannot be read.
    async fn standing(&self, run: &RunId) -> Result<Option<Standing>, Failure>;

    /// Whether the world has moved since the verdict of a run; `None` where nobody can tell.
    ///
    /// # Errors
    /// The world cannot be looked at.
    async fn is_stale(&self, run: &RunId) -> Result<Option<bool>, Failure>;

    /// Records of a run from a place on, at most `max`.
    ///
    /// # Errors
    /// Its log cannot be read.
    async fn records(
        &self,
        run: &RunId,
        from: u64,
        max: usize,
    ) -> Result<Option<Vec<Record>>, Failure>;

    /// Waits until a run has more than so many records, or until the time is over.
    ///
    /// # Errors
    /// The store does not say, or the run has ended with no more than those.
    async fn wait(&self, run: &RunId, len: u64, timeout: Duration) -> Result<(), Failure>;

    /// Asks a run to stop. False where it has ended, or was asked before.
    ///
    /// # Errors
    /// There is no such run, or it cannot be told.
    async fn cancel(&self, run: &RunId, by: &str, reason: &str) -> Result<bool, Failure>;

    /// Says something to the delegate in the midst of its work.
    ///
    /// # Errors
    /// There is no such run, it has ended, or it cannot be told.
    async fn steer(&self, run: &RunId, by: &str, text: &str) -> Result<(), Failure>;

    /// Content of a run by its digest; `None` for what the run's log does not name.
    ///
    /// # Errors
    /// The log or the content cannot be read.
    async fn evidence(&self, run: &RunId, digest: Digest) -> Result<Option<Vec<u8>>, Failure>;

    /// Runs, newest first, from behind a place on. Some may be no delegations.
    ///
    /// # Errors
    /// The store does not say.
    async fn list(&self, after: Option<u64>, max: usize) -> Result<Vec<Listed>, Failure>;

    /// A listed run at a glance.
    ///
    /// # Errors
    /// Its log cannot be read.
    async fn glance(&self, listed: &Listed) -> Result<Option<Glance>, Failure>;

    /// The proof of a run as a file: its log, its content, its episode.
    ///
    /// # Errors
    /// The run has not ended, or cannot be exported.
    async fn bundle(&self, run: &RunId) -> Result<Vec<u8>, Failure>;

    /// Records that a named human answers for a run that was not verified. The same words again change
    /// nothing.
    ///
    /// # Errors
    /// There is nothing to waive, somebody else has waived it, or it cannot be recorded.
    async fn waive(&self, run: &RunId, wanted: &NewWaiver) -> Result<Waiver, Failure>;
}

/// Makes plans of requests that come over the wire.
#[async_trait]
pub trait Submitter: Send + Sync + 'static {
    /// The plan of a request document under that name. The document names no run.
    ///
    /// # Errors
    /// It cannot be carried out: [`crate::Reason::Validation`] where the caller can mend it.
    async fn submission(&self, run: &RunId, request: Value) -> Result<Submission, Failure>;

    /// Whether the world has moved since the verdict of a run that has ended as verified; `None` where
    /// this host cannot tell, as it is not where the workspace is.
    ///
    /// # Errors
    /// The world cannot be looked at.
    async fn is_stale(&self, _run: &RunId) -> Result<Option<bool>, Failure> {
        Ok(None)
    }
}

/// Makes proof bundles.
#[async_trait]
pub trait Exporter: Send + Sync + 'static {
    /// The bundle of a sealed run, as bytes.
    ///
    /// # Errors
    /// It cannot be made.
    async fn bundle(&self, run: &RunId) -> Result<Vec<u8>, Failure>;
}

/// A request, ready to be left for a worker.
pub struct Submission {
    /// What is to be done.
    pub plan: Plan,
    /// Who may take it up, where the request says so.
    pub pool: Option<Pool>,
    /// What the caller should know of the request.
    pub warnings: Vec<String>,
}

/// A run that was left for a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitted {
    /// Who may take it up.
    pub pool: Pool,
    /// False where it was submitted before.
    pub is_new: bool,
    /// What the caller should know of its request.
    pub warnings: Vec<String>,
}

/// Where a run is, without content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The run.
    pub run: RunId,
    /// What kind of delegate does the work.
    pub delegate: String,
    /// How it ended; `escalated` while it waits for somebody; absent while it goes on.
    pub outcome: Option<Outcome>,
    /// Why, in one word.
    pub code: Option<Code>,
    /// Whether the log is closed. Nothing counts before.
    pub is_sealed: bool,
    /// The hash of what was checked last, or of what was claimed last where nothing was.
    pub candidate: Option<Digest>,
    /// A hook edited the claim after it was verified.
    pub is_edited: bool,
    /// Claims that were checked and charged.
    pub attempts: u32,
    /// Claims that were allowed.
    pub max_attempts: u32,
    /// The hash of the last record.
    pub head: Digest,
    /// When it was opened, in milliseconds since the Unix epoch.
    pub opened_ms: u64,
    /// When something was last recorded.
    pub changed_ms: u64,
    /// Who answers for it in spite of its outcome.
    pub waiver: Option<Waiver>,
}

/// A named human answers for a run that was not verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiver {
    /// Who.
    pub by: String,
    /// Whose key was used.
    pub principal: Option<String>,
    /// Why; content.
    pub reason: Option<String>,
    /// When, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The log of its own that it stands in; absent where it stands in the run's log alone.
    pub log: Option<RunId>,
}

/// A waiver as it is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWaiver {
    /// Who answers for the run.
    pub by: String,
    /// Whose key is used.
    pub principal: String,
    /// Why.
    pub reason: String,
}

/// A run of the store's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The run.
    pub run: RunId,
    /// Its place in the list.
    pub place: u64,
    /// Records of its log.
    pub len: u64,
    /// Whether its log is closed.
    pub is_sealed: bool,
}

/// A run of a list, without content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glance {
    /// The run.
    pub run: RunId,
    /// What kind of delegate does the work.
    pub delegate: String,
    /// How it ended; `escalated` while it waits for somebody; absent while it goes on.
    pub outcome: Option<Outcome>,
    /// Whether its log is closed.
    pub is_sealed: bool,
    /// Whether somebody answers for it in spite of its outcome.
    pub is_waived: bool,
    /// When it was opened, in milliseconds since the Unix epoch.
    pub opened_ms: u64,
    /// When something was last recorded.
    pub changed_ms: u64,
}
