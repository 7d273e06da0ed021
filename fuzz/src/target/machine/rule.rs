//! What holds of every log, said by its events alone and in another way than the machine's own.

use probity_core::{
    Digest, Effect, Event, Finding, Judgement, Outcome, Phase, Stage, Turn, VerdictKind,
};

use super::Rig;

pub(super) fn holds(rig: &Rig) {
    let told = Told::of(rig);
    assert!(told.charged <= told.allowed, "{} attempts of {}", told.charged, told.allowed);
    assert_eq!(rig.machine.attempts(), told.charged);
    let is_sealed = matches!(rig.machine.stage(), Stage::Sealed { .. });
    assert_eq!(told.is_sealed, is_sealed);
    for effect in &rig.due {
        match effect {
            Effect::Commit { candidate, .. } => {
                assert!(told.ended.is_some_and(Outcome::delivers), "handed on, and not decided");
                assert_eq!(told.seen, Some(*candidate), "another claim than the judged one");
            }
            Effect::Reject { outcome } => assert!(!outcome.delivers(), "withheld as {outcome}"),
            _ => {}
        }
    }
}

/// The log so far.
struct Told {
    /// Verdicts that were charged.
    charged: u32,
    /// How many may be.
    allowed: u32,
    /// The judge's files before the delegate began.
    judge: Option<Digest>,
    /// What the checks of the claim at work said last, in their order.
    findings: Vec<Option<Finding>>,
    /// Somebody touched the judge's files since the claim came.
    is_touched: bool,
    /// The claim at work, as the last hook left it.
    seen: Option<Digest>,
    /// The turns that were judged.
    judged: Vec<Turn>,
    last: Option<Judgement>,
    ended: Option<Outcome>,
    is_sealed: bool,
}

impl Told {
    fn of(rig: &Rig) -> Self {
        let mut told = Self {
            charged: 0,
            allowed: rig.machine.policy().max_attempts,
            judge: None,
            findings: Vec::new(),
            is_touched: false,
            seen: None,
            judged: Vec::new(),
            last: None,
            ended: None,
            is_sealed: false,
        };
        for entry in &rig.log {
            assert!(!told.is_sealed, "something behind the seal");
            told.hear(&entry.event, rig.machine.checks().len());
        }
        told
    }

    fn hear(&mut self, event: &Event, checks: usize) {
        match event {
            Event::WorldObserved { phase: Phase::Before, judge, .. } => self.judge = Some(*judge),
            Event::WorldObserved { phase: Phase::After, judge, .. } => self.look(Some(*judge)),
            Event::ClaimReceived { candidate, .. } => {
                self.findings = vec![None; checks];
                (self.is_touched, self.seen) = (false, Some(*candidate));
            }
            Event::CheckFinished { check, finding, judge, rewrite, .. } => {
                self.look(*judge);
                if let Some(rewrite) = rewrite {
                    self.seen = Some(rewrite.candidate);
                }
                self.found(check.as_usize(), finding);
            }
            Event::CheckAnswered { check, finding, judge, .. } => {
                self.look(Some(*judge));
                self.found(check.as_usize(), finding);
            }
            Event::VerdictMerged { turn, judgement, counted, attempts, .. } => {
                assert!(!self.judged.contains(turn), "{turn:?} was judged twice");
                self.judged.push(*turn);
                self.charged += u32::from(*counted);
                assert_eq!(self.charged, *attempts, "counted otherwise than it is told");
                self.last = Some(*judgement);
            }
            Event::Answered { answer: probity_core::Answer::Continue { attempts }, .. } => {
                self.allowed = self.charged + attempts;
                assert!(self.allowed <= probity_core::MAX_ATTEMPTS);
            }
            Event::OutcomeDecided { outcome, waived, .. } => {
                assert!(self.ended.is_none(), "two outcomes");
                assert!(!(*waived && outcome.delivers()), "waived is never verified");
                self.ended = Some(*outcome);
                if *outcome == Outcome::Verified {
                    self.verified();
                }
            }
            Event::Sealed { outcome } => {
                assert_eq!(self.ended, Some(*outcome), "sealed as something else");
                self.is_sealed = true;
            }
            _ => {}
        }
    }

    fn look(&mut self, judge: Option<Digest>) {
        self.is_touched |= judge.is_some() && judge != self.judge;
    }

    fn found(&mut self, check: usize, finding: &Finding) {
        if let Some(place) = self.findings.get_mut(check) {
            *place = Some(finding.clone());
        }
    }

    /// Every check has looked at this claim; each passed or did not apply, one at least passed, and
    /// nobody touched the judge.
    fn verified(&self) {
        assert_eq!(self.last, Some(Judgement::Pass));
        let is_good = |found: &Option<Finding>| match found {
            Some(Finding::Verdict { verdict, .. }) => *verdict == VerdictKind::Pass,
            Some(Finding::NotApplicable) => true,
            Some(Finding::Fault { .. }) | None => false,
        };
        assert!(self.findings.iter().all(is_good), "verified with {:?}", self.findings);
        let has_pass = self.findings.iter().flatten().any(|it| it.verdict().is_some());
        assert!(has_pass, "verified by nothing");
        assert!(!self.is_touched, "verified by a judge who was touched");
    }
}
