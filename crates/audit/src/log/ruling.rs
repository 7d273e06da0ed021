//! What the findings of a claim come to, worked out anew.

use probity_core::{
    Code, Discrimination, Drift, Finding, Judgement, RedFirst, Subject, Tier, Turn, VerdictKind,
};

use super::submission::Submission;
use super::walk::Walk;

/// The verdict that the log must hold.
pub(super) struct Ruling {
    pub(super) judgement: Judgement,
    pub(super) code: Code,
    pub(super) reused: Option<Turn>,
    /// A check that should have run and did not.
    pub(super) skipped: Option<Code>,
}

/// The rows of the merge table, from the one that outweighs all others down.
const ROWS: [Judgement; 5] = [
    Judgement::Fault,
    Judgement::Fail,
    Judgement::Revise,
    Judgement::Inconclusive,
    Judgement::Pass,
];

impl Walk<'_> {
    /// What a claim comes to at this time.
    pub(super) fn ruling(&self, claim: &Submission) -> Ruling {
        let decided = |judgement, word: &str, reused| Ruling {
            judgement,
            code: Code::slug(word),
            reused,
            skipped: None,
        };
        if claim.is_tampered {
            return decided(Judgement::Fail, "judge_tampered", None);
        }
        if let Some(earlier) = self.charges.answered_by(claim.candidate, claim.work) {
            return decided(Judgement::Revise, "reused", Some(earlier));
        }
        let mut findings = self.effective(claim);
        let skipped = self.missing(claim, &mut findings);
        let judgement = table(&findings);
        let code = self.reason(judgement, &findings);
        Ruling { judgement, code, reused: None, skipped }
    }

    /// The findings; where it is required that a check fails before the delegate, the pass of one that
    /// did not is none.
    fn effective(&self, claim: &Submission) -> Vec<(Judgement, Code)> {
        let must_tell_apart = self.run.policy.red_first == RedFirst::Require;
        let found = claim.checks.iter().enumerate();
        found
            .filter_map(|(check, progress)| Some((check, says(progress.finding.as_ref()?)?)))
            .filter(|(check, (said, _))| {
                let red = self.red.get(*check).copied().flatten();
                let proves = !self.has_red(*check) || red == Some(Discrimination::Discriminating);
                *said != Judgement::Pass || !must_tell_apart || proves
            })
            .map(|(_, said)| said)
            .collect()
    }

    /// The first check without a finding: what the time left no room for is inconclusive, what
    /// others made moot is nothing, and anything else was left out.
    fn missing(&self, claim: &Submission, findings: &mut Vec<(Judgement, Code)>) -> Option<Code> {
        let mut checks = self.run.checks.iter().zip(&claim.checks);
        let (decl, _) = checks.find(|(_, progress)| progress.finding.is_none())?;
        let is_wall_over = self.clock.is_wall_over(self.at_ms);
        let is_human = decl.subject == Subject::Human;
        if is_wall_over || (!is_human && self.clock.is_verify_over(self.at_ms)) {
            let word = if is_wall_over { "wall_timeout" } else { "verify_timeout" };
            findings.push((Judgement::Inconclusive, Code::slug(word)));
            return None;
        }
        // A human is asked last, and only about what nothing else refuses.
        let is_moot =
            is_human && !matches!(table(findings), Judgement::Pass | Judgement::Unverified);
        (!is_moot).then(|| decl.id.clone())
    }

    /// The code of the first finding that decided.
    fn reason(&self, judgement: Judgement, findings: &[(Judgement, Code)]) -> Code {
        let decided = findings.iter().find(|(said, _)| *said == judgement);
        if let Some((_, code)) = decided {
            return code.clone();
        }
        Code::slug(match self.run.policy.red_first {
            _ if self.run.checks.is_empty() => "no_checks",
            RedFirst::Require => "non_discriminating",
            RedFirst::Warn | RedFirst::Off => "not_applicable",
        })
    }

    /// How far the world departs from a claim with this verdict.
    pub(super) fn drift(&self, judgement: Judgement, code: &Code) -> Option<Drift> {
        let tier = self.run.terms.and_then(|terms| terms.tier);
        let is_required = self.run.terms.is_some_and(|terms| terms.is_required);
        let unread = match tier {
            Some(Tier::Medium | Tier::Large) => Drift::Red,
            _ if code.as_str().ends_with("timeout") => Drift::Red,
            _ => Drift::Yellow,
        };
        match judgement {
            Judgement::Pass => None,
            Judgement::Unverified => is_required.then_some(unread),
            Judgement::Inconclusive => Some(unread),
            Judgement::Revise | Judgement::Fail => Some(Drift::Yellow),
            Judgement::Fault => Some(Drift::Red),
        }
    }
}

/// The merge table: one row that any finding names, or nothing that applies at all.
fn table(findings: &[(Judgement, Code)]) -> Judgement {
    let is_named = |row: &Judgement| findings.iter().any(|(said, _)| said == row);
    ROWS.into_iter().find(is_named).unwrap_or(Judgement::Unverified)
}

/// The row that one finding names, and its code; `None` where it did not apply.
fn says(finding: &Finding) -> Option<(Judgement, Code)> {
    match finding {
        Finding::NotApplicable => None,
        Finding::Fault { code, .. } => Some((Judgement::Fault, code.clone())),
        Finding::Verdict { verdict, code, .. } => {
            let row = match verdict {
                VerdictKind::Pass => Judgement::Pass,
                VerdictKind::Revise => Judgement::Revise,
                VerdictKind::Fail => Judgement::Fail,
                VerdictKind::Inconclusive => Judgement::Inconclusive,
            };
            Some((row, code.clone()))
        }
    }
}
