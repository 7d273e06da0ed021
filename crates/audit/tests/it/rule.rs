//! Every rule: the episode that breaks it, and that the honest one does not.

use std::collections::BTreeSet;

use probity_audit::{RULES, Severity};
use serde_json::{Value, json};

use crate::{auditor, codes, sealed, value, with};

/// One way to break one rule.
struct Break {
    code: &'static str,
    pointer: &'static str,
    episode: fn(&mut Value),
    envelope: fn(&mut Value),
    pack: fn(&mut Value),
}

const fn same(_: &mut Value) {}

const fn breaks(code: &'static str, pointer: &'static str, episode: fn(&mut Value)) -> Break {
    Break { code, pointer, episode, envelope: same, pack: same }
}

impl Break {
    const fn under(self, envelope: fn(&mut Value)) -> Self {
        Self { envelope, ..self }
    }

    const fn packed(self, pack: fn(&mut Value)) -> Self {
        Self { pack, ..self }
    }
}

/// An episode of the corpus in which nothing is wrong.
fn honest() -> Value {
    let mut episode = value("01_success.json");
    episode["policy"]["policyPackHash"] = value("pack.json")["policyPackHash"].clone();
    episode["actions"][0]["execution"]["timeoutMs"] = json!(60);
    sealed(episode)
}

fn idle(e: &mut Value) {
    e["actions"] = json!([]);
    e["telemetry"]["stageMs"]["act"] = json!(0);
    e["verification"] = json!({ "required": false, "result": "na" });
}

/// A wide action, as it must be.
fn wide(e: &mut Value) {
    let action = &mut e["actions"][0];
    action["blastRadiusTier"] = json!("medium");
    action["authorization"] = json!({ "mode": "hitl", "approver": "ana" });
}

fn breaks_of_times() -> Vec<Break> {
    vec![
        breaks("time_order", "/endedAt", |e| {
            e["endedAt"] = json!("2026-03-02T09:15:03.5Z");
            e["context"]["capturedAt"] = json!("2026-03-02T09:15:03Z");
        }),
        breaks("time_order", "/endedAt", |e| {
            e["startedAt"] = json!("2026-03-02T09:15:04.500Z");
            e["endedAt"] = json!("2026-03-02T09:15:04.499Z");
        }),
        breaks("sealed_before_end", "/seal/sealedAt", |e| {
            e["endedAt"] = json!("2026-03-02T09:15:05Z");
        }),
        breaks("captured_after_end", "/context/capturedAt", |e| {
            e["context"]["capturedAt"] = json!("2026-03-02T09:15:05Z");
        }),
        breaks("stage_sum", "/telemetry/stageMs", |e| e["telemetry"]["endToEndMs"] = json!(139)),
        breaks("act_without_action", "/telemetry/stageMs/act", |e| {
            idle(e);
            e["telemetry"]["stageMs"]["act"] = json!(1);
        }),
        breaks("duration_implausible", "/telemetry/endToEndMs", |e| {
            e["telemetry"]["endToEndMs"] = json!(2_592_000_001_u64);
        }),
        breaks("deadline_exceeded", "/telemetry/endToEndMs", |e| {
            e["telemetry"]["endToEndMs"] = json!(201);
        }),
        breaks("deadline_exceeded", "/telemetry/endToEndMs", |e| {
            e["decisionWindowMs"] = json!(139);
        }),
        breaks("deadline_exceeded", "/telemetry/endToEndMs", |e| {
            e["telemetry"]["endToEndMs"] = json!(201);
            e["decisionWindowMs"] = json!(900);
        }),
        breaks("window_differs", "/decisionWindowMs", |e| e["decisionWindowMs"] = json!(201)),
        breaks("stage_over_budget", "/telemetry/stageMs/plan", |e| {
            e["telemetry"]["stageMs"]["plan"] = json!(41);
        }),
        breaks("action_timeout_over_budget", "/actions/0/execution/timeoutMs", |e| {
            e["actions"][0]["execution"]["timeoutMs"] = json!(61);
        }),
        breaks("context_stale", "/context/maxFeatureAgeMs", |e| {
            e["context"]["maxFeatureAgeMs"] = json!(401);
        }),
        breaks("stale_not_abstained", "/outcome/code", |e| {
            e["context"]["ttlBreachesCount"] = json!(1);
        }),
        // A feature with a longer time of its own makes room only where it is named.
        breaks("stale_not_abstained", "/outcome/code", |e| {
            e["context"]["ttlMs"] = json!(5000);
            e["context"]["maxFeatureAgeMs"] = json!(401);
            e["context"]["evidenceRefs"] = json!(["payments_1m"]);
        }),
        breaks("ttl_differs", "/context/ttlMs", |e| e["context"]["ttlMs"] = json!(5001)),
    ]
}

