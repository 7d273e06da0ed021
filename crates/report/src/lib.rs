//! What an audit says of a record: one shape for traces, run logs, bundles, episodes and answers.
//!
//! No I/O, no clock. Equal findings give byte-identical reports.
//!
//! - [`Rule`]: what can be found, with its code and its weight.
//! - [`Failures`]: takes findings while an audit runs; bounded, and counts what it does not keep.
//! - [`VerificationReport`]: checks, failures, summary metrics, and the [`Verdict`] they come to.

mod failure;
mod legible;
mod place;
mod report;
mod rule;
mod verdict;

pub use failure::{Failure, Failures, MAX_FAILURES};
pub use legible::legible;
pub use place::{Place, Span, pointer};
pub use report::{
    CheckState, Draft, REPORT_VERSION, Reading, SubjectKind, VerificationCheck, VerificationReport,
};
pub use rule::{Class, Rule, Severity};
pub use verdict::Verdict;
