//! What the host needs of whatever shows delegations to the people who run it, and the pages that show them.

mod assets;
mod content;
mod indexed;
mod routes;
mod step;
mod story;
mod wire;

use std::collections::BTreeMap;

use async_trait::async_trait;
use probity_core::{Code, Digest, Outcome, RunId, Subject};
use probity_projection::{Checks, Claims, Counts, Drifts, Page, Place, Wanted, Words};
use serde::Serialize;

use crate::error::Failure;

pub(crate) use assets::{FILE, PAGE, SLASH};
pub use indexed::IndexedBoard;
pub(crate) use routes::{CHECKS, CLAIMS, DRIFT, RUN, RUNS};
pub use step::{Step, Text};

/// Tells of delegations: which there are, what came of them, and one of them from its first record to its
/// last. Rows and figures hold no content.
#[async_trait]
pub trait Board: Send + Sync + 'static {
    /// Looks at the store once more, as far as one request may. False where there are runs that are not
    /// known yet: they follow.
    ///
    /// # Errors
    /// The store does not say.
    async fn freshen(&self) -> Result<bool, Failure>;

    /// A page of the delegations that are meant, newest first, from behind a place on.
    ///
    /// # Errors
    /// The index does not say, as with every question below.
    async fn page(
        &self,
        wanted: Wanted,
        after: Option<Place>,
        limit: usize,
    ) -> Result<Page, Failure>;

    /// How they ended, and the words that they can be picked by.
    ///
    /// # Errors
    /// The index does not say.
    async fn counts(&self, wanted: Wanted, all: Wanted) -> Result<(Counts, Words), Failure>;

    /// What was claimed in them, and what came of it; over time by pieces of that length.
    ///
    /// # Errors
    /// The index does not say.
    async fn claims(&self, wanted: Wanted, bucket_ms: u64) -> Result<Claims, Failure>;

    /// How far the world departed from what was claimed in them.
    ///
    /// # Errors
    /// The index does not say.
    async fn drifts(&self, wanted: Wanted) -> Result<Drifts, Failure>;

    /// How good their checks are.
    ///
    /// # Errors
    /// The index does not say.
    async fn checks(&self, wanted: Wanted) -> Result<Checks, Failure>;

    /// One delegation; `None` for a run that is not there, or is no delegation. Without its content where
    /// that is not asked for.
    ///
    /// # Errors
    /// Its log cannot be read.
    async fn story(&self, run: &RunId, has_content: bool) -> Result<Option<Story>, Failure>;

    /// The first words of tasks, by the digest of the task, from requests that hold them. Content.
    ///
    /// # Errors
    /// The store does not say.
    async fn titles(&self, tasks: &[(String, String)])
    -> Result<BTreeMap<String, String>, Failure>;

    /// Digests of tasks whose first words hold that text, in whatever case; and whether all tasks of those
    /// that are meant were looked at. Content.
    ///
    /// # Errors
    /// The store does not say.
    async fn tasks_with(&self, wanted: Wanted, text: &str) -> Result<(Vec<String>, bool), Failure>;

    /// What a check said, by the digest of its words. Content.
    ///
    /// # Errors
    /// The store does not say.
    async fn words(&self, digest: &str) -> Result<Option<Text>, Failure>;
}

/// One delegation, from its first record to its last.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Story {
    /// The run.
    #[serde(rename = "runId")]
    pub run: RunId,
    /// The run that waits for it.
    #[serde(rename = "parentId")]
    pub parent: Option<RunId>,
    /// What kind of delegate does the work.
    pub delegate: String,
    /// Where it is, in one word.
    pub stage: String,
    /// How it ended; `escalated` while it waits for somebody.
    pub outcome: Option<Outcome>,
    /// Why, in one word.
    pub code: Option<Code>,
    /// A named human overrode a refusal, as its own log says.
    pub waived: bool,
    /// Whether the log is closed. Nothing counts before.
    pub is_sealed: bool,
    /// Claims that were charged to the delegate.
    pub attempts: u32,
    /// Claims that were allowed.
    pub max_attempts: u32,
    /// Crashes, restarts and lost leases survived.
    pub interruptions: u32,
    /// Model tokens that the delegate spent.
    pub tokens: u64,
    /// Milliseconds since the Unix epoch.
    pub opened_at_ms: u64,
    /// When something was last recorded.
    pub changed_at_ms: u64,
    /// Records.
    pub records: u64,
    /// The hash of the last one.
    pub head: Digest,
    /// Digest of the envelope that it ran under.
    pub envelope_digest: Option<Digest>,
    /// Its checks, in order.
    pub checks: Vec<Declared>,
    /// What happened, oldest first.
    pub steps: Vec<Step>,
    /// There is more than one answer tells.
    pub is_cut: bool,
}

/// A check as it was declared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Declared {
    /// Its name.
    pub id: Code,
    /// What it looks at.
    pub subject: Subject,
    /// How long it may take, in milliseconds.
    pub timeout_ms: u64,
    /// Whether it could fail, as the look before the delegate began told.
    pub discrimination: Option<probity_core::Discrimination>,
}
