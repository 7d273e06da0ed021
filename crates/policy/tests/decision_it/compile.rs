//! Envelope, pack and decision together.

use probity_core::{Step, Threshold, Tier};
use probity_policy::{Compiled, Pack, PolicyFindings, compile};
use probity_record::blob_digest;
use serde_json::{Value, json};

use crate::sample::{self, NOW_MS, parse_decision, parse_envelope, parse_pack, sealed, told, with};

fn run(
    envelope: &Value,
    pack: Option<&Value>,
    decision: &Value,
) -> Result<Compiled, PolicyFindings> {
    run_with(envelope, pack, decision, &[], |_| true)
}

fn run_with(
    envelope: &Value,
    pack: Option<&Value>,
    decision: &Value,
    ready: &[Step],
    registered: impl Fn(&str) -> bool,
) -> Result<Compiled, PolicyFindings> {
    let pack: Option<Pack> = pack.map(|pack| parse_pack(pack).unwrap());
    compile(
        &parse_envelope(envelope).unwrap(),
        pack.as_ref(),
        &parse_decision(decision).unwrap(),
        NOW_MS,
        ready,
        registered,
    )
}

fn codes(findings: &[probity_policy::PolicyFinding]) -> Vec<&str> {
    findings.iter().map(|found| found.code).collect()
}

/// A pack whose rules for the sample's type are these.
fn pack_of(rules: Value) -> Value {
    sealed(with(sample::bare_pack(), "/rules/RefundIssue", Some(rules)))
}

/// An envelope that lets every tier through, with that threshold of verification.
fn open_envelope(threshold: Threshold) -> Value {
    let mut envelope = sample::envelope();
    envelope["safeAction"]["blastRadiusMax"] = json!("large");
    envelope["verification"]["requiredAboveBlastRadius"] = json!(threshold);
    envelope
}

fn decision_of(tier: Option<Tier>) -> Value {
    match tier {
        Some(tier) => with(sample::decision(), "/actions/0/blastRadiusTier", Some(json!(tier))),
        None => with(sample::decision(), "/actions", Some(json!([]))),
    }
}

#[test]
fn the_sample_compiles() {
    let compiled = run(&sample::envelope(), Some(&sample::pack()), &sample::decision()).unwrap();
    let terms = &compiled.terms;
    assert_eq!((terms.tier, terms.is_required), (Some(Tier::Small), true));
    assert_eq!((terms.blocked.as_ref(), terms.needs_approval), (None, false));
    assert_eq!(compiled.deadline_ms, 900);
    assert_eq!(compiled.max_tool_calls, 9);
    assert_eq!(terms.stages.act_ms, 300);
    let policy_ref = compiled.policy_ref.as_ref().unwrap();
    assert_eq!((&*policy_ref.policy_pack_id, &*policy_ref.policy_pack_version), ("refunds", "7"));
    assert_eq!(compiled.tools.allowed.as_deref().unwrap(), ["ledger", "mail"]);
    assert_eq!(compiled.tools.denied, ["shell"]);
    let methods: Vec<_> = compiled
        .methods
        .iter()
        .map(|method| (method.name.as_str(), method.timeout_ms, method.required_by_pack))
        .collect();
    let expected =
        [("ledger_row", 120, true), ("balance_down", 120, true), ("mail_sent", 120, false)];
    assert_eq!(methods, expected);
    assert_eq!(blob_digest(&compiled.bytes), terms.envelope);
    probity_record::canonical::check(&compiled.bytes).unwrap();
}

#[test]
fn the_digest_covers_envelope_and_pack_and_nothing_else() {
    let (envelope, pack) = (sample::envelope(), sample::pack());
    let digest = |envelope: &Value, pack: Option<&Value>, decision: &Value| {
        run(envelope, pack, decision).unwrap().terms.envelope
    };
    let base = digest(&envelope, Some(&pack), &sample::decision());
    assert_eq!(base, digest(&envelope, Some(&pack), &decision_of(None)));
    assert_ne!(base, digest(&envelope, None, &sample::decision()));
    let other = with(envelope.clone(), "/limits/maxHops", Some(json!(4)));
    assert_ne!(base, digest(&other, Some(&pack), &sample::decision()));
    let other = sealed(with(sample::bare_pack(), "/rules/RefundIssue/toolDenylist", None));
    assert_ne!(base, digest(&envelope, Some(&other), &sample::decision()));
}

