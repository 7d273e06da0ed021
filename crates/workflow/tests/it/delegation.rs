//! Nodes that hand their work to the delegation engine: every outcome, gating and not.

use probity_workflow::{DelegationEnd, Effect, Event, Input, Judgement, Origin};
use serde_json::{Value, json};

use crate::rig::{Rig, code, definition, node, start};

/// Of `{"sum":3}`, by another tool.
const DIGEST: &str = "cf671ee8b10d052ca89d09309f6d1f758acc09afc189d3db1f573dac86112cbb";

fn delegating() -> Value {
    let request = json!({
        "task": {"$var": "task"}, "checks": [{"file": {"path": {"$var": "path"}}}], "plain": {"$var": 1},
    });
    let config = json!({"request": request, "outputVariable": "result"});
    definition("w", json!([node("work", "probity.delegation", config)]), &[])
}

fn begun(is_gating: bool) -> Rig {
    let mut start =
        start(&delegating(), json!({"task": "add", "path": "sum.json", "result": "old"}));
    start.terms.is_gating = is_gating;
    Rig::open(start).unwrap()
}

fn end(outcome: &str) -> DelegationEnd {
    let has_verdict = !["unverified", "faulted", "delegate_failed", "cancelled"].contains(&outcome);
    let verdict = match outcome {
        "verified" => Judgement::Pass,
        "exhausted" => Judgement::Revise,
        _ => Judgement::Fail,
    };
    let is_delivered = ["verified", "unverified"].contains(&outcome);
    DelegationEnd {
        outcome: outcome.to_owned(),
        code: code("a_word"),
        verdict: has_verdict.then_some(verdict),
        criteria: vec![code("sum"), code("file"), code("sum")],
        attempts: 2,
        delivered: is_delivered.then(|| json!({"sum": 3})),
        candidate: has_verdict.then(|| DIGEST.to_owned()),
        is_edited: false,
    }
}

fn finish(rig: &mut Rig, end: DelegationEnd) {
    let Some(Effect::Delegate { delegation, .. }) = rig.effects().pop() else { panic!("no work") };
    rig.give(Input::DelegationEnded { delegation, end });
    rig.assert_sound();
}

/// The verdict that was told, the result, and how the run ended.
fn told(rig: &Rig) -> (String, Value, String) {
    let verdict = rig
        .words()
        .into_iter()
        .find_map(|word| word.strip_prefix("agent-verified work ").map(str::to_owned));
    let end = rig.snapshot().error.map_or("completed".to_owned(), |error| error.code);
    (verdict.unwrap_or_default(), rig.variable("result"), end)
}

#[test]
fn the_request_has_the_variables_in_it() {
    let mut rig = begun(true);
    let effects = rig.effects();
    let Some(Effect::Delegate { request, node, .. }) = effects.first() else { panic!("no work") };
    assert_eq!(node, "work");
    let expected = json!({
        "task": "add", "checks": [{"file": {"path": "sum.json"}}], "plain": {"$var": 1},
    });
    assert_eq!(*request, expected);
    let rig = Rig::new(&delegating());
    assert_eq!(rig.snapshot().error.unwrap().code, "validation_error", "`task` is not set");
}

#[test]
fn where_verdicts_gate() {
    let sum = || json!({"sum": 3});
    let table = [
        ("verified", "pass", sum(), "completed"),
        ("unverified", "", sum(), "completed"),
        ("exhausted", "revise", json!("old"), "not_verified"),
        ("rejected", "fail", json!("old"), "not_verified"),
        ("inconclusive", "fail", json!("old"), "not_verified"),
        ("faulted", "", json!("old"), "verifier_faulted"),
        ("delegate_failed", "", json!("old"), "not_verified"),
        ("cancelled", "", json!("old"), "not_verified"),
        ("escalated", "fail", json!("old"), "not_verified"),
    ];
    for (outcome, verdict, result, ended) in table {
        let mut rig = begun(true);
        finish(&mut rig, end(outcome));
        assert_eq!(told(&rig), (verdict.to_owned(), result, ended.to_owned()), "{outcome}");
    }
}

#[test]
fn what_a_hook_edited_afterwards_is_let_through_and_the_verdict_is_on_what_was_checked() {
    for (is_edited, ended) in [(true, "completed"), (false, "candidate_differs")] {
        let mut rig = begun(true);
        let delivered = Some(json!({"sum": 4}));
        finish(&mut rig, DelegationEnd { delivered, is_edited, ..end("verified") });
        assert_eq!(told(&rig).2, ended);
        assert_eq!(
            rig.variable("result"),
            if is_edited { json!({"sum": 4}) } else { json!("old") }
        );
        assert_eq!(verdict_on(&rig).as_deref(), Some(DIGEST));
    }
    // Where nobody says what was checked, there is no pass on what was made of it.
    let mut rig = begun(true);
    let unnamed = DelegationEnd { candidate: None, is_edited: true, ..end("verified") };
    finish(&mut rig, unnamed);
    assert_eq!((told(&rig).2, verdict_on(&rig)), ("not_verified".to_owned(), None));
}

/// The candidate of the verdict that was told.
fn verdict_on(rig: &Rig) -> Option<String> {
    rig.entries().into_iter().find_map(|entry| match &entry.event {
        Event::AgentVerified(verified) => Some(verified.candidate.clone()),
        _ => None,
    })
}

