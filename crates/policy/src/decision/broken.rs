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
    let mut broken = Vec::new();
    let mut told = |is_broken: bool, member: &str, code: &'static str, message: String| {
        if is_broken {
            let pointer = format!("/actions/{at}/{member}");
            broken.push(PolicyFinding::error(code, pointer, message));
        }
    };
    told(
        action.authorization.mode == blocked
            || of_tier.is_some_and(|rules| rules.authorization_mode == Some(blocked)),
        "authorization",
        "action_not_authorized",
        "the action is not authorized; ask the policy's owner".to_owned(),
    );
    told(
        tier > safe.blast_radius_max,
        "blastRadiusTier",
        "action_above_max",
        format!("`{tier}` is above the envelope's `{}`; act on less", safe.blast_radius_max),
    );
    let types = safe.allowed_action_types.as_ref();
    told(
        types.is_some_and(|types| !types.contains(&action.action_type)),
        "actionType",
        "action_type_not_allowed",
        format!("`{}` is not among the envelope's action types", action.action_type),
    );
    told(
        safe.require_idempotency && action.idempotency_key.as_deref().is_none_or(str::is_empty),
        "idempotencyKey",
        "action_no_idempotency",
        "the envelope asks for an idempotency key; give the action one".to_owned(),
    );
    let plan = action.rollback_plan.as_ref();
    told(
        tier.is_above(safe.require_rollback_above)
            && plan.is_none_or(|plan| plan.kind == RollbackKind::None),
        "rollbackPlan",
        "action_no_rollback",
        format!("above `{}` an action needs a rollback plan", safe.require_rollback_above),
    );
    told(
        of_tier.is_some_and(|rules| rules.two_person),
        "authorization",
        "action_two_person",
        "the pack asks for two humans, which is not supported; act on less".to_owned(),
    );
    broken
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
        let message = format!("{count} is over the envelope's limit of {limit}; decide closer by");
        Some(PolicyFinding::error("limit_exceeded", format!("/chain/{name}"), message))
    });
    over.collect()
}
