//! The provider: run logs and blobs over one writer thread and a few readers.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use async_trait::async_trait;
use probity_core::{Digest, RunId};
use probity_record::blob_digest;
use probity_store::limits::MAX_BLOB_BYTES;
use probity_store::{
    AppendError, Batch, BlobError, Blobs, Cursor, FaultKind, LogState, ReadError, RunLog,
    RunSummary, StoreFault,
};
use tokio::sync::{OnceCell, Semaphore, mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::queue::MAX_ASKS;
use crate::reader::{self, Readers, Stored};
use crate::request::{Append, Put, Request};
use crate::writer::{QUEUE_REQUESTS, Writer};
use crate::{Durability, Options, open, schema};

/// How often a follower looks by itself: the writer, which hears of other processes, may be held up by
/// one of them.
const FOLLOW_EVERY: Duration = Duration::from_secs(1);

/// Run logs, blobs and a queue in one SQLite file. Clones share one store; the last one to go waits for the
/// writer to finish what it was given, and closes the file.
#[derive(Clone)]
pub struct SqliteStore {
    shared: Arc<Shared>,
}

struct Shared {
    path: PathBuf,
    options: Options,
    readers: Readers,
    committed: watch::Receiver<u64>,
    /// Set once the writer knows that somebody follows a log.
    follows: OnceCell<()>,
    /// One for each call for jobs that waits.
    asks: Semaphore,
    /// Both are there until the drop takes them.
    requests: Option<mpsc::Sender<Request>>,
    writer: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Shared { path, options, .. } = self.shared.as_ref();
        f.debug_struct("SqliteStore").field("path", path).field("options", options).finish()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The writer is the last to close: it decides what becomes of the write-ahead log.
        self.readers.close_idle();
        drop(self.requests.take());
        if let Some(writer) = self.writer.take() {
            // A writer that panicked has answered nobody, and its callers know that.
            drop(writer.join());
        }
    }
}

impl SqliteStore {
    /// Opens the store in that file. Missing folders and the file itself are created, readable for
    /// this user alone. Blocks for the time of a few file operations.
    ///
    /// # Errors
    /// [`StoreFault`]: the file cannot be opened or created, is not a store, is damaged, is held by
    /// another process for longer than the busy timeout, or is of a schema that this build cannot
    /// read. A schema that it can read but must not write is refused at the first write.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self, StoreFault> {
        let path = path.as_ref().to_owned();
        let mut connection = open::writer(&path, &options)?;
        schema::check_ours(&connection)?;
        open::switch_to_wal(&connection, options.busy_timeout())?;
        let refusal = schema::prepare(&mut connection)?;
        let (requests, queue) = mpsc::channel(QUEUE_REQUESTS);
        let (committed_sender, committed) = watch::channel(0);
        let writer = Writer::new(connection, refusal, committed_sender, &options);
        let writer = start(writer, queue)?;
        let shared = Shared {
            readers: Readers::new(path.clone(), options),
            path,
            options,
            committed,
            follows: OnceCell::new(),
            asks: Semaphore::new(MAX_ASKS),
            requests: Some(requests),
            writer: Some(writer),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// What an acknowledged append survives.
    #[must_use]
    pub fn durability(&self) -> Durability {
        self.shared.options.durability
    }

    /// Hands a request over; `Err` if the writer is gone, and then nothing was stored.
    pub(crate) async fn send(&self, request: Request) -> Result<(), StoreFault> {
        let closed = || StoreFault::new(FaultKind::Closed, "the writer thread is gone");
        let requests = self.shared.requests.as_ref().ok_or_else(closed)?;
        requests.send(request).await.map_err(|_| closed())
    }

    /// Hands a request over if there is room for it.
    pub(crate) fn try_send(&self, request: Request) {
        if let Some(requests) = &self.shared.requests {
            drop(requests.try_send(request));
        }
    }

    /// Runs one read on a connection of its own.
    pub(crate) async fn read<T, F>(&self, read: F) -> Result<T, StoreFault>
    where
        T: Send + 'static,
        F: FnOnce(&rusqlite::Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        self.shared.readers.with(read).await
    }

    pub(crate) fn options(&self) -> &Options {
        &self.shared.options
    }

    pub(crate) fn asks(&self) -> &Semaphore {
        &self.shared.asks
    }

    async fn log_state(&self, run: &RunId) -> Result<Option<LogState>, ReadError> {
        let run = run.clone();
        Ok(self.shared.readers.with(move |connection| reader::state(connection, &run)).await?)
    }
}

/// Starts the thread that writes. It has a small runtime of its own, so that it can wait for requests,
/// for the bell and for the time at once.
fn start(writer: Writer, queue: mpsc::Receiver<Request>) -> Result<JoinHandle<()>, StoreFault> {
    let cannot =
        |error: std::io::Error| StoreFault::new(FaultKind::Io, format!("writer thread: {error}"));
    let (ready, is_ready) = std::sync::mpsc::sync_channel(1);
    let thread = std::thread::Builder::new().name("probity-sqlite".to_owned());
    let thread = thread.spawn(move || {
        match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => {
                drop(ready.send(Ok(())));
                runtime.block_on(writer.serve(queue));
            }
            Err(error) => drop(ready.send(Err(error))),
        }
    });
    let thread = thread.map_err(cannot)?;
    match is_ready.recv() {
        Ok(Ok(())) => Ok(thread),
        Ok(Err(error)) => Err(cannot(error)),
        Err(_) => Err(StoreFault::new(FaultKind::Closed, "the writer thread stopped at once")),
    }
}