fn breaks_of_verification() -> Vec<Break> {
    vec![
        breaks("required_na", "/verification/result", |e| {
            idle(e);
            e["verification"]["required"] = json!(true);
        }),
        breaks("required_na", "/verification/result", |e| {
            e["verification"] = json!({ "required": false, "result": "na" });
        }),
        // By the pack for this tier.
        breaks("required_false", "/verification/required", |e| {
            e["verification"]["required"] = json!(false);
        }),
        // By the pack's verifiers alone.
        breaks("required_false", "/verification/required", |e| {
            e["verification"]["required"] = json!(false);
        })
        .packed(|p| p["rules"]["FreezeCard"]["blastRadiusRequirements"] = json!({})),
        // By the envelope's threshold alone.
        breaks("required_false", "/verification/required", |e| {
            wide(e);
            e["verification"]["required"] = json!(false);
        })
        .packed(|p| p["rules"]["FreezeCard"] = json!({})),
        breaks("outcome_unverified", "/outcome/code", |e| {
            e["verification"]["result"] = json!("inconclusive");
        }),
        breaks("outcome_unverified", "/outcome/code", |e| {
            e["verification"]["result"] = json!("fail");
            e["outcome"]["code"] = json!("bypassed");
        }),
        breaks("success_unchecked", "/outcome/code", idle),
        breaks("pass_without_action", "/verification/result", |e| {
            idle(e);
            e["verification"] =
                json!({ "required": false, "method": "read_after_write", "result": "pass" });
        }),
        breaks("pass_degraded", "/verification/result", |e| {
            e["degrade"]["step"] = json!("abstain");
        }),
        breaks("pass_degraded", "/verification/result", |e| e["degrade"]["step"] = json!("hitl")),
        breaks("pass_degraded", "/verification/result", |e| {
            e["degrade"].as_object_mut().unwrap().remove("step");
            e["telemetry"]["fallbackStep"] = json!("bypass");
        }),
        breaks("method_placeholder", "/verification/method", |e| {
            e["verification"]["method"] = json!("stub");
        }),
        breaks("method_missing", "/verification", |e| {
            e["verification"].as_object_mut().unwrap().remove("method");
        }),
        breaks("method_missing", "/verification", |e| e["verification"]["method"] = json!(" + ")),
        breaks("method_missing", "/verification/method", |e| {
            e["verification"]["method"] = json!("other");
        }),
        // At least one of the envelope's, whatever the pack names.
        breaks("method_missing", "/verification/method", |e| {
            e["verification"]["method"] = json!("dual_run");
        })
        .packed(|p| p["rules"]["FreezeCard"]["requiredVerifiers"] = json!(["dual_run"])),
        breaks("method_unknown", "/verification/method", |e| {
            e["verification"]["method"] = json!("read_after_write+other");
        }),
        breaks("verify_too_late", "/telemetry/stageMs/verify", |e| {
            e["telemetry"]["stageMs"]["verify"] = json!(41);
        }),
        // Each verifier by its own record.
        breaks("verify_too_late", "/verification/details/checks/0/elapsedMs", |e| {
            let record = json!({ "method": "read_after_write", "elapsedMs": 41 });
            e["verification"]["details"] = json!({ "checks": [record] });
        }),
        // Without a timeout of its own, the stage's budget counts.
        breaks("verify_too_late", "/telemetry/stageMs/verify", |e| {
            e["telemetry"]["stageMs"]["verify"] = json!(31);
        })
        .under(|v| {
            v["stageBudgetsMs"]["verify"] = json!(30);
            v["verification"]["verifyTimeoutMs"] = json!(0);
        }),
    ]
}

