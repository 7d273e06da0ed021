//! What a file is and how it is, found out without changing it.

use std::path::Path;

use probity_store::{FaultKind, StoreFault};
use rusqlite::{Connection, OpenFlags};

use crate::fault::fault;
use crate::schema::has_table;
use crate::{Options, schema};

/// Problems that are told of a damaged file.
const MAX_PROBLEMS: usize = 5;

/// How a store's file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// Bytes of the file.
    pub bytes: u64,
    /// Bytes of the write-ahead log beside it.
    pub log_bytes: u64,
    /// The schema that it was written with.
    pub schema: i64,
    /// The schema that this build writes.
    pub schema_of_build: i64,
    /// What is broken in it, if anything is: the first few problems in SQLite's words.
    pub damage: Option<String>,
    /// Why it cannot be written, if it cannot.
    pub unwritable: Option<StoreFault>,
    /// Runs.
    pub runs: u64,
    /// Jobs of the queue; `None` in a file of a schema that has none.
    pub jobs: Option<Jobs>,
}

/// Jobs of a queue, by how they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Jobs {
    /// Waiting or leased.
    pub queued: u64,
    /// Until somebody enqueues them.
    pub parked: u64,
    /// Until somebody revives them.
    pub dead: u64,
}

/// Looks at the file of a store. Reads all of it once; creates nothing and changes nothing.
///
/// # Errors
/// [`StoreFault`] if there is no file, or it is not a store, or too damaged to be looked at.
pub fn inspect(path: impl AsRef<Path>) -> Result<Inspection, StoreFault> {
    let path = path.as_ref();
    let bytes = path.metadata().map_err(|error| {
        StoreFault::new(FaultKind::CannotOpen, format!("`{}`: {error}", path.display()))
    })?;
    let mut beside = path.as_os_str().to_owned();
    beside.push("-wal");
    let log_bytes = std::fs::metadata(beside).map_or(0, |about| about.len());
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|error| fault(&error))?;
    connection.busy_timeout(Options::default().busy_timeout()).map_err(|error| fault(&error))?;
    schema::check_ours(&connection)?;
    let damage = damage(&connection).map_err(|error| fault(&error))?;
    let look = || -> rusqlite::Result<Inspection> {
        let is_empty = !has_table(&connection, "schema")?;
        let schema = match is_empty {
            true => schema::SCHEMA,
            false => connection.query_row("SELECT version FROM schema", [], |row| row.get(0))?,
        };
        Ok(Inspection {
            bytes: bytes.len(),
            log_bytes,
            schema,
            schema_of_build: schema::SCHEMA,
            damage,
            unwritable: unwritable(&connection),
            runs: runs(&connection)?,
            jobs: jobs(&connection)?,
        })
    };
    look().map_err(|error| fault(&error))
}

fn damage(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let mut check = connection.prepare(&format!("PRAGMA quick_check({MAX_PROBLEMS})"))?;
    let lines = check.query_map([], |row| row.get::<_, String>(0))?;
    let lines: Vec<String> = lines.collect::<rusqlite::Result<_>>()?;
    Ok((lines != ["ok"]).then(|| lines.join("; ")))
}

/// Takes the place of the writer for a moment, and writes nothing.
fn unwritable(connection: &Connection) -> Option<StoreFault> {
    if connection.is_readonly("main").unwrap_or(false) {
        return Some(StoreFault::new(FaultKind::ReadOnly, "the file may only be read"));
    }
    connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK").err().map(|error| fault(&error))
}

fn runs(connection: &Connection) -> rusqlite::Result<u64> {
    for (table, select) in
        [("log", "SELECT count(*) FROM log"), ("run", "SELECT count(*) FROM run")]
    {
        if has_table(connection, table)? {
            return count(connection, select);
        }
    }
    Ok(0)
}

fn jobs(connection: &Connection) -> rusqlite::Result<Option<Jobs>> {
    if !has_table(connection, "job")? {
        return Ok(None);
    }
    Ok(Some(Jobs {
        queued: count(connection, "SELECT count(*) FROM job WHERE state < 3")?,
        parked: count(connection, "SELECT count(*) FROM job WHERE state = 3")?,
        dead: count(connection, "SELECT count(*) FROM job WHERE state = 4")?,
    }))
}

fn count(connection: &Connection, select: &str) -> rusqlite::Result<u64> {
    let count: i64 = connection.query_row(select, [], |row| row.get(0))?;
    Ok(u64::try_from(count).unwrap_or(0))
}
