//! What is asked of an index.

mod checks;
mod claims;
mod counts;
mod drift;
mod page;
mod wanted;

use probity_core::{Code, Outcome};
use rusqlite::{Connection, Row, params};
use serde::Serialize;

pub(crate) use checks::checks;
pub(crate) use claims::claims;
pub(crate) use counts::{counts, tasks, words};
pub(crate) use drift::drifts;
pub(crate) use page::page;

pub use checks::{CheckQuality, Checks, MAX_KINDS};
pub use claims::{Claims, DelegateClaims, MAX_REFUSALS, Refusal, Told};
pub use counts::{Counts, MAX_WORDS, Words};
pub use drift::{Decisions, Drifted, Drifts};
pub use page::{MAX_PAGE, Page, Place};
pub use wanted::{Ended, Wanted};

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
    /// What kind of delegate does the work, where the request can be read.
    pub delegate: Option<String>,
    /// SHA-256 of the request, as its log names it.
    pub request_digest: Option<String>,
    /// Where it is, in one word; `ledger` for what is no delegation, `damaged` where its log cannot be read.
    pub stage: String,
    /// How it ended; `escalated` while it waits for somebody.
    pub outcome: Option<String>,
    /// Why, in one word.
    pub code: Option<String>,
    /// A named human answers for it, in spite of its outcome.
    pub waived: bool,
    /// Claims that were charged to the delegate.
    pub attempts: u32,
    /// Claims that were allowed.
    pub max_attempts: u32,
    /// Crashes, restarts and lost leases survived.
    pub interruptions: u32,
    /// Model tokens that the delegate spent.
    pub tokens: u64,
    /// Of its last lease; 0 where it was never leased.
    pub epoch: u64,
    /// Who held that.
    pub worker: Option<String>,
    /// Milliseconds since the Unix epoch.
    pub opened_at_ms: u64,
    /// When its outcome was decided.
    pub ended_at_ms: Option<u64>,
    /// When something was last recorded.
    pub changed_at_ms: u64,
    /// Records, the seal included.
    pub records: u64,
    /// Whether the last one is the seal.
    pub sealed: bool,
}

/// Whether a named human answers for a run: its own log says so, or a record beside it that is about exactly
/// this seal and this candidate.
const WAIVED: &str = "(coalesce(outcome, '') <> 'verified' AND (waived OR sealed AND EXISTS (
    SELECT 1 FROM waiver WHERE waiver.run = run.id AND waiver.head = run.head
    AND waiver.candidate = run.candidate)))";

/// What [`read`] reads.
fn columns() -> String {
    format!(
        "id, parent, pool, task, delegate, request, stage, outcome, code, {WAIVED}, attempts,
         max_attempts, interruptions, tokens, epoch, worker, opened_at_ms, ended_at_ms, changed_at_ms,
         len, sealed"
    )
}

/// The runs that a filter lets through.
pub(crate) fn runs(connection: &Connection, filter: &Filter) -> rusqlite::Result<Vec<IndexedRun>> {
    let outcome = filter.outcome.map(Outcome::as_str);
    let code = filter.code.as_ref().map(Code::as_str);
    let since_ms = i64::try_from(filter.since_ms.unwrap_or(0)).unwrap_or(i64::MAX);
    let limit = i64::try_from(filter.limit.min(MAX_LISTED)).unwrap_or(i64::MAX);
    let mut select = connection.prepare_cached(&format!(
        "SELECT {}
         FROM run
         WHERE (?1 IS NULL OR outcome = ?1)
           AND (?2 IS NULL OR code = ?2
                OR EXISTS (SELECT 1 FROM verdict WHERE verdict.run = run.id AND verdict.code = ?2))
           AND opened_at_ms >= ?3
         ORDER BY opened_at_ms DESC, id DESC
         LIMIT ?4",
        columns()
    ))?;
    select.query_map(params![outcome, code, since_ms, limit], read)?.collect()
}

fn read(row: &Row<'_>) -> rusqlite::Result<IndexedRun> {
    Ok(IndexedRun {
        run_id: row.get(0)?,
        parent_id: row.get(1)?,
        pool: row.get(2)?,
        task_digest: row.get(3)?,
        delegate: row.get(4)?,
        request_digest: row.get(5)?,
        stage: row.get(6)?,
        outcome: row.get(7)?,
        code: row.get(8)?,
        waived: row.get(9)?,
        attempts: row.get(10)?,
        max_attempts: row.get(11)?,
        interruptions: row.get(12)?,
        tokens: unsigned(row.get(13)?),
        epoch: unsigned(row.get(14)?),
        worker: row.get(15)?,
        opened_at_ms: unsigned(row.get(16)?),
        ended_at_ms: row.get::<_, Option<i64>>(17)?.map(unsigned),
        changed_at_ms: unsigned(row.get(18)?),
        records: unsigned(row.get(19)?),
        sealed: row.get(20)?,
    })
}

/// SQLite's integers are signed; the index holds none below 0.
pub(crate) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// SQLite's integers are signed.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
