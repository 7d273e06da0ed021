//! The episode's document.

use probity_core::{Code, Finding, Judgement, Outcome, Step, Trigger, VerdictKind};
use probity_policy::{Decision, RollbackKind, RollbackPlan};
use serde_json::{Map, Value, json};

use super::log::{Log, Ran, Round};
use super::{ProjectError, RunFacts, text};

/// What the verification of a run came to.
struct Verification {
    is_required: bool,
    result: &'static str,
    reason: Option<String>,
    methods: Vec<String>,
    records: Vec<Value>,
}

pub(super) fn of(log: &Log, decision: &Decision, facts: &RunFacts) -> Result<Value, ProjectError> {
    let verification = verification(log, facts)?;
    let step = log.steps.last().map(|(_, _, step)| *step);
    let mut document = json!({
        "episodeId": log.run.as_str(),
        "decisionType": decision.decision_type,
        "startedAt": text(log.opened_at_ms)?,
        "endedAt": text(log.ended_at_ms)?,
        "decisionWindowMs": log.deadline_ms.unwrap_or(facts.compiled.deadline_ms).max(1),
        "actor": decision.actor,
        "dteRef": {
            "decisionType": decision.decision_type,
            "version": facts.compiled.envelope_version,
        },
        "context": context(log, decision)?,
        "plan": decision.plan,
        "actions": actions(log, decision, facts),
        "outcome": {
            "code": outcome(log, verification.result, step),
            "reason": log.code.as_str(),
            "effects": {},
        },
        "telemetry": telemetry(log, decision, step),
        "degrade": {
            "step": step.map_or("none", Step::as_str),
            "rationale": rationale(log),
            "ladder": ladder(log),
        },
    });
    let Value::Object(members) = &mut document else { return Ok(document) };
    if let Some(policy) = &facts.compiled.policy_ref {
        members.insert("policy".to_owned(), json!(policy));
    }
    members.insert("verification".to_owned(), verification.member());
    Ok(document)
}

/// What an episode with this result of its verification takes from the log alone, by JSON pointer.
/// `has_methods`: it names methods that ran.
pub(super) fn of_log(log: &Log, result: &str, has_methods: bool) -> Vec<(&'static str, Value)> {
    let step = log.steps.last().map(|(_, _, step)| *step);
    let mut members = vec![
        ("/outcome/code", json!(outcome(log, result, step))),
        ("/verification/required", json!(is_required(log))),
        ("/degrade/step", json!(step.map_or("none", Step::as_str))),
        ("/degrade/rationale", rationale(log)),
        ("/degrade/ladder", ladder(log)),
        ("/telemetry/endToEndMs", json!(log.worked_ms(log.opened_at_ms, log.ended_at_ms))),
        ("/telemetry/stageMs", stages(log)),
        ("/telemetry/fallbackUsed", json!(step.is_some())),
        ("/telemetry/fallbackStep", json!(step.map_or("none", Step::as_str))),
    ];
    let found = log.last().map_or("na", verified);
    // Where it was not required, there may have been checks that are no methods.
    if is_required(log) || has_methods || result != "na" {
        members.push(("/verification/result", json!(found)));
    }
    if !log.has_acted() {
        members.push(("/actions", json!([])));
    }
    members
}

/// The context as it was when it was used. Its age is that of the oldest feature, its time to live
/// that feature's; how many features were too old is counted over all of them. The names of the
/// features stand among the evidence, because a longer time to live goes with a name.
fn context(log: &Log, decision: &Decision) -> Result<Value, ProjectError> {
    let now_ms = log.used_at_ms();
    let age = |feature: &probity_core::Feature| now_ms.saturating_sub(feature.captured_at_ms);
    // A cached bundle was not made from what is stale.
    let is_bundle = log
        .steps
        .iter()
        .any(|(_, trigger, step)| *trigger == Trigger::Freshness && *step == Step::CacheBundle);
    let features = if is_bundle { &[] } else { log.terms.features.as_slice() };
    let oldest = features.iter().max_by_key(|feature| age(feature));
    let stale = features.iter().filter(|feature| feature.is_stale(now_ms)).count();
    let declared = &decision.context;
    let captured_at_ms = declared.captured_at_ms.or(log.manifest.map(|(at_ms, _)| at_ms));
    let names = declared.features.keys().filter(|name| !declared.evidence_refs.contains(name));
    let evidence: Vec<&String> = declared.evidence_refs.iter().chain(names).collect();
    let snapshot = declared.snapshot_id.clone();
    let read = || log.manifest.map(|(_, manifest)| format!("sha256:{manifest}"));
    Ok(json!({
        "snapshotId": snapshot.or_else(read).unwrap_or_else(|| log.run.to_string()),
        "capturedAt": text(captured_at_ms.unwrap_or(log.opened_at_ms).min(log.ended_at_ms))?,
        "ttlMs": oldest.map_or(0, |feature| feature.ttl_ms),
        "maxFeatureAgeMs": oldest.map_or(0, age),
        "ttlBreachesCount": stale,
        "evidenceRefs": evidence,
    }))
}

/// The declared actions, if anything was acted on. The shape asks for a key and a way back: an action
/// that needs neither gets the key that makes it the same in this run, and `none`.
fn actions(log: &Log, decision: &Decision, facts: &RunFacts) -> Vec<Value> {
    if !log.has_acted() {
        return Vec::new();
    }
    let filled = decision.actions.iter().cloned().map(|mut action| {
        action.authorization.approver.clone_from(&facts.approver);
        if action.idempotency_key.is_none() {
            action.idempotency_key = Some(format!("{}/{}", log.run, action.action_id));
        }
        let none =
            || RollbackPlan { kind: RollbackKind::None, instructions: None, timeout_ms: None };
        action.rollback_plan.get_or_insert_with(none);
        json!(action)
    });
    filled.collect()
}

