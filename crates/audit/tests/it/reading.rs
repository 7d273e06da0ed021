//! What is read, what is refused, and the form that is hashed.

use probity_audit::{Acceptance, DocumentKind, EpisodeAuditor, OpenEpisode, SealedEpisode};
use probity_record::candidate::candidate_text;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{codes, value};

fn only(bytes: &[u8]) -> String {
    let report = EpisodeAuditor::new().episode(bytes, "x");
    assert_eq!(report.verdict, Acceptance::Rejected, "{bytes:?}");
    assert_eq!(report.kind, DocumentKind::Unknown);
    assert_eq!(report.findings.len(), 1, "{:?}", report.findings);
    codes(&report).remove(0)
}

#[test]
fn every_fault_of_the_text_has_its_code() {
    let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
    let fits = format!("{}{}", "[".repeat(64), "]".repeat(64));
    let many = format!("[{}0]", "0,".repeat(probity_audit::MAX_DOCUMENT_VALUES));
    let big = vec![b' '; probity_audit::MAX_DOCUMENT_BYTES + 1];
    let cases: Vec<(&[u8], &str)> = vec![
        (b"", "!document_syntax"),
        (b"{", "!document_syntax"),
        (b"{\"a\":1,}", "!document_syntax"),
        (b"{'a':1}", "!document_syntax"),
        (b"{\"a\" 1}", "!document_syntax"),
        (b"{\"a\":1 \"b\":2}", "!document_syntax"),
        (b"[1,]", "!document_syntax"),
        (b"[1 2]", "!document_syntax"),
        (b"tru", "!document_syntax"),
        (b"\xef\xbb\xbf{}", "!document_syntax"),
        (b"\"\\x\"", "!document_syntax"),
        (b"\"\\u12\"", "!document_syntax"),
        (b"\"\\u+123\"", "!document_syntax"),
        (b"\"\\ud800\"", "!document_syntax"),
        (b"\"\\ud800\\u0041\"", "!document_syntax"),
        (b"\"\\udc00\"", "!document_syntax"),
        (b"\"a\nb\"", "!document_syntax"),
        (b"\"a", "!document_syntax"),
        (b"01", "!document_syntax"),
        (b"-", "!document_syntax"),
        (b"1.", "!document_syntax"),
        (b"1e", "!document_syntax"),
        (b"{\"a\":NaN}", "!document_number"),
        (b"{\"a\":Infinity}", "!document_number"),
        (b"{\"a\":-Infinity}", "!document_number"),
        (b"{\"a\":1e999}", "!document_number"),
        (b"\"\xff\"", "!document_not_utf8"),
        (deep.as_bytes(), "!document_too_deep"),
        (fits.as_bytes(), "!document_unknown"),
        (&big, "!document_too_large"),
        (many.as_bytes(), "!document_too_large"),
        (b"{}", "!document_unknown"),
        (b"\"episode\"", "!document_unknown"),
        (b"null", "!document_unknown"),
    ];
    for (bytes, expected) in cases {
        assert_eq!(only(bytes), expected, "{:?}", String::from_utf8_lossy(bytes).get(..40));
    }
}

#[test]
fn a_key_that_stands_twice_is_named_wherever_it_is() {
    let text = br#"{"episodeId":"a","x":{"k":1,"l":[{"m":1,"m":2}],"k":2},"episodeId":"b"}"#;
    let report = EpisodeAuditor::new().episode(text, "x");
    let places: Vec<&str> = report
        .findings
        .iter()
        .filter(|finding| finding.code == "document_duplicate_key")
        .map(|finding| finding.pointer.as_str())
        .collect();
    assert_eq!(places, ["/x/l/0/m", "/x/k", "/episodeId"]);
    // The last one counts, as lenient readers have it.
    assert_eq!(report.episode_id.as_deref(), Some("b"));
}

#[test]
fn text_behind_the_value_is_found_and_the_rest_is_still_checked() {
    let mut bytes = value("01_success.json").to_string().into_bytes();
    bytes.extend_from_slice(b" x");
    let report = crate::auditor().episode(&bytes, "x");
    assert_eq!(codes(&report)[0], "!document_trailing");
    assert!(report.seal.unwrap().matches);
}

