//! What keeps a record from being audited at all.

use probity_report::{Draft, Place, Rule, SubjectKind, VerificationReport};

/// The one check of what is no record.
const READ: &str = "read";

pub(super) static MISSING: Rule =
    Rule::malformed("audit_missing", READ, "neither a file, a folder nor a run of that name");
pub(super) static UNREADABLE: Rule =
    Rule::malformed("audit_unreadable", READ, "something that could not be read");
pub(super) static UNKNOWN: Rule =
    Rule::malformed("audit_unknown", READ, "bytes that are no record known here");
pub(super) static TOO_LARGE: Rule =
    Rule::limit("audit_too_large", READ, "more bytes or entries than are read");

/// The report on something that was not audited.
pub(super) fn unread(source: &str, rule: &Rule, message: &str) -> VerificationReport {
    let mut draft = Draft::new(SubjectKind::Unknown, source, &[READ]);
    draft.failures.add(rule, Place::default(), message);
    draft.finish()
}
