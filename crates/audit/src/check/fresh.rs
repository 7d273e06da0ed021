//! How old the context was.

use probity_core::Step;
use probity_policy::Envelope;

use super::Case;
use crate::Severity;
use crate::document::Node;
use crate::finding::Findings;
use crate::rule;

impl Case<'_> {
    pub(super) fn freshness(&self, findings: &mut Findings) {
        let stated = self.facts.natural(&["context", "ttlMs"]);
        let allowed = self.envelope.map(|envelope| self.longest_ttl(envelope));
        if let (Some(stated), Some(allowed)) = (stated, allowed)
            && stated > allowed
        {
            let message = format!("a time to live of {stated} ms, the envelope says {allowed} ms");
            findings.add(&rule::TTL_DIFFERS, "/context/ttlMs", message);
        }
        // A pack's numbers stand in for those of an envelope that is not there.
        let defaults = self.rules.and_then(|rules| rules.dte_defaults);
        let defaults = defaults.filter(|_| self.envelope.is_none());
        let default_ttl = defaults.and_then(|defaults| defaults.ttl_ms);
        let oldest = defaults.and_then(|defaults| defaults.max_feature_age_ms);
        let bound = [stated, allowed, default_ttl, oldest].into_iter().flatten().min();
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

    /// The longest time to live of what the context names as its evidence. An age above the default
    /// is right only for a feature that has a longer time of its own and is named.
    fn longest_ttl(&self, envelope: &Envelope) -> u64 {
        let named = self.facts.at(&["context", "evidenceRefs"]).map_or(&[] as &[_], Node::items);
        let own = named.iter().filter_map(|name| envelope.freshness.feature_ttls.get(name.text()?));
        own.copied().fold(envelope.freshness.default_ttl_ms, u64::max)
    }

    /// Whether the envelope lets a narrow action go on with a stale context, or the cached bundle
    /// was taken, which was not made from it, and no success is claimed.
    fn may_be_stale(&self) -> bool {
        self.envelope.is_some_and(|envelope| {
            let has_bundle =
                envelope.degrade_ladder.iter().any(|rung| rung.step == Step::CacheBundle);
            let is_bundle = self.facts.step() == Some(Step::CacheBundle) && has_bundle;
            if is_bundle && self.facts.outcome() != Some("success") {
                return true;
            }
            let threshold = envelope.verification.required_above_blast_radius;
            let is_safe = |action: crate::facts::Action| {
                action.tier().is_some_and(|tier| !tier.is_above(threshold))
            };
            envelope.freshness.allow_stale_if_safe && self.facts.actions().all(is_safe)
        })
    }
}