/// Tier × threshold × what the pack asks for, whole.
#[test]
fn verification_is_required_by_the_stricter_of_envelope_and_pack() {
    // Rows: nothing acted on, tiny, small, medium, large. Columns: none, tiny, small, medium, large.
    let by_envelope = ["00000", "10000", "11000", "11100", "11110"];
    let tiers = [None].into_iter().chain(Tier::ALL.map(Some));
    for (row, tier) in by_envelope.iter().zip(tiers) {
        for (cell, threshold) in row.chars().zip(Threshold::ALL) {
            let envelope = open_envelope(threshold);
            let decision = decision_of(tier);
            let required = |rules: Option<Value>| {
                let pack = rules.map(pack_of);
                run(&envelope, pack.as_ref(), &decision).unwrap().terms.is_required
            };
            let place = format!("{tier:?} above {threshold}");
            assert_eq!(required(None), cell == '1', "{place}");
            assert_eq!(required(Some(json!({}))), cell == '1', "{place}, empty rules");
            let verifiers = json!({"requiredVerifiers": ["ledger_row"]});
            assert_eq!(required(Some(verifiers)), tier.is_some(), "{place}, verifiers");
            for asked in Tier::ALL {
                for is_asked in [true, false] {
                    let rules = json!({"blastRadiusRequirements": {
                        (asked.as_str()): {"verificationRequired": is_asked}
                    }});
                    let expected = cell == '1' || (is_asked && tier == Some(asked));
                    assert_eq!(required(Some(rules)), expected, "{place}, pack {asked} {is_asked}");
                }
            }
        }
    }
}

#[test]
fn a_pack_asks_for_the_tier_of_each_action_not_only_of_the_widest() {
    let mut decision = sample::decision();
    let wide = with(sample::action(), "/actionId", Some(json!("a-2")));
    let wide = with(wide, "/blastRadiusTier", Some(json!("medium")));
    decision["actions"].as_array_mut().unwrap().push(wide);
    let rules = json!({"blastRadiusRequirements": {"small": {
        "verificationRequired": true, "authorizationMode": "hitl"
    }}});
    let compiled = run(&open_envelope(Threshold::Large), Some(&pack_of(rules)), &decision).unwrap();
    assert!(compiled.terms.is_required && compiled.terms.needs_approval);
}

#[test]
fn a_verifier_that_does_not_exist_is_an_error_whoever_names_it() {
    let pack = sample::pack();
    for missing in ["ledger_row", "mail_sent", "balance_down"] {
        for decision in [sample::decision(), decision_of(None)] {
            let refused =
                run_with(&sample::envelope(), Some(&pack), &decision, &[], |name| name != missing)
                    .unwrap_err();
            assert_eq!(refused.code(), "method_unknown", "{missing}");
            let text = refused.to_string();
            assert!(text.contains(&format!("`{missing}`")), "{text}");
        }
    }
}

#[test]
fn required_without_a_verifier_is_an_error() {
    let mut envelope = open_envelope(Threshold::Large);
    envelope["verification"]["methods"] = json!([]);
    let rules = json!({"blastRadiusRequirements": {"small": {"verificationRequired": true}}});
    let refused = run(&envelope, Some(&pack_of(rules)), &sample::decision()).unwrap_err();
    let codes = codes(refused.as_slice());
    assert!(codes.contains(&"no_method") && codes.contains(&"envelope_no_methods"), "{codes:?}");
    assert!(run(&envelope, None, &sample::decision()).is_ok());
}

#[test]
fn a_pack_that_asks_makes_the_envelopes_rules_stricter() {
    let mut envelope = open_envelope(Threshold::Large);
    envelope["verification"]["verifyTimeoutMs"] = json!(0);
    envelope["stageBudgetsMs"]["verify"] = json!(0);
    assert_eq!(run(&envelope, None, &sample::decision()).unwrap().methods, []);
    let pack = pack_of(json!({"requiredVerifiers": ["ledger_row"]}));
    let refused = run(&envelope, Some(&pack), &sample::decision()).unwrap_err();
    assert_eq!(refused.code(), "envelope_no_verify_time");
}

