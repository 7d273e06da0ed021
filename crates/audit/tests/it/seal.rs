//! Seals: which rule matches, what is told of one that does not, and that sealed means sealed.

use probity_audit::{Acceptance, OpenEpisode, SealError, SealRule, SealedEpisode, Severity};
use serde_json::{Value, json};

use crate::{auditor, codes, sealed, value};

const NOTHING: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn audit(episode: &Value) -> probity_audit::EpisodeReport {
    auditor().episode(episode.to_string().as_bytes(), "x")
}

fn with_hash(hash: &str) -> Value {
    let mut episode = value("01_success.json");
    episode["seal"]["sealHash"] = Value::from(hash);
    episode
}

#[test]
fn each_rule_is_named() {
    let sorted = audit(&value("01_success.json")).seal.unwrap();
    assert_eq!((sorted.rule, sorted.matches), (Some(SealRule::Sorted), true));
    assert_eq!(sorted.expected, sorted.found);

    // 120.0 is 120 by RFC 8785 and not by the spelling.
    let text = value("01_success.json").to_string();
    let spelled = text.replacen("\"endToEndMs\":140", "\"endToEndMs\":140.0", 1);
    assert_ne!(text, spelled);
    let report = auditor().episode(spelled.as_bytes(), "x");
    assert_eq!(report.seal.as_ref().unwrap().rule, Some(SealRule::Jcs));
    assert!(codes(&report).contains(&".seal_by_value".to_owned()));
    assert_eq!(report.verdict, Acceptance::Accepted);

    let report = audit(&value("seal_present.json"));
    assert_eq!(report.seal.as_ref().unwrap().rule, Some(SealRule::SealPresent));
    assert!(codes(&report).contains(&"?seal_with_place".to_owned()));
}

#[test]
fn text_beyond_ascii_is_sealed_by_either_form() {
    let mut episode = value("01_success.json");
    episode["plan"]["summary"] = Value::from("é 😀 \u{7f}");
    episode.as_object_mut().unwrap().remove("seal");
    let escaped = probity_record::candidate_hash(&episode).to_string();
    let plain = probity_record::canonical::jcs(&episode).unwrap();
    let plain = probity_record::blob_digest(&plain).to_string();
    assert_ne!(escaped, plain);
    for (hash, rule) in [(escaped, SealRule::Sorted), (plain, SealRule::Jcs)] {
        episode["seal"] = json!({ "sealedAt": "2026-03-02T09:15:04Z", "sealHash": hash });
        assert_eq!(audit(&episode).seal.unwrap().rule, Some(rule));
    }
}

#[test]
fn what_is_no_digest_is_told_as_what_it_is() {
    let good = value("01_success.json")["seal"]["sealHash"].as_str().unwrap().to_owned();
    let cases = [
        (good.replace(good.get(..1).unwrap(), "z"), "!seal_not_a_digest"),
        (good.to_uppercase(), "!seal_not_a_digest"),
        (String::new(), "!seal_not_a_digest"),
        ("scaffold".to_owned(), "!seal_not_a_digest"),
        ("seal001aaa".to_owned(), "!seal_not_a_digest"),
        ("0".repeat(64), "!seal_not_a_digest"),
        ("deadbeef".repeat(8), "!seal_not_a_digest"),
        ("0123456789abcdef".repeat(4), "!seal_not_a_digest"),
        ("a1b2c3d4e5f60718293a4b5c6d7e8f90".repeat(2), "!seal_not_a_digest"),
        (NOTHING.to_owned(), "!seal_of_nothing"),
        (probity_record::blob_digest(b"else").to_string(), "!seal_mismatch"),
    ];
    for (hash, expected) in cases {
        let report = audit(&with_hash(&hash));
        let all = codes(&report);
        assert!(all.contains(&expected.to_owned()), "{hash}: {all:?}");
        let state = report.seal.unwrap();
        assert_eq!((state.matches, state.rule, &state.expected), (false, None, &hash));
        assert_eq!(state.found, good);
        assert_eq!(report.verdict, Acceptance::Rejected);
        let place = report.findings.iter().find(|f| f.code.starts_with("seal_")).unwrap();
        assert_eq!(place.pointer, "/seal/sealHash");
        assert!(place.message.contains(&good) && place.message.contains(&hash), "{place:?}");
    }
}

#[test]
fn a_prefix_is_told_and_looked_through() {
    let good = value("01_success.json")["seal"]["sealHash"].as_str().unwrap().to_owned();
    let report = audit(&with_hash(&format!("sha256:{good}")));
    assert!(report.seal.as_ref().unwrap().matches);
    assert!(codes(&report).contains(&"?seal_prefixed".to_owned()));
}

/// No honest digest is taken for a pattern.
#[test]
fn digests_are_not_patterns() {
    for n in 0..20_000_u32 {
        let hash = probity_record::blob_digest(&n.to_be_bytes()).to_string();
        let seal = json!({ "episodeId": "x", "seal": { "sealHash": hash } });
        let report = probity_audit::EpisodeAuditor::new().episode(seal.to_string().as_bytes(), "x");
        assert!(report.has("seal_mismatch") && !report.has("seal_not_a_digest"), "{hash}");
    }
}

