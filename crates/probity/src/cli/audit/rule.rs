//! What keeps a record from being audited at all.

use probity_report::{Draft, Place, Rule, SubjectKind, Verdict, VerificationReport};

/// The one check of what is no record.
const READ: &str = "read";
/// The one check of what carries no signature, where one is demanded.
const SIGNATURE: &str = "signature";

pub(super) static MISSING: Rule =
    Rule::malformed("audit_missing", READ, "neither a file, a folder nor a run of that name");
pub(super) static UNREADABLE: Rule =
    Rule::malformed("audit_unreadable", READ, "something that could not be read");
pub(super) static UNKNOWN: Rule =
    Rule::malformed("audit_unknown", READ, "bytes that are no record known here");
pub(super) static TOO_LARGE: Rule =
    Rule::limit("audit_too_large", READ, "more bytes or entries than are read");

pub(super) static UNSIGNED: Rule =
    Rule::error("audit_unsigned", SIGNATURE, "a signature is demanded of what carries none");

/// The report on something that was not audited.
pub(super) fn unread(source: &str, rule: &Rule, message: &str) -> VerificationReport {
    let mut draft = Draft::new(SubjectKind::Unknown, source, &[READ]);
    draft.failures.add(rule, Place::default(), message);
    draft.finish()
}

/// The report where a signature is demanded: only a bundle carries one, so nothing else is accepted,
/// whatever is in it. Bundles answer for their own.
pub(super) fn signed(report: VerificationReport) -> VerificationReport {
    let is_accepted = matches!(
        report.verdict,
        Verdict::Valid | Verdict::IntegrityOnly | Verdict::AcceptedByCompat
    );
    if report.kind == SubjectKind::Bundle || !is_accepted {
        return report;
    }
    let mut draft = Draft::new(report.kind, &report.source, &[SIGNATURE]);
    draft.reading = report.reading;
    draft.metrics = report.summary_metrics;
    draft.binds = report.binds;
    draft.binds.insert("require_signature", "true".to_owned());
    let message = "a signature is demanded, and only a bundle carries one: `probity export RUN \
                   --bundle FILE --sign KEY.pem` makes it";
    draft.failures.add(&UNSIGNED, Place::default(), message);
    draft.finish()
}
