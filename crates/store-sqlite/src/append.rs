//! Records and blobs in the file: what a transaction adds to them.

use std::collections::BTreeMap;

use probity_core::Digest;
use probity_store::{AppendError, LogState};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use crate::clock::Moment;
use crate::pack::{self, Pack, SMALL_BLOB_BYTES, Unpacked};
use crate::request::Append;

/// Stores the batch, or says what the log holds instead.
pub(crate) fn append(
    transaction: &Transaction<'_>,
    work: &Append,
    now: Moment,
) -> rusqlite::Result<Result<u64, AppendError>> {
    let found = find(transaction, work.run.as_str())?;
    let state = found.map(|found| found.state).unwrap_or_default();
    if state.sealed {
        return Ok(Err(AppendError::Sealed { len: state.len }));
    }
    if state.len != work.expected_len {
        let (expected, actual) = (work.expected_len, state.len);
        return Ok(Err(AppendError::Conflict { expected, actual }));
    }
    let number = match found {
        Some(found) => found.number,
        None => {
            let mut insert = transaction.prepare_cached(
                "INSERT INTO log (id, len, sealed, created_at_ms) VALUES (?1, 0, 0, ?2)",
            )?;
            insert.insert(params![work.run.as_str(), now.wall_ms])?
        }
    };
    put_packs(transaction, work, number)?;
    Ok(Ok(state.len + work.batch.records.len() as u64))
}