#[test]
fn where_verdicts_are_only_told() {
    for outcome in ["verified", "unverified", "exhausted", "rejected", "inconclusive", "faulted"] {
        let mut rig = begun(false);
        let mut delivered = end(outcome);
        delivered.delivered = Some(json!({"sum": 3}));
        finish(&mut rig, delivered);
        assert_eq!((told(&rig).1, told(&rig).2), (json!({"sum": 3}), "completed".to_owned()));
        let mut rig = begun(false);
        let mut missing = end(outcome);
        missing.delivered = None;
        finish(&mut rig, missing);
        assert_eq!(told(&rig).2, "delivery_missing");
    }
}

#[test]
fn a_verdict_names_the_delegation_the_gate_and_sorted_keys() {
    let mut rig = begun(true);
    let effects = rig.effects();
    let Some(Effect::Delegate { delegation, .. }) = effects.first() else { panic!("no work") };
    rig.give(Input::DelegationEnded { delegation: delegation.clone(), end: end("verified") });
    let entries = rig.entries();
    let verified = entries.iter().find_map(|entry| match &entry.event {
        Event::AgentVerified(verified) => Some(verified),
        _ => None,
    });
    let verified = verified.unwrap();
    assert_eq!((verified.agent.as_str(), &verified.target), ("probity.gate", delegation));
    assert_eq!(verified.candidate, DIGEST);
    assert_eq!(verified.criteria, [code("file"), code("sum")]);
}

#[test]
fn only_what_was_verified_is_taken_over() {
    let mut rig = begun(true);
    let mut other = end("verified");
    other.delivered = Some(json!({"sum": 4}));
    finish(&mut rig, other);
    assert_eq!(told(&rig), ("pass".to_owned(), json!("old"), "candidate_differs".to_owned()));

    let mut rig = begun(true);
    let mut contradicting = end("verified");
    contradicting.verdict = Some(Judgement::Fail);
    finish(&mut rig, contradicting);
    assert_eq!(told(&rig), ("fail".to_owned(), json!("old"), "not_verified".to_owned()));

    let mut rig = begun(true);
    let mut nothing = end("verified");
    nothing.delivered = None;
    finish(&mut rig, nothing);
    assert_eq!(told(&rig).2, "delivery_missing");
}

#[test]
fn only_the_delegation_that_is_at_work_can_end() {
    let mut rig = begun(true);
    let other = Input::DelegationEnded { delegation: rig.run.run().clone(), end: end("verified") };
    assert_eq!(rig.try_give(other).unwrap_err().code(), "stale_answer");
    rig.give(Input::Cancel { reason: None, by: None, parent: None });
    assert!(matches!(rig.effects().pop(), Some(Effect::Stop { .. })));
}

/// A broken verifier says nothing, whatever it said before; what is undecided is told as `fail`.
#[test]
fn what_is_told_follows_from_the_outcome() {
    let mut rig = begun(true);
    let candidate = Some(DIGEST.to_owned());
    let broke = DelegationEnd {
        verdict: Some(Judgement::Revise),
        candidate: candidate.clone(),
        ..end("faulted")
    };
    finish(&mut rig, broke);
    assert_eq!(told(&rig).0, "");
    let mut rig = begun(true);
    finish(&mut rig, DelegationEnd { verdict: None, candidate, ..end("inconclusive") });
    assert_eq!(told(&rig).0, "fail");
}

#[test]
fn what_is_no_digest_names_no_candidate() {
    for word in ["cf67", &"x".repeat(64), &DIGEST.to_uppercase(), &format!("{DIGEST}0")] {
        let mut rig = begun(true);
        finish(&mut rig, DelegationEnd { candidate: Some(word.to_owned()), ..end("exhausted") });
        assert_eq!(verdict_on(&rig), None, "{word}");
    }
}

#[test]
fn a_failure_says_how_the_delegation_ended() {
    let mut rig = begun(true);
    finish(&mut rig, end("exhausted"));
    let details = rig.snapshot().error.unwrap().details.unwrap();
    let expected = json!({"outcome": "exhausted", "code": "a_word", "attempts": 2});
    assert_eq!(Value::Object(details), expected);
}

#[test]
fn an_end_says_only_what_is_not_usual() {
    let written = |end: &DelegationEnd| serde_json::to_value(end).unwrap();
    assert_eq!(written(&end("verified")).get("is_edited"), None);
    let edited = DelegationEnd { is_edited: true, ..end("verified") };
    assert_eq!(written(&edited)["is_edited"], true);
    let child = |is_goal_satisfied| {
        let outputs = serde_json::Map::new();
        serde_json::to_value(probity_workflow::ChildEnd::Completed { outputs, is_goal_satisfied })
            .unwrap()
    };
    assert_eq!(child(true).get("is_goal_satisfied"), None);
    assert_eq!(child(false)["is_goal_satisfied"], false);
}

/// A fork that comes to another refusal than its source fails at the node that is at work.
#[test]
fn a_divergence_at_a_refusal_is_that_of_the_work() {
    for (refusal, node, failed) in [
        (Some((true, false)), Some("work"), "run-failed replay_diverged_at_refusal"),
        (None, None, "run-failed replay_diverged"),
    ] {
        let mut start = start(&delegating(), json!({"task": "add", "path": "p"}));
        let source = crate::rig::run_id();
        start.origin = Some(Origin::Fork { source, from_sequence: 0, is_replay: true });
        let mut rig = Rig::open(start).unwrap();
        rig.give(Input::Diverged { at_sequence: 3, refusal });
        let entries = &rig.steps.last().unwrap().entries;
        let diverged = entries.iter().find(|entry| {
            matches!(
                entry.event,
                Event::ReplayDiverged { .. } | Event::ReplayDivergedAtRefusal { .. }
            )
        });
        assert_eq!(diverged.unwrap().node.as_deref(), node);
        assert!(rig.last_words().contains(&failed.to_owned()), "{:?}", rig.last_words());
    }
}