#[test]
fn documents_of_different_types_do_not_compile() {
    let note = with(sample::decision(), "/decisionType", Some(json!("Note")));
    let refused = run(&sample::envelope(), Some(&sample::pack()), &note).unwrap_err();
    assert_eq!(refused.code(), "decision_type_mismatch");
    let other = with(sample::envelope(), "/decisionType", Some(json!("Other")));
    let decision = with(sample::decision(), "/decisionType", Some(json!("Other")));
    assert!(run(&other, None, &decision).is_ok());
    let refused = run(&other, Some(&sample::pack()), &decision).unwrap_err();
    assert_eq!(told(&refused), [("decision_type_unknown", "/rules")]);
}

#[test]
fn an_envelope_that_skipped_its_rules_governs_nothing() {
    let value = with(sample::envelope(), "/degradeLadder", Some(json!([{"step": "bypass"}])));
    let envelope: probity_policy::Envelope = serde_json::from_value(value).unwrap();
    let decision = parse_decision(&sample::decision()).unwrap();
    let refused = compile(&envelope, None, &decision, NOW_MS, &[], |_| true).unwrap_err();
    assert_eq!(refused.code(), "ladder_bypass_first");
}

#[test]
fn each_rule_of_safe_action_blocks() {
    let at = |member: &str| format!("/actions/0/{member}");
    let envelope = sample::envelope();
    let cases: [(&str, Option<Value>, &str); 7] = [
        ("blastRadiusTier", Some(json!("large")), "action_above_max"),
        ("actionType", Some(json!("delete")), "action_type_not_allowed"),
        ("idempotencyKey", None, "action_no_idempotency"),
        ("authorization/mode", Some(json!("blocked")), "action_not_authorized"),
        ("rollbackPlan", None, "action_no_rollback"),
        ("rollbackPlan/type", Some(json!("none")), "action_no_rollback"),
        ("actionType", Some(json!("Refund")), "action_type_not_allowed"),
    ];
    for (member, value, code) in cases {
        let mut decision = sample::decision();
        if code == "action_no_rollback" {
            decision["actions"][0]["blastRadiusTier"] = json!("medium");
            assert_eq!(run(&envelope, None, &decision).unwrap().terms.blocked, None);
        }
        let decision = with(decision, &at(member), value);
        let compiled = run(&envelope, None, &decision).unwrap();
        assert_eq!(compiled.terms.blocked.unwrap().as_str(), code, "{member}");
        assert_eq!(codes(&compiled.blocks), [code], "{member}");
        assert!(compiled.blocks[0].pointer.starts_with("/actions/0/"));
    }
}

#[test]
fn what_the_envelope_does_not_ask_for_does_not_block() {
    let mut envelope = sample::envelope();
    envelope["safeAction"]["requireIdempotency"] = json!(false);
    envelope["safeAction"].as_object_mut().unwrap().remove("allowedActionTypes");
    let mut decision = sample::decision();
    decision["actions"][0]["actionType"] = json!("anything");
    decision["actions"][0].as_object_mut().unwrap().remove("idempotencyKey");
    decision["actions"][0].as_object_mut().unwrap().remove("rollbackPlan");
    assert_eq!(run(&envelope, None, &decision).unwrap().blocks, []);
}

#[test]
fn a_rollback_plan_is_needed_strictly_above_the_threshold() {
    for tier in Tier::ALL {
        for threshold in Threshold::ALL {
            let mut envelope = open_envelope(Threshold::None);
            envelope["safeAction"]["requireRollbackAbove"] = json!(threshold);
            let decision = with(decision_of(Some(tier)), "/actions/0/rollbackPlan", None);
            let is_blocked = run(&envelope, None, &decision).unwrap().terms.blocked.is_some();
            let rank = Threshold::ALL.iter().position(|other| *other == threshold).unwrap();
            let height = Tier::ALL.iter().position(|other| *other == tier).unwrap() + 1;
            assert_eq!(is_blocked, height > rank, "{tier} above {threshold}");
        }
    }
}

#[test]
fn nothing_above_the_maximum_is_done() {
    for (at, tier) in Tier::ALL.into_iter().enumerate() {
        for (max_at, max) in Tier::ALL.into_iter().enumerate() {
            let mut envelope = open_envelope(Threshold::None);
            envelope["safeAction"]["blastRadiusMax"] = json!(max);
            let compiled = run(&envelope, None, &decision_of(Some(tier))).unwrap();
            assert_eq!(compiled.terms.blocked.is_some(), at > max_at, "{tier} under {max}");
        }
    }
}

