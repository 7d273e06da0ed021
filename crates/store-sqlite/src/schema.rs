//! The tables, their version, and who may read and write which.

use probity_store::{FaultKind, StoreFault};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::fault::fault;

/// `PROB`: what tells this file from any other SQLite file.
const APPLICATION_ID: i64 = 0x5052_4f42;

/// The schema that this build writes.
const SCHEMA: i64 = 1;

/// The oldest schema whose builds can read what this build writes.
const READABLE_FROM: i64 = 1;

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

/// Creates the tables in an empty file, or checks those that are there. Gives the reason why this
/// build must not write, if there is one.
pub(crate) fn prepare(connection: &mut Connection) -> Result<Option<StoreFault>, StoreFault> {
    if is_empty(connection).map_err(|error| fault(&error))? {
        create(connection).map_err(|error| fault(&error))?;
    }
    // Whoever lost the race to create the file checks what the winner made.
    let (version, readable_from): (i64, i64) = connection
        .query_row("SELECT version, readable_from FROM schema", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .map_err(|error| fault(&error))?;
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
        transaction.execute("INSERT INTO schema VALUES (?1, ?2)", [SCHEMA, READABLE_FROM])?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    transaction.commit()
}
