//! The rules across an envelope's fields, each beside the nearest legal envelope.

use probity_policy::Severity;
use serde_json::{Value, json};

use crate::sample::{self, parse_envelope, told, with};

type Change<'a> = (&'a str, Value);

fn changed(changes: &[Change<'_>]) -> Value {
    let set =
        |document, (pointer, value): &Change<'_>| with(document, pointer, Some(value.clone()));
    changes.iter().fold(sample::envelope(), set)
}

fn steps(names: &[&str]) -> Value {
    names.iter().map(|name| json!({"step": name})).collect()
}

#[test]
fn the_sample_is_legal_and_has_nothing_odd() {
    let envelope = parse_envelope(&sample::envelope()).unwrap();
    assert_eq!(envelope.findings(None), []);
    let again = serde_json::to_value(&envelope).unwrap();
    assert_eq!(again, sample::envelope());
}

#[test]
fn each_rule_across_fields_refuses() {
    let methods = "/verification/methods";
    let threshold = "/verification/requiredAboveBlastRadius";
    let timeout = "/verification/verifyTimeoutMs";
    let verify = "/stageBudgetsMs/verify";
    let ladder = "/degradeLadder";
    let cases: &[(&[Change<'_>], &str, &str)] = &[
        (&[("/deadlineMs", json!(849))], "envelope_stage_sum", "/stageBudgetsMs"),
        (&[(timeout, json!(251))], "envelope_verify_timeout", timeout),
        (&[(timeout, json!(0)), (verify, json!(0))], "envelope_no_verify_time", verify),
        (&[(methods, json!([]))], "envelope_no_methods", methods),
        (&[(methods, json!([])), (threshold, json!("none"))], "envelope_no_methods", methods),
        (&[(ladder, steps(&["hitl", "abstain", "hitl"]))], "ladder_step_twice", "/degradeLadder/2"),
        (&[(ladder, steps(&["cache_bundle", "rules_only"]))], "ladder_no_safe_step", ladder),
        (&[(ladder, steps(&["bypass", "hitl"]))], "ladder_bypass_first", "/degradeLadder/0"),
    ];
    for (changes, code, pointer) in cases {
        let refused = parse_envelope(&changed(changes)).unwrap_err();
        let errors: Vec<_> = refused.as_slice().iter().filter(|found| found.is_error()).collect();
        let found: Vec<_> = errors.iter().map(|found| (found.code, &*found.pointer)).collect();
        assert_eq!(found, [(*code, *pointer)], "{changes:?}");
        assert_eq!(refused.code(), *code);
    }
}

#[test]
fn the_nearest_legal_envelopes_pass() {
    let threshold = "/verification/requiredAboveBlastRadius";
    let timeout = "/verification/verifyTimeoutMs";
    let verify = "/stageBudgetsMs/verify";
    let cases: &[&[Change<'_>]] = &[
        &[("/deadlineMs", json!(850))],
        &[(timeout, json!(250))],
        &[(timeout, json!(0))],
        &[(threshold, json!("large")), (timeout, json!(0)), (verify, json!(0))],
        &[(threshold, json!("large")), ("/verification/methods", json!([]))],
        &[("/degradeLadder", steps(&["hitl"]))],
        &[("/degradeLadder", steps(&["abstain", "bypass", "hitl"]))],
    ];
    for changes in cases {
        assert!(parse_envelope(&changed(changes)).is_ok(), "{changes:?}");
    }
}

#[test]
fn several_broken_rules_come_together() {
    let value = changed(&[
        ("/deadlineMs", json!(1)),
        ("/verification/methods", json!([])),
        ("/degradeLadder", steps(&["bypass"])),
    ]);
    let refused = parse_envelope(&value).unwrap_err();
    let codes: Vec<&str> = told(&refused).iter().map(|(code, _)| *code).collect();
    let expected =
        ["envelope_stage_sum", "envelope_no_methods", "ladder_bypass_first", "ladder_no_safe_step"];
    assert_eq!(codes, expected);
}

#[test]
fn what_can_have_no_effect_is_a_warning() {
    let threshold = "/verification/requiredAboveBlastRadius";
    let cases: &[(&[Change<'_>], &str, &str)] = &[
        (
            &[("/safeAction/requireRollbackAbove", json!("medium"))],
            "envelope_threshold_idle",
            "/safeAction/requireRollbackAbove",
        ),
        (&[(threshold, json!("medium"))], "envelope_threshold_idle", threshold),
        (&[(threshold, json!("large"))], "envelope_threshold_idle", threshold),
        (
            &[("/safeAction/allowedActionTypes", json!([]))],
            "envelope_no_action_types",
            "/safeAction/allowedActionTypes",
        ),
        (&[("/stageBudgetsMs/act", json!(0))], "envelope_no_act_time", "/stageBudgetsMs/act"),
        (
            &[("/degradeLadder/0/maxExtraMs", json!(901))],
            "envelope_step_idle",
            "/degradeLadder/0/maxExtraMs",
        ),
        (
            &[(threshold, json!("none")), ("/freshness/allowStaleIfSafe", json!(true))],
            "envelope_stale_idle",
            "/freshness/allowStaleIfSafe",
        ),
    ];
    for (changes, code, pointer) in cases {
        let envelope = parse_envelope(&changed(changes)).unwrap();
        let findings = envelope.findings(None);
        let found: Vec<_> = findings.iter().map(|found| (found.code, &*found.pointer)).collect();
        assert_eq!(found, [(*code, *pointer)], "{changes:?}");
        assert_eq!(findings[0].severity, Severity::Warning);
    }
}

#[test]
fn methods_without_time_are_a_warning_where_nothing_requires_them() {
    let value = changed(&[
        ("/verification/requiredAboveBlastRadius", json!("large")),
        ("/verification/verifyTimeoutMs", json!(0)),
        ("/stageBudgetsMs/verify", json!(0)),
    ]);
    let findings = parse_envelope(&value).unwrap().findings(None);
    let found = findings.iter().find(|found| found.code == "envelope_no_verify_time").unwrap();
    assert_eq!(found.severity, Severity::Warning);
    let quiet = with(value, "/verification/methods", Some(json!([])));
    let findings = parse_envelope(&quiet).unwrap().findings(None);
    assert!(findings.iter().all(|found| found.code != "envelope_no_verify_time"));
}

#[test]
fn every_pair_of_maximum_and_threshold_warns_exactly_where_nothing_lies_between() {
    let tiers = ["tiny", "small", "medium", "large"];
    let thresholds = ["none", "tiny", "small", "medium", "large"];
    for (max_rank, max) in tiers.iter().enumerate() {
        for (rank, threshold) in thresholds.iter().enumerate() {
            let value = changed(&[
                ("/safeAction/blastRadiusMax", json!(max)),
                ("/safeAction/requireRollbackAbove", json!(threshold)),
                ("/verification/requiredAboveBlastRadius", json!("none")),
            ]);
            let findings = parse_envelope(&value).unwrap().findings(None);
            let is_idle = rank > max_rank;
            assert_eq!(findings.len(), usize::from(is_idle), "{max} {threshold}");
        }
    }
}

#[test]
fn a_method_has_the_stated_time_or_the_stages() {
    let timeout = "/verification/verifyTimeoutMs";
    let absent = with(sample::envelope(), timeout, None);
    let cases = [
        (sample::envelope(), 120),
        (changed(&[(timeout, json!(0))]), 250),
        (absent, 250),
        (
            changed(&[
                (timeout, json!(0)),
                ("/stageBudgetsMs/verify", json!(7_200_000)),
                ("/deadlineMs", json!(9_000_000)),
            ]),
            probity_core::MAX_CHECK_MS,
        ),
    ];
    for (value, timeout_ms) in cases {
        assert_eq!(parse_envelope(&value).unwrap().method_timeout_ms(), timeout_ms);
    }
}

#[test]
fn feature_names_are_compared_as_they_are_written() {
    let value = changed(&[("/freshness/featureTtls", json!({"priceFeed": 50, "a/b": 7}))]);
    let envelope = parse_envelope(&value).unwrap();
    let ttls =
        ["priceFeed", "price_feed", "pricefeed", "a/b", ""].map(|name| envelope.ttl_ms(name));
    assert_eq!(ttls, [50, 500, 500, 7, 500]);
}
