//! Changes to a good episode. Each must be caught: by the seal where it was left as it was, and by
//! the rules where the liar sealed it again.

use probity_audit::{Acceptance, SealRule};
use serde_json::{Value, json};

use crate::{auditor, codes, sealed, value};

struct Change {
    what: &'static str,
    apply: fn(&mut Value),
    /// What must be found although the seal was made anew; nothing where only the seal can tell.
    resealed: &'static [&'static str],
}

const CHANGES: &[Change] = &[
    Change {
        what: "target",
        apply: |e| e["actions"][0]["targetRefs"][0]["id"] = json!("card-1"),
        resealed: &[],
    },
    Change {
        what: "result",
        apply: |e| e["verification"]["result"] = json!("fail"),
        resealed: &["!outcome_unverified"],
    },
    Change {
        what: "inconclusive",
        apply: |e| e["verification"]["result"] = json!("inconclusive"),
        resealed: &["!outcome_unverified"],
    },
    Change {
        what: "not checked",
        apply: |e| e["verification"]["result"] = json!("na"),
        resealed: &["!required_na"],
    },
    Change { what: "outcome", apply: |e| e["outcome"]["code"] = json!("partial"), resealed: &[] },
    Change {
        what: "no idempotency key",
        apply: |e| drop(e["actions"][0].as_object_mut().unwrap().remove("idempotencyKey")),
        resealed: &["!shape_missing", "!idempotency_missing"],
    },
    Change {
        what: "tier",
        apply: |e| e["actions"][0]["blastRadiusTier"] = json!("large"),
        resealed: &["!tier_above_max", "!authorization_weak", "!two_person_unproven"],
    },
    Change {
        what: "unknown tier",
        apply: |e| e["actions"][0]["blastRadiusTier"] = json!("huge"),
        resealed: &["!tier_unknown"],
    },
    Change {
        what: "tier of another vocabulary",
        apply: |e| e["actions"][0]["blastRadiusTier"] = json!("high"),
        resealed: &["!other_vocabulary"],
    },
    Change {
        what: "stage times",
        apply: |e| e["telemetry"]["stageMs"]["verify"] = json!(90),
        resealed: &["!verify_too_late"],
    },
    Change {
        what: "unknown member",
        apply: |e| e["verifiedBy"] = json!("me"),
        resealed: &["!shape_unknown"],
    },
];

#[test]
fn a_change_under_the_old_seal_is_seen_by_the_seal() {
    for change in CHANGES {
        let mut episode = value("01_success.json");
        (change.apply)(&mut episode);
        let report = auditor().episode(episode.to_string().as_bytes(), "x");
        assert_eq!(report.verdict, Acceptance::Rejected, "{}", change.what);
        assert!(report.has("seal_mismatch"), "{}: {:?}", change.what, codes(&report));
    }
}

#[test]
fn a_change_under_a_new_seal_is_seen_by_the_rules() {
    for change in CHANGES {
        let mut episode = value("01_success.json");
        (change.apply)(&mut episode);
        let report = auditor().episode(sealed(episode).to_string().as_bytes(), "x");
        assert!(report.seal.as_ref().unwrap().matches);
        let found = codes(&report);
        for code in change.resealed {
            assert!(found.contains(&(*code).to_owned()), "{}: {found:?}", change.what);
        }
        let is_caught = report.verdict == Acceptance::Rejected;
        assert_eq!(is_caught, !change.resealed.is_empty(), "{}: {found:?}", change.what);
    }
}

/// One name of another vocabulary is pointed at; several are told together.
#[test]
fn a_single_foreign_name_is_told_at_its_place() {
    let mut episode = value("01_success.json");
    episode["actions"][0]["blastRadiusTier"] = json!("high");
    let place = |episode: &Value| {
        let report = auditor().episode(sealed(episode.clone()).to_string().as_bytes(), "x");
        report.findings.into_iter().find(|f| f.code == "other_vocabulary").unwrap().pointer
    };
    assert_eq!(place(&episode), "/actions/0/blastRadiusTier");
    episode["verification"]["verifierId"] = json!("v");
    assert_eq!(place(&episode), "");
}

#[test]
fn order_and_blanks_change_nothing() {
    let episode = value("01_success.json");
    let mut members: Vec<String> = episode
        .as_object()
        .unwrap()
        .iter()
        .map(|(key, value)| format!("\n  {} :\t{value}", json!(key)))
        .collect();
    members.reverse();
    let text = format!("{{{}\r\n}}", members.join(" ,"));
    let report = auditor().episode(text.as_bytes(), "x");
    assert_eq!(report.seal.as_ref().unwrap().rule, Some(SealRule::Sorted));
    assert_eq!(report.verdict, Acceptance::Accepted);
}

#[test]
fn a_key_that_stands_twice_is_caught_though_the_seal_matches() {
    let text = value("01_success.json").to_string();
    let twice = text.replacen("\"outcome\":{", "\"outcome\":{\"code\":\"fail\",", 1);
    let report = auditor().episode(twice.as_bytes(), "x");
    assert!(report.seal.as_ref().unwrap().matches, "the last one is what lenient readers hash");
    assert_eq!(codes(&report)[0], "!document_duplicate_key");
    assert_eq!(report.verdict, Acceptance::Rejected);
}
