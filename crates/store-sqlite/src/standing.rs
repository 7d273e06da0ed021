//! Reads of jobs: how a queue has them.

use probity_core::{Code, RunId};
use probity_store::limits::MAX_PAGE_RUNS;
use probity_store::{Cause, DeadJob, ParkedJob, Pool, Standing};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::jobs::{DEAD, DELAYED, LEASED, PARKED, READY, illegal, illegal_state, run};

pub(crate) fn standing(connection: &Connection, run: &RunId) -> rusqlite::Result<Option<Standing>> {
    let mut query =
        connection.prepare_cached("SELECT state, pool, code, message FROM job WHERE run = ?1")?;
    let found = query.query_row([run.as_str()], |row| {
        let pool = pool(row, 1)?;
        match row.get::<_, i64>(0)? {
            READY | DELAYED | LEASED => Ok(Standing::Queued { pool }),
            PARKED => Ok(Standing::Parked { pool }),
            DEAD => Ok(Standing::Dead { pool, cause: cause(row, 2)? }),
            state => Err(illegal_state(state)),
        }
    });
    found.optional()
}

pub(crate) fn parked(
    connection: &Connection,
    after: Option<&RunId>,
    limit: usize,
) -> rusqlite::Result<Vec<ParkedJob>> {
    let mut query = connection.prepare_cached(
        "SELECT run, pool, at_ms FROM job WHERE state = 3 AND run > ?1 ORDER BY run LIMIT ?2 | 0",
    )?;
    let rows = query.query_map(params![behind(after), page(limit)], |row| {
        Ok(ParkedJob { run: run(row, 0)?, pool: pool(row, 1)?, since_ms: since_ms(row, 2)? })
    })?;
    rows.collect()
}

pub(crate) fn dead(
    connection: &Connection,
    after: Option<&RunId>,
    limit: usize,
) -> rusqlite::Result<Vec<DeadJob>> {
    let mut query = connection.prepare_cached(
        "SELECT run, pool, at_ms, code, message FROM job
         WHERE state = 4 AND run > ?1 ORDER BY run LIMIT ?2 | 0",
    )?;
    let rows = query.query_map(params![behind(after), page(limit)], |row| {
        Ok(DeadJob {
            run: run(row, 0)?,
            pool: pool(row, 1)?,
            since_ms: since_ms(row, 2)?,
            cause: cause(row, 3)?,
        })
    })?;
    rows.collect()
}

/// No run is the empty text, so all are behind it.
fn behind(after: Option<&RunId>) -> &str {
    after.map_or("", RunId::as_str)
}

fn page(limit: usize) -> i64 {
    i64::try_from(limit.min(MAX_PAGE_RUNS)).unwrap_or(i64::MAX)
}

fn pool(row: &Row<'_>, column: usize) -> rusqlite::Result<Pool> {
    row.get::<_, String>(column)?.parse().map_err(|error| illegal(column, error))
}

fn cause(row: &Row<'_>, column: usize) -> rusqlite::Result<Cause> {
    let code: Code =
        row.get::<_, String>(column)?.parse().map_err(|error| illegal(column, error))?;
    Ok(Cause::new(code, row.get::<_, String>(column + 1)?))
}

fn since_ms(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(row.get::<_, i64>(column)?.cast_unsigned())
}