fn verification(log: &Log, facts: &RunFacts) -> Result<Verification, ProjectError> {
    let mut verification = Verification {
        is_required: is_required(log),
        result: "na",
        reason: None,
        methods: Vec::new(),
        records: Vec::new(),
    };
    let Some(round) = log.last() else { return Ok(verification) };
    for (check, ran) in log.checks_of(round) {
        let declared = log.checks.get(check.as_usize());
        let method = declared.and_then(|declared| facts.methods.get(&declared.id));
        if let (Some(method), Some(_)) = (method, ran.finding) {
            verification.methods.push(method.clone());
            verification.records.push(record(method, ran)?);
        }
    }
    if !verification.is_required && verification.methods.is_empty() {
        return Ok(verification);
    }
    let code = round.verdict.map(|verdict| verdict.code);
    verification.result = verified(round);
    verification.reason = Some(code.map_or_else(|| "not_run".to_owned(), reason));
    Ok(verification)
}

/// An act that must be verified; without one there is nothing to verify.
const fn is_required(log: &Log) -> bool {
    log.terms.is_required && log.has_acted()
}

/// What the verification of a round came to.
fn verified(round: &Round) -> &'static str {
    match round.verdict.map(|verdict| verdict.judgement) {
        Some(Judgement::Pass) => "pass",
        Some(Judgement::Revise | Judgement::Fail) => "fail",
        Some(Judgement::Inconclusive | Judgement::Fault | Judgement::Unverified) | None => {
            "inconclusive"
        }
    }
}

/// The one word that every reader knows for an answer that came too late, else the code.
pub(super) fn reason(code: &Code) -> String {
    if code.is_timeout() { "timeout".to_owned() } else { code.to_string() }
}

fn record(method: &str, ran: &Ran) -> Result<Value, ProjectError> {
    let (result, why) = match ran.finding {
        Some(Finding::Verdict { verdict, code, .. }) => (
            match verdict {
                VerdictKind::Pass => "pass",
                VerdictKind::Revise | VerdictKind::Fail => "fail",
                VerdictKind::Inconclusive => "inconclusive",
            },
            reason(code),
        ),
        Some(Finding::Fault { code, .. }) => ("inconclusive", code.to_string()),
        Some(Finding::NotApplicable) | None => ("na", "not_applicable".to_owned()),
    };
    Ok(json!({
        "method": method,
        "result": result,
        "reason": why,
        "startedAt": text(ran.started_at_ms)?,
        "elapsedMs": ran.elapsed_ms,
        "attempts": ran.tries,
    }))
}

impl Verification {
    fn member(self) -> Value {
        let mut member = Map::new();
        member.insert("required".to_owned(), json!(self.is_required));
        member.insert("result".to_owned(), json!(self.result));
        if !self.methods.is_empty() {
            member.insert("method".to_owned(), json!(self.methods.join("+")));
        }
        if let Some(reason) = self.reason {
            let details = json!({ "reason": reason, "checks": self.records });
            member.insert("details".to_owned(), details);
        }
        Value::Object(member)
    }
}

/// Without an act there is nothing but `abstain`. After one, only a run that hands its claim on is a
/// success, and one that a step of the ladder made is a part of it.
fn outcome(log: &Log, result: &str, step: Option<Step>) -> &'static str {
    if !log.has_acted() {
        return "abstain";
    }
    match log.outcome {
        Outcome::Verified if matches!(result, "fail" | "inconclusive") => "fail",
        Outcome::Verified if step.is_none() => "success",
        Outcome::Verified => "partial",
        Outcome::Unverified if result == "na" => "partial",
        _ => "fail",
    }
}

/// Act and verify are those of the last round, as each round has its own. Percentiles of a single
/// decision are the decision; there is no spread.
fn telemetry(log: &Log, decision: &Decision, step: Option<Step>) -> Value {
    let whole = log.worked_ms(log.opened_at_ms, log.ended_at_ms);
    json!({
        "endToEndMs": whole,
        "stageMs": stages(log),
        "p95Ms": whole,
        "p99Ms": whole,
        "jitterMs": 0,
        "fallbackUsed": step.is_some(),
        "fallbackStep": step.map_or("none", Step::as_str),
        "hopCount": decision.chain.hops.unwrap_or(0),
        "fanout": decision.chain.fanout.unwrap_or(0),
    })
}

fn stages(log: &Log) -> Value {
    let planned_at_ms = log.acted_at_ms.unwrap_or(log.ended_at_ms);
    let (act, verify) = log.last().map_or((0, 0), |round| {
        let answered_at_ms = round.answered_at_ms.unwrap_or(log.ended_at_ms);
        let judged_at_ms = round.verdict.map_or(answered_at_ms, |verdict| verdict.at_ms);
        let act = log.worked_ms(round.dispatched_at_ms, answered_at_ms);
        (act, log.worked_ms(answered_at_ms, judged_at_ms))
    });
    json!({
        "context": log.worked_ms(log.opened_at_ms, log.context_at_ms),
        "plan": log.worked_ms(log.context_at_ms, planned_at_ms),
        "act": act,
        "verify": verify,
    })
}

fn ladder(log: &Log) -> Value {
    log.terms.ladder.iter().map(|rung| rung.step.as_str()).collect()
}

fn rationale(log: &Log) -> Value {
    let steps: Vec<Value> = log
        .steps
        .iter()
        .map(|(_, trigger, step)| json!({ "trigger": trigger, "step": step }))
        .collect();
    json!({ "reason": log.steps.last().map(|(_, trigger, _)| trigger), "steps": steps })
}
