//! A list that a host keeps, proved: its chain, and that every entry is there. It has no end.

use probity_record::blob_digest;
use probity_report::{Draft, Place, Rule, SubjectKind, VerificationReport};

use crate::cli::kept_list::{KeptList, entries};
use crate::cli::workflow_log::{Chained, WorkflowLogError};

const CHAIN: &str = "chain";
const CONTENT: &str = "content";

static UNSEEN: Rule =
    Rule::withheld("log_content_unseen", CONTENT, "entries that do not stand in the list itself");
static RECORD: Rule = Rule::malformed("log_record", CHAIN, "a line that is no record");
static ENTRY: Rule = Rule::error("ledger_step", CONTENT, "an entry that cannot be read");

/// Proves a list of which the chain was read.
pub(super) fn audit(
    log: &[u8],
    list: &KeptList,
    chained: Result<Chained, WorkflowLogError>,
    source: &str,
    stands_alone: bool,
) -> VerificationReport {
    let mut draft = Draft::new(SubjectKind::RunLog, source, &[CHAIN, CONTENT]);
    draft.binds.insert("kind", "list".to_owned());
    draft.binds.insert("log", blob_digest(log).to_string());
    draft.binds.insert("run", list.log.to_string());
    draft.metrics.insert("log_bytes", log.len() as u64);
    let chained = match chained {
        Ok(chained) => chained,
        Err(error) => {
            let class = if error.seq() == 0 { RECORD.class } else { ENTRY.class };
            tell(&error, &Rule { class, ..RECORD }, &mut draft);
            draft.skip(CONTENT);
            return draft.finish();
        }
    };
    draft.binds.insert("head", chained.head.to_string());
    draft.metrics.insert("log_lines", chained.steps.len() as u64);
    if stands_alone && chained.has_blobs() {
        draft.failures.add(&UNSEEN, Place::default(), UNSEEN.finds);
    } else if let Err(error) = entries(&chained) {
        tell(&error, &ENTRY, &mut draft);
    }
    draft.finish()
}

fn tell(error: &WorkflowLogError, rule: &Rule, draft: &mut Draft) {
    let rule = Rule { code: error.code(), ..*rule };
    let place = Place::default().line(error.seq().saturating_add(1));
    draft.failures.add(&rule, place, error.to_string());
}
