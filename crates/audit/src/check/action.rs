//! Whether each action was safe to do.

use probity_core::Tier;
use probity_policy::{AuthorizationMode, Envelope};

use super::Case;
use crate::facts::Action;
use crate::finding::Findings;
use crate::rule;

impl Case<'_> {
    pub(super) fn actions(&self, findings: &mut Findings) {
        let mut names = std::collections::BTreeSet::new();
        for action in self.facts.actions() {
            if action.text(&["actionId"]).is_some_and(|name| !names.insert(name)) {
                let message = "an action of this name stands before it; one action is told once";
                findings.add(&rule::ACTION_ID_TWICE, action.pointer("/actionId"), message);
            }
            if let Some(envelope) = self.envelope {
                safe(action, envelope, findings);
            }
            self.authorized(action, findings);
        }
    }

    fn authorized(&self, action: Action, findings: &mut Findings) {
        let mode = action.authorization();
        let of_tier = action.tier().and_then(|tier| {
            self.rules.and_then(|rules| rules.blast_radius_requirements.get(&tier))
        });
        let needed = of_tier.and_then(|rules| rules.authorization_mode);
        if let Some(needed) = needed.filter(|needed| rank(mode) < needed_rank(*needed)) {
            let message = format!(
                "the pack asks for `{}`, the action has `{}`",
                word(needed),
                mode.unwrap_or("nothing")
            );
            findings.add(&rule::AUTHORIZATION_WEAK, action.pointer("/authorization/mode"), message);
        }
        let outcome = self.facts.outcome().unwrap_or_default();
        let has_effect = matches!(outcome, "success" | "partial");
        if mode == Some("blocked") && has_effect {
            let message = format!("blocked, and the episode ends in `{outcome}`");
            findings.add(&rule::ACTION_BLOCKED, action.pointer("/authorization/mode"), message);
        }
        if mode == Some("blocked") || !has_effect {
            return;
        }
        let approver = action.text(&["authorization", "approver"]).unwrap_or_default();
        let place = action.pointer("/authorization/approver");
        let count = approver
            .split([',', ';'])
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .collect::<std::collections::BTreeSet<_>>()
            .len();
        if mode == Some("hitl") && count == 0 {
            let message = "a human had to agree, and none is named";
            findings.add(&rule::APPROVER_MISSING, &place, message);
        }
        if of_tier.is_some_and(|rules| rules.two_person) && count < 2 {
            let message = format!("two people had to agree, {count} are named");
            findings.add(&rule::TWO_PERSON_UNPROVEN, place, message);
        }
    }

    pub(super) fn limits(&self, findings: &mut Findings) {
        let Some(envelope) = self.envelope else { return };
        let limits = &envelope.limits;
        for (name, limit) in [("hopCount", limits.max_hops), ("fanout", limits.max_fanout)] {
            let count = self.facts.natural(&["telemetry", name]);
            if let Some(count) = count.filter(|count| *count > limit) {
                let message = format!("{count}, may be {limit}");
                findings.add(&rule::LIMIT_EXCEEDED, format!("/telemetry/{name}"), message);
            }
        }
    }
}

/// The rules of safe action.
fn safe(action: Action, envelope: &Envelope, findings: &mut Findings) {
    let safe = &envelope.safe_action;
    let tier = action.tier();
    if let Some(tier) = tier.filter(|tier| *tier > safe.blast_radius_max) {
        let message = format!("`{tier}` is wider than `{}`", safe.blast_radius_max);
        findings.add(&rule::TIER_ABOVE_MAX, action.pointer("/blastRadiusTier"), message);
    }
    let key = action.text(&["idempotencyKey"]).unwrap_or_default();
    if safe.require_idempotency && key.trim().is_empty() {
        let message = "the envelope asks for an idempotency key";
        findings.add(&rule::IDEMPOTENCY_MISSING, action.pointer("/idempotencyKey"), message);
    }
    let rollback = action.text(&["rollbackPlan", "type"]).unwrap_or("none");
    // A tier that is not known counts as the widest.
    let needs_rollback = tier.unwrap_or(Tier::Large).is_above(safe.require_rollback_above);
    if needs_rollback && rollback == "none" {
        let message = format!("above `{}` an action needs a way back", safe.require_rollback_above);
        findings.add(&rule::ROLLBACK_MISSING, action.pointer("/rollbackPlan"), message);
    }
    if let (Some(allowed), Some(kind)) = (&safe.allowed_action_types, action.text(&["actionType"]))
        && !allowed.iter().any(|one| one == kind)
    {
        let message = format!("the envelope does not allow `{kind}`");
        findings.add(&rule::ACTION_TYPE_DENIED, action.pointer("/actionType"), message);
    }
}

/// How much authorization a word is; an unknown one is none.
fn rank(mode: Option<&str>) -> u8 {
    match mode {
        Some("auto") => 1,
        Some("hitl") => 2,
        Some("blocked") => 3,
        _ => 0,
    }
}

const fn needed_rank(mode: AuthorizationMode) -> u8 {
    match mode {
        AuthorizationMode::Auto => 1,
        AuthorizationMode::Hitl => 2,
        AuthorizationMode::Blocked => 3,
    }
}

const fn word(mode: AuthorizationMode) -> &'static str {
    match mode {
        AuthorizationMode::Auto => "auto",
        AuthorizationMode::Hitl => "hitl",
        AuthorizationMode::Blocked => "blocked",
    }
}