fn breaks_of_actions() -> Vec<Break> {
    vec![
        breaks("tier_unknown", "/actions/0/blastRadiusTier", |e| {
            e["actions"][0]["blastRadiusTier"] = json!("wide");
        }),
        breaks("tier_above_max", "/actions/0/blastRadiusTier", |e| {
            wide(e);
            e["actions"][0]["blastRadiusTier"] = json!("large");
        }),
        breaks("idempotency_missing", "/actions/0/idempotencyKey", |e| {
            e["actions"][0]["idempotencyKey"] = json!("  ");
        }),
        breaks("rollback_missing", "/actions/0/rollbackPlan", |e| {
            wide(e);
            e["actions"][0]["rollbackPlan"] = json!({ "type": "none" });
        }),
        // A tier that is not known counts as the widest.
        breaks("rollback_missing", "/actions/0/rollbackPlan", |e| {
            e["actions"][0]["blastRadiusTier"] = json!("wide");
            e["actions"][0]["rollbackPlan"] = json!({ "type": "none" });
        }),
        breaks("action_type_denied", "/actions/0/actionType", |e| {
            e["actions"][0]["actionType"] = json!("close_account");
        }),
        breaks("authorization_weak", "/actions/0/authorization/mode", |e| {
            wide(e);
            e["actions"][0]["authorization"]["mode"] = json!("auto");
        }),
        breaks("approver_missing", "/actions/0/authorization/approver", |e| {
            wide(e);
            e["actions"][0]["authorization"]["approver"] = json!(" ");
        }),
        breaks("two_person_unproven", "/actions/0/authorization/approver", |e| {
            wide(e);
            e["actions"][0]["authorization"]["approver"] = json!("ana, ana");
        })
        .packed(|p| {
            let rules = &mut p["rules"]["FreezeCard"]["blastRadiusRequirements"];
            rules["medium"]["twoPerson"] = json!(true);
        }),
        breaks("action_id_twice", "/actions/1/actionId", |e| {
            let first = e["actions"][0].clone();
            e["actions"].as_array_mut().unwrap().push(first);
        }),
        breaks("action_blocked", "/actions/0/authorization/mode", |e| {
            e["actions"][0]["authorization"]["mode"] = json!("blocked");
        }),
        breaks("limit_exceeded", "/telemetry/hopCount", |e| e["telemetry"]["hopCount"] = json!(5)),
        breaks("limit_exceeded", "/telemetry/fanout", |e| e["telemetry"]["fanout"] = json!(9)),
        breaks("step_unknown", "/degrade/step", |e| e["degrade"]["step"] = json!("warp")),
        breaks("step_unknown", "/telemetry/fallbackStep", |e| {
            e["telemetry"]["fallbackStep"] = json!("warp");
        }),
        breaks("step_not_in_ladder", "/degrade/step", |e| {
            e["degrade"]["step"] = json!("small_model");
        }),
        breaks("step_not_in_ladder", "/degrade/step", |e| {
            e["degrade"] = json!({ "step": "cache_bundle", "ladder": ["rules_only"] });
        }),
        breaks("fallback_differs", "/telemetry/fallbackStep", |e| {
            e["degrade"]["step"] = json!("cache_bundle");
        }),
        breaks("fallback_flag", "/telemetry/fallbackUsed", |e| {
            e["telemetry"]["fallbackUsed"] = json!(true);
        }),
        breaks("fallback_flag", "/telemetry/fallbackUsed", |e| {
            e["telemetry"]["fallbackStep"] = json!("cache_bundle");
        }),
        breaks("bypassed_nothing", "/outcome/code", |e| {
            e["actions"][0]["authorization"]["mode"] = json!("blocked");
            e["outcome"]["code"] = json!("bypassed");
        }),
        breaks("abstain_acted", "/outcome/code", |e| {
            e["context"]["maxFeatureAgeMs"] = json!(900);
            e["outcome"]["code"] = json!("abstain");
        }),
        breaks("bypass_used", "/outcome/code", |e| e["outcome"]["code"] = json!("bypassed")),
    ]
}

