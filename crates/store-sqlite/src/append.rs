//! Records and blobs in the file: what a transaction adds to them.

use probity_core::Digest;
use probity_store::{AppendError, LogState};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::clock::Moment;
use crate::request::Append;

/// Stores the batch, or says what the log holds instead.
pub(crate) fn append(
    transaction: &Transaction<'_>,
    work: &Append,
    now: Moment,
) -> rusqlite::Result<Result<u64, AppendError>> {
    let found = find(transaction, work.run.as_str())?;
    let state = found.map(|(_, state)| state).unwrap_or_default();
    if state.sealed {
        return Ok(Err(AppendError::Sealed { len: state.len }));
    }
    if state.len != work.expected_len {
        let (expected, actual) = (work.expected_len, state.len);
        return Ok(Err(AppendError::Conflict { expected, actual }));
    }
    let len = state.len + work.batch.records.len() as u64;
    let number = match found {
        Some((number, _)) => {
            let mut update = transaction
                .prepare_cached("UPDATE run SET len = ?2, sealed = ?3 WHERE number = ?1")?;
            update.execute(params![number, len.cast_signed(), work.batch.seal])?;
            number
        }
        None => {
            let mut insert = transaction.prepare_cached(
                "INSERT INTO run (id, len, sealed, created_at_ms) VALUES (?1, ?2, ?3, ?4)",
            )?;
            let id = work.run.as_str();
            insert.insert(params![id, len.cast_signed(), work.batch.seal, now.wall_ms])?
        }
    };
    for (digest, bytes) in &work.batch.blobs {
        put_blob(transaction, digest, bytes)?;
    }
    let mut insert =
        transaction.prepare_cached("INSERT INTO record (run, seq, bytes) VALUES (?1, ?2, ?3)")?;
    for (seq, record) in (state.len..).zip(&work.batch.records) {
        insert.execute(params![number, seq.cast_signed(), record])?;
    }
    Ok(Ok(len))
}

/// Stores a blob that may be there.
pub(crate) fn put_blob(
    transaction: &Transaction<'_>,
    digest: &Digest,
    bytes: &[u8],
) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached(
        "INSERT INTO blob (digest, bytes) VALUES (?1, ?2) ON CONFLICT (digest) DO NOTHING",
    )?;
    insert.execute(params![digest.as_bytes().as_slice(), bytes])?;
    Ok(())
}

/// The run's number in the file, and where its log stands.
pub(crate) fn find(
    connection: &Connection,
    run: &str,
) -> rusqlite::Result<Option<(i64, LogState)>> {
    let mut query =
        connection.prepare_cached("SELECT number, len, sealed FROM run WHERE id = ?1")?;
    let row = query.query_row([run], |row| {
        let len: i64 = row.get(1)?;
        Ok((row.get(0)?, LogState { len: len.cast_unsigned(), sealed: row.get(2)? }))
    });
    row.optional()
}