fn open() -> Vec<u8> {
    let mut episode = value("01_success.json");
    episode.as_object_mut().unwrap().remove("seal");
    episode.to_string().into_bytes()
}

/// 2026-03-02T09:15:04Z, when the episode ended.
const ENDED_AT_MS: u64 = 1_772_442_904_000;

#[test]
fn a_sealed_episode_is_accepted_and_carries_the_usual_seal() {
    let sealed = OpenEpisode::parse(&open()).unwrap().seal(ENDED_AT_MS).unwrap();
    let corpus = value("01_success.json");
    assert_eq!(sealed.seal_hash(), corpus["seal"]["sealHash"].as_str().unwrap());
    assert_eq!(serde_json::from_slice::<Value>(sealed.bytes()).unwrap(), corpus);
    assert_eq!((sealed.rule(), sealed.episode_id()), (SealRule::Sorted, "ep-freeze-1"));
    assert_eq!(SealedEpisode::parse(sealed.bytes()).unwrap(), sealed);
    assert_eq!(auditor().episode(sealed.bytes(), "x").verdict, Acceptance::Accepted);
}

#[test]
fn what_was_sealed_is_not_sealed_again() {
    let sealed = OpenEpisode::parse(&open()).unwrap().seal(ENDED_AT_MS).unwrap();
    let error = OpenEpisode::parse(sealed.bytes()).unwrap_err();
    assert_eq!((error.code(), &error), ("episode_already_sealed", &SealError::AlreadySealed));
}

#[test]
fn an_episode_is_sealed_after_its_end() {
    let early = OpenEpisode::parse(&open()).unwrap().seal(ENDED_AT_MS - 1).unwrap_err();
    assert_eq!(early.code(), "episode_seal_time");
    assert!(OpenEpisode::parse(&open()).unwrap().seal(u64::MAX).is_err());
    let late = OpenEpisode::parse(&open()).unwrap().seal(ENDED_AT_MS + 1).unwrap();
    let text = String::from_utf8(late.bytes().to_vec()).unwrap();
    assert!(text.contains("\"sealedAt\":\"2026-03-02T09:15:04.001Z\""), "{text}");
}

#[test]
fn a_shape_that_is_not_whole_is_not_sealed() {
    let mut episode: Value = serde_json::from_slice(&open()).unwrap();
    episode.as_object_mut().unwrap().remove("telemetry");
    let error = OpenEpisode::parse(episode.to_string().as_bytes()).unwrap_err();
    let SealError::Invalid { findings } = &error else { panic!("{error}") };
    assert_eq!(findings[0].code, "shape_missing");
    assert_eq!(findings.len(), 1, "the seal that is not there yet is not missed: {findings:?}");
    assert_eq!(error.code(), "episode_invalid");
    let twice = String::from_utf8(open()).unwrap().replacen('{', "{\"actor\":1,", 1);
    assert_eq!(OpenEpisode::parse(twice.as_bytes()).unwrap_err().code(), "episode_invalid");
}

#[test]
fn a_changed_episode_is_no_sealed_one() {
    let mut episode = value("01_success.json");
    episode["outcome"]["code"] = Value::from("partial");
    let error = SealedEpisode::parse(episode.to_string().as_bytes()).unwrap_err();
    let SealError::Invalid { findings } = error else { panic!() };
    assert_eq!(findings.iter().map(|f| f.code).collect::<Vec<_>>(), ["seal_mismatch"]);
    assert_eq!(findings[0].severity, Severity::Error);
}

/// The published seal does not cover the time of sealing; the receipt does.
#[test]
fn a_receipt_covers_the_time_of_sealing() {
    let episode = SealedEpisode::parse(&crate::data("01_success.json")).unwrap();
    let receipt = episode.receipt();
    let same = auditor().episode_with_receipt(episode.bytes(), "x", &receipt);
    assert_eq!(same.verdict, Acceptance::Accepted);

    let mut later = value("01_success.json");
    later["seal"]["sealedAt"] = Value::from("2026-03-02T09:15:09Z");
    let later = later.to_string();
    let unseen = auditor().episode(later.as_bytes(), "x");
    assert_eq!(unseen.verdict, Acceptance::Accepted, "the seal alone cannot see it");
    let seen = auditor().episode_with_receipt(later.as_bytes(), "x", &receipt);
    assert!(codes(&seen).contains(&"!receipt_differs".to_owned()));
    assert_eq!(seen.verdict, Acceptance::Rejected);

    let mut earlier = value("01_success.json");
    earlier["seal"]["sealedAt"] = Value::from("2026-03-02T09:15:03Z");
    assert!(codes(&audit(&earlier)).contains(&"!sealed_before_end".to_owned()));

    let other =
        auditor().episode_with_receipt(&crate::data("02_stale_abstain.json"), "x", &receipt);
    assert!(
        other.findings.iter().any(|f| f.code == "receipt_differs" && f.pointer == "/episodeId")
    );
}

#[test]
fn the_seal_helper_of_these_tests_seals() {
    let mut episode = value("01_success.json");
    episode["plan"]["summary"] = Value::from("changed");
    assert!(audit(&sealed(episode)).seal.unwrap().matches);
}
