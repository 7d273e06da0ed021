//! A run of a store, as audits and bundles take it: its log in one piece, its content by digest.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use probity_audit::log::{Blob, Content};
use probity_core::{Digest, RunId};
use probity_engine::EngineError;
use probity_store::{BlobError, Store, limits, read_run};
use tokio::runtime::Handle;

/// The log of a run as it is exported: one record a line.
///
/// # Errors
/// [`EngineError`] if the store cannot be read.
pub(crate) async fn log_of(store: &dyn Store, run: &RunId) -> Result<Vec<u8>, EngineError> {
    let records = read_run(store, run).await?;
    let bytes = records.iter().map(|record| record.len().saturating_add(1)).sum();
    let mut log = Vec::with_capacity(bytes);
    for record in records {
        log.extend_from_slice(&record);
        log.push(b'\n');
    }
    Ok(log)
}

/// The content of runs, fetched when it is asked for: by threads that may wait.
pub(crate) struct StoredContent {
    store: Arc<dyn Store>,
    runtime: Handle,
    /// Why the store gave less than it has.
    failed: Mutex<Option<BlobError>>,
}

impl StoredContent {
    /// Content of a store, read on a runtime.
    pub(crate) fn new(store: Arc<dyn Store>, runtime: Handle) -> Self {
        Self { store, runtime, failed: Mutex::default() }
    }

    /// Refuses what was made of content that is there and could not be read.
    ///
    /// # Errors
    /// [`EngineError`]: the store's own, of the first time that it happened.
    pub(crate) fn refuse_failed(&self) -> Result<(), EngineError> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner).take();
        failed.map_or(Ok(()), |error| Err(error.into()))
    }
}

impl Content for StoredContent {
    fn blob(&self, digest: &Digest) -> Blob<'_> {
        let max_bytes = u64::try_from(limits::MAX_BLOB_BYTES).unwrap_or(u64::MAX);
        match self.runtime.block_on(self.store.get(digest, max_bytes)) {
            Ok(Some(bytes)) => Blob::Bytes(Cow::Owned(bytes)),
            Ok(None) => Blob::Absent,
            // Something is there that is not what its name says. What it is, the store keeps to
            // itself; these bytes have another digest as well.
            Err(error @ BlobError::Corrupt { .. }) => {
                Blob::Bytes(Cow::Owned(error.to_string().into_bytes()))
            }
            Err(error) => {
                let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
                failed.get_or_insert(error);
                Blob::Absent
            }
        }
    }
}
