//! Waivers. A sealed log takes nothing more, so each has a log of its own beside the run: one record, sealed,
//! chained as every ledger is, that names the run, its seal and the candidate. What the human said is a
//! blob.

use probity_core::{Digest, Outcome, RunId};
use probity_record::{Ledger, LedgerRecord, StepText, blob_digest};
use probity_store::{AppendError, Batch, Store};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::failure::unavailable;
use super::{NewWaiver, Waiver};
use crate::error::{Failure, Reason};

/// What such a record says that it is.
const TYPE: &str = "run.waived";
/// In front of the run's name.
const PREFIX: &str = "waiver-";
/// Hex digits that stand for a name that is too long to be part of another.
const HASH_CHARS: usize = 40;
/// The largest statement that is read, in bytes.
const MAX_STATEMENT_BYTES: u64 = 64 * 1024;

/// The one step of a waiver's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    r#type: String,
    /// The run that is waived.
    run: RunId,
    /// The hash of the run's sealing record; absent where the run's own log holds the waiver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    head: Option<Digest>,
    /// What the run ended as, or would have.
    outcome: Outcome,
    /// The candidate that is answered for.
    candidate: Digest,
    /// Blob of who says so, with whose key, and why.
    statement: Digest,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Statement {
    by: String,
    principal: String,
    reason: String,
}

/// What a waiver is about.
pub(super) struct About<'a> {
    pub(super) run: &'a RunId,
    pub(super) head: Option<Digest>,
    pub(super) outcome: Outcome,
    pub(super) candidate: Digest,
}

/// A waiver that was read, with the seal that it is about.
pub(super) struct Found {
    pub(super) waiver: Waiver,
    pub(super) head: Option<Digest>,
    pub(super) candidate: Digest,
}

/// The name of a run's waiver.
pub(super) fn log_of(run: &RunId) -> Result<RunId, Failure> {
    let name = format!("{PREFIX}{run}");
    let parsed = name.parse().or_else(|_| {
        let mut hash = hex::encode(Sha256::digest(run.as_str()));
        hash.truncate(HASH_CHARS);
        format!("{PREFIX}{hash}").parse()
    });
    parsed.map_err(|_| Failure::new(Reason::Internal, "the run's name is too long"))
}

/// The waiver of a run. What has its name and is no waiver of that run is none.
pub(super) async fn read(store: &dyn Store, run: &RunId) -> Result<Option<Found>, Failure> {
    let log = log_of(run)?;
    let lines = store.read(&log, 0, 1).await?;
    let Some(record) = lines.first().and_then(|line| LedgerRecord::parse(line).ok()) else {
        return Ok(None);
    };
    let StepText::Inline(text) = &record.step else { return Ok(None) };
    let step: Option<Step> = serde_json::from_slice(text).ok();
    let Some(step) = step.filter(|step| step.r#type == TYPE && step.run == *run) else {
        return Ok(None);
    };
    if record.run != log || record.seq != 0 {
        return Ok(None);
    }
    let said = store.get(&step.statement, MAX_STATEMENT_BYTES).await?;
    let said = said.and_then(|bytes| serde_json::from_slice::<Statement>(&bytes).ok());
    // Nobody is named: nobody answers.
    let Some(Statement { by, principal, reason }) = said else { return Ok(None) };
    let (principal, reason) = (Some(principal), Some(reason));
    let waiver = Waiver { by, principal, reason, at_ms: record.at_ms, log: Some(log) };
    Ok(Some(Found { waiver, head: step.head, candidate: step.candidate }))
}

/// Records a waiver, or gives the one that is there. Whoever was first is it.
pub(super) async fn write(
    store: &dyn Store,
    about: &About<'_>,
    wanted: &NewWaiver,
    now_ms: u64,
) -> Result<Waiver, Failure> {
    let log = log_of(about.run)?;
    let NewWaiver { by, principal, reason } = wanted.clone();
    let statement = Statement { by, principal, reason };
    let statement = serde_json::to_vec(&statement).map_err(|_| unwritable())?;
    let digest = blob_digest(&statement);
    let step = Step {
        r#type: TYPE.to_owned(),
        run: about.run.clone(),
        head: about.head,
        outcome: about.outcome,
        candidate: about.candidate,
        statement: digest,
    };
    let line = Ledger::new(log.clone()).append(now_ms, &step).map_err(|_| unwritable())?;
    let blobs = line.blob.into_iter().chain([(digest, statement)]).collect();
    let batch = Batch { records: vec![line.bytes], blobs, seal: true };
    match store.append(&log, 0, batch).await {
        Ok(_)
        | Err(
            AppendError::Conflict { .. } | AppendError::Sealed { .. } | AppendError::Unknown(_),
        ) => {}
        Err(_) => return Err(unavailable()),
    }
    let found = read(store, about.run).await?.ok_or_else(|| {
        let message = format!("`{log}` is there and is no waiver of this run");
        Failure::new(Reason::AlreadyWaived, message)
    })?;
    agreed(found.waiver, wanted)
}

/// The waiver that is there, if it says what is wanted.
pub(super) fn agreed(found: Waiver, wanted: &NewWaiver) -> Result<Waiver, Failure> {
    let is_same_reason = found.reason.as_ref().is_none_or(|reason| *reason == wanted.reason);
    match found.by == wanted.by && is_same_reason {
        true => Ok(found),
        false => {
            let message = format!("`{}` has waived this run, and one waiver is all", found.by);
            Err(Failure::new(Reason::AlreadyWaived, message))
        }
    }
}

fn unwritable() -> Failure {
    Failure::new(Reason::Internal, "the waiver cannot be written")
}
