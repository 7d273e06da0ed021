//! What runs and what it finds: checks before the delegate, checks of a claim, humans who are asked.

use probity_core::{
    CheckIndex, Digest, Discrimination, Finding, Phase, Rewrite, Subject, SubmissionId, VerdictKind,
};

use super::flight::Flight;
use super::rule;
use super::walk::Walk;

impl Walk<'_> {
    pub(super) fn red_started(&mut self, check: CheckIndex, tries: u32) {
        self.begin(Flight::Red(check));
        if self.subject(check).is_none() {
            return;
        }
        if !self.has_red(check.as_usize()) {
            self.found(&rule::RED_UNASKED, format!("check {} is exempt", check.0));
        }
        if self.red.get(check.as_usize()).is_some_and(Option::is_some) {
            let message = format!("check {} ran before the delegate already", check.0);
            self.found(&rule::VERDICT_RERUN, message);
        }
        if tries != 1 {
            self.differs(&rule::TRIES, 1, tries);
        }
    }

    pub(super) fn check_red(
        &mut self,
        check: CheckIndex,
        stated: Discrimination,
        finding: &Finding,
    ) {
        let red = Flight::Red(check);
        if !self.lands(&red) {
            self.unannounced(&red);
        }
        let expected = match finding {
            Finding::Verdict { verdict: VerdictKind::Pass, .. } => {
                Discrimination::NonDiscriminating
            }
            Finding::Verdict { verdict: VerdictKind::Revise | VerdictKind::Fail, .. } => {
                Discrimination::Discriminating
            }
            Finding::Verdict { verdict: VerdictKind::Inconclusive, .. }
            | Finding::Fault { .. }
            | Finding::NotApplicable => Discrimination::NotAssessed,
        };
        if stated != expected {
            self.differs(&rule::RED_DIFFERS, word(expected), word(stated));
        }
        if let Some(red) = self.red.get_mut(check.as_usize()) {
            *red = Some(expected);
        }
        // What the checks wrote is not the delegate's: the workspace is read once more.
        if self.red_missing().is_none() {
            self.flight = Flight::Reading(Phase::Before);
        }
    }

    pub(super) fn check_started(&mut self, check: CheckIndex, tries: u32) {
        self.begin(Flight::Check(check));
        if self.subject(check).is_none() {
            return;
        }
        let Some(claim) = &mut self.claim else {
            return self.found(&rule::WITHOUT_CLAIM, format!("check {} has no claim", check.0));
        };
        let is_answered = self.charges.answered_by(claim.candidate, claim.work).is_some();
        let Some(progress) = claim.check(check) else { return };
        let next = progress.tries.saturating_add(1);
        let is_settled = progress.finding.as_ref().is_some_and(|finding| !is_open(finding));
        progress.tries = tries;
        if is_settled || is_answered {
            let message = format!("the log holds what check {} said of this claim", check.0);
            self.found(&rule::VERDICT_RERUN, message);
        } else if tries != next || tries > self.run.policy.max_verify_tries {
            let expected = next.min(self.run.policy.max_verify_tries);
            self.differs(&rule::TRIES, expected, tries);
        }
    }

    pub(super) fn check_finished(
        &mut self,
        check: CheckIndex,
        finding: &Finding,
        judge: Option<Digest>,
        rewrite: Option<&Rewrite>,
    ) {
        let is_pass = finding.verdict() == Some(VerdictKind::Pass);
        match std::mem::replace(&mut self.flight, Flight::None) {
            Flight::Check(started) if started == check => {}
            Flight::Human(asked, _, until_ms) if asked == check => {
                self.wait_ended(check, finding, until_ms);
            }
            _ => self.unannounced(&Flight::Check(check)),
        }
        let subject = self.subject(check);
        if rewrite.is_some() && !(is_pass && subject == Some(Subject::Hook)) {
            self.found(&rule::REWRITE, "only a hook rewrites a claim, and only beside a pass");
        }
        if is_pass && self.clock.is_finding_late(self.at_ms) {
            self.found(&rule::TIME, format!("check {} passed after its time", check.0));
        }
        match judge {
            Some(judge) => self.judge_seen(judge),
            None if is_pass => {
                let message = format!("check {} passed with no look at the judge's files", check.0);
                self.found(&rule::JUDGE_UNSEEN, message);
            }
            None => {}
        }
        let decls = self.run.checks;
        match &mut self.claim {
            Some(claim) => claim.found(decls, check, finding, rewrite),
            None => {
                let message = format!("check {} has no claim", check.0);
                self.found(&rule::WITHOUT_CLAIM, message);
            }
        }
    }

    /// A human did not answer.
    fn wait_ended(&mut self, check: CheckIndex, finding: &Finding, until_ms: u64) {
        let is_timeout = matches!(
            finding,
            Finding::Verdict { verdict: VerdictKind::Inconclusive, code, .. }
                if code.as_str() == "human_timeout"
        );
        if !is_timeout || self.at_ms < until_ms {
            let message = format!("check {} waits for a human, who did not say this", check.0);
            self.found(&rule::HUMAN_REPLACED, message);
        }
        self.waited(check);
    }

    fn waited(&mut self, check: CheckIndex) {
        let progress = self.claim.as_mut().and_then(|claim| claim.check(check));
        let asked_ms = progress.map_or(self.at_ms, |progress| progress.asked_ms);
        self.clock.waited(self.at_ms.saturating_sub(asked_ms));
    }

    pub(super) fn check_awaits(
        &mut self,
        check: CheckIndex,
        submission: &SubmissionId,
        until_ms: u64,
    ) {
        self.begin(Flight::Human(check, submission.clone(), until_ms));
        if self.subject(check).is_some_and(|subject| subject != Subject::Human) {
            self.found(&rule::ANSWER_UNASKED, format!("check {} asks no human", check.0));
        }
        let whole_ms = self.run.checks.get(check.as_usize()).map_or(0, |decl| decl.timeout_ms);
        if until_ms > self.at_ms.saturating_add(whole_ms) {
            self.found(&rule::TIME, format!("check {} waits longer than it may", check.0));
        }
        self.about(submission);
        let at_ms = self.at_ms;
        let Some(progress) = self.claim.as_mut().and_then(|claim| claim.check(check)) else {
            return;
        };
        let is_settled = progress.finding.is_some();
        (progress.tries, progress.asked_ms) = (1, at_ms);
        if is_settled {
            let message = format!("the log holds what the human of check {} said", check.0);
            self.found(&rule::VERDICT_RERUN, message);
        }
    }

    pub(super) fn check_answered(
        &mut self,
        check: CheckIndex,
        submission: &SubmissionId,
        finding: &Finding,
        judge: Digest,
    ) {
        match std::mem::replace(&mut self.flight, Flight::None) {
            Flight::Human(asked, about, until_ms) if asked == check => {
                if about != *submission {
                    self.differs(&rule::ANSWER_OTHER_CLAIM, about, submission);
                }
                if self.at_ms >= until_ms {
                    self.found(&rule::ANSWER_LATE, format!("the wait ended at {until_ms} ms"));
                }
            }
            _ => self.found(&rule::ANSWER_UNASKED, format!("check {} asked nobody", check.0)),
        }
        self.subject(check);
        self.about(submission);
        self.waited(check);
        self.judge_seen(judge);
        if let Some(claim) = &mut self.claim {
            claim.said(check, finding);
        }
    }

    /// A human is asked about the claim at work.
    fn about(&mut self, submission: &SubmissionId) {
        let at_work = self.claim.as_ref().map(|claim| claim.id.clone());
        match at_work {
            Some(at_work) if at_work == *submission => {}
            Some(at_work) => self.differs(&rule::ANSWER_OTHER_CLAIM, at_work, submission),
            None => self.found(&rule::WITHOUT_CLAIM, "a human is asked about no claim"),
        }
    }
}

/// Whether a check may be tried once more.
const fn is_open(finding: &Finding) -> bool {
    matches!(finding, Finding::Verdict { verdict: VerdictKind::Inconclusive, .. })
}

const fn word(discrimination: Discrimination) -> &'static str {
    match discrimination {
        Discrimination::Discriminating => "discriminating",
        Discrimination::NonDiscriminating => "non_discriminating",
        Discrimination::NotAssessed => "not_assessed",
        Discrimination::Exempt => "exempt",
    }
}
