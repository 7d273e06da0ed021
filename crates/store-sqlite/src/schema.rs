//! The tables, their version, and who may read and write which.

use probity_store::{FaultKind, StoreFault};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::fault::fault;

/// `PROB`: what tells this file from any other SQLite file.
const APPLICATION_ID: i64 = 0x5052_4f42;

/// The schema that this build writes.
pub(crate) const SCHEMA: i64 = 3;

/// The oldest schema whose builds can read what this build writes: those before it know no packs.
const READABLE_FROM: i64 = 3;

/// What schema 1 had, under the names that it gave.
const TABLES: &str = "
    CREATE TABLE schema (
        version INTEGER NOT NULL,
        readable_from INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE run (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        len INTEGER NOT NULL,
        sealed INTEGER NOT NULL,
        created_at_ms INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE record (
        run INTEGER NOT NULL REFERENCES run (number),
        seq INTEGER NOT NULL,
        bytes BLOB NOT NULL,
        PRIMARY KEY (run, seq)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE blob (
        digest BLOB NOT NULL UNIQUE,
        bytes BLOB NOT NULL
    ) STRICT;
";

/// What schema 2 adds. `state` is one of those in `jobs`; `at_ms` is a time of the wall clock: when a
/// delay or a lease runs out, or since when the job is put away; `span_ms` is how long the time was
/// meant to last. One ticket numbers places and leases, so no number comes twice.
const JOB_TABLES: &str = "
    CREATE TABLE job (
        run TEXT NOT NULL PRIMARY KEY,
        pool TEXT NOT NULL,
        state INTEGER NOT NULL,
        place INTEGER NOT NULL,
        lease INTEGER NOT NULL,
        epoch INTEGER NOT NULL,
        deliveries INTEGER NOT NULL,
        at_ms INTEGER NOT NULL,
        span_ms INTEGER NOT NULL,
        code TEXT,
        message TEXT
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX job_ready ON job (pool, place) WHERE state = 0;
    CREATE INDEX job_time ON job (at_ms) WHERE state IN (1, 2);
    CREATE INDEX job_parked ON job (run) WHERE state = 3;
    CREATE INDEX job_dead ON job (run) WHERE state = 4;
    CREATE TABLE ticket (
        next INTEGER NOT NULL
    ) STRICT;
    INSERT INTO ticket VALUES (1);
";

/// What schema 3 adds: a batch is a part of its run, and its records go into a pack with its small
/// blobs, see `pack`. What older builds wrote stays where it is: `record` holds the first `len` records
/// of a run, none of a run that is new. A process of such a build that has the file open would write
/// on there, so what it looks for first gets another name.
const PACK_TABLES: &str = "
    ALTER TABLE run RENAME TO log;
    CREATE TABLE pack (
        number INTEGER PRIMARY KEY,
        bytes BLOB NOT NULL
    ) STRICT;
    CREATE TABLE part (
        run INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        records INTEGER NOT NULL,
        sealed INTEGER NOT NULL,
        pack INTEGER NOT NULL,
        PRIMARY KEY (run, seq)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE place_0 (
        prefix INTEGER NOT NULL,
        pack INTEGER NOT NULL,
        PRIMARY KEY (prefix, pack)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE place_1 (
        prefix INTEGER NOT NULL,
        pack INTEGER NOT NULL,
        PRIMARY KEY (prefix, pack)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE place_2 (
        prefix INTEGER NOT NULL,
        pack INTEGER NOT NULL,
        PRIMARY KEY (prefix, pack)
    ) STRICT, WITHOUT ROWID;
";

/// Older names under newer ones, for this connection alone.
const OLD_AS_NEW: &str = "
    PRAGMA temp_store = memory;
    CREATE TEMP VIEW log AS SELECT number, id, len, sealed, created_at_ms FROM main.run;
    CREATE TEMP TABLE pack (number INTEGER PRIMARY KEY, bytes);
    CREATE TEMP TABLE part (run INTEGER, seq INTEGER, records, sealed, pack);
    CREATE TEMP TABLE place_0 (prefix INTEGER, pack INTEGER);
    CREATE TEMP TABLE place_1 (prefix INTEGER, pack INTEGER);
    CREATE TEMP TABLE place_2 (prefix INTEGER, pack INTEGER);
";

/// Lets a connection read a file that has not been upgraded. Once somebody upgrades it, reads on
/// this connection fail, and those on a new one do not.
pub(crate) fn read_old(connection: &Connection) -> rusqlite::Result<()> {
    if has_table(connection, "run")? { connection.execute_batch(OLD_AS_NEW) } else { Ok(()) }
}

pub(crate) fn has_table(connection: &Connection, name: &str) -> rusqlite::Result<bool> {
    let select = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1";
    connection.prepare_cached(select)?.exists([name])
}

/// Refuses another program's file; an empty file is anybody's.
pub(crate) fn check_ours(connection: &Connection) -> Result<(), StoreFault> {
    let look = || -> rusqlite::Result<bool> {
        let id: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
        Ok(id == APPLICATION_ID || is_empty(connection)?)
    };
    if look().map_err(|error| fault(&error))? {
        return Ok(());
    }
    Err(StoreFault::new(FaultKind::CannotOpen, "an SQLite file of another program"))
}

/// Creates the tables in an empty file, upgrades an older file, or checks what is there. Gives the reason why this
/// build must not write, if there is one.
pub(crate) fn prepare(connection: &mut Connection) -> Result<Option<StoreFault>, StoreFault> {
    if is_empty(connection).map_err(|error| fault(&error))? {
        create(connection).map_err(|error| fault(&error))?;
    }
    // Whoever lost the race to create the file checks what the winner made.
    let (mut version, mut readable_from) = version(connection).map_err(|error| fault(&error))?;
    if version < SCHEMA {
        match upgrade(connection).map_err(|error| fault(&error)) {
            Ok(upgraded) => (version, readable_from) = upgraded,
            // What is there can be read still.
            Err(fault) if matches!(fault.kind, FaultKind::ReadOnly | FaultKind::Full) => {
                return Ok(Some(fault));
            }
            Err(fault) => return Err(fault),
        }
    }
    let newer = || {
        let detail = format!("the file has schema {version}, this build writes schema {SCHEMA}");
        StoreFault::new(FaultKind::Newer, detail)
    };
    if readable_from > SCHEMA {
        return Err(newer());
    }
    Ok((version > SCHEMA).then(newer))
}

fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    let table: Option<i64> =
        connection.query_row("SELECT 1 FROM sqlite_schema", [], |row| row.get(0)).optional()?;
    Ok(table.is_none())
}

fn create(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    if is_empty(&transaction)? {
        transaction.execute_batch(TABLES)?;
        transaction.execute_batch(JOB_TABLES)?;
        transaction.execute_batch(PACK_TABLES)?;
        transaction.execute("INSERT INTO schema VALUES (?1, ?2)", [SCHEMA, READABLE_FROM])?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    transaction.commit()
}

/// Adds what the file lacks, all of it or nothing, and gives what the file says then.
fn upgrade(connection: &mut Connection) -> rusqlite::Result<(i64, i64)> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    let (found, _) = version(&transaction)?;
    if found < SCHEMA {
        if found < 2 {
            transaction.execute_batch(JOB_TABLES)?;
        }
        transaction.execute_batch(PACK_TABLES)?;
        transaction.execute(
            "UPDATE schema SET version = ?1, readable_from = ?2",
            [SCHEMA, READABLE_FROM],
        )?;
    }
    let found = version(&transaction)?;
    transaction.commit()?;
    Ok(found)
}

/// The schema of the file, and the oldest one whose builds can read it.
fn version(connection: &Connection) -> rusqlite::Result<(i64, i64)> {
    connection.query_row("SELECT version, readable_from FROM schema", [], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })
}
