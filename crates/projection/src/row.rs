//! From the log of a run to its rows.

mod finding;
mod ledger;
mod write;

use probity_core::{Delegation, Digest, Drift, Entry, Event, Outcome, RunId, Stage};
use probity_record::{LineFault, Record, blob_digest, read_records};
use probity_store::{BlobError, LogState, Pool, ReadError, Store, read_run};
use serde::Deserialize;

use self::finding::Found;
use self::ledger::Waived;
use crate::{IndexError, delegate_of};

/// The largest request that is read for its task, delegate and pool, in bytes.
const MAX_REQUEST_BYTES: u64 = 4 * 1024 * 1024;
/// Hex digits that a host puts in front of a name.
const MARK_CHARS: usize = 12;

/// The rows of one log.
#[derive(Debug)]
pub(crate) struct Rows {
    run: RunId,
    kind: &'static str,
    parent: Option<RunId>,
    pool: Option<String>,
    delegate: Option<String>,
    task: Option<Digest>,
    request: Option<Digest>,
    envelope: Option<Digest>,
    stage: &'static str,
    outcome: Option<Outcome>,
    code: Option<String>,
    waived: bool,
    attempts: u32,
    max_attempts: u32,
    interruptions: u32,
    tokens: u64,
    epoch: u64,
    worker: Option<String>,
    candidate: Option<Digest>,
    head: Option<Digest>,
    opened_at_ms: u64,
    ended_at_ms: Option<u64>,
    changed_at_ms: u64,
    len: u64,
    sealed: bool,
    verdicts: Vec<Verdict>,
    findings: Vec<Found>,
    waiver: Option<Waived>,
}

#[derive(Debug)]
struct Verdict {
    epoch: u32,
    turn: u32,
    judgement: &'static str,
    code: String,
    counted: bool,
    drift: Option<&'static str>,
    flaky: bool,
    at_ms: u64,
}

/// What a store says of bytes that are not what was written.
const CORRUPT: &str = "store_corrupt";

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
        match Self::read_sound(store, run.clone(), state).await {
            // One run whose bytes are gone keeps nobody from the others.
            Err(error) if error.code() == CORRUPT => Ok(Self::damaged(run, state, "log_damaged")),
            read => read,
        }
    }

    async fn read_sound(
        store: &dyn Store,
        run: RunId,
        state: LogState,
    ) -> Result<Self, IndexError> {
        let first = store.read(&run, 0, 1).await?;
        if let Some(first) = first.first()
            && matches!(Record::parse(first), Err(LineFault::WorkflowLog))
        {
            return Ok(Self::ledger(run, state, first));
        }
        let records = read_run(store, &run).await?;
        let log = match read_records(&records) {
            Ok(log) if log.run == run => log,
            _ => return Ok(Self::damaged(run, state, "log_damaged")),
        };
        // The log may have grown since its state was asked for.
        let len = u64::try_from(log.entries.len()).unwrap_or(u64::MAX);
        let Ok(machine) = Delegation::replay(&log.entries) else {
            return Ok(Self::damaged(run, LogState { len, ..state }, "log_illegal"));
        };
        let mut rows = Self::of(run, &machine, &log.entries);
        rows.head = Some(log.head);
        rows.request = Some(machine.request());
        if let Some(bytes) = request(store, machine.request()).await? {
            rows.delegate = Some(delegate_of(&bytes));
            let request: Option<Request> = serde_json::from_slice(&bytes).ok();
            let (task, pool) = request.map(|it| (it.task, it.pool)).unwrap_or_default();
            rows.task = task.map(|task| blob_digest(task.as_bytes()));
            rows.pool = pool.filter(|name| name.parse::<Pool>().is_ok());
        }
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
        let waits = entries.iter().rev().find_map(|entry| match &entry.event {
            Event::Escalated { code, .. } => Some(code.to_string()),
            _ => None,
        });
        let (ended_at_ms, code) = ended.unzip();
        Self {
            kind: "delegation",
            parent: machine.parent().cloned(),
            envelope: machine.terms().map(|terms| terms.envelope),
            stage: stage_word(stage),
            outcome: outcome_of(stage),
            code: code.or_else(|| waits.filter(|_| is_waiting(stage))),
            waived: machine.ending().is_some_and(|ending| ending.waived),
            attempts: machine.attempts(),
            max_attempts: machine.max_attempts(),
            interruptions: machine.interruptions(),
            tokens: machine.usage().tokens,
            epoch: machine.epoch(),
            worker,
            candidate: candidate(machine, entries),
            opened_at_ms: machine.opened_at_ms(),
            ended_at_ms,
            changed_at_ms: entries.last().map_or(0, |entry| entry.at_ms),
            len: machine.entries(),
            sealed: matches!(stage, Stage::Sealed { .. }),
            verdicts: entries.iter().filter_map(Verdict::of).collect(),
            findings: finding::of(machine.checks(), entries),
            ..Self::empty(run)
        }
    }

    /// What is known of a run whose log says nothing. It stays as it is only if it is sealed.
    fn damaged(run: RunId, state: LogState, code: &str) -> Self {
        let LogState { len, sealed } = state;
        let code = Some(code.to_owned());
        Self { kind: "damaged", stage: "damaged", code, len, sealed, ..Self::empty(run) }
    }

    const fn empty(run: RunId) -> Self {
        Self {
            run,
            kind: "",
            parent: None,
            pool: None,
            delegate: None,
            task: None,
            request: None,
            envelope: None,
            stage: "",
            outcome: None,
            code: None,
            waived: false,
            attempts: 0,
            max_attempts: 0,
            interruptions: 0,
            tokens: 0,
            epoch: 0,
            worker: None,
            candidate: None,
            head: None,
            opened_at_ms: 0,
            ended_at_ms: None,
            changed_at_ms: 0,
            len: 0,
            sealed: false,
            verdicts: Vec::new(),
            findings: Vec::new(),
            waiver: None,
        }
    }
}