#[test]
fn the_pack_authorizes_by_tier() {
    let envelope = open_envelope(Threshold::None);
    for (mode, is_blocked, needs_approval) in
        [("auto", false, false), ("hitl", false, true), ("blocked", true, false)]
    {
        let rules = json!({"blastRadiusRequirements": {"small": {"authorizationMode": mode}}});
        let pack = pack_of(rules);
        let terms = run(&envelope, Some(&pack), &sample::decision()).unwrap().terms;
        assert_eq!((terms.blocked.is_some(), terms.needs_approval), (is_blocked, needs_approval));
        let terms = run(&envelope, Some(&pack), &decision_of(Some(Tier::Medium))).unwrap().terms;
        assert_eq!((terms.blocked.is_some(), terms.needs_approval), (false, false), "{mode}");
    }
    let asks = with(sample::decision(), "/actions/0/authorization/mode", Some(json!("hitl")));
    assert!(run(&envelope, None, &asks).unwrap().terms.needs_approval);
    let two = pack_of(json!({"blastRadiusRequirements": {"small": {"twoPerson": true}}}));
    let compiled = run(&envelope, Some(&two), &sample::decision()).unwrap();
    assert_eq!(compiled.terms.blocked.unwrap().as_str(), "action_two_person");
    assert!(compiled.blocks[0].message.contains("not supported"));
}

#[test]
fn counts_over_a_limit_block_and_counts_at_it_do_not() {
    for (name, limit) in [("hops", 3), ("fanout", 5), ("depth", 2)] {
        for (count, is_blocked) in [(limit, false), (limit + 1, true), (0, false)] {
            let decision = with(sample::decision(), &format!("/chain/{name}"), Some(json!(count)));
            let blocked = run(&sample::envelope(), None, &decision).unwrap().terms.blocked;
            let expected = is_blocked.then_some("limit_exceeded");
            assert_eq!(blocked.as_ref().map(|code| code.as_str()), expected, "{name} {count}");
        }
    }
}

#[test]
fn every_broken_rule_is_told_and_the_first_is_recorded() {
    let mut decision = sample::decision();
    decision["actions"][0]["blastRadiusTier"] = json!("large");
    decision["actions"][0]["actionType"] = json!("delete");
    decision["actions"][0]["authorization"]["mode"] = json!("blocked");
    decision["actions"][0]["rollbackPlan"]["type"] = json!("none");
    decision["actions"][0].as_object_mut().unwrap().remove("idempotencyKey");
    decision["chain"]["hops"] = json!(99);
    let compiled = run(&sample::envelope(), Some(&sample::pack()), &decision).unwrap();
    let expected = [
        "action_not_authorized",
        "action_above_max",
        "action_type_not_allowed",
        "action_no_idempotency",
        "action_no_rollback",
        "action_two_person",
        "limit_exceeded",
    ];
    assert_eq!(codes(&compiled.blocks), expected);
    assert_eq!(compiled.terms.blocked.unwrap().as_str(), expected[0]);
}

#[test]
fn stale_is_soft_only_where_allowed_and_not_above_the_threshold() {
    for is_allowed in [true, false] {
        for threshold in Threshold::ALL {
            for tier in [None].into_iter().chain(Tier::ALL.map(Some)) {
                let mut envelope = open_envelope(threshold);
                envelope["freshness"]["allowStaleIfSafe"] = json!(is_allowed);
                let terms = run(&envelope, None, &decision_of(tier)).unwrap().terms;
                let is_safe = tier.is_none_or(|tier| !tier.is_above(threshold));
                assert_eq!(terms.is_stale_soft, is_allowed && is_safe, "{tier:?} {threshold}");
            }
        }
    }
}

#[test]
fn features_age_by_their_own_time_to_live() {
    let terms = run(&sample::envelope(), None, &sample::decision()).unwrap().terms;
    let features: Vec<(u64, u64)> = terms
        .features
        .iter()
        .map(|feature| (NOW_MS - feature.captured_at_ms, feature.ttl_ms))
        .collect();
    assert_eq!(features, [(20, 50), (1000, 4000)]);
    assert_eq!(
        [terms.stale(NOW_MS), terms.stale(NOW_MS + 31), terms.stale(NOW_MS + 3001)],
        [0, 1, 2]
    );
}

