//! The pack: its hash and its rules.

use probity_policy::{Format, Pack, Severity, pack_hash};
use serde_json::{Value, json};

use crate::sample::{self, parse_pack, sealed, told, with};

#[test]
fn the_sample_is_legal_and_only_its_signature_is_odd() {
    let pack = parse_pack(&sample::pack()).unwrap();
    let findings = pack.findings();
    assert_eq!(findings.len(), 1);
    assert_eq!(
        (findings[0].code, findings[0].severity),
        ("pack_signature_unchecked", Severity::Warning)
    );
    assert_eq!(pack.policy_pack_hash, pack_hash(&sample::bare_pack()).unwrap());
}

#[test]
fn a_pack_without_its_hash_is_refused() {
    assert_eq!(
        told(&parse_pack(&sample::bare_pack()).unwrap_err()),
        [("pack_hash_missing", "/policyPackHash")]
    );
    for hash in [json!(null), json!(12), json!([]), json!({})] {
        let pack = with(sample::bare_pack(), "/policyPackHash", Some(hash));
        let refused = parse_pack(&pack).unwrap_err();
        assert_eq!(refused.code(), "pack_hash_mismatch", "{refused}");
    }
}

#[test]
fn any_other_spelling_of_the_hash_is_a_mismatch() {
    let hash = pack_hash(&sample::bare_pack()).unwrap();
    let others = [
        hash.to_uppercase(),
        format!("sha256:{hash}"),
        format!(" {hash}"),
        hash[..63].to_owned(),
        String::new(),
    ];
    for other in others {
        let pack = with(sample::bare_pack(), "/policyPackHash", Some(json!(other)));
        let refused = parse_pack(&pack).unwrap_err();
        assert_eq!(told(&refused)[0], ("pack_hash_mismatch", "/policyPackHash"));
        assert_eq!(refused.as_slice().iter().filter(|found| found.is_error()).count(), 1);
    }
}

/// Every byte of the text, one after the other: no change passes unless it leaves the value alone.
#[test]
fn no_flipped_byte_passes() {
    let text = sample::pack().to_string();
    let original: Value = serde_json::from_str(&text).unwrap();
    let mut refused = 0;
    for at in 0..text.len() {
        let mut bytes = text.clone().into_bytes();
        bytes[at] ^= 1;
        let Ok(flipped) = String::from_utf8(bytes) else { continue };
        if Pack::parse(&flipped, Format::Json).is_err() {
            refused += 1;
            continue;
        }
        let value: Value = serde_json::from_str(&flipped).unwrap();
        assert_eq!(value, original, "byte {at} of {flipped}");
    }
    assert!(refused > text.len() * 9 / 10, "{refused} of {}", text.len());
}

#[test]
fn order_and_blanks_do_not_matter_to_the_hash() {
    let pretty = serde_json::to_string_pretty(&sample::pack()).unwrap();
    Pack::parse(&pretty, Format::Json).unwrap();
    let hash = pack_hash(&sample::bare_pack()).unwrap();
    let first =
        format!("{{\"policyPackHash\":\"{hash}\",{}", &sample::bare_pack().to_string()[1..]);
    Pack::parse(&first, Format::Json).unwrap();
}

#[test]
fn a_number_that_is_spelled_otherwise_has_another_hash() {
    let text = sample::pack().to_string();
    let spelled = text.replace("\"ttlMs\":500", "\"ttlMs\":500.0");
    assert_ne!(text, spelled);
    assert_eq!(Pack::parse(&spelled, Format::Json).unwrap_err().code(), "pack_hash_mismatch");
    // With its own hash it is legal: 500.0 is an integer.
    let own = with(sample::bare_pack(), "/rules/RefundIssue/dteDefaults/ttlMs", Some(json!(500.0)));
    assert!(own.to_string().contains("500.0"));
    let pack = parse_pack(&sealed(own)).unwrap();
    assert_eq!(pack.rules["RefundIssue"].dte_defaults.unwrap().ttl_ms, Some(500));
}

#[test]
fn the_rules_of_a_ladder_hold_for_packs() {
    let pointer = "/rules/RefundIssue/degradeLadder";
    let cases: [(Value, &str); 4] = [
        (json!(["hitl", "hitl"]), "ladder_step_twice"),
        (json!(["cache_bundle"]), "ladder_no_safe_step"),
        (json!(["bypass", "abstain"]), "ladder_bypass_first"),
        (json!([{"step": "abstain"}]), "policy_value"),
    ];
    for (ladder, code) in cases {
        let pack = sealed(with(sample::bare_pack(), pointer, Some(ladder)));
        assert_eq!(parse_pack(&pack).unwrap_err().code(), code);
    }
    parse_pack(&sealed(with(sample::bare_pack(), pointer, Some(json!([]))))).unwrap();
}

#[test]
fn a_tier_of_another_vocabulary_is_refused_by_name() {
    let pointer = "/rules/RefundIssue/blastRadiusRequirements/high";
    let pack = sealed(with(sample::bare_pack(), pointer, Some(json!({}))));
    assert_eq!(told(&parse_pack(&pack).unwrap_err()), [("tier_unknown", pointer)]);
}

#[test]
fn a_tool_that_is_allowed_and_denied_is_a_warning() {
    let pointer = "/rules/RefundIssue/toolDenylist";
    let pack = sealed(with(sample::bare_pack(), pointer, Some(json!(["shell", "mail"]))));
    let findings = parse_pack(&pack).unwrap().findings();
    assert_eq!(findings[1].code, "pack_tool_contradiction");
    assert_eq!(findings[1].pointer, format!("{pointer}/1"));
}

#[test]
fn a_type_without_rules_is_an_error() {
    let pack = parse_pack(&sample::pack()).unwrap();
    assert!(pack.rules_for("Note").is_ok());
    for name in ["", "refundissue", "Refund", "RefundIssue "] {
        assert_eq!(pack.rules_for(name).unwrap_err().code(), "decision_type_unknown");
    }
}
