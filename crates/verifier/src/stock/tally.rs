//! What a check has found so far.

use probity_core::{Code, Evidence, Verdict};

/// Collects differences, evidence and the keys that were looked at, and turns them into a verdict.
#[derive(Debug, Default)]
pub(super) struct Tally {
    misses: Vec<(&'static str, String)>,
    open: Option<(&'static str, String)>,
    criteria: Vec<Code>,
    evidence: Vec<Evidence>,
}

impl Tally {
    /// Notes that a key was looked at.
    pub(super) fn key(&mut self, key: &'static str) {
        self.criteria.push(Code::slug(key));
    }

    /// Notes a difference between what was asked for and what is.
    pub(super) fn miss(&mut self, code: &'static str, reason: impl Into<String>) {
        self.misses.push((code, reason.into()));
    }

    /// Notes that something could not be told. A difference found elsewhere outweighs it.
    pub(super) fn cannot_tell(&mut self, code: &'static str, reason: impl Into<String>) {
        self.open.get_or_insert((code, reason.into()));
    }

    /// Adds an observation.
    pub(super) fn saw(&mut self, evidence: Evidence) {
        self.evidence.push(evidence);
    }

    /// Whether nothing speaks against a pass.
    pub(super) fn is_clean(&self) -> bool {
        self.misses.is_empty() && self.open.is_none()
    }

    /// Any difference: revise. Else anything that could not be told: inconclusive. Else pass.
    pub(super) fn verdict(self) -> Verdict {
        let mut verdict = match (self.misses.first(), self.open) {
            (Some((code, _)), _) => {
                let reasons: Vec<&str> =
                    self.misses.iter().map(|(_, text)| text.as_str()).collect();
                Verdict::revise(code, reasons.join("; "))
            }
            (None, Some((code, reason))) => Verdict::inconclusive(code, reason),
            (None, None) => Verdict::pass(),
        };
        verdict.criteria = self.criteria;
        verdict.evidence = self.evidence;
        verdict
    }
}
