//! The drift signals of a run.

use probity_core::{Drift, Finding, Judgement, Step, Trigger, VerdictKind};
use probity_policy::Decision;

use super::document::reason;
use super::log::{Log, Merged, Round};
use super::{ProjectError, RunFacts, text};
use crate::drift::{
    DriftSeverity, DriftSignal, DriftType, Fingerprint, NonPass, PatchType, verify_patch,
    verify_severity,
};

/// The signals of one run, named in the order in which they are made.
struct Signals<'a> {
    log: &'a Log<'a>,
    class: &'a str,
    list: Vec<DriftSignal>,
}

pub(super) fn all(
    log: &Log,
    decision: &Decision,
    facts: &RunFacts,
) -> Result<Vec<DriftSignal>, ProjectError> {
    let mut signals = Signals { log, class: &decision.decision_type, list: Vec::new() };
    if let Some(code) = &log.terms.blocked {
        signals.add(DriftType::Bypass, DriftSeverity::Red, code.as_str(), log.ended_at_ms)?;
    }
    for (at_ms, trigger, step) in &log.steps {
        signals.step(*at_ms, *trigger, *step)?;
    }
    for round in &log.rounds {
        if log.terms.is_stale_soft && log.terms.stale(round.dispatched_at_ms) > 0 {
            let at_ms = round.dispatched_at_ms;
            signals.add(DriftType::Freshness, DriftSeverity::Yellow, "stale", at_ms)?;
        }
        if let Some(verdict) = round.verdict {
            signals.verdict(round, verdict, facts)?;
        }
    }
    let whole = log.worked_ms(log.opened_at_ms, log.ended_at_ms);
    if log.deadline_ms.is_some_and(|deadline_ms| whole > deadline_ms) {
        signals.add(DriftType::Time, DriftSeverity::Yellow, "deadline", log.ended_at_ms)?;
    }
    if log.is_waived {
        signals.add(DriftType::Bypass, DriftSeverity::Red, "waived", log.ended_at_ms)?;
    }
    Ok(signals.list)
}

impl Signals<'_> {
    fn add(
        &mut self,
        drift_type: DriftType,
        severity: DriftSeverity,
        reason: &str,
        at_ms: u64,
    ) -> Result<(), ProjectError> {
        let fingerprint = Fingerprint::new(self.class, drift_type, &[reason]);
        self.push(drift_type, severity, drift_type.patch(), fingerprint, at_ms)
    }

    fn push(
        &mut self,
        drift_type: DriftType,
        severity: DriftSeverity,
        recommended_patch_type: PatchType,
        fingerprint: Fingerprint,
        at_ms: u64,
    ) -> Result<(), ProjectError> {
        let run = self.log.run;
        self.list.push(DriftSignal {
            drift_id: format!("{run}-drift-{}", self.list.len() + 1),
            episode_id: run.to_string(),
            drift_type,
            severity,
            detected_at: text(at_ms)?,
            evidence_refs: Vec::new(),
            recommended_patch_type,
            fingerprint,
            notes: None,
        });
        Ok(())
    }

    /// A step down the ladder is drift, and so is what it was taken for.
    fn step(&mut self, at_ms: u64, trigger: Trigger, step: Step) -> Result<(), ProjectError> {
        match trigger {
            Trigger::Freshness => {
                self.add(DriftType::Freshness, DriftSeverity::Yellow, "stale", at_ms)?;
            }
            Trigger::Time => {
                self.add(DriftType::Time, DriftSeverity::Yellow, "time_pressure", at_ms)?;
            }
            // Told by the verdict, and asked for by the envelope.
            Trigger::Verification | Trigger::Approval => {}
        }
        let severity = match step {
            Step::CacheBundle | Step::SmallModel | Step::RulesOnly => DriftSeverity::Green,
            // Agreement that the envelope asks for is no departure from it.
            Step::Hitl if trigger == Trigger::Approval => DriftSeverity::Green,
            Step::Hitl | Step::Abstain => DriftSeverity::Yellow,
            Step::Bypass => {
                return self.add(DriftType::Bypass, DriftSeverity::Red, "bypass", at_ms);
            }
        };
        self.add(DriftType::Fallback, severity, step.as_str(), at_ms)
    }

    /// One signal for each check that did not pass; one for the verdict itself where no check says
    /// why.
    fn verdict(
        &mut self,
        round: &Round,
        verdict: Merged,
        facts: &RunFacts,
    ) -> Result<(), ProjectError> {
        let Some(drift) = verdict.drift else { return Ok(()) };
        let tier = self.log.terms.tier;
        let mut told = 0;
        for (check, ran) in self.log.checks_of(round) {
            let Some((why, code)) = ran.finding.and_then(non_pass) else { continue };
            let Some(declared) = self.log.checks.get(check.as_usize()) else { continue };
            let name = facts.methods.get(&declared.id).map_or(declared.id.as_str(), String::as_str);
            let key = Fingerprint::verify(self.class, name, &code);
            let (severity, patch) = (verify_severity(why, tier), verify_patch(why, tier));
            self.push(DriftType::Verify, severity, patch, key, verdict.at_ms)?;
            told += 1;
        }
        if told > 0 {
            return Ok(());
        }
        let why = match verdict.judgement {
            Judgement::Revise | Judgement::Fail => NonPass::Fail,
            Judgement::Fault => NonPass::Fault,
            _ if verdict.code.is_timeout() => NonPass::Timeout,
            _ => NonPass::Inconclusive,
        };
        let severity = match drift {
            Drift::Red => DriftSeverity::Red,
            Drift::Yellow => DriftSeverity::Yellow,
        };
        let key = Fingerprint::verify(self.class, "none", &reason(verdict.code));
        self.push(DriftType::Verify, severity, verify_patch(why, tier), key, verdict.at_ms)
    }
}

fn non_pass(finding: &Finding) -> Option<(NonPass, String)> {
    match finding {
        Finding::Verdict { verdict, code, .. } => {
            let why = match verdict {
                VerdictKind::Pass => return None,
                VerdictKind::Revise | VerdictKind::Fail => NonPass::Fail,
                VerdictKind::Inconclusive if code.is_timeout() => NonPass::Timeout,
                VerdictKind::Inconclusive => NonPass::Inconclusive,
            };
            Some((why, reason(code)))
        }
        Finding::Fault { code, .. } => Some((NonPass::Fault, code.to_string())),
        Finding::NotApplicable => None,
    }
}
