//! The report on one record.

use std::collections::BTreeMap;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::{Class, Failure, Failures, Verdict, legible};

/// The version of the report's own shape.
pub const REPORT_VERSION: &str = "1";

/// What an audit of one record came to. Equal bytes under equal policy give equal reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerificationReport {
    /// The version of this shape.
    pub report_version: &'static str,
    /// SHA-256 over everything else but `source`, so that a record that was moved keeps its report.
    pub id: String,
    /// What the record is.
    pub kind: SubjectKind,
    /// Where it came from, as the caller named it.
    pub source: String,
    /// By whose rules it was read.
    pub reading: Reading,
    /// What it comes to.
    pub verdict: Verdict,
    /// Every check, in a fixed order.
    pub checks: Vec<VerificationCheck>,
    /// What was found, in the order of the places: at most [`crate::MAX_FAILURES`], and the first of
    /// every code.
    pub failures: Vec<Failure>,
    /// Counts: what was read, and what was found.
    pub summary_metrics: BTreeMap<&'static str, u64>,
    /// What the report is about, by digest, and the policy it was made under.
    pub binds: BTreeMap<&'static str, String>,
}

/// What a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SubjectKind {
    /// A reasoning trace with its plan and evidence.
    Trace,
    /// A run log.
    RunLog,
    /// A proof bundle.
    Bundle,
    /// An episode, drift signal, envelope or pack.
    Episode,
    /// An answer with citations.
    Answer,
    /// Nothing that is known here.
    Unknown,
}

/// By whose rules a record was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// By ours.
    Strict,
    /// By those of the source system's own verifier, gaps included.
    Compat,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerificationCheck {
    /// Its name.
    pub name: &'static str,
    /// How it went.
    pub state: CheckState,
    /// Errors that it found.
    pub errors: u64,
}

/// How a check went. A check that was skipped did not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    /// It ran and found no error.
    Passed,
    /// It found an error.
    Failed,
    /// There was nothing that it could look at, or it could not look.
    Skipped,
}

/// A report in the making.
#[derive(Debug, Clone)]
pub struct Draft {
    /// What the record is.
    pub kind: SubjectKind,
    /// Where it came from.
    pub source: String,
    /// By whose rules it is read.
    pub reading: Reading,
    /// What was found so far.
    pub failures: Failures,
    /// Counts.
    pub metrics: BTreeMap<&'static str, u64>,
    /// What the report is about, by digest.
    pub binds: BTreeMap<&'static str, String>,
    checks: Vec<(&'static str, bool)>,
}

impl Draft {
    /// A draft with these checks, in this order, none of which was skipped.
    #[must_use]
    pub fn new(kind: SubjectKind, source: &str, checks: &[&'static str]) -> Self {
        Self {
            kind,
            source: legible(source, 400),
            reading: Reading::Strict,
            failures: Failures::new(),
            metrics: BTreeMap::new(),
            binds: BTreeMap::new(),
            checks: checks.iter().map(|name| (*name, false)).collect(),
        }
    }

    /// Says that a check could not look at all it should have.
    pub fn skip(&mut self, check: &str) {
        for (name, is_skipped) in &mut self.checks {
            *is_skipped |= *name == check;
        }
    }

    /// The report.
    ///
    /// A skipped check without any error makes the verdict [`Verdict::IntegrityOnly`] at best.
    #[must_use]
    pub fn finish(self) -> VerificationReport {
        let is_compat = self.reading == Reading::Compat;
        let is_partial = self.checks.iter().any(|(_, is_skipped)| *is_skipped);
        let verdict = match self.failures.worst() {
            Some(Class::Malformed) => Verdict::Malformed,
            Some(Class::Limit) => Verdict::LimitExceeded,
            Some(Class::Finding) => Verdict::Invalid,
            Some(Class::Withheld) => Verdict::IntegrityOnly,
            None if is_compat => Verdict::AcceptedByCompat,
            None if is_partial => Verdict::IntegrityOnly,
            None => Verdict::Valid,
        };
        self.with_verdict(verdict)
    }

    fn with_verdict(mut self, verdict: Verdict) -> VerificationReport {
        let failures = &self.failures;
        let check = |(name, is_skipped): &(&'static str, bool)| {
            let errors = failures.errors_of(name);
            let state = match (errors, is_skipped) {
                (1.., _) => CheckState::Failed,
                (0, true) => CheckState::Skipped,
                (0, false) => CheckState::Passed,
            };
            VerificationCheck { name, state, errors }
        };
        let checks: Vec<VerificationCheck> = self.checks.iter().map(check).collect();
        let of_state = |state| checks.iter().filter(|check| check.state == state).count() as u64;
        self.metrics.insert("checks_total", checks.len() as u64);
        self.metrics.insert("checks_failed", of_state(CheckState::Failed));
        self.metrics.insert("checks_skipped", of_state(CheckState::Skipped));
        self.metrics.insert("failures", failures.total());
        let mut report = VerificationReport {
            report_version: REPORT_VERSION,
            id: String::new(),
            kind: self.kind,
            source: String::new(),
            reading: self.reading,
            verdict,
            checks,
            failures: self.failures.into_sorted(),
            summary_metrics: self.metrics,
            binds: self.binds,
        };
        report.id = hex::encode(Sha256::digest(report.bytes()));
        report.source = self.source;
        report
    }
}

impl VerificationReport {
    /// The report as one line of JSON, without a newline.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        // The shape holds nothing that JSON cannot: no float, no key that is not text.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Whether a finding with this code is among the failures that were kept.
    #[must_use]
    pub fn has(&self, finding_code: &str) -> bool {
        self.failures.iter().any(|failure| failure.code == finding_code)
    }
}
