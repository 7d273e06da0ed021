//! What can be proved of a record from its bytes alone: episodes, drift, and proof bundles.
//!
//! Bytes in, reports out: no I/O, no clock. A document may come from anywhere; nothing about it is
//! believed that its bytes, its envelope and its pack do not show. `docs/episodes.md` lists every
//! rule.
//!
//! - [`EpisodeAuditor`]: one document, a line, or a list of them, as [`EpisodeReport`]s.
//! - [`OpenEpisode`], [`SealedEpisode`]: sealing, and reading what was sealed.
//! - [`project`]: the episode and the drift of a sealed run log.
//! - [`log`]: a run log, proved by two readers that share no rule.
//! - [`bundle`]: a run in one file, with a statement about it that may be signed ([`attest`]).
//! - [`page`]: a report for a browser.
//! - [`verify_drift`], [`DriftSignal`], [`DriftCounter`]: drift, and drift that comes back.

pub mod attest;
mod auditor;
pub mod bundle;
mod check;
mod derive;
mod document;
mod drift;
mod episode;
mod facts;
mod finding;
pub mod log;
pub mod page;
mod policy;
pub mod project;
mod report;
mod rule;
mod seal;
mod shape;
mod vocabulary;

pub use auditor::EpisodeAuditor;
pub use bundle::{BundleInput, BundlePolicy, Inclusion, audit_bundle, redact_bundle, write_bundle};
pub use document::{MAX_DOCUMENT_BYTES, MAX_DOCUMENT_DEPTH, MAX_DOCUMENT_VALUES, MAX_LIST_BYTES};
pub use drift::{
    DriftCounter, DriftSeverity, DriftSignal, DriftSignalError, DriftType, Fingerprint,
    MAX_TRACKED, NonPass, PatchType, Recurrence, verify_drift, verify_patch, verify_severity,
};
pub use episode::{OpenEpisode, Receipt, SealError, SealedEpisode};
pub use finding::{Finding, MAX_FINDINGS, Severity};
pub use log::{Blob, Content, LogAuditor, LogPolicy, NoContent, audit_log};
pub use page::render_page;
pub use report::{
    Acceptance, DocumentKind, DriftNote, EpisodeReport, Reading, SealRule, SealState,
};
pub use rule::{RULES, Rule};
pub use shape::{DRIFT_SCHEMA, EPISODE_SCHEMA};

/// Audits a text that holds one document or an array of them: [`EpisodeAuditor::document`].
#[must_use]
pub fn audit_episodes(bytes: &[u8], name: &str, auditor: &EpisodeAuditor) -> Vec<EpisodeReport> {
    auditor.document(bytes, name)
}
