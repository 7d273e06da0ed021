//! Runs, page by page.

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::{IndexedRun, Wanted, columns, read, signed};

/// Runs that one page holds at most.
pub const MAX_PAGE: usize = 200;

/// One page of runs, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The runs.
    pub runs: Vec<IndexedRun>,
    /// Where the next page begins; none behind the last run.
    pub next: Option<Place>,
}

/// A place in the list: behind that run. It stays where it is when runs come and go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// When the run was opened.
    pub opened_at_ms: u64,
    /// Its name.
    pub run_id: String,
}

pub(crate) fn page(
    connection: &Connection,
    wanted: &Wanted,
    after: Option<&Place>,
    limit: usize,
) -> rusqlite::Result<Page> {
    let limit = limit.clamp(1, MAX_PAGE);
    let mut condition = wanted.condition();
    if let Some(Place { opened_at_ms, run_id }) = after {
        let opened = Value::Integer(signed(*opened_at_ms));
        let sql = "(run.opened_at_ms, run.id) < (?, ?)";
        condition.and(sql, [opened, Value::Text(run_id.clone())]);
    }
    let mut select = connection.prepare_cached(&format!(
        "SELECT {} FROM run WHERE {} ORDER BY opened_at_ms DESC, id DESC LIMIT {}",
        columns(),
        condition.sql,
        limit + 1,
    ))?;
    let found = select.query_map(params_from_iter(&condition.values), read)?;
    let mut runs: Vec<IndexedRun> = found.collect::<Result<_, _>>()?;
    let has_more = runs.len() > limit;
    runs.truncate(limit);
    let last = runs.last().filter(|_| has_more);
    let next = last.map(|run| Place { opened_at_ms: run.opened_at_ms, run_id: run.run_id.clone() });
    Ok(Page { runs, next })
}
