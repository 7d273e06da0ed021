//! What a request declares.

use probity_core::Tier;
use probity_policy::{ActorKind, Decision, Planner, Schema};
use serde_json::json;

use crate::sample::{self, parse_decision, told, with};

#[test]
fn the_least_decision_has_the_defaults() {
    let decision = Decision::parse(&json!({"decisionType": "Note"})).unwrap();
    assert_eq!((decision.actor.kind, decision.actor.id.as_str()), (ActorKind::System, "probity"));
    assert_eq!((decision.plan.planner, decision.plan.summary.as_str()), (Planner::Llm, "task"));
    assert_eq!(decision.tier(), None);
    assert_eq!(decision.chain.hops, None);
}

#[test]
fn the_sample_comes_back_as_it_was_written() {
    let decision = parse_decision(&sample::decision()).unwrap();
    assert_eq!(serde_json::to_value(&decision).unwrap(), sample::decision());
    assert_eq!(decision.tier(), Some(Tier::Small));
    assert_eq!(decision.context.captured_at_ms, Some(sample::NOW_MS - 100));
}

#[test]
fn the_sample_action_is_of_the_strict_contract() {
    assert_eq!(Schema::Action.findings(&sample::action()), []);
    for member in ["idempotencyKey", "rollbackPlan"] {
        let pointer = format!("/{member}");
        let action = with(sample::action(), &pointer, None);
        let findings = Schema::Action.findings(&action);
        assert_eq!((findings[0].code, &findings[0].pointer), ("policy_missing_member", &pointer));
        // In a request the envelope says whether it is needed.
        let decision = with(sample::decision(), "/actions/0", Some(action));
        assert!(parse_decision(&decision).is_ok(), "{member}");
    }
}

#[test]
fn an_action_without_a_known_tier_is_refused_by_name() {
    let pointer = "/actions/0/blastRadiusTier";
    let words = ["none", "low", "high", "account", "service", "Small", "", "tiny "];
    let others = [json!(null), json!(2), json!(["small"]), json!({})];
    for tier in words.iter().map(|word| json!(word)).chain(others) {
        let decision = with(sample::decision(), pointer, Some(tier.clone()));
        let refused = parse_decision(&decision).unwrap_err();
        assert_eq!(told(&refused), [("tier_unknown", pointer)], "{tier}");
    }
    let decision = with(sample::decision(), pointer, None);
    assert_eq!(told(&parse_decision(&decision).unwrap_err()), [("tier_unknown", pointer)]);
}

#[test]
fn the_widest_tier_counts() {
    for (index, tier) in Tier::ALL.iter().enumerate() {
        let mut decision = sample::decision();
        let actions = Tier::ALL[..=index].iter().rev().map(|tier| {
            let action = with(sample::action(), "/actionId", Some(json!(tier.as_str())));
            with(action, "/blastRadiusTier", Some(json!(tier)))
        });
        decision["actions"] = actions.collect();
        assert_eq!(parse_decision(&decision).unwrap().tier(), Some(*tier));
    }
}

#[test]
fn two_actions_of_one_name_are_refused() {
    let decision =
        with(sample::decision(), "/actions", Some(json!([sample::action(), sample::action()])));
    let refused = parse_decision(&decision).unwrap_err();
    assert_eq!(told(&refused), [("action_id_twice", "/actions/1/actionId")]);
}

#[test]
fn a_feature_states_its_age_once() {
    let pointer = "/context/features/balance";
    let both = json!({"ageMs": 1, "capturedAt": "2026-02-11T12:00:00Z"});
    for age in [json!({}), both, json!(12), json!({"ageMs": -1}), json!({"age_ms": 1})] {
        let decision = with(sample::decision(), pointer, Some(age.clone()));
        assert!(parse_decision(&decision).is_err(), "{age}");
    }
}

#[test]
fn a_moment_before_the_epoch_is_refused() {
    let decision =
        with(sample::decision(), "/context/capturedAt", Some(json!("1969-12-31T23:59:59Z")));
    assert_eq!(parse_decision(&decision).unwrap_err().code(), "policy_value");
}

#[test]
fn a_moment_counts_in_its_own_zone() {
    for text in ["2026-02-11T12:00:00Z", "2026-02-11T13:30:00+01:30", "2026-02-11T12:00:00.000999Z"]
    {
        let decision = with(sample::decision(), "/context/capturedAt", Some(json!(text)));
        let at_ms = parse_decision(&decision).unwrap().context.captured_at_ms;
        assert_eq!(at_ms, Some(sample::NOW_MS), "{text}");
    }
}

#[test]
fn a_value_without_a_bottom_is_refused() {
    let mut deep = json!(1);
    for _ in 0..200 {
        deep = json!([deep]);
    }
    let decision = with(sample::decision(), "/actions/0/constraints/deep", Some(deep));
    assert_eq!(parse_decision(&decision).unwrap_err().code(), "policy_value");
}