fn breaks_of_references() -> Vec<Break> {
    vec![
        breaks("decision_type_differs", "/dteRef/decisionType", |e| {
            e["dteRef"]["decisionType"] = json!("Other");
        }),
        breaks("envelope_missing", "/decisionType", |e| e["decisionType"] = json!("Other")),
        breaks("pack_missing", "/decisionType", |e| e["decisionType"] = json!("Other")),
        breaks("envelope_version_differs", "/dteRef/version", |e| {
            e["dteRef"]["version"] = json!("3.0.9");
        }),
        breaks("pack_hash_differs", "/policy/policyPackHash", |e| {
            e["policy"]["policyPackHash"] = json!("0".repeat(64));
        }),
        breaks("pack_hash_differs", "/dteRef/policyPackHash", |e| {
            e["dteRef"]["policyPackHash"] = json!("another");
        }),
    ]
}

fn every_break() -> Vec<Break> {
    let mut all = breaks_of_times();
    all.extend(breaks_of_verification());
    all.extend(breaks_of_actions());
    all.extend(breaks_of_references());
    all
}

#[test]
fn the_honest_episode_has_no_finding() {
    let report = auditor().episode(honest().to_string().as_bytes(), "x");
    assert_eq!(codes(&report), [""; 0]);
    assert_eq!((report.drift, report.reads_as), (Vec::new(), None));
}

#[test]
fn each_break_is_found_at_its_place_with_its_weight() {
    for one in every_break() {
        let mut episode = honest();
        (one.episode)(&mut episode);
        let auditor = with(one.envelope, one.pack);
        let report = auditor.episode(sealed(episode).to_string().as_bytes(), "x");
        let found = report.findings.iter().find(|f| f.code == one.code && f.pointer == one.pointer);
        let Some(found) = found else {
            panic!("{} at {}: {:#?}", one.code, one.pointer, report.findings);
        };
        let rule = RULES.iter().find(|rule| rule.code == one.code).unwrap();
        assert_eq!(found.severity, rule.severity, "{}", one.code);
        let is_rejected = report.verdict == probity_audit::Acceptance::Rejected;
        assert!(is_rejected || found.severity < Severity::Error, "{}", one.code);
    }
}

/// The rules that are not broken here are broken where reading, shapes and seals are tested.
#[test]
fn no_rule_is_left_unbroken() {
    let broken: BTreeSet<&str> = every_break().iter().map(|one| one.code).collect();
    let elsewhere = BTreeSet::from([
        "document_too_large",
        "document_not_utf8",
        "document_syntax",
        "document_number",
        "document_too_deep",
        "document_trailing",
        "document_duplicate_key",
        "document_unknown",
        "findings_cut",
        "other_vocabulary",
        "shape_type",
        "shape_missing",
        "shape_unknown",
        "shape_value",
        "shape_time",
        "seal_mismatch",
        "seal_not_a_digest",
        "seal_of_nothing",
        "seal_prefixed",
        "seal_by_value",
        "seal_with_place",
        "receipt_differs",
    ]);
    let all: BTreeSet<&str> = RULES.iter().map(|rule| rule.code).collect();
    assert_eq!(all.len(), RULES.len(), "each rule once");
    assert_eq!(broken.union(&elsewhere).copied().collect::<BTreeSet<_>>(), all);
    assert!(broken.is_disjoint(&elsewhere));
}

/// What is exactly at a bound is within it.
#[test]
fn bounds_are_kept_by_what_equals_them() {
    let mut episode = honest();
    episode["telemetry"]["endToEndMs"] = json!(200);
    episode["telemetry"]["stageMs"] = json!({ "context": 60, "plan": 40, "act": 60, "verify": 40 });
    episode["telemetry"]["hopCount"] = json!(4);
    episode["telemetry"]["fanout"] = json!(8);
    episode["context"]["maxFeatureAgeMs"] = json!(400);
    // The longest decision that is believed, by an envelope that allows it.
    let mut long = episode.clone();
    long["decisionWindowMs"] = json!(2_592_000_000_u64);
    long["telemetry"]["endToEndMs"] = json!(2_592_000_000_u64);
    let slow = with(|v| v["deadlineMs"] = json!(2_592_000_000_u64), same);
    let report = slow.episode(sealed(long).to_string().as_bytes(), "x");
    assert_eq!(codes(&report), [""; 0]);
    let report = auditor().episode(sealed(episode).to_string().as_bytes(), "x");
    assert_eq!(codes(&report), [""; 0]);
}