#[test]
fn a_hostile_number_of_keys_is_read_in_order_of_their_number() {
    let members: Vec<String> = (0..200_000).map(|n| format!("\"k{n}\":0")).collect();
    let text = format!("{{{}}}", members.join(","));
    assert_eq!(only(text.as_bytes()), "!document_unknown");
    let report =
        EpisodeAuditor::new().episode(format!("{{\"seal\":{{}},{}", &text[1..]).as_bytes(), "x");
    assert!(report.findings.len() <= probity_audit::MAX_FINDINGS + 1);
    assert_eq!(codes(&report).pop().unwrap(), ".findings_cut");
}

/// What a document says is shown cut off and without characters that steer a terminal.
#[test]
fn reports_are_legible_whatever_the_document_says() {
    let long = "x".repeat(1_000_000);
    let steer = "\u{1b}[2Jgone\u{7}\r\n";
    let mut episode = value("01_success.json");
    episode["episodeId"] = json!(long);
    episode["degrade"]["step"] = json!(steer);
    episode["seal"]["sealHash"] = json!(format!("{steer}{long}"));
    episode[&long] = json!(1);
    episode[steer] = json!(1);
    let report = crate::auditor().episode(episode.to_string().as_bytes(), "x");
    assert!(report.has("step_unknown") && report.has("seal_not_a_digest"));
    let text = serde_json::to_string(&report).unwrap();
    assert!(text.len() < 20_000, "{}", text.len());
    let shown = report.findings.iter().flat_map(|f| f.message.chars().chain(f.pointer.chars()));
    assert!(!shown.into_iter().any(char::is_control));
    assert!(!report.seal.unwrap().expected.contains('\u{1b}'));
}

fn any_value() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |x| x.is_finite()).prop_map(Value::from),
        Just(json!(1e16)),
        Just(json!(1e-7)),
        Just(json!(-0.0)),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number,
        any::<String>().prop_map(Value::from),
        "[ -~\\t\\u{7f}é😀\\u{fb33}]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("[a-zé😀\\u{fb33}]{0,4}", inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// An open episode with any value in a place where any object may stand.
fn open_with(free: &Value) -> Value {
    let mut episode = value("01_success.json");
    episode.as_object_mut().unwrap().remove("seal");
    episode["outcome"]["effects"] = json!({ "free": free });
    episode
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// The form that is hashed is the one that the record crate's writer gives for the same value.
    #[test]
    fn the_hashed_form_is_that_of_the_reference_writer(free in any_value()) {
        let episode = open_with(&free);
        let open = OpenEpisode::parse(episode.to_string().as_bytes()).unwrap();
        let expected = candidate_text(&episode);
        prop_assert_eq!(std::str::from_utf8(open.bytes()).unwrap(), expected);
    }

    /// Blanks, escapes and the order of keys do not matter to the seal.
    #[test]
    fn a_seal_holds_for_every_spelling_of_the_same_value(free in any_value()) {
        let text = open_with(&free).to_string();
        let sealed = OpenEpisode::parse(text.as_bytes()).unwrap().seal(1_900_000_000_000).unwrap();
        let again: Value = serde_json::from_slice(sealed.bytes()).unwrap();
        let pretty = serde_json::to_string_pretty(&again).unwrap();
        let read = SealedEpisode::parse(pretty.as_bytes()).unwrap();
        prop_assert_eq!(read.seal_hash(), sealed.seal_hash());
        prop_assert_eq!(read.receipt(), sealed.receipt());
    }

    /// No bytes make the auditor panic, and a refusal always says why.
    #[test]
    fn any_bytes_give_a_report(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for report in crate::auditor().document(&bytes, "x") {
            prop_assert_eq!(report.verdict, Acceptance::Rejected);
            prop_assert!(!report.findings.is_empty());
        }
    }

    /// Nor does any damage of an episode, and none of it goes unseen where it changes the value.
    #[test]
    fn no_damage_is_accepted(at in 0_usize..2000, byte in any::<u8>()) {
        let original = value("01_success.json");
        let mut bytes = original.to_string().into_bytes();
        let at = at % bytes.len();
        bytes[at] = byte;
        let report = crate::auditor().episode(&bytes, "x");
        let same = serde_json::from_slice::<Value>(&bytes).is_ok_and(|value| value == original);
        let mut but_sealed_at = original;
        let is_sealed_at = serde_json::from_slice::<Value>(&bytes).is_ok_and(|value| {
            but_sealed_at["seal"]["sealedAt"] = value["seal"]["sealedAt"].clone();
            value == but_sealed_at
        });
        if report.verdict == Acceptance::Accepted {
            prop_assert!(same || is_sealed_at, "{}", String::from_utf8_lossy(&bytes));
        }
    }
}
