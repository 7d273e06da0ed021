//! Whether the result was verified, by whom, and in time.

use probity_core::Step;

use super::Case;
use crate::Severity;
use crate::document::Node;
use crate::finding::Findings;
use crate::rule;

/// Names that stand where no verifier ran.
const PLACEHOLDERS: [&str; 9] =
    ["stub", "none", "na", "n/a", "todo", "mock", "dummy", "placeholder", "scaffold"];

impl Case<'_> {
    pub(super) fn verification(&self, findings: &mut Findings) {
        let facts = self.facts;
        let required = facts.bool(&["verification", "required"]);
        let mandatory = self.mandatory();
        if let (Some(false), Some(why)) = (required, &mandatory) {
            findings.add(&rule::REQUIRED_FALSE, "/verification/required", why);
        }
        let result = facts.result();
        if result == Some("na") && (required == Some(true) || mandatory.is_some()) {
            let message = "verification is required, and none was made";
            findings.add(&rule::REQUIRED_NA, "/verification/result", message);
        }
        let outcome = facts.outcome().unwrap_or_default();
        match result {
            Some(result @ ("fail" | "inconclusive")) if !matches!(outcome, "fail" | "abstain") => {
                let message = format!(
                    "`{outcome}` after `{result}`: what was not verified is `fail`, or nothing is \
                     done and it is `abstain`"
                );
                findings.add(&rule::OUTCOME_UNVERIFIED, "/outcome/code", message);
            }
            Some("na") if outcome == "success" => {
                let message = "nothing verified this success";
                findings.add(&rule::SUCCESS_UNCHECKED, "/outcome/code", message);
            }
            Some("pass") => self.pass(findings),
            _ => {}
        }
    }

    /// What a pass must be to be believed.
    fn pass(&self, findings: &mut Findings) {
        let facts = self.facts;
        if facts.at(&["actions"]).is_some() && facts.actions().count() == 0 {
            let message = "`pass`, and no action whose effect could be verified";
            findings.add(&rule::PASS_WITHOUT_ACTION, "/verification/result", message);
        }
        let leaves_nothing = |step: &Step| match step {
            Step::Abstain | Step::Bypass => true,
            // A human may have agreed, and then it was done.
            Step::Hitl => !facts.actions().any(|action| action.has_approver()),
            Step::CacheBundle | Step::SmallModel | Step::RulesOnly => false,
        };
        if let Some(step) = facts.step().or_else(|| facts.fallback_step()).filter(leaves_nothing) {
            let message = format!("`pass` on the step `{step}`, which leaves nothing to pass");
            findings.add(&rule::PASS_DEGRADED, "/verification/result", message);
        }
        self.in_time(findings);
    }

    /// Whether a pass came within the time of its verifiers: each by its own record where there is
    /// one, else the whole stage for as many as are named.
    fn in_time(&self, findings: &mut Findings) {
        let facts = self.facts;
        let Some(envelope) = self.envelope else { return };
        let stated = envelope.verification.verify_timeout_ms;
        let budget = envelope.stage_budgets_ms.verify;
        let each = if stated == 0 { budget } else { stated };
        let records = facts.at(&["verification", "details", "checks"]);
        let records = records.map_or(&[] as &[_], Node::items);
        let took = |record: &Node| record.get("elapsedMs").and_then(Node::natural);
        let is_recorded = |name: &str| {
            let of = |record: &&Node| record.get("method").and_then(Node::text) == Some(name);
            records.iter().find(of).is_some_and(|record| took(record).is_some())
        };
        let mut late = |took: u64, bound: u64, place: String| {
            let message = format!(
                "`pass` after {took} ms of {bound} ms is not credible: it reads as `inconclusive`, \
                 reason `timeout`"
            );
            findings.add(&rule::VERIFY_TOO_LATE, place, message);
        };
        if facts.methods().next().is_some() && facts.methods().all(is_recorded) {
            for (index, record) in records.iter().enumerate() {
                if let Some(took) = took(record).filter(|took| *took > each) {
                    late(took, each, format!("/verification/details/checks/{index}/elapsedMs"));
                }
            }
            return;
        }
        let count = u64::try_from(facts.methods().count().max(1)).unwrap_or(u64::MAX);
        let bound = if stated == 0 { budget } else { stated.saturating_mul(count) };
        if let Some(took) = facts.stage("verify").filter(|took| *took > bound) {
            late(took, bound, "/telemetry/stageMs/verify".to_owned());
        }
    }

    /// Why the result had to be verified, if it had to.
    fn mandatory(&self) -> Option<String> {
        let above = self.envelope.map(|envelope| envelope.verification.required_above_blast_radius);
        for action in self.facts.actions() {
            let Some(tier) = action.tier() else { continue };
            if let Some(threshold) = above.filter(|threshold| tier.is_above(*threshold)) {
                return Some(format!("the action is `{tier}`, above `{threshold}`"));
            }
            let of_tier = self.rules.and_then(|rules| rules.blast_radius_requirements.get(&tier));
            if of_tier.is_some_and(|rules| rules.verification_required) {
                return Some(format!("the pack requires it for `{tier}`"));
            }
        }
        let verifier = self.rules.and_then(|rules| rules.required_verifiers.first());
        let verifier = verifier.filter(|_| self.facts.actions().count() > 0)?;
        Some(format!("the pack requires `{verifier}`"))
    }

    pub(super) fn methods(&self, findings: &mut Findings) {
        let facts = self.facts;
        let place = "/verification/method";
        let result = facts.result();
        if !matches!(result, Some("pass" | "fail" | "inconclusive")) {
            return;
        }
        let is_pass = result == Some("pass");
        let severity = if is_pass { Severity::Error } else { Severity::Warning };
        if is_pass && facts.methods().next().is_none() {
            let message = "`pass` that names no verifier";
            findings.add(&rule::METHOD_MISSING, "/verification", message);
            return;
        }
        if let Some(name) = facts.methods().find(|name| PLACEHOLDERS.contains(name)) {
            let message = format!("`{name}` is no verifier: the result was given, not found");
            findings.add_as(severity, &rule::METHOD_PLACEHOLDER, place, message);
            return;
        }
        let required = self.rules.map_or(&[] as &[String], |rules| &rules.required_verifiers);
        if facts.actions().count() > 0 {
            for name in required.iter().filter(|name| !facts.methods().any(|m| m == **name)) {
                let message = format!("the pack requires `{name}`, which did not run");
                findings.add_as(severity, &rule::METHOD_MISSING, place, message);
            }
        }
        let Some(envelope) = self.envelope else { return };
        let known = &envelope.verification.methods;
        let has_known = facts.methods().any(|name| known.iter().any(|one| one == name));
        if !has_known && !known.is_empty() && facts.actions().count() > 0 {
            let message = format!("none of the envelope's verifiers ran: `{}`", known.join("`, `"));
            findings.add_as(severity, &rule::METHOD_MISSING, place, message);
        }
        for name in facts.methods() {
            if !known.iter().chain(required).any(|one| one == name) {
                let message = format!("the envelope does not name `{name}`");
                findings.add_as(severity, &rule::METHOD_UNKNOWN, place, message);
            }
        }
    }
}
