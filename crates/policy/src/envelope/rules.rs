//! What an envelope's schema cannot say: the rules across its fields.

use probity_core::{Step, Threshold};

use super::Envelope;
use crate::pack::PackRules;
use crate::schema::PolicyFinding;

pub(super) fn findings(envelope: &Envelope, pack: Option<&PackRules>) -> Vec<PolicyFinding> {
    let mut findings = times(envelope);
    findings.extend(verification(envelope, pack));
    let steps = envelope.degrade_ladder.iter().map(|rung| rung.step);
    findings.extend(ladder_findings(steps, "/degradeLadder"));
    findings.extend(idle(envelope));
    findings.sort_by_key(|finding| finding.severity);
    findings
}

fn times(envelope: &Envelope) -> Vec<PolicyFinding> {
    let mut findings = Vec::new();
    let stages = &envelope.stage_budgets_ms;
    let sum_ms = [stages.context, stages.plan, stages.act, stages.verify]
        .into_iter()
        .fold(0_u64, u64::saturating_add);
    let deadline_ms = envelope.deadline_ms;
    if sum_ms > deadline_ms {
        let message = format!(
            "the stages take {sum_ms} ms, the deadline is {deadline_ms} ms; shorten a stage or raise \
             the deadline"
        );
        findings.push(PolicyFinding::error("envelope_stage_sum", "/stageBudgetsMs", message));
    }
    if stages.act == 0 {
        let message = "the act has no time: every act ends at once";
        findings.push(PolicyFinding::warning(
            "envelope_no_act_time",
            "/stageBudgetsMs/act",
            message,
        ));
    }
    for (at, rung) in envelope.degrade_ladder.iter().enumerate() {
        if rung.max_extra_ms.is_some_and(|extra_ms| extra_ms > deadline_ms) {
            let message = format!(
                "`{}` may need more than the whole deadline of {deadline_ms} ms, so it is never \
                 taken",
                rung.step
            );
            let pointer = format!("/degradeLadder/{at}/maxExtraMs");
            findings.push(PolicyFinding::warning("envelope_step_idle", pointer, message));
        }
    }
    findings
}

fn verification(envelope: &Envelope, pack: Option<&PackRules>) -> Vec<PolicyFinding> {
    let mut findings = Vec::new();
    let rules = &envelope.verification;
    let budget_ms = envelope.stage_budgets_ms.verify;
    if rules.verify_timeout_ms > budget_ms {
        let message = format!(
            "a method may take {} ms, the verify stage {budget_ms} ms; lower the one or raise the \
             other",
            rules.verify_timeout_ms
        );
        let pointer = "/verification/verifyTimeoutMs";
        findings.push(PolicyFinding::error("envelope_verify_timeout", pointer, message));
    }
    let can_be_required = rules.required_above_blast_radius != Threshold::Large
        || pack.is_some_and(PackRules::requires_verification);
    if budget_ms == 0 && rules.verify_timeout_ms == 0 {
        let pointer = "/stageBudgetsMs/verify";
        if can_be_required {
            let message = "verification can be required and has no time; give its stage some";
            findings.push(PolicyFinding::error("envelope_no_verify_time", pointer, message));
        } else if !rules.methods.is_empty() {
            let message =
                "verification has no time, so the methods are not run; give its stage some";
            findings.push(PolicyFinding::warning("envelope_no_verify_time", pointer, message));
        }
    }
    if can_be_required && rules.methods.is_empty() {
        let message = "verification can be required and there is no method; name one";
        let pointer = "/verification/methods";
        findings.push(PolicyFinding::error("envelope_no_methods", pointer, message));
    }
    findings
}

/// What is wrong with a ladder: a step twice, no safe step, `bypass` before the first safe one.
pub(crate) fn ladder_findings(
    steps: impl Iterator<Item = Step>,
    place: &str,
) -> Vec<PolicyFinding> {
    let mut findings = Vec::new();
    let mut seen: Vec<Step> = Vec::new();
    let mut is_safe = false;
    for (at, step) in steps.enumerate() {
        let pointer = format!("{place}/{at}");
        if seen.contains(&step) {
            let message = format!("`{step}` is in the ladder twice; keep one");
            findings.push(PolicyFinding::error("ladder_step_twice", pointer.clone(), message));
        }
        is_safe |= step.is_safe();
        if step == Step::Bypass && !is_safe {
            let message = "`bypass` comes before `hitl` and `abstain`; put it behind one of them";
            findings.push(PolicyFinding::error("ladder_bypass_first", pointer, message));
        }
        seen.push(step);
    }
    if !is_safe {
        let message = "the ladder has no safe step; add `hitl` or `abstain`";
        findings.push(PolicyFinding::error("ladder_no_safe_step", place, message));
    }
    findings
}

/// What can never have an effect.
fn idle(envelope: &Envelope) -> Vec<PolicyFinding> {
    let mut findings = Vec::new();
    let safe = &envelope.safe_action;
    let max = safe.blast_radius_max;
    let required = envelope.verification.required_above_blast_radius;
    let thresholds = [
        ("/verification/requiredAboveBlastRadius", required, "verification is never mandatory"),
        (
            "/safeAction/requireRollbackAbove",
            safe.require_rollback_above,
            "no rollback is asked for",
        ),
    ];
    for (pointer, threshold, effect) in thresholds {
        if !max.is_above(threshold) {
            let message = format!(
                "no action goes beyond `{max}`, so above `{threshold}` there is none and {effect}; \
                 lower the threshold if that is not meant"
            );
            findings.push(PolicyFinding::warning("envelope_threshold_idle", pointer, message));
        }
    }
    if safe.allowed_action_types.as_ref().is_some_and(Vec::is_empty) {
        let message = "the list of legal action types is empty: every action is blocked";
        let pointer = "/safeAction/allowedActionTypes";
        findings.push(PolicyFinding::warning("envelope_no_action_types", pointer, message));
    }
    if envelope.freshness.allow_stale_if_safe && required == Threshold::None {
        let message = "every action is above `none`, so stale features always stop it";
        let pointer = "/freshness/allowStaleIfSafe";
        findings.push(PolicyFinding::warning("envelope_stale_idle", pointer, message));
    }
    findings
}

impl PackRules {
    /// Whether something in the pack can make verification mandatory.
    #[must_use]
    pub fn requires_verification(&self) -> bool {
        !self.required_verifiers.is_empty()
            || self.blast_radius_requirements.values().any(|tier| tier.verification_required)
    }
}
