//! A waiver, proved: its record, whose it is, and that it is about the seal and the candidate that it names.

use probity_core::{Delegation, Digest, Event, RunId};
use probity_engine::EngineError;
use probity_record::{RunRecords, blob_digest, read_records};
use probity_report::{Draft, Place, Rule, SubjectKind, VerificationReport};
use probity_store::{Store, read_run};

use crate::cli::waiver_log::{Statement, WaiverLog};

const CHAIN: &str = "chain";
const ABOUT: &str = "about";
const CONTENT: &str = "content";

static RECORDS: Rule = Rule::error("waiver_differs", CHAIN, "not one record, under the run's name");
static DIFFERS: Rule =
    Rule::error("waiver_differs", ABOUT, "a waiver of another seal or candidate than the run's");
static NAMELESS: Rule = Rule::error("log_blob_missing", CONTENT, "nobody who answers for the run");
static UNSEEN: Rule =
    Rule::withheld("log_content_unseen", CONTENT, "what does not stand in the log itself");

/// What there is beside a waiver: the run that it is about, and who said it.
pub(super) struct Beside {
    run: Option<RunRecords>,
    statement: Option<Statement>,
}

impl Beside {
    /// Reads it.
    ///
    /// # Errors
    /// [`EngineError`] if the store cannot be read. What is damaged is not there.
    pub(super) async fn read(store: &dyn Store, log: &WaiverLog) -> Result<Self, EngineError> {
        let run = read_records(&read_run(store, &log.step.run).await?).ok();
        let statement = match log.statement(store).await {
            Ok(statement) => Some(statement),
            Err(EngineError::Blob(error)) => return Err(error.into()),
            Err(_) => None,
        };
        Ok(Self { run, statement })
    }
}

/// Proves a waiver: alone, or with what there is beside it.
pub(super) fn audit(
    records: &[Vec<u8>],
    log: &WaiverLog,
    named: Option<&RunId>,
    beside: Option<&Beside>,
    source: &str,
) -> VerificationReport {
    let mut draft = Draft::new(SubjectKind::RunLog, source, &[CHAIN, ABOUT, CONTENT]);
    let mut bytes = records.join(&b'\n');
    bytes.push(b'\n');
    draft.binds.insert("kind", "waiver".to_owned());
    draft.binds.insert("log", blob_digest(&bytes).to_string());
    draft.binds.insert("run", log.log.to_string());
    draft.binds.insert("head", log.hash.to_string());
    draft.binds.insert("waives", log.step.run.to_string());
    draft.metrics.insert("log_bytes", bytes.len() as u64);
    draft.metrics.insert("log_lines", records.len() as u64);
    let is_named = named.is_none_or(|named| *named == log.log) && log.is_named_rightly();
    if records.len() != 1 || !is_named {
        draft.failures.add(&RECORDS, Place::default(), RECORDS.finds);
    }
    let Some(Beside { run, statement }) = beside else {
        draft.failures.add(&UNSEEN, Place::default(), UNSEEN.finds);
        draft.skip(ABOUT);
        return draft.finish();
    };
    if !run.as_ref().is_some_and(|run| is_about(log, run)) {
        draft.failures.add(&DIFFERS, Place::default(), DIFFERS.finds);
    }
    if statement.is_none() {
        draft.failures.add(&NAMELESS, Place::default(), NAMELESS.finds);
    }
    draft.finish()
}

/// Whether a waiver is of that run's seal, or of the waiver in its own log, and of its last candidate.
fn is_about(log: &WaiverLog, run: &RunRecords) -> bool {
    let Ok(machine) = Delegation::replay(&run.entries) else { return false };
    let is_sealed_so = match log.step.head {
        Some(head) => run.seal.is_some() && run.head == head,
        None => machine.ending().is_some_and(|ending| ending.waived),
    };
    let is_outcome = machine.ending().is_some_and(|ending| ending.outcome == log.step.outcome);
    is_sealed_so && is_outcome && candidate(run, &machine) == Some(log.step.candidate)
}

/// What was checked last, as hooks left it; what was claimed last, where that came to no verdict.
fn candidate(run: &RunRecords, machine: &Delegation) -> Option<Digest> {
    let claimed = run.entries.iter().rev().find_map(|entry| match &entry.event {
        Event::ClaimReceived { candidate, turn, .. } => Some((*candidate, *turn)),
        _ => None,
    })?;
    let judged = machine.judged().last().filter(|judged| judged.turn == claimed.1);
    Some(judged.map_or(claimed.0, |judged| judged.verified.candidate))
}