/// The request was taken and no answer came.
pub(crate) fn unanswered() -> StoreFault {
    StoreFault::new(FaultKind::Closed, "the writer thread stopped before it answered")
}

#[async_trait]
impl RunLog for SqliteStore {
    async fn append(
        &self,
        run: &RunId,
        expected_len: u64,
        batch: Batch,
    ) -> Result<u64, AppendError> {
        batch.check()?;
        let (reply, answer) = oneshot::channel();
        let work = Append { run: run.clone(), expected_len, batch };
        self.send(Request::Append { work, reply }).await.map_err(AppendError::Unavailable)?;
        answer.await.unwrap_or_else(|_| Err(AppendError::Unknown(unanswered())))
    }

    async fn read(
        &self,
        run: &RunId,
        from_seq: u64,
        max_records: usize,
    ) -> Result<Vec<Vec<u8>>, ReadError> {
        let run = run.clone();
        let read = move |connection: &_| reader::records(connection, &run, from_seq, max_records);
        Ok(self.shared.readers.with(read).await?)
    }

    async fn state(&self, run: &RunId) -> Result<Option<LogState>, ReadError> {
        self.log_state(run).await
    }

    async fn list(
        &self,
        after: Option<Cursor>,
        limit: usize,
    ) -> Result<Vec<RunSummary>, ReadError> {
        let read = move |connection: &_| reader::list(connection, after, limit);
        Ok(self.shared.readers.with(read).await?)
    }

    async fn wait_beyond(
        &self,
        run: &RunId,
        len: u64,
        timeout: Duration,
    ) -> Result<LogState, ReadError> {
        let mut committed = self.shared.committed.clone();
        // Who cannot tell it looks by itself.
        let follow = async || self.send(Request::Follow).await.unwrap_or_default();
        self.shared.follows.get_or_init(follow).await;
        // A timeout beyond what the clock can hold is no bound at all, so it is cut to a year.
        let deadline = Instant::now() + timeout.min(Duration::from_secs(365 * 24 * 3600));
        loop {
            // Before the look, so that a commit after the look wakes the wait.
            committed.mark_unchanged();
            let state = self.log_state(run).await?.unwrap_or_default();
            let now = Instant::now();
            if state.len > len || state.sealed || now >= deadline {
                return Ok(state);
            }
            let look_again = deadline.min(now + FOLLOW_EVERY);
            // Either way the next look decides.
            let _woken = tokio::time::timeout_at(look_again, committed.changed()).await;
        }
    }
}

#[async_trait]
impl Blobs for SqliteStore {
    async fn put(&self, bytes: Vec<u8>) -> Result<Digest, BlobError> {
        if bytes.len() > MAX_BLOB_BYTES {
            let (bytes, max_bytes) = (bytes.len() as u64, MAX_BLOB_BYTES as u64);
            return Err(BlobError::TooLarge { bytes, max_bytes });
        }
        let digest = blob_digest(&bytes);
        let (reply, answer) = oneshot::channel();
        self.send(Request::Put { work: Put { digest, bytes }, reply }).await?;
        answer.await.unwrap_or_else(|_| Err(unanswered().into()))
    }

    async fn get(&self, digest: &Digest, max_bytes: u64) -> Result<Option<Vec<u8>>, BlobError> {
        let wanted = *digest;
        let read = move |connection: &_| reader::blob(connection, &wanted, max_bytes);
        let bytes = match self.shared.readers.with(read).await? {
            Stored::Absent => return Ok(None),
            Stored::TooLarge(bytes) => return Err(BlobError::TooLarge { bytes, max_bytes }),
            Stored::Bytes(bytes) => bytes,
        };
        let actual = blob_digest(&bytes);
        if actual != *digest {
            return Err(BlobError::Corrupt { digest: *digest, actual });
        }
        Ok(Some(bytes))
    }
}
