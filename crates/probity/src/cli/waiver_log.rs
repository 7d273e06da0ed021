//! The log of a waiver: one record beside the run that a named human answers for.

use probity_core::{Digest, Outcome, RunId};
use probity_engine::{EngineError, read_blob};
use probity_record::{LedgerRecord, StepText, read_step};
use probity_store::Store;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// What its step says that it is.
const TYPE: &str = "run.waived";
/// In front of the run's name.
const PREFIX: &str = "waiver-";
/// Hex digits that stand for a name that is too long to be part of another.
const HASH_CHARS: usize = 40;

/// A waiver, as its record says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WaiverLog {
    /// Its own log.
    pub(super) log: RunId,
    pub(super) at_ms: u64,
    /// The hash of its record.
    pub(super) hash: Digest,
    pub(super) step: WaiverStep,
}

/// The one step of such a log.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WaiverStep {
    r#type: String,
    /// The run that is waived.
    pub(super) run: RunId,
    /// The hash of the run's sealing record; absent where the run's own log holds the waiver.
    #[serde(default)]
    pub(super) head: Option<Digest>,
    /// What the run ended as.
    pub(super) outcome: Outcome,
    /// The candidate that is answered for.
    pub(super) candidate: Digest,
    /// The blob of who says so, and why.
    pub(super) statement: Digest,
}

/// Who says so, with whose key, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Statement {
    pub(super) by: String,
    pub(super) principal: String,
    pub(super) reason: String,
}

impl WaiverLog {
    /// Reads the first record of a log; `None` for what is no waiver.
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        let LedgerRecord { run: log, at_ms, hash, step, .. } = LedgerRecord::parse(line).ok()?;
        let StepText::Inline(text) = step else { return None };
        let step: WaiverStep = serde_json::from_value(read_step(&text).ok()?).ok()?;
        (step.r#type == TYPE).then_some(Self { log, at_ms, hash, step })
    }

    /// Whether its name is the one that the waiver of that run has.
    pub(super) fn is_named_rightly(&self) -> bool {
        let whole = format!("{PREFIX}{}", self.step.run);
        let expected: Result<RunId, _> = whole.parse().or_else(|_| {
            let mut hash = hex::encode(Sha256::digest(self.step.run.as_str()));
            hash.truncate(HASH_CHARS);
            format!("{PREFIX}{hash}").parse()
        });
        expected.is_ok_and(|expected| expected == self.log)
    }

    /// Who says so, and why.
    ///
    /// # Errors
    /// [`EngineError`] if the blob is missing, or is none.
    pub(super) async fn statement(&self, store: &dyn Store) -> Result<Statement, EngineError> {
        let digest = self.step.statement;
        let bytes = read_blob(store, digest).await?;
        let damaged = |error: serde_json::Error| EngineError::Content {
            what: "waiver",
            digest,
            detail: error.to_string(),
        };
        serde_json::from_slice(&bytes).map_err(damaged)
    }
}
