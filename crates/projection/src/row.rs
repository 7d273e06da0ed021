//! From the log of a run to its rows.

use probity_core::{Delegation, Digest, Entry, Event, Outcome, RunId, Stage};
use probity_record::{blob_digest, read_records};
use probity_store::{BlobError, LogState, Pool, ReadError, Store, read_run};
use rusqlite::{Transaction, params};
use serde::Deserialize;

use crate::IndexError;

/// The largest request that is read for its task and pool, in bytes.
const MAX_REQUEST_BYTES: u64 = 4 * 1024 * 1024;

/// The rows of one run.
#[derive(Debug)]
pub(crate) struct Rows {
    run: RunId,
    parent: Option<RunId>,
    pool: Option<String>,
    task: Option<Digest>,
    request: Option<Digest>,
    stage: &'static str,
    outcome: Option<Outcome>,
    code: Option<String>,
    attempts: u32,
    interruptions: u32,
    epoch: u64,
    worker: Option<String>,
    opened_at_ms: u64,
    ended_at_ms: Option<u64>,
    len: u64,
    sealed: bool,
    verdicts: Vec<Verdict>,
}

#[derive(Debug)]
struct Verdict {
    epoch: u32,
    turn: u32,
    judgement: &'static str,
    code: String,
    counted: bool,
    at_ms: u64,
}

/// The parts of a request that the index has.
#[derive(Deserialize)]
struct Request {
    task: Option<String>,
    pool: Option<String>,
}

impl Rows {
    /// Reads a run. `state` is what the store says of its log, and so what a damaged one is known by.
    ///
    /// # Errors
    /// [`IndexError::Log`] and [`IndexError::Blob`] if the store fails.
    pub(crate) async fn read(
        store: &dyn Store,
        run: RunId,
        state: LogState,
    ) -> Result<Self, IndexError> {
        let records = read_run(store, &run).await?;
        let entries = match read_records(&records) {
            Ok(log) if log.run == run => log.entries,
            _ => return Ok(Self::damaged(run, state, "log_damaged")),
        };
        // The log may have grown since its state was asked for.
        let len = u64::try_from(entries.len()).unwrap_or(u64::MAX);
        let Ok(machine) = Delegation::replay(&entries) else {
            return Ok(Self::damaged(run, LogState { len, ..state }, "log_illegal"));
        };
        let mut rows = Self::of(run, &machine, &entries);
        let request = request(store, machine.request()).await?;
        rows.request = Some(machine.request());
        rows.task =
            request.as_ref().and_then(|it| it.task.as_deref()).map(|it| blob_digest(it.as_bytes()));
        let pool = request.and_then(|it| it.pool);
        rows.pool = pool.filter(|name| name.parse::<Pool>().is_ok());
        Ok(rows)
    }

    fn of(run: RunId, machine: &Delegation, entries: &[Entry]) -> Self {
        let stage = machine.stage();
        let worker = entries.iter().rev().find_map(|entry| match &entry.event {
            Event::LeaseTaken { worker, .. } => Some(worker.to_string()),
            _ => None,
        });
        let ended = entries.iter().rev().find_map(|entry| match &entry.event {
            Event::OutcomeDecided { code, .. } => Some((entry.at_ms, code.to_string())),
            _ => None,
        });
        let (ended_at_ms, code) = ended.unzip();
        Self {
            parent: machine.parent().cloned(),
            pool: None,
            task: None,
            request: None,
            stage: word(stage),
            outcome: stage.outcome().or_else(|| waits(stage).then_some(Outcome::Escalated)),
            code,
            attempts: machine.attempts(),
            interruptions: machine.interruptions(),
            epoch: machine.epoch(),
            worker,
            opened_at_ms: machine.opened_at_ms(),
            ended_at_ms,
            len: machine.entries(),
            sealed: matches!(stage, Stage::Sealed { .. }),
            verdicts: entries.iter().filter_map(Verdict::of).collect(),
            run,
        }
    }

    /// What is known of a run whose log says nothing. It stays as it is only if it is sealed.
    fn damaged(run: RunId, state: LogState, code: &str) -> Self {
        Self {
            run,
            parent: None,
            pool: None,
            task: None,
            request: None,
            stage: "damaged",
            outcome: None,
            code: Some(code.to_owned()),
            attempts: 0,
            interruptions: 0,
            epoch: 0,
            worker: None,
            opened_at_ms: 0,
            ended_at_ms: None,
            len: state.len,
            sealed: state.sealed,
            verdicts: Vec::new(),
        }
    }

    /// Puts the rows in the place of those that are there.
    pub(crate) fn write(&self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        let run = self.run.as_str();
        let mut forget = transaction.prepare_cached("DELETE FROM verdict WHERE run = ?1")?;
        forget.execute([run])?;
        let mut put = transaction.prepare_cached(
            "INSERT OR REPLACE INTO run VALUES
             (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
        )?;
        put.execute(params![
            run,
            self.parent.as_ref().map(RunId::as_str),
            self.pool,
            self.task.map(|digest| digest.to_string()),
            self.request.map(|digest| digest.to_string()),
            self.stage,
            self.outcome.map(Outcome::as_str),
            self.code,
            self.attempts,
            self.interruptions,
            signed(self.epoch),
            self.worker,
            signed(self.opened_at_ms),
            self.ended_at_ms.map(signed),
            signed(self.len),
            self.sealed,
        ])?;
        let mut put = transaction
            .prepare_cached("INSERT OR REPLACE INTO verdict VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
        for verdict in &self.verdicts {
            let Verdict { epoch, turn, judgement, code, counted, at_ms } = verdict;
            put.execute(params![run, epoch, turn, judgement, code, counted, signed(*at_ms)])?;
        }
        Ok(())
    }
}

impl Verdict {
    fn of(entry: &Entry) -> Option<Self> {
        match &entry.event {
            Event::VerdictMerged { turn, judgement, code, counted, .. } => Some(Self {
                epoch: turn.epoch,
                turn: turn.number,
                judgement: judgement.as_str(),
                code: code.to_string(),
                counted: *counted,
                at_ms: entry.at_ms,
            }),
            _ => None,
        }
    }
}

/// What the index has of a request; `None` where it cannot be read, which is for audits to tell.
async fn request(store: &dyn Store, digest: Digest) -> Result<Option<Request>, IndexError> {
    match store.get(&digest, MAX_REQUEST_BYTES).await {
        Ok(bytes) => Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok())),
        Err(BlobError::Unavailable(fault)) => Err(ReadError::from(fault).into()),
        Err(_) => Ok(None),
    }
}

/// Whether somebody is waited for.
const fn waits(stage: Stage) -> bool {
    matches!(
        stage,
        Stage::Escalated { .. } | Stage::Awaiting { .. } | Stage::Parked { until_ms: None, .. }
    )
}

const fn word(stage: Stage) -> &'static str {
    match stage {
        Stage::Opened => "opened",
        Stage::RedReady => "red_ready",
        Stage::RedChecking { .. } => "red_checking",
        Stage::RedDone => "red_done",
        Stage::Ready => "ready",
        Stage::Hooking { .. } => "hooking",
        Stage::Delegated { .. } => "delegated",
        Stage::Parked { .. } => "parked",
        Stage::Claimed => "claimed",
        Stage::Settled => "settled",
        Stage::Checking { .. } => "checking",
        Stage::Awaiting { .. } => "awaiting",
        Stage::Judged => "judged",
        Stage::Failed => "failed",
        Stage::Escalated { .. } => "escalated",
        Stage::Decided { .. } => "decided",
        Stage::Sealed { .. } => "sealed",
    }
}

/// SQLite's integers are signed.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
