//! Documents of seed 001's system, where `PROBITY_REFERENCE` names a folder that has them.

use std::path::{Path, PathBuf};

use probity_core::Step;
use probity_policy::sorted_json::python_canonical_without;
use probity_policy::{Decision, Envelope, Format, Pack, Schema, compile, pack_hash};
use probity_record::blob_digest;
use serde_json::{Value, json};

fn folder() -> Option<PathBuf> {
    std::env::var_os("PROBITY_REFERENCE").map(|root| Path::new(&root).join("deepsigma"))
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap()
}

fn json_of(folder: &Path, name: &str) -> Value {
    serde_json::from_str(&read(folder, name)).unwrap()
}

fn is_built_in(name: &str) -> bool {
    matches!(name, "read_after_write" | "invariant_check")
}

#[test]
fn its_envelope_is_legal_and_its_unknown_verifier_is_named() {
    let Some(folder) = folder() else { return };
    let text = read(&folder, "dte/account_quarantine.dte.yaml");
    let envelope = Envelope::parse(&text, Format::Yaml).unwrap();
    assert_eq!(envelope.findings(None), []);
    let decision = Decision::parse(&json!({"decisionType": "AccountQuarantine"})).unwrap();
    let refused = compile(&envelope, None, &decision, 0, &[], is_built_in).unwrap_err();
    assert_eq!(refused.code(), "method_unknown");
    assert!(refused.to_string().contains("`health_check`"), "{refused}");
}

#[test]
fn its_pack_verifies_and_no_flipped_byte_does() {
    let Some(folder) = folder() else { return };
    let text = read(&folder, "policy/demo_policy_pack_v1.json");
    let pack = Pack::parse(&text, Format::Json).unwrap();
    assert!(pack.policy_pack_hash.starts_with("939322ce0544ac57"));
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(pack_hash(&value).unwrap(), pack.policy_pack_hash);
    let flipped = text.replacen("Deep Sigma", "Deep Sigmb", 1);
    assert_eq!(Pack::parse(&flipped, Format::Json).unwrap_err().code(), "pack_hash_mismatch");
    let mut bare = value;
    bare.as_object_mut().unwrap().remove("policyPackHash");
    let refused = Pack::parse(&bare.to_string(), Format::Json).unwrap_err();
    assert_eq!(refused.code(), "pack_hash_missing");
}

/// Tier small under threshold small: the envelope does not ask for verification, the pack does.
#[test]
fn its_first_episode_must_be_verified_because_the_pack_says_so() {
    let Some(folder) = folder() else { return };
    let text = read(&folder, "dte/account_quarantine.dte.yaml");
    let envelope = Envelope::parse(&text, Format::Yaml).unwrap();
    let text = read(&folder, "policy/demo_policy_pack_v1.json");
    let pack = Pack::parse(&text, Format::Json).unwrap();
    let episode = json_of(&folder, "episodes/01_success.json");
    let decision = json!({
        "decisionType": episode["decisionType"], "actor": episode["actor"],
        "actions": episode["actions"]
    });
    let decision = Decision::parse(&decision).unwrap();
    let alone = compile(&envelope, None, &decision, 0, &[], |_| true).unwrap();
    assert!(!alone.terms.is_required);
    let both = compile(&envelope, Some(&pack), &decision, 0, &[], |_| true).unwrap();
    assert!(both.terms.is_required);
    assert_eq!(both.terms.blocked, None);
    let steps: Vec<Step> = both.terms.ladder.iter().map(|rung| rung.step).collect();
    assert_eq!(steps, [Step::CacheBundle, Step::RulesOnly, Step::Hitl, Step::Abstain]);
    let codes: Vec<&str> = both.warnings.iter().map(|found| found.code).collect();
    assert!(
        codes.contains(&"action_over_stage") && codes.contains(&"pack_not_origin"),
        "{codes:?}"
    );
}

#[test]
fn its_actions_are_of_the_strict_contract_and_its_seals_of_the_sorted_form() {
    let Some(folder) = folder() else { return };
    let sizes = [
        ("01_success", 1817, "7dbcd87af138dd3a"),
        ("02_freshness_drift_abstain", 1350, "ef65f340ed29d57c"),
        ("03_time_drift_fallback", 1897, "bcd2c485616b05ad"),
        ("04_unsafe_action_blocked", 1285, "17e8408baaff88e7"),
    ];
    for (name, length, hash) in sizes {
        let episode = json_of(&folder, &format!("episodes/{name}.json"));
        for action in episode["actions"].as_array().unwrap() {
            assert_eq!(Schema::Action.findings(action), [], "{name}");
        }
        let bytes = python_canonical_without(&episode, "seal").unwrap();
        assert_eq!(bytes.len(), length, "{name}");
        let digest = blob_digest(&bytes).to_string();
        assert_eq!(digest, episode["seal"]["sealHash"], "{name}");
        assert!(digest.starts_with(hash), "{name}");
    }
}

#[test]
fn an_envelope_in_another_case_is_refused_by_name() {
    let Some(folder) = folder() else { return };
    let record = json_of(&folder, "nonconforming/snake_case_dte_document_record.json");
    let text = record.to_string();
    assert!(text.contains("stage_budgets_ms"));
    let found = find(&record, "stage_budgets_ms").unwrap();
    let refused = Envelope::parse(&found.to_string(), Format::Json).unwrap_err();
    assert!(refused.to_string().contains("write `stageBudgetsMs`"), "{refused}");
    Envelope::parse(&text, Format::Json).unwrap_err();
}

/// The object that has the member, wherever it is.
fn find<'a>(value: &'a Value, member: &str) -> Option<&'a Value> {
    match value {
        Value::Object(map) if map.contains_key(member) => Some(value),
        Value::Object(map) => map.values().find_map(|item| find(item, member)),
        Value::Array(items) => items.iter().find_map(|item| find(item, member)),
        _ => None,
    }
}

#[test]
fn a_pack_of_another_kind_is_refused() {
    let Some(folder) = folder() else { return };
    let text = read(&folder, "policy/openclaw_policy_pack_min.yaml");
    let refused = Pack::parse(&text, Format::Yaml).unwrap_err();
    let codes: Vec<&str> = refused.as_slice().iter().map(|found| found.code).collect();
    assert!(codes.contains(&"pack_hash_missing"), "{codes:?}");
    assert!(codes.contains(&"policy_unknown_member"), "{codes:?}");
}

/// Whatever their schema accepts of our sample, ours accepts, and the other way round where ours has
/// no bound of its own.
#[test]
fn their_schema_takes_our_samples() {
    let Some(folder) = folder() else { return };
    for (name, sample) in [
        ("dte.schema.json", crate::sample::envelope()),
        ("policy_pack.schema.json", crate::sample::pack()),
        ("action_contract.strict-f895e8a.schema.json", crate::sample::action()),
    ] {
        let schema = json_of(&folder, &format!("schemas/{name}"));
        assert!(jsonschema::validator_for(&schema).unwrap().is_valid(&sample), "{name}");
    }
}
