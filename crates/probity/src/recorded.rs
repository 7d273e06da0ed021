//! What the store holds of a run: its records, and the request that it was opened with.

use probity_conductor::Job;
use probity_core::{Digest, Event, RunId};
use probity_engine::{EngineError, read_blob};
use probity_record::{RunRecords, read_records};
use probity_store::{Store, limits, read_run};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Request;

/// A run as it is recorded.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// Its log, checked: chain, seal, order.
    pub log: RunRecords,
    /// What it was opened with: every file resolved, every default filled in.
    pub request: Request,
    /// The request's bytes, as the first event names them.
    pub bytes: Vec<u8>,
}

/// A run as it is recorded, whatever its request is.
pub(crate) struct RecordedBytes {
    /// Its log, checked.
    pub(crate) log: RunRecords,
    /// What it was opened with.
    pub(crate) bytes: Vec<u8>,
}

impl Recorded {
    /// Reads a run.
    ///
    /// # Errors
    /// [`EngineError`] if there is no such run, or its log or its request is damaged.
    pub async fn read(store: &dyn Store, run: &RunId) -> Result<Self, EngineError> {
        let log = read_records(&read_run(store, run).await?)?;
        let (request, bytes) = content(store, request_of(&log, run)?, "request").await?;
        Ok(Self { log, request, bytes })
    }
}

impl RecordedBytes {
    /// Reads a run.
    ///
    /// # Errors
    /// As [`Recorded::read`].
    pub(crate) async fn read(store: &dyn Store, run: &RunId) -> Result<Self, EngineError> {
        let log = read_records(&read_run(store, run).await?)?;
        let bytes = read_blob(store, request_of(&log, run)?).await?;
        Ok(Self { log, bytes })
    }

    /// The delegation that it was opened with, by itself or as the job of a workflow run's node; none for
    /// a critic's look at what somebody else left.
    pub(crate) fn into_delegation(self) -> Option<Recorded> {
        let Self { log, bytes } = self;
        let value: Value = serde_json::from_slice(&bytes).ok()?;
        let is_job = value.as_object().is_some_and(|members| members.contains_key("job"));
        let request = match is_job {
            false => value,
            true => match serde_json::from_value(value).ok()? {
                Job::Delegate { request } => request,
                Job::Verify { .. } => return None,
            },
        };
        let request = serde_json::from_value(request).ok()?;
        Some(Recorded { log, request, bytes })
    }
}

fn request_of(log: &RunRecords, run: &RunId) -> Result<Digest, EngineError> {
    let digest = log.entries.iter().find_map(|entry| match &entry.event {
        Event::RunOpened { request, .. } => Some(*request),
        _ => None,
    });
    digest.ok_or_else(|| EngineError::Missing { run: run.clone() })
}

/// What a blob that the log names holds, and its bytes.
///
/// # Errors
/// [`EngineError`] if it is missing or is not what it should be.
pub(crate) async fn content<T: DeserializeOwned>(
    store: &dyn Store,
    digest: Digest,
    what: &'static str,
) -> Result<(T, Vec<u8>), EngineError> {
    let max_bytes = u64::try_from(limits::MAX_BLOB_BYTES).unwrap_or(u64::MAX);
    let bytes = store.get(&digest, max_bytes).await?;
    let bytes = bytes.ok_or(EngineError::BlobMissing { digest })?;
    match serde_json::from_slice(&bytes) {
        Ok(value) => Ok((value, bytes)),
        Err(error) => Err(EngineError::Content { what, digest, detail: error.to_string() }),
    }
}
