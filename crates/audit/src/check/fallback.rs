//! Which step of the ladder was taken, and whether everything agrees on it.

use probity_core::Step;

use super::Case;
use crate::facts::{is_no_step, step};
use crate::finding::Findings;
use crate::rule;

impl Case<'_> {
    pub(super) fn fallback(&self, findings: &mut Findings) {
        let facts = self.facts;
        let degrade = facts.text(&["degrade", "step"]);
        let telemetry = facts.text(&["telemetry", "fallbackStep"]);
        let places = [("/degrade/step", degrade), ("/telemetry/fallbackStep", telemetry)];
        for (place, word) in places {
            let Some(word) = word.filter(|word| !is_no_step(word)) else { continue };
            match step(word) {
                None => {
                    let known = Step::ALL.map(Step::as_str).join("`, `");
                    let message = format!("`{word}` is none of `{known}`");
                    findings.add(&rule::STEP_UNKNOWN, place, message);
                }
                Some(step) if place == "/degrade/step" && !self.is_in_ladder(step) => {
                    let message = format!("the ladder has no `{step}`");
                    findings.add(&rule::STEP_NOT_IN_LADDER, place, message);
                }
                Some(_) => {}
            }
        }
        if let (Some(degrade), Some(telemetry)) = (degrade, telemetry)
            && degrade != telemetry
            && !(is_no_step(degrade) && is_no_step(telemetry))
        {
            let message = format!("`degrade` says `{degrade}`, the telemetry `{telemetry}`");
            findings.add(&rule::FALLBACK_DIFFERS, "/telemetry/fallbackStep", message);
        }
        let used = facts.bool(&["telemetry", "fallbackUsed"]);
        let taken = telemetry.or(degrade);
        if let (Some(used), Some(taken)) = (used, taken)
            && used == is_no_step(taken)
        {
            let message = format!("`fallbackUsed` is {used}, the step is `{taken}`");
            findings.add(&rule::FALLBACK_FLAG, "/telemetry/fallbackUsed", message);
        }
    }

    /// Whether the step is one of the envelope, the pack and the episode's own ladder. Nothing needs
    /// to be said for `abstain`, which ends every ladder.
    fn is_in_ladder(&self, step: Step) -> bool {
        let own = self.facts.at(&["degrade", "ladder"]);
        let own = own.map(|ladder| ladder.items().iter().filter_map(|item| item.text()));
        let envelope = self.envelope.map(|envelope| &envelope.degrade_ladder);
        let pack =
            self.rules.map(|rules| &rules.degrade_ladder).filter(|ladder| !ladder.is_empty());
        step == Step::Abstain
            || (own.is_none_or(|mut ladder| ladder.any(|word| word == step.as_str()))
                && envelope.is_none_or(|ladder| ladder.iter().any(|rung| rung.step == step))
                && pack.is_none_or(|ladder| ladder.contains(&step)))
    }

    pub(super) fn bypass(&self, findings: &mut Findings) {
        let facts = self.facts;
        let is_bypassed = facts.outcome() == Some("bypassed");
        let has_step =
            facts.step() == Some(Step::Bypass) || facts.fallback_step() == Some(Step::Bypass);
        if is_bypassed && !facts.has_acted() {
            let message =
                "nothing was done, so nothing was bypassed: a blocked action is `abstain`";
            findings.add(&rule::BYPASSED_NOTHING, "/outcome/code", message);
        } else if facts.outcome() == Some("abstain") && facts.has_acted() {
            let message = "who abstains does nothing, and there is an action that was not blocked";
            findings.add(&rule::ABSTAIN_ACTED, "/outcome/code", message);
        } else if (is_bypassed || has_step) && facts.has_acted() {
            let message = "acted without the safeguards of the envelope";
            findings.add(&rule::BYPASS_USED, "/outcome/code", message);
        }
    }
}
