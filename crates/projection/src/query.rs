//! What is asked of an index.

use probity_core::{Code, Outcome};
use rusqlite::{Connection, Row, params};
use serde::Serialize;

/// Runs that one list holds at most.
pub const MAX_LISTED: usize = 100_000;

/// Which runs are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Runs that came to this, or wait as `escalated`.
    pub outcome: Option<Outcome>,
    /// Runs that ended with this code, or of which a verdict carries it.
    pub code: Option<Code>,
    /// Runs that were opened at this time or later, in milliseconds since the Unix epoch.
    pub since_ms: Option<u64>,
    /// How many at most; [`MAX_LISTED`] is the bound.
    pub limit: usize,
}

/// One run, as the index has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IndexedRun {
    /// Its name.
    pub run_id: String,
    /// The run that waits for it.
    pub parent_id: Option<String>,
    /// Who may take it up, where its request says so.
    pub pool: Option<String>,
    /// SHA-256 of the task's text, where the request can be read.
    pub task_digest: Option<String>,
    /// Where it is, in one word; `damaged` where its log cannot be read.
    pub stage: String,
    /// How it ended; `escalated` while it waits for somebody.
    pub outcome: Option<String>,
    /// Why, in one word.
    pub code: Option<String>,
    /// Claims that were charged to the delegate.
    pub attempts: u32,
    /// Crashes, restarts and lost leases survived.
    pub interruptions: u32,
    /// Of its last lease; 0 where it was never leased.
    pub epoch: u64,
    /// Who held that.
    pub worker: Option<String>,
    /// Milliseconds since the Unix epoch.
    pub opened_at_ms: u64,
    /// When its outcome was decided.
    pub ended_at_ms: Option<u64>,
    /// Records, the seal included.
    pub records: u64,
    /// Whether the last one is the seal.
    pub sealed: bool,
}

const SELECT: &str = "
    SELECT id, parent, pool, task, stage, outcome, code, attempts, interruptions, epoch, worker,
           opened_at_ms, ended_at_ms, len, sealed
    FROM run
    WHERE (?1 IS NULL OR outcome = ?1)
      AND (?2 IS NULL OR code = ?2
           OR EXISTS (SELECT 1 FROM verdict WHERE verdict.run = run.id AND verdict.code = ?2))
      AND opened_at_ms >= ?3
    ORDER BY opened_at_ms DESC, id DESC
    LIMIT ?4";

/// The runs that a filter lets through.
pub(crate) fn runs(connection: &Connection, filter: &Filter) -> rusqlite::Result<Vec<IndexedRun>> {
    let outcome = filter.outcome.map(Outcome::as_str);
    let code = filter.code.as_ref().map(Code::as_str);
    let since_ms = i64::try_from(filter.since_ms.unwrap_or(0)).unwrap_or(i64::MAX);
    let limit = i64::try_from(filter.limit.min(MAX_LISTED)).unwrap_or(i64::MAX);
    let mut select = connection.prepare_cached(SELECT)?;
    select.query_map(params![outcome, code, since_ms, limit], read)?.collect()
}

fn read(row: &Row<'_>) -> rusqlite::Result<IndexedRun> {
    Ok(IndexedRun {
        run_id: row.get(0)?,
        parent_id: row.get(1)?,
        pool: row.get(2)?,
        task_digest: row.get(3)?,
        stage: row.get(4)?,
        outcome: row.get(5)?,
        code: row.get(6)?,
        attempts: row.get(7)?,
        interruptions: row.get(8)?,
        epoch: unsigned(row.get(9)?),
        worker: row.get(10)?,
        opened_at_ms: unsigned(row.get(11)?),
        ended_at_ms: row.get::<_, Option<i64>>(12)?.map(unsigned),
        records: unsigned(row.get(13)?),
        sealed: row.get(14)?,
    })
}

/// SQLite's integers are signed; the index holds none below 0.
pub(crate) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
