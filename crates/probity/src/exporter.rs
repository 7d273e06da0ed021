//! Proof bundles of a store's runs.

use std::io::{self, Write};
use std::sync::Arc;

use async_trait::async_trait;
use probity_audit::attest::SigningKey;
use probity_audit::bundle::{BundleError, BundleInput, BundleSummary, Inclusion, write_bundle};
use probity_core::RunId;
use probity_engine::EngineError;
use probity_host::{Exporter, Failure, Reason};
use probity_store::Store;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::stored::{StoredContent, log_of};
use crate::{EpisodeError, RunEpisode};

/// The largest bundle that is made in memory, in bytes.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// Bundles that are made at a time.
const MAX_AT_ONCE: usize = 2;

/// A bundle cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The run cannot be read.
    #[error(transparent)]
    Run(#[from] EngineError),
    /// Its episode cannot be made.
    #[error(transparent)]
    Episode(#[from] EpisodeError),
    /// It cannot be written.
    #[error(transparent)]
    Bundle(#[from] BundleError),
}

/// A run of a store, read, as it goes into a bundle.
pub(crate) struct StoredRun {
    log: Vec<u8>,
    content: StoredContent,
    episode: Option<RunEpisode>,
}

impl StoredRun {
    /// Reads a run; its content is fetched when it is written.
    ///
    /// # Errors
    /// [`ExportError`] if it is damaged.
    pub(crate) async fn read(store: Arc<dyn Store>, run: &RunId) -> Result<Self, ExportError> {
        let log = log_of(store.as_ref(), run).await?;
        let episode = match RunEpisode::read(store.as_ref(), run).await {
            Ok(episode) => Some(episode),
            // What is missing, the bundle's writer says in its own words.
            Err(EpisodeError::NoDecision { .. } | EpisodeError::NotSealed { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let content = StoredContent::new(store, Handle::current());
        Ok(Self { log, content, episode })
    }

    /// Writes the bundle, on a thread that may wait.
    ///
    /// # Errors
    /// [`ExportError`] if the run is not sealed, the store fails, or nothing can be written.
    pub(crate) fn write(
        &self,
        inclusion: &Inclusion,
        key: Option<&SigningKey>,
        sink: &mut dyn Write,
    ) -> Result<BundleSummary, ExportError> {
        let Self { log, content, episode } = self;
        let episode = episode.as_ref().map(|episode| &episode.episode);
        let summary = write_bundle(&BundleInput { log, content, episode, inclusion, key }, sink);
        // A store that failed half way is the reason, whatever the writer made of it.
        content.refuse_failed()?;
        Ok(summary?)
    }
}

/// Makes bundles for a host: those that `probity export` writes, with all their content.
pub struct BundleExporter {
    store: Arc<dyn Store>,
    key: Option<Arc<SigningKey>>,
    places: Arc<Semaphore>,
}

impl BundleExporter {
    /// Of the runs of a store, signed where there is a key.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, key: Option<SigningKey>) -> Self {
        Self { store, key: key.map(Arc::new), places: Arc::new(Semaphore::new(MAX_AT_ONCE)) }
    }
}

#[async_trait]
impl Exporter for BundleExporter {
    async fn bundle(&self, run: &RunId) -> Result<Vec<u8>, Failure> {
        let place = Arc::clone(&self.places).acquire_owned().await;
        let place = place.map_err(|error| internal(&error))?;
        let stored = StoredRun::read(Arc::clone(&self.store), run).await?;
        let key = self.key.clone();
        let work = move || {
            let mut sink = Bounded::default();
            let written = stored.write(&Inclusion::All, key.as_deref(), &mut sink);
            drop(place);
            written.map(|_| sink.bytes)
        };
        let made = tokio::task::spawn_blocking(work).await.map_err(|error| internal(&error))?;
        Ok(made?)
    }
}

/// Takes bytes up to a bound.
#[derive(Default)]
struct Bounded {
    bytes: Vec<u8>,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > MAX_BYTES.saturating_sub(self.bytes.len()) {
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::Run(error) | ExportError::Episode(EpisodeError::Run(error)) => {
                error.into()
            }
            ExportError::Bundle(BundleError::Unsealed) => Self::new(
                Reason::RunNotEnded,
                "the run has not ended: there is nothing to prove yet",
            ),
            ExportError::Bundle(BundleError::Sink(error))
                if error.kind() == io::ErrorKind::FileTooLarge =>
            {
                let message = format!(
                    "the bundle is larger than {MAX_BYTES} bytes, which a host makes at most; write it \
                     with `probity export` where the store is"
                );
                Self::new(Reason::CapabilityNotProvided, message)
            }
            ExportError::Episode(error) => internal(&error).detail("code", error.code()),
            ExportError::Bundle(error) => internal(&error).detail("code", error.code()),
        }
    }
}

fn internal(error: &dyn std::fmt::Display) -> Failure {
    Failure::new(Reason::Internal, format!("the bundle cannot be made: {error}"))
}
