//! Run logs from outside: honest ones, forged and sealed anew, damaged, with and without content.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code; a panic is how a test fails"
)]

mod content;
mod damage;
mod forged;
mod forged_end;
mod forged_lease;
mod forged_wait;
mod honest;
mod museum;
mod rig;
mod run;
mod schedule;

use probity_audit::log::{LogPolicy, NoContent, audit_log};
use probity_core::Entry;
use probity_report::VerificationReport;

/// Content is for other tests.
const ALONE: LogPolicy = LogPolicy { allow_unsealed: false, stands_alone: true };

/// A log that may go on, without its content.
fn audit_open(entries: &[Entry]) -> VerificationReport {
    audit_log(&rig::jsonl(entries), "log", &NoContent, LogPolicy { allow_unsealed: true, ..ALONE })
}

/// The codes of a report, each once, in alphabetical order; notes are left out.
fn codes(report: &VerificationReport) -> Vec<&'static str> {
    let told = report.failures.iter().map(|failure| failure.code);
    let mut codes: Vec<_> = told.filter(|code| *code != "log_content_unseen").collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}
