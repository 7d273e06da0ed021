//! A list that a host keeps in its store: what was registered over HTTP, and who has a scope. It stands in
//! ledgers that no run has, and goes on for as long as somebody registers.

use probity_core::{Digest, RunId};
use probity_engine::EngineError;
use probity_record::{LedgerRecord, StepText, read_step};
use probity_store::{Store, read_run};
use serde::Serialize;
use serde_json::Value;

use super::CliError;
use super::workflow_log::{Chained, WorkflowLogError, chained};

/// In front of the names, each with what the list holds.
const KINDS: [(&str, &str); 3] =
    [("definitions-", "definitions"), ("webhooks-", "webhooks"), ("claims-", "scopes")];
/// Hex digits of whose it is.
const HASH_CHARS: usize = 40;

/// What a list is, by its first record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeptList {
    pub(super) log: RunId,
    /// What it holds, in one word.
    pub(super) holds: &'static str,
}

/// An entry without what it says: secrets of a webhook and whole definitions are nobody's here.
#[derive(Debug, Serialize)]
pub(super) struct KeptEntry {
    pub(super) r#type: String,
    /// What it is about, where it has a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) about: Option<String>,
}

/// A list that was read, its chain whole.
pub(super) struct ReadList {
    pub(super) head: Digest,
    pub(super) entries: Vec<KeptEntry>,
}

impl KeptList {
    /// Reads the first record of a log; `None` for what is no list.
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        let LedgerRecord { run: log, step, .. } = LedgerRecord::parse(line).ok()?;
        let named = |(prefix, holds): (&str, &'static str)| {
            let (hash, number) = log.as_str().strip_prefix(prefix)?.split_once('-')?;
            let is_hash = hash.len() == HASH_CHARS && hash.bytes().all(|b| b.is_ascii_hexdigit());
            (is_hash && number.parse::<u64>().is_ok()).then_some(holds)
        };
        let holds = KINDS.into_iter().find_map(named)?;
        // One that is long stands beside the record.
        let is_entry = match step {
            StepText::Inline(text) => entry(&text).is_some(),
            StepText::Blob(_) => true,
        };
        is_entry.then_some(Self { log, holds })
    }

    /// Reads it whole.
    ///
    /// # Errors
    /// [`CliError`] if the store cannot be read, or the list is damaged.
    pub(super) async fn read(&self, store: &dyn Store) -> Result<ReadList, CliError> {
        let records = read_run(store, &self.log).await.map_err(EngineError::from)?;
        let mut chained = chained(&records)?;
        chained.fetch(store).await?;
        Ok(entries(&chained)?)
    }
}

/// The entries of a chain whose steps all stand in it.
///
/// # Errors
/// The first that is none.
pub(super) fn entries(chained: &Chained) -> Result<ReadList, WorkflowLogError> {
    let read = (0..).zip(&chained.steps).map(|(seq, text)| match text {
        StepText::Inline(text) => entry(text).ok_or_else(|| WorkflowLogError::Step {
            seq,
            why: "it is no entry of a list".to_owned(),
        }),
        StepText::Blob(digest) => Err(WorkflowLogError::Blob { seq, digest: *digest }),
    });
    Ok(ReadList { head: chained.head, entries: read.collect::<Result<_, _>>()? })
}

/// An entry says what it is, and is no step of a run.
fn entry(text: &[u8]) -> Option<KeptEntry> {
    let read = read_step(text).ok().filter(|read| read.get("input").is_none())?;
    let text = |place: &str| read.pointer(place).and_then(Value::as_str).map(str::to_owned);
    let about = ["/id", "/run", "/definition/id"].into_iter().find_map(text);
    Some(KeptEntry { r#type: text("/type")?, about })
}