/// The twins of what is rejected: the same episode, honestly reported.
#[test]
fn honest_twins_are_accepted() {
    type Twin = (&'static str, fn(&mut Value));
    let twins: [Twin; 11] = [
        ("two verifiers, each in time", |e| {
            e["telemetry"]["stageMs"]["verify"] = json!(70);
            e["telemetry"]["endToEndMs"] = json!(190);
            e["verification"]["method"] = json!("read_after_write+read_after_write");
        }),
        ("a stage that took long, a verifier that did not", |e| {
            e["telemetry"]["stageMs"]["verify"] = json!(45);
            e["telemetry"]["endToEndMs"] = json!(160);
            let record = json!({ "method": "read_after_write", "elapsedMs": 40 });
            e["verification"]["details"] = json!({ "checks": [record] });
        }),
        ("old, as its one feature may be", |e| {
            e["context"]["ttlMs"] = json!(5000);
            e["context"]["maxFeatureAgeMs"] = json!(4999);
        }),
        ("stale, and the cached bundle in its place", |e| {
            e["context"]["maxFeatureAgeMs"] = json!(900);
            e["degrade"]["step"] = json!("cache_bundle");
            e["telemetry"]["fallbackStep"] = json!("cache_bundle");
            e["telemetry"]["fallbackUsed"] = json!(true);
            e["outcome"]["code"] = json!("partial");
        }),
        ("failed and said so", |e| {
            e["verification"]["result"] = json!("fail");
            e["outcome"]["code"] = json!("fail");
        }),
        ("late, and inconclusive", |e| {
            e["telemetry"]["stageMs"]["verify"] = json!(45);
            e["telemetry"]["endToEndMs"] = json!(160);
            e["verification"]["result"] = json!("inconclusive");
            e["outcome"]["code"] = json!("fail");
        }),
        ("stale, and nothing done", |e| {
            idle(e);
            e["context"]["maxFeatureAgeMs"] = json!(5000);
            e["outcome"]["code"] = json!("abstain");
        }),
        ("wide, agreed to, with a way back", wide),
        ("agreed to by a human on the ladder", |e| {
            wide(e);
            e["degrade"]["step"] = json!("hitl");
            e["telemetry"]["fallbackStep"] = json!("hitl");
            e["telemetry"]["fallbackUsed"] = json!(true);
            e["outcome"]["code"] = json!("partial");
        }),
        ("abstained, which ends every ladder", |e| {
            idle(e);
            e["degrade"] = json!({ "step": "abstain", "ladder": ["cache_bundle"] });
            e["telemetry"]["fallbackStep"] = json!("abstain");
            e["telemetry"]["fallbackUsed"] = json!(true);
            e["outcome"]["code"] = json!("abstain");
        }),
        ("blocked, and nothing done", |e| {
            idle(e);
            e["outcome"]["code"] = json!("abstain");
        }),
    ];
    for (what, twin) in twins {
        let mut episode = honest();
        twin(&mut episode);
        let report = auditor().episode(sealed(episode).to_string().as_bytes(), "x");
        let all = codes(&report);
        assert!(!all.iter().any(|code| code.starts_with('!')), "{what}: {all:?}");
    }
}

/// Verification, reason and outcome, as each broken promise must be read.
#[test]
fn what_may_not_be_taken_at_its_word_is_read() {
    type Case = (fn(&mut Value), [&'static str; 3]);
    let cases: [Case; 8] = [
        (|e| e["telemetry"]["stageMs"]["verify"] = json!(90), ["inconclusive", "timeout", "fail"]),
        (|e| e["verification"]["method"] = json!("stub"), ["inconclusive", "no_method", "fail"]),
        (|e| e["verification"]["method"] = json!(""), ["inconclusive", "no_method", "fail"]),
        (|e| e["context"]["ttlBreachesCount"] = json!(2), ["pass", "stale", "fail"]),
        (|e| e["verification"]["result"] = json!("fail"), ["fail", "fail", "fail"]),
        (
            |e| e["verification"]["result"] = json!("inconclusive"),
            ["inconclusive", "inconclusive", "fail"],
        ),
        (|e| e["verification"]["result"] = json!("na"), ["inconclusive", "not_run", "fail"]),
        (
            |e| {
                idle(e);
                e["outcome"]["code"] = json!("bypassed");
            },
            ["na", "blocked", "abstain"],
        ),
    ];
    for (change, expected) in cases {
        let mut episode = honest();
        change(&mut episode);
        let report = auditor().episode(sealed(episode).to_string().as_bytes(), "x");
        let read = report.reads_as.unwrap();
        assert_eq!([read.verification, read.reason, read.outcome], expected);
    }
}

#[test]
fn a_stale_context_is_soft_only_where_the_envelope_says_so_and_the_action_is_narrow() {
    let soft = with(|v| v["freshness"]["allowStaleIfSafe"] = json!(true), same);
    let mut narrow = honest();
    narrow["context"]["maxFeatureAgeMs"] = json!(401);
    let report = soft.episode(sealed(narrow.clone()).to_string().as_bytes(), "x");
    assert!(codes(&report).contains(&"?stale_not_abstained".to_owned()));
    wide(&mut narrow);
    let report = soft.episode(sealed(narrow).to_string().as_bytes(), "x");
    assert!(codes(&report).contains(&"!stale_not_abstained".to_owned()));
}

#[test]
fn without_envelopes_an_episode_is_held_against_its_own_words() {
    let alone = probity_audit::EpisodeAuditor::new();
    let report = alone.episode(honest().to_string().as_bytes(), "x");
    assert_eq!(codes(&report), [""; 0]);
    let mut late = honest();
    late["decisionWindowMs"] = json!(100);
    let report = alone.episode(sealed(late).to_string().as_bytes(), "x");
    assert_eq!(codes(&report), ["!deadline_exceeded"]);
}

#[test]
fn without_an_envelope_the_pack_gives_its_numbers() {
    let pack = value("pack.json").to_string();
    let pack = probity_policy::Pack::parse(&pack, probity_policy::Format::Json).unwrap();
    let auditor = probity_audit::EpisodeAuditor::new().with_pack(pack);
    let mut old = honest();
    old["context"]["maxFeatureAgeMs"] = json!(301);
    let report = auditor.episode(sealed(old).to_string().as_bytes(), "x");
    assert_eq!(codes(&report), [".context_stale", "!stale_not_abstained"]);
    let mut late = honest();
    late["decisionWindowMs"] = json!(900);
    late["telemetry"]["endToEndMs"] = json!(201);
    let report = auditor.episode(sealed(late).to_string().as_bytes(), "x");
    assert_eq!(codes(&report), ["!deadline_exceeded"]);
}

#[test]
fn of_several_packs_the_one_that_the_episode_names_counts() {
    let mut other = value("pack.json");
    other["policyPackId"] = json!("elsewhere");
    other["rules"]["FreezeCard"]["requiredVerifiers"] = json!(["dual_run"]);
    other["policyPackHash"] = json!(probity_policy::pack_hash(&other).unwrap());
    let other =
        probity_policy::Pack::parse(&other.to_string(), probity_policy::Format::Json).unwrap();
    let both = auditor().with_pack(other);
    let report = both.episode(honest().to_string().as_bytes(), "x");
    assert_eq!(codes(&report), [""; 0]);
    let mut episode = honest();
    episode.as_object_mut().unwrap().remove("policy");
    episode["verification"]["required"] = json!(false);
    let report = both.episode(sealed(episode).to_string().as_bytes(), "x");
    assert_eq!(codes(&report), ["!required_false"], "the first pack, where none is named");
    let mut episode = honest();
    episode["policy"]["policyPackId"] = json!("elsewhere");
    let report = both.episode(sealed(episode).to_string().as_bytes(), "x");
    assert!(report.has("method_missing") && report.has("pack_hash_differs"));
}
