//! Logs of other things than delegations: workflow runs, and what humans answer for.

use probity_core::{Digest, RunId};
use probity_record::{LedgerRecord, StepText};
use probity_store::LogState;
use serde::Deserialize;

use super::Rows;

/// What the record of a waiver says that it is.
const WAIVED: &str = "run.waived";

/// Somebody answers for a run.
#[derive(Debug)]
pub(super) struct Waived {
    pub(super) run: RunId,
    pub(super) head: Option<Digest>,
    pub(super) candidate: Digest,
}

/// The parts of a waiver that the index has.
#[derive(Deserialize)]
struct Step {
    r#type: String,
    run: RunId,
    head: Option<Digest>,
    candidate: Digest,
}

impl Rows {
    /// What is known of a log of steps by its first record. It is never read to its end: no row says more.
    pub(super) fn ledger(run: RunId, state: LogState, first: &[u8]) -> Self {
        let LogState { len, sealed } = state;
        let record = LedgerRecord::parse(first).ok();
        let at_ms = record.as_ref().map_or(0, |record| record.at_ms);
        let waiver = record.filter(|record| record.run == run).and_then(|record| waived(&record));
        Self {
            kind: "ledger",
            stage: "ledger",
            opened_at_ms: at_ms,
            changed_at_ms: at_ms,
            len,
            sealed,
            waiver,
            ..Self::empty(run)
        }
    }
}

fn waived(record: &LedgerRecord) -> Option<Waived> {
    let StepText::Inline(text) = &record.step else { return None };
    let Step { r#type, run, head, candidate } = serde_json::from_slice(text).ok()?;
    (r#type == WAIVED && record.seq == 0).then_some(Waived { run, head, candidate })
}