#[test]
fn a_context_without_features_is_one_feature() {
    let decision = with(sample::decision(), "/context/features", None);
    let compiled = run(&sample::envelope(), None, &decision).unwrap();
    assert_eq!(compiled.terms.features.len(), 1);
    let feature = compiled.terms.features[0];
    assert_eq!((feature.captured_at_ms, feature.ttl_ms), (NOW_MS - 100, 500));
    let undated = with(decision, "/context/capturedAt", None);
    let compiled = run(&sample::envelope(), None, &undated).unwrap();
    assert_eq!(compiled.terms.features, []);
    assert!(codes(&compiled.warnings).contains(&"context_undated"));
}

#[test]
fn a_feature_from_the_future_is_told() {
    let pointer = "/context/features/balance";
    let age = json!({"capturedAt": "2026-02-11T12:00:00.001Z"});
    let decision = with(sample::decision(), pointer, Some(age));
    let warnings = run(&sample::envelope(), None, &decision).unwrap().warnings;
    let found = warnings.iter().find(|found| found.code == "context_future").unwrap();
    assert_eq!(found.pointer, pointer);
    let now =
        with(sample::decision(), pointer, Some(json!({"capturedAt": "2026-02-11T12:00:00Z"})));
    let warnings = run(&sample::envelope(), None, &now).unwrap().warnings;
    assert!(!codes(&warnings).contains(&"context_future"));
}

#[test]
fn a_rung_is_ready_when_the_run_can_take_it() {
    let ladder = |ready: &[Step]| {
        let compiled =
            run_with(&sample::envelope(), None, &sample::decision(), ready, |_| true).unwrap();
        let rungs = compiled.terms.ladder.into_iter();
        rungs.map(|rung| (rung.step, rung.is_ready)).collect::<Vec<_>>()
    };
    for step in Step::ALL {
        let expected: Vec<(Step, bool)> = Step::ALL
            .into_iter()
            .map(|rung| {
                let always = matches!(rung, Step::Hitl | Step::Abstain);
                (rung, always || (rung == step && rung != Step::Bypass))
            })
            .collect();
        assert_eq!(ladder(&[step]), expected, "{step}");
    }
    let compiled = run(&sample::envelope(), None, &sample::decision()).unwrap();
    assert_eq!(compiled.terms.ladder[0].max_extra_ms, Some(40));
}

#[test]
fn a_packs_ladder_narrows_the_envelopes() {
    let compiled = run(&sample::envelope(), Some(&sample::pack()), &sample::decision()).unwrap();
    let steps: Vec<Step> = compiled.terms.ladder.iter().map(|rung| rung.step).collect();
    assert_eq!(steps, [Step::CacheBundle, Step::Hitl, Step::Abstain]);
    let left_out: Vec<&str> = compiled
        .warnings
        .iter()
        .filter(|found| found.code == "ladder_step_left_out")
        .map(|found| found.pointer.as_str())
        .collect();
    assert_eq!(left_out, ["/degradeLadder/1", "/degradeLadder/2", "/degradeLadder/5"]);
}

#[test]
fn an_action_that_states_more_time_than_the_stage_is_told() {
    let pointer = "/actions/0/execution/timeoutMs";
    for (timeout_ms, is_told) in [(300, false), (301, true)] {
        let decision = with(sample::decision(), pointer, Some(json!(timeout_ms)));
        let warnings = run(&sample::envelope(), None, &decision).unwrap().warnings;
        assert_eq!(codes(&warnings).contains(&"action_over_stage"), is_told);
    }
}

#[test]
fn an_envelope_of_another_pack_is_told() {
    let compiled = run(&sample::envelope(), Some(&sample::pack()), &sample::decision()).unwrap();
    assert!(codes(&compiled.warnings).contains(&"pack_not_origin"));
    let pack = sample::pack();
    let envelope = with(
        sample::envelope(),
        "/policyPack/policyPackHash",
        Some(pack["policyPackHash"].clone()),
    );
    let compiled = run(&envelope, Some(&pack), &sample::decision()).unwrap();
    assert!(!codes(&compiled.warnings).contains(&"pack_not_origin"));
}
