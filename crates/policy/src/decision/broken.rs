//! The rules of safe action: what keeps the declared actions from being done.

use super::{Action, Decision, RollbackKind};
use crate::envelope::Envelope;
use crate::pack::{AuthorizationMode, PackRules};
use crate::schema::PolicyFinding;

/// Every rule that is broken: action by action, for each the weightiest first, then the limits.
pub(super) fn findings(
    envelope: &Envelope,
    pack: &PackRules,
    decision: &Decision,
) -> Vec<PolicyFinding> {
    let actions = decision.actions.iter().enumerate();
    let mut findings: Vec<PolicyFinding> =
        actions.flat_map(|(at, action)| of_action(envelope, pack, at, action)).collect();
    findings.extend(limits(envelope, decision));
    findings
}

fn of_action(
    envelope: &Envelope,
    pack: &PackRules,
    at: usize,
    action: &Action,
) -> Vec<PolicyFinding> {
    let safe = &envelope.safe_action;
    let tier = action.blast_radius_tier;
    let of_tier = pack.blast_radius_requirements.get(&tier);
    let blocked = AuthorizationMode::Blocked;
    let is_blocked = action.authorization.mode == blocked
        || of_tier.is_some_and(|rules| rules.authorization_mode == Some(blocked));
    let types = safe.allowed_action_types.as_ref();
    let is_other = types.is_some_and(|types| !types.contains(&action.action_type));
    let has_key = action.idempotency_key.as_deref().is_some_and(|key| !key.is_empty());
    let plan = action.rollback_plan.as_ref();
    let has_plan = plan.is_some_and(|plan| plan.kind != RollbackKind::None);
    let needs_plan = tier.is_above(safe.require_rollback_above);
    let needs_two = of_tier.is_some_and(|rules| rules.two_person);
    let place = |member: &str| format!("/actions/{at}/{member}");
    let rules = [
        told(is_blocked, "action_not_authorized", place("authorization"), || {
            "the action is not authorized; ask the policy's owner".to_owned()
        }),
        told(tier > safe.blast_radius_max, "action_above_max", place("blastRadiusTier"), || {
            format!("`{tier}` is above the envelope's `{}`; act on less", safe.blast_radius_max)
        }),
        told(is_other, "action_type_not_allowed", place("actionType"), || {
            format!(
                "`{}` is not among the envelope's action types; use one of them",
                action.action_type
            )
        }),
        told(
            safe.require_idempotency && !has_key,
            "action_no_idempotency",
            place("idempotencyKey"),
            || "the envelope asks for an idempotency key; give the action one".to_owned(),
        ),
        told(needs_plan && !has_plan, "action_no_rollback", place("rollbackPlan"), || {
            let threshold = safe.require_rollback_above;
            format!("above `{threshold}` an action needs a rollback plan; give it one")
        }),
        told(needs_two, "action_two_person", place("authorization"), || {
            "the pack asks for two humans, which is not supported; act on less".to_owned()
        }),
    ];
    rules.into_iter().flatten().collect()
}

fn told(
    is_broken: bool,
    code: &'static str,
    pointer: String,
    message: impl FnOnce() -> String,
) -> Option<PolicyFinding> {
    is_broken.then(|| PolicyFinding::error(code, pointer, message()))
}

fn limits(envelope: &Envelope, decision: &Decision) -> Vec<PolicyFinding> {
    let (limits, chain) = (&envelope.limits, &decision.chain);
    let counts = [
        ("hops", chain.hops, limits.max_hops),
        ("fanout", chain.fanout, limits.max_fanout),
        ("depth", chain.depth, limits.max_chain_depth),
    ];
    let over = counts.into_iter().filter_map(|(name, count, limit)| {
        let count = count.filter(|count| *count > limit)?;
        let message = format!("{count} is over the envelope's limit of {limit}; shorten the chain");
        Some(PolicyFinding::error("limit_exceeded", format!("/chain/{name}"), message))
    });
    over.collect()
}
