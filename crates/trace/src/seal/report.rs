//! `verify.json`: the report that the source system made while it ran. It proves nothing, so a run
//! may do without; one that is there is whole and agrees with itself.

use probity_report::{Failures, Rule};
use sha2::{Digest as _, Sha256};

use crate::identity::canonical;
use crate::tape::{Kind, Tape, Value};
use crate::{FileError, RunFiles, compat};

use super::document::{Desk, Form, text_of};
use super::{Known, MISSING};

const REPORT: &str = "verify.json";
const MAX_BYTES: u64 = 64 << 20;

pub(super) static DIFFERS: Rule = Rule::error(
    "trace_report_differs",
    "seal",
    "a report of the source system that contradicts itself",
);
pub(super) static FAILED: Rule = Rule::warning(
    "trace_report_failed",
    "seal",
    "the source system's own report says that the run failed",
);

/// Holds the report against its own shape, id and counts.
pub(super) fn check(files: &dyn RunFiles, known: &mut Known, failures: &mut Failures) {
    if matches!(files.open(REPORT), Err(FileError::Missing)) {
        return;
    }
    let Some(text) = text_of(files, REPORT, MAX_BYTES, &MISSING, failures) else { return };
    known.insert(REPORT, Sha256::digest(&text).into());
    let mut tape = Tape::default();
    let mut desk = Desk::new(REPORT, failures);
    if let Some(root) = desk.read(&mut tape, &text, Form::Line) {
        check_root(&mut desk, root);
    }
}

fn check_root(desk: &mut Desk, root: Value) -> Option<()> {
    let keys = ["checks", "failures", "id", "summary_metrics", "trace_id"];
    let [checks, found, id, metrics, trace_id] = desk.members(root, format_args!(""), keys)?;
    desk.exactly(trace_id, format_args!("/trace_id"), "null")?;
    desk.one_of(checks, format_args!("/checks"), &[Kind::List])?;
    desk.one_of(found, format_args!("/failures"), &[Kind::List])?;
    let mut failed = 0_u64;
    for (at, check) in checks.items().enumerate() {
        if !is_passed(desk, at, check)? {
            failed = failed.saturating_add(1);
        }
    }
    let mut told = 0_u64;
    for (at, failure) in found.items().enumerate() {
        check_failure(desk, at, failure)?;
        told = told.saturating_add(1);
    }
    let total = checks.items().count() as u64;
    if total != compat::CHECKS.len() as u64 {
        desk.differs(&DIFFERS, checks, format_args!("/checks"), compat::CHECKS.len(), total);
    }
    if (failed == 0) != (told == 0) {
        let right = format!("failures of {failed} checks");
        desk.differs(&DIFFERS, found, format_args!("/failures"), right, told);
    }
    let right = format!(
        "{{\"checks_failed\":{failed}.0,\"checks_total\":{total}.0,\"failures\":{told}.0}}"
    );
    if canonical(metrics) != right {
        desk.differs(&DIFFERS, metrics, format_args!("/summary_metrics"), right, metrics.raw());
    }
    let text = format!("{{\"checks\":{},\"failures\":{}}}", canonical(checks), canonical(found));
    let right = hex::encode(Sha256::digest(text));
    if id.text().as_deref() != Some(&right) {
        desk.differs(&DIFFERS, id, format_args!("/id"), right, id.raw());
    }
    if failed > 0 {
        desk.add(&FAILED, found, format_args!("/failures"), FAILED.finds);
    }
    Some(())
}

/// Whether a check passed, by the report.
fn is_passed(desk: &mut Desk, at: usize, check: Value) -> Option<bool> {
    let keys = ["details", "metrics", "name", "passed"];
    let members = desk.members(check, format_args!("/checks/{at}"), keys)?;
    let [details, metrics, name, passed] = members;
    desk.text_or_null(details, format_args!("/checks/{at}/details"))?;
    desk.exactly(metrics, format_args!("/checks/{at}/metrics"), "{}")?;
    let right = compat::CHECKS.get(at).copied().unwrap_or_default();
    if name.text().as_deref() != Some(right) {
        desk.differs(&DIFFERS, name, format_args!("/checks/{at}/name"), right, name.raw());
    }
    desk.boolean(passed, format_args!("/checks/{at}/passed"))
}

fn check_failure(desk: &mut Desk, at: usize, failure: Value) -> Option<()> {
    let keys = ["invariant_id", "message", "severity"];
    let [invariant, message, severity] =
        desk.members(failure, format_args!("/failures/{at}"), keys)?;
    desk.text_or_null(invariant, format_args!("/failures/{at}/invariant_id"))?;
    desk.text(message, format_args!("/failures/{at}/message"))?;
    desk.exactly(severity, format_args!("/failures/{at}/severity"), "\"error\"")
}
