//! How old the context was.

use super::Case;
use crate::Severity;
use crate::finding::Findings;
use crate::rule;

impl Case<'_> {
    pub(super) fn freshness(&self, findings: &mut Findings) {
        let stated = self.facts.natural(&["context", "ttlMs"]);
        let allowed = self.envelope.map(|envelope| envelope.freshness.default_ttl_ms);
        if let (Some(stated), Some(allowed)) = (stated, allowed)
            && stated > allowed
        {
            let message = format!("a time to live of {stated} ms, the envelope says {allowed} ms");
            findings.add(&rule::TTL_DIFFERS, "/context/ttlMs", message);
        }
        let defaults = self.rules.and_then(|rules| rules.dte_defaults);
        let oldest = defaults.and_then(|defaults| defaults.max_feature_age_ms);
        let bound = [stated, allowed, oldest].into_iter().flatten().min();
        let age = self.facts.natural(&["context", "maxFeatureAgeMs"]);
        let breaches = self.facts.natural(&["context", "ttlBreachesCount"]);
        let (place, message) = match (age, bound, breaches) {
            (Some(age), Some(bound), _) if age > bound => {
                ("/context/maxFeatureAgeMs", format!("{age} ms old, may be {bound} ms old"))
            }
            (_, _, Some(breaches)) if breaches > 0 => {
                ("/context/ttlBreachesCount", format!("{breaches} features outlived their time"))
            }
            _ => return,
        };
        findings.add(&rule::CONTEXT_STALE, place, message);
        let Some(outcome) = self.facts.outcome().filter(|outcome| *outcome != "abstain") else {
            return;
        };
        let severity = if self.may_be_stale() { Severity::Warning } else { Severity::Error };
        let message = format!("`{outcome}` on a stale context, where only `abstain` is right");
        findings.add_as(severity, &rule::STALE_NOT_ABSTAINED, "/outcome/code", message);
    }

    /// Whether the envelope lets a narrow action go on with a stale context.
    fn may_be_stale(&self) -> bool {
        self.envelope.is_some_and(|envelope| {
            let threshold = envelope.verification.required_above_blast_radius;
            let is_safe = |action: crate::facts::Action| {
                action.tier().is_some_and(|tier| !tier.is_above(threshold))
            };
            envelope.freshness.allow_stale_if_safe && self.facts.actions().all(is_safe)
        })
    }
}
