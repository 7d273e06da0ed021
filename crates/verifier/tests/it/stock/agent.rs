//! `agent`: the shape of its map. Who is asked is not this crate's to know.

use probity_core::Subject;
use probity_verifier::spec::{CheckSpec, DEFAULT_AGENT_MS, Effect};
use serde_json::{Value, json};

use super::bed::Bed;

fn read(map: Value) -> Result<CheckSpec, String> {
    serde_json::from_value(json!({ "agent": map })).map_err(|error| error.to_string())
}

#[test]
fn without_a_run_nobody_is_asked() {
    let mut bed = Bed::new();
    bed.start();
    let text = r#"agent:{"command":["critic"]\,"criteria":{"done":"it is"}}"#;
    assert_eq!(bed.says(text), "fault agent_unasked");
}

#[test]
fn its_map_is_read_and_its_claim_is_what_it_judges() {
    let map = json!({
        "chat": {"endpoint": "http://localhost/v1", "model": "m"},
        "criteria": {"b": "second", "a": "first"},
        "min_confidence": 0.8,
        "allow_self": true,
        "system_prompt": "Be strict.",
    });
    let check = read(map.clone()).unwrap();
    assert_eq!((check.kind(), check.subject()), ("agent", Subject::Claim));
    assert_eq!((check.timeout_ms(), check.target().as_str()), (DEFAULT_AGENT_MS, "m"));
    assert_eq!(check.default_id().as_str(), "agent");
    assert_eq!(serde_json::to_value(&check).unwrap(), json!({ "agent": map }));
    let Effect::Agent(spec) = &check.effect else { panic!("{check:?}") };
    assert_eq!(spec.min_confidence_bp(), Some(8_000));
    for (map, who) in [
        (json!({"command": ["critic", "-p"]}), "critic"),
        (json!({"acp": {"command": ["gemini", "--acp"]}}), "gemini"),
        (json!({"profile": "reviewer"}), "reviewer"),
    ] {
        let mut map = map;
        map["criteria"] = json!({"done": "it is"});
        assert_eq!(read(map).unwrap().target(), who);
    }
}

#[test]
fn what_is_wrong_with_it_is_told_by_its_key() {
    let with = |more: Value| {
        let mut map = json!({"command": ["critic"], "criteria": {"done": "it is"}});
        for (key, value) in more.as_object().unwrap() {
            map[key] = value.clone();
        }
        map
    };
    let table = [
        (json!("no json"), "the target of `agent` must be a map"),
        (json!(7), "the target of `agent` must be a map"),
        (json!({"criteria": {"done": "it is"}}), "`agent` needs one of `command`, `chat`"),
        (json!({"command": ["critic"]}), "`agent` needs `criteria`"),
        (with(json!({"chat": {}})), "`command` and `chat` contradict each other"),
        (with(json!({"creteria": {}})), "did you mean `criteria`?"),
        (with(json!({"allow": true})), "`agent` has no key `allow`"),
        (with(json!({"min_confidence": 80})), "`min_confidence` must be a number from 0 to 1"),
        (with(json!({"min_confidence": -0.1})), "`min_confidence` must be a number from 0 to 1"),
        (with(json!({"criteria": {"Not A Key": "x"}})), "a code must be 1 to 64 characters"),
        (with(json!({"criteria": {"done": " "}})), "`criteria` must be texts of 1 to 2048 bytes"),
        (with(json!({"criteria": {"self_verification": "x"}})), "this one is taken"),
        (with(json!({"command": [""]})), "a command line that starts with a program"),
        (
            json!({"profile": "p", "format": "claude", "criteria": {"done": "x"}}),
            "`format` must be left out",
        ),
    ];
    for (map, words) in table {
        let error = read(map.clone()).unwrap_err();
        assert!(error.contains(words), "{map}: {error}");
    }
    let many: serde_json::Map<String, Value> =
        (0..33).map(|n| (format!("k{n}"), "x".into())).collect();
    assert!(read(with(json!({"criteria": many}))).unwrap_err().contains("at most 32 criteria"));
}