/// Records in packs, as few as will do, and in the first ones the small blobs.
fn put_packs(transaction: &Transaction<'_>, work: &Append, run: i64) -> rusqlite::Result<()> {
    let mut small = BTreeMap::new();
    for (digest, bytes) in &work.batch.blobs {
        if bytes.len() > SMALL_BLOB_BYTES {
            put_blob(transaction, digest, bytes)?;
        } else if !has_blob(transaction, digest)? {
            small.insert(digest, bytes.as_slice());
        }
    }
    let mut small = small.into_iter().peekable();
    let mut records = work.batch.records.iter().peekable();
    let mut seq = work.expected_len;
    while records.peek().is_some() {
        let mut pack = Pack::default();
        // At least one record in each, so that no two begin at the same one.
        while let Some(record) = records.next_if(|_| !pack.is_full()) {
            pack.add_record(record);
        }
        while let Some((digest, bytes)) = small.next_if(|_| !pack.is_full()) {
            pack.add_blob(digest, bytes);
        }
        let is_last = records.peek().is_none();
        let number = put_pack(transaction, &pack)?;
        let mut insert = transaction.prepare_cached(
            "INSERT INTO part (run, seq, records, sealed, pack) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        let count = i64::try_from(pack.records.len()).unwrap_or(i64::MAX);
        let is_sealed = is_last && work.batch.seal;
        insert.execute(params![run, seq.cast_signed(), count, is_sealed, number])?;
        seq += pack.records.len() as u64;
    }
    for (digest, bytes) in small {
        put_blob(transaction, digest, bytes)?;
    }
    Ok(())
}

/// Gives the number of its row.
fn put_pack(transaction: &Transaction<'_>, pack: &Pack<'_>) -> rusqlite::Result<i64> {
    let number = transaction
        .prepare_cached("INSERT INTO pack (bytes) VALUES (?1)")?
        .insert([pack.encode()])?;
    for (digest, _) in &pack.blobs {
        let mut insert =
            transaction.prepare_cached("INSERT INTO place_0 (prefix, pack) VALUES (?1, ?2)")?;
        insert.execute([pack::prefix(digest), number])?;
    }
    for (every, fill, empty) in pack::MOVES {
        if number % every == 0 {
            transaction.prepare_cached(fill)?.execute([])?;
            transaction.prepare_cached(empty)?.execute([])?;
        }
    }
    Ok(number)
}

/// Stores a blob that may be there.
pub(crate) fn put_blob(
    transaction: &Transaction<'_>,
    digest: &Digest,
    bytes: &[u8],
) -> rusqlite::Result<()> {
    if bytes.len() <= SMALL_BLOB_BYTES && find_small(transaction, digest)?.is_some() {
        return Ok(());
    }
    let mut insert = transaction.prepare_cached(
        "INSERT INTO blob (digest, bytes) VALUES (?1, ?2) ON CONFLICT (digest) DO NOTHING",
    )?;
    insert.execute(params![digest.as_bytes().as_slice(), bytes])?;
    Ok(())
}

fn has_blob(transaction: &Transaction<'_>, digest: &Digest) -> rusqlite::Result<bool> {
    if find_small(transaction, digest)?.is_some() {
        return Ok(true);
    }
    let mut find = transaction.prepare_cached("SELECT 1 FROM blob WHERE digest = ?1")?;
    find.exists([digest.as_bytes().as_slice()])
}

/// A blob that is in a pack.
pub(crate) fn find_small(
    connection: &Connection,
    digest: &Digest,
) -> rusqlite::Result<Option<Vec<u8>>> {
    let mut query = connection.prepare_cached(
        "SELECT pack FROM place_0 WHERE prefix = ?1 | 0
         UNION ALL SELECT pack FROM place_1 WHERE prefix = ?1 | 0
         UNION ALL SELECT pack FROM place_2 WHERE prefix = ?1 | 0",
    )?;
    let mut rows = query.query([pack::prefix(digest)])?;
    while let Some(row) = rows.next()? {
        let look = |pack: &Unpacked<'_>| pack.blob(digest).map(<[u8]>::to_vec);
        let bytes = in_pack(connection, row.get(0)?, look)?;
        if bytes.is_some() {
            return Ok(bytes);
        }
    }
    Ok(None)
}

/// What is in a pack. No pack of that number is a damaged file.
pub(crate) fn in_pack<T>(
    connection: &Connection,
    number: i64,
    look: impl FnOnce(&Unpacked<'_>) -> T,
) -> rusqlite::Result<T> {
    let mut query = connection.prepare_cached("SELECT bytes FROM pack WHERE number = ?1")?;
    let mut rows = query.query([number])?;
    let Some(row) = rows.next()? else { return Err(pack::damaged()) };
    Ok(look(&Unpacked::of(blob(row, 0)?)?))
}

/// Bytes in a column, without a copy.
pub(crate) fn blob<'r>(row: &'r Row<'_>, column: usize) -> rusqlite::Result<&'r [u8]> {
    Ok(row.get_ref(column)?.as_blob()?)
}

/// A run that is there.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    /// Its number in the file.
    pub(crate) number: i64,
    /// How many records stand one by one, as older builds wrote them. The others are in packs.
    pub(crate) old_len: u64,
    pub(crate) state: LogState,
}

impl Found {
    /// A run whose first records, and whether they are all, older builds wrote.
    pub(crate) fn behind(
        connection: &Connection,
        number: i64,
        old: LogState,
    ) -> rusqlite::Result<Self> {
        let mut query = connection.prepare_cached(
            "SELECT seq, records, sealed FROM part WHERE run = ?1 | 0
             ORDER BY seq DESC LIMIT 1",
        )?;
        let last = query.query_row([number], |row| {
            let len = row.get::<_, i64>(0)?.saturating_add(row.get(1)?);
            Ok(LogState { len: len.cast_unsigned(), sealed: row.get(2)? })
        });
        Ok(Self { number, old_len: old.len, state: last.optional()?.unwrap_or(old) })
    }
}

/// The run's number in the file, and where its log stands: behind the last of its parts, if it has any.
pub(crate) fn find(connection: &Connection, run: &str) -> rusqlite::Result<Option<Found>> {
    let mut query =
        connection.prepare_cached("SELECT number, len, sealed FROM log WHERE id = ?1")?;
    let row = query.query_row([run], |row| {
        let len: i64 = row.get(1)?;
        Ok((row.get(0)?, LogState { len: len.cast_unsigned(), sealed: row.get(2)? }))
    });
    let Some((number, old)) = row.optional()? else { return Ok(None) };
    Found::behind(connection, number, old).map(Some)
}