impl Verdict {
    fn of(entry: &Entry) -> Option<Self> {
        match &entry.event {
            Event::VerdictMerged { turn, judgement, code, counted, drift, flaky, .. } => {
                Some(Self {
                    epoch: turn.epoch,
                    turn: turn.number,
                    judgement: judgement.as_str(),
                    code: code.to_string(),
                    counted: *counted,
                    drift: drift.map(|drift| match drift {
                        Drift::Yellow => "yellow",
                        Drift::Red => "red",
                    }),
                    flaky: *flaky,
                    at_ms: entry.at_ms,
                })
            }
            _ => None,
        }
    }
}

/// The claim that a human would answer for: what was checked last, as hooks left it, or what was claimed
/// last where that came to no verdict.
fn candidate(machine: &Delegation, entries: &[Entry]) -> Option<Digest> {
    let claimed = entries.iter().rev().find_map(|entry| match &entry.event {
        Event::ClaimReceived { candidate, turn, .. } => Some((*candidate, *turn)),
        _ => None,
    });
    match (machine.judged().last(), claimed) {
        (Some(judged), Some((_, turn))) if judged.turn == turn => Some(judged.verified.candidate),
        (_, claimed) => claimed.map(|(candidate, _)| candidate),
    }
}

/// What a host put in front of a run's name to say whose it is: so many hex digits before a UUID. Empty
/// where none did.
#[must_use]
pub fn mark_of(run: &RunId) -> &str {
    let Some((mark, id)) = run.as_str().split_once('-') else { return "" };
    let is_mark = mark.len() == MARK_CHARS
        && mark.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    if is_mark && is_uuid(id) { mark } else { "" }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, b)| match at {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

/// The bytes of a request; `None` where it cannot be read, which is for audits to tell.
async fn request(store: &dyn Store, digest: Digest) -> Result<Option<Vec<u8>>, IndexError> {
    match store.get(&digest, MAX_REQUEST_BYTES).await {
        Ok(bytes) => Ok(bytes),
        Err(BlobError::Unavailable(fault)) if fault.code() != CORRUPT => {
            Err(ReadError::from(fault).into())
        }
        Err(_) => Ok(None),
    }
}

/// How a run ended. What was decided counts once it is sealed; until then somebody has yet to finish.
#[must_use]
pub const fn outcome_of(stage: Stage) -> Option<Outcome> {
    match stage {
        Stage::Sealed { outcome } => Some(outcome),
        _ if is_waiting(stage) => Some(Outcome::Escalated),
        _ => None,
    }
}

/// Whether somebody is waited for.
const fn is_waiting(stage: Stage) -> bool {
    matches!(
        stage,
        Stage::Escalated { .. } | Stage::Awaiting { .. } | Stage::Parked { until_ms: None, .. }
    )
}

/// Where a run is, in one word.
#[must_use]
pub const fn stage_word(stage: Stage) -> &'static str {
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
