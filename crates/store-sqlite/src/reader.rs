//! Reads: a few connections of their own, on blocking threads or on that of the caller.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use probity_core::{Digest, RunId};
use probity_store::limits::{MAX_PAGE_RUNS, MAX_READ_BYTES};
use probity_store::{Cursor, FaultKind, LogState, RunSummary, StoreFault};
use rusqlite::{Connection, OptionalExtension};
use tokio::sync::Semaphore;

use crate::append::{self, Found, find, find_small};
use crate::fault::fault;
use crate::{Options, Stay, jobs, open};

/// Reads that go on at the same time; the others wait.
const MAX_READERS: usize = 4;

/// Lends connections to reads and keeps them for the next one.
#[derive(Clone)]
pub(crate) struct Readers {
    shared: Arc<Shared>,
}

struct Shared {
    path: PathBuf,
    options: Options,
    permits: Semaphore,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(crate) fn new(path: PathBuf, options: Options) -> Self {
        let permits = Semaphore::new(MAX_READERS);
        Self { shared: Arc::new(Shared { path, options, permits, idle: Mutex::default() }) }
    }

    /// Closes the connections that no read is using.
    pub(crate) fn close_idle(&self) {
        self.shared.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Runs one read on a connection. A connection that failed is not used again.
    pub(crate) async fn with<T, F>(&self, read: F) -> Result<T, StoreFault>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let closed = |_| StoreFault::new(FaultKind::Closed, "the readers are gone");
        let _permit = self.shared.permits.acquire().await.map_err(closed)?;
        if self.shared.options.stay == Stay::Brief {
            return self.shared.read(read);
        }
        let shared = Arc::clone(&self.shared);
        let task = tokio::task::spawn_blocking(move || shared.read(read));
        let stopped = |_| StoreFault::new(FaultKind::Closed, "the runtime stopped during the read");
        task.await.map_err(stopped)?
    }
}

impl Shared {
    fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreFault> {
        let connection = match self.take() {
            Some(connection) => connection,
            None => open::reader(&self.path, &self.options)?,
        };
        let value = read(&connection).map_err(|error| fault(&error))?;
        self.give_back(connection);
        Ok(value)
    }

    fn take(&self) -> Option<Connection> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn give_back(&self, connection: Connection) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }
}

/// A blob as it is stored.
pub(crate) enum Stored {
    Absent,
    TooLarge(u64),
    Bytes(Vec<u8>),
}

pub(crate) fn state(connection: &Connection, run: &RunId) -> rusqlite::Result<Option<LogState>> {
    Ok(find(connection, run.as_str())?.map(|found| found.state))
}

pub(crate) fn records(
    connection: &Connection,
    run: &RunId,
    from_seq: u64,
    max_records: usize,
) -> rusqlite::Result<Vec<Vec<u8>>> {
    let Some(found) = find(connection, run.as_str())? else { return Ok(Vec::new()) };
    let mut part = Part { records: Vec::new(), bytes: 0, max_records };
    if from_seq < found.old_len {
        let from = i64::try_from(from_seq).unwrap_or(i64::MAX);
        let mut query = connection.prepare_cached(
            "SELECT bytes FROM record WHERE run = ?1 | 0 AND seq >= ?2 ORDER BY seq",
        )?;
        let mut rows = query.query([found.number, from])?;
        while let Some(row) = rows.next()? {
            if !part.take(append::blob(row, 0)?) {
                return Ok(part.records);
            }
        }
    }
    if from_seq < found.state.len {
        packed(connection, found.number, from_seq, &mut part)?;
    }
    Ok(part.records)
}

/// Records that one read gives.
struct Part {
    records: Vec<Vec<u8>>,
    bytes: usize,
    max_records: usize,
}

impl Part {
    /// False if there is no room for another one.
    fn take(&mut self, record: &[u8]) -> bool {
        let bytes = self.bytes.saturating_add(record.len());
        let has_room = bytes <= MAX_READ_BYTES || self.records.is_empty();
        if !has_room || self.records.len() >= self.max_records {
            return false;
        }
        self.bytes = bytes;
        self.records.push(record.to_vec());
        true
    }
}

/// From the pack that has the record, or the first one behind it.
fn packed(
    connection: &Connection,
    run: i64,
    from_seq: u64,
    part: &mut Part,
) -> rusqlite::Result<()> {
    let from = i64::try_from(from_seq).unwrap_or(i64::MAX);
    let mut find =
        connection.prepare_cached("SELECT max(seq) FROM part WHERE run = ?1 | 0 AND seq <= ?2")?;
    let first: Option<i64> = find.query_row([run, from], |row| row.get(0))?;
    let mut query = connection.prepare_cached(
        "SELECT seq, pack FROM part WHERE run = ?1 | 0 AND seq >= ?2 ORDER BY seq",
    )?;
    let mut rows = query.query([run, first.unwrap_or(from)])?;
    while let Some(row) = rows.next()? {
        let seqs = row.get::<_, i64>(0)?.cast_unsigned()..;
        let has_room = append::in_pack(connection, row.get(1)?, |pack| {
            seqs.zip(&pack.records).all(|(seq, record)| seq < from_seq || part.take(record))
        })?;
        if !has_room {
            break;
        }
    }
    Ok(())
}

/// A page of the list; a name that is not legal is a damaged file.
pub(crate) fn list(
    connection: &Connection,
    after: Option<Cursor>,
    limit: usize,
) -> rusqlite::Result<Vec<RunSummary>> {
    let below = after.map_or(i64::MAX, |after| i64::try_from(after.0).unwrap_or(i64::MAX));
    let limit = i64::try_from(limit.min(MAX_PAGE_RUNS)).unwrap_or(i64::MAX);
    let mut query = connection.prepare_cached(
        "SELECT number, id, len, sealed, created_at_ms FROM log WHERE number < ?1
         ORDER BY number DESC LIMIT ?2 | 0",
    )?;
    let rows = query.query_map([below, limit], |row| {
        let (number, len, created_at_ms): (i64, i64, i64) = (row.get(0)?, row.get(2)?, row.get(4)?);
        let old = LogState { len: len.cast_unsigned(), sealed: row.get(3)? };
        Ok(RunSummary {
            run: jobs::run(row, 1)?,
            state: Found::behind(connection, number, old)?.state,
            created_at_ms: created_at_ms.cast_unsigned(),
            cursor: Cursor(number.cast_unsigned()),
        })
    })?;
    rows.collect()
}

pub(crate) fn blob(
    connection: &Connection,
    digest: &Digest,
    max_bytes: u64,
) -> rusqlite::Result<Stored> {
    if let Some(bytes) = find_small(connection, digest)? {
        let is_too_large = bytes.len() as u64 > max_bytes;
        return Ok(match is_too_large {
            true => Stored::TooLarge(bytes.len() as u64),
            false => Stored::Bytes(bytes),
        });
    }
    // The length is known without reading the bytes.
    let mut find =
        connection.prepare_cached("SELECT rowid, length(bytes) FROM blob WHERE digest = ?1")?;
    let found: Option<(i64, i64)> = find
        .query_row([digest.as_bytes().as_slice()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((rowid, bytes)) = found else { return Ok(Stored::Absent) };
    if bytes.cast_unsigned() > max_bytes {
        return Ok(Stored::TooLarge(bytes.cast_unsigned()));
    }
    let mut read = connection.prepare_cached("SELECT bytes FROM blob WHERE rowid = ?1")?;
    Ok(Stored::Bytes(read.query_row([rowid], |row| row.get(0))?))
}
