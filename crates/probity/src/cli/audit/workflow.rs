//! The log of a workflow run, proved: its chain, its end, and that the machine makes the same of it.

use probity_record::{LineFault, blob_digest};
use probity_report::{Draft, Place, Rule, SubjectKind, VerificationReport};

use crate::cli::workflow_log::{Chained, WorkflowLogError, end_of};

const CHAIN: &str = "chain";
const SEAL: &str = "seal";
const REPLAY: &str = "replay";

static UNSEALED: Rule =
    Rule::error("log_unsealed", SEAL, "a log without an end: it may go on, or its end was cut off");
static GOING_ON: Rule =
    Rule::warning("log_unsealed", SEAL, "a log without an end, which the policy allows");
static UNSEEN: Rule =
    Rule::withheld("log_content_unseen", REPLAY, "steps that do not stand in the log itself");
static RECORD: Rule = Rule::malformed("log_record", CHAIN, "a line that is no record");
static STEP: Rule = Rule::error("ledger_step", REPLAY, "a step that cannot be read");

/// Proves a log of which the chain was read.
pub(super) fn audit(
    log: &[u8],
    chained: Result<Chained, WorkflowLogError>,
    source: &str,
    stands_alone: bool,
    allow_unsealed: bool,
) -> VerificationReport {
    let mut draft = Draft::new(SubjectKind::RunLog, source, &[CHAIN, SEAL, REPLAY]);
    draft.binds.insert("kind", "workflow".to_owned());
    draft.binds.insert("log", blob_digest(log).to_string());
    draft.metrics.insert("log_bytes", log.len() as u64);
    let chained = match chained {
        Ok(chained) => chained,
        Err(error) => {
            tell(&error, &mut draft);
            draft.skip(SEAL);
            draft.skip(REPLAY);
            return draft.finish();
        }
    };
    draft.binds.insert("run", chained.run.to_string());
    draft.binds.insert("head", chained.head.to_string());
    draft.metrics.insert("log_lines", chained.steps.len() as u64);
    if stands_alone && chained.has_blobs() {
        draft.failures.add(&UNSEEN, Place::default(), UNSEEN.finds);
        draft.skip(SEAL);
        return draft.finish();
    }
    let read = match chained.into_read() {
        Ok(read) => read,
        Err(error) => {
            tell(&error, &mut draft);
            draft.skip(SEAL);
            return draft.finish();
        }
    };
    draft.metrics.insert("events", read.entries().count() as u64);
    match read.entries().last().and_then(end_of) {
        Some(end) => drop(draft.binds.insert("outcome", end.to_owned())),
        None => {
            let rule = if allow_unsealed { &GOING_ON } else { &UNSEALED };
            draft.failures.add(rule, Place::default(), rule.finds);
        }
    }
    if let Err(error) = read.replay() {
        tell(&error.into(), &mut draft);
    }
    draft.finish()
}

fn tell(error: &WorkflowLogError, draft: &mut Draft) {
    let rule = match error {
        WorkflowLogError::Line { seq: 0, .. } => RECORD,
        WorkflowLogError::Line { .. } => Rule { class: STEP.class, ..RECORD },
        _ => STEP,
    };
    let rule = Rule { code: error.code(), ..rule };
    let place = Place::default().line(error.seq().saturating_add(1));
    draft.failures.add(&rule, place, error.to_string());
}

/// Whether a line says that it is of such a log, though it may be damaged.
pub(super) fn is_first(line: &[u8]) -> bool {
    let is_kind = |window: &[u8]| window == b"\"kind\":\"workflow\"";
    match probity_record::Record::parse(line) {
        Err(LineFault::WorkflowLog) => true,
        Err(_) => {
            // Keys are sorted: what is before it is the time.
            let head = line.get(..64).unwrap_or(line);
            head.starts_with(b"{\"body\":{\"at_ms\":") && head.windows(17).any(is_kind)
        }
        Ok(_) => false,
    }
}
