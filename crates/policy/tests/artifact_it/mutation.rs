//! One key at a time removed, retyped, made huge. What stays legal is listed; all else must be
//! refused by its code, naming file and key.

use probity_core::Code;
use probity_policy::{ArtifactError, HookArtifact, Place, Profile};
use serde_json::{Map, Value, json};

use crate::written;

fn hook() -> Map<String, Value> {
    map(json!({
        "event": "delegation.post_verify",
        "priority": 10,
        "when": "True",
        "script": "def handle(event, payload):\n    return {\"action\": \"allow\"}\n",
        "timeout": "5s",
        "description": "why",
    }))
}

fn profile() -> Map<String, Value> {
    map(json!({
        "description": "who",
        "kind": "coder",
        "command": "agent -p",
        "resume": ["agent", "--resume", "{session}"],
        "format": "auto",
        "hooks": ["audit", {"name": "a", "event": "tool.pre", "script": "x"}],
        "decision_type": "refund",
        "rungs": {"small_model": {"command": "small", "format": "text"}},
        "on_delegate_error": "fail",
        "attempt_timeout": "5m",
        "timeout": "1h",
        "max_verify_retries": 2,
        "max_tokens": 1000,
        "max_tool_calls": 10,
        "red_first": "require",
        "on_fail": "reject",
        "on_exhausted": "reject",
        "allow_hosts": ["example.com"],
        "expect": ["file:out.txt"],
        "verify": "def run(result):\n    return True\n",
        "verify_files": ["a.star"],
        "verify_args": {"a": 1},
    }))
}

fn map(value: Value) -> Map<String, Value> {
    let Value::Object(map) = value else { panic!("no map") };
    map
}

fn read_hook(keys: &Map<String, Value>) -> Result<(), ArtifactError> {
    let inline = HookArtifact::from_value(
        &Value::Object(keys.clone()),
        &Code::slug("a"),
        &Place::file("dir/a.md"),
    );
    let file = HookArtifact::parse("dir/a.md", &written::file(keys, ""));
    // Both forms judge alike; only a file has a bound as a whole.
    let codes = [&inline, &file].map(|read| read.as_ref().err().map(ArtifactError::code));
    let whole = ["artifact_too_large", "artifact_budget", "artifact_yaml"];
    let is_whole = codes[1].is_some_and(|code| whole.contains(&code));
    assert!(codes[0] == codes[1] || (is_whole && codes[0].is_some()), "{codes:?}");
    file.map(drop)
}

fn read_profile(keys: &Map<String, Value>) -> Result<(), ArtifactError> {
    Profile::parse("dir/a.md", &written::file(keys, "")).map(drop)
}

type Read = fn(&Map<String, Value>) -> Result<(), ArtifactError>;
/// An artifact, its reader, and what is known of its keys.
type Case<'a, T> = (Map<String, Value>, Read, &'a [T]);

#[test]
fn the_untouched_artifacts_are_legal() {
    read_hook(&hook()).unwrap();
    read_profile(&profile()).unwrap();
}

#[test]
fn removed_keys() {
    let needed_by_hooks = [("event", "artifact_missing_key"), ("script", "hook_script_missing")];
    let needed_by_profiles = [("command", "profile_delegate")];
    let table: [Case<'_, (&str, &str)>; 2] =
        [(hook(), read_hook, &needed_by_hooks), (profile(), read_profile, &needed_by_profiles)];
    for (whole, read, needed) in table {
        for key in whole.keys() {
            let mut keys = whole.clone();
            keys.remove(key);
            let code = read(&keys).err().map(|error| error.code());
            let expected = needed.iter().find(|(name, _)| name == key).map(|(_, code)| *code);
            assert_eq!(code, expected, "without {key}");
        }
    }
}

/// Which of the odd values a key may hold.
const LEGAL_FOR_HOOK: &[(&str, &[&str])] = &[
    ("priority", &["7"]),
    ("description", &["\"\"", "\"x\""]),
    ("when", &["\"x\""]),
    ("script", &["\"x\""]),
];
const LEGAL_FOR_PROFILE: &[(&str, &[&str])] = &[
    ("description", &["\"\"", "\"x\""]),
    ("kind", &["\"x\""]),
    ("command", &["\"x\"", "[\"x\"]"]),
    ("resume", &["\"x\"", "[\"x\"]"]),
    ("hooks", &["[]", "[\"x\"]"]),
    ("decision_type", &["\"x\""]),
    ("rungs", &["{}"]),
    ("max_verify_retries", &["7"]),
    ("max_tokens", &["7"]),
    ("max_tool_calls", &["7"]),
    ("allow_hosts", &["[]", "[\"x\"]"]),
    ("expect", &["[]", "[\"x\"]", "[{\"a\":1}]"]),
    ("verify", &["\"x\"", "[]", "[\"x\"]"]),
    ("verify_files", &["[]", "[\"x\"]"]),
    ("verify_args", &["{}", "{\"a\":1}"]),
];

#[test]
fn retyped_values() {
    let odd = [
        json!(null),
        json!(true),
        json!(false),
        json!(7),
        json!(-7000),
        json!(1.5),
        json!(""),
        json!("x"),
        json!("x\u{0}"),
        json!([]),
        json!(["x"]),
        json!([7]),
        json!([null]),
        json!([[]]),
        json!([{"a": 1}]),
        json!({}),
        json!({"a": 1}),
        json!({"small_model": null}),
    ];
    let table: [Case<'_, (&str, &[&str])>; 2] =
        [(hook(), read_hook, LEGAL_FOR_HOOK), (profile(), read_profile, LEGAL_FOR_PROFILE)];
    for (whole, read, legal) in table {
        for key in whole.keys() {
            for value in &odd {
                let mut keys = whole.clone();
                keys.insert(key.clone(), value.clone());
                let text = value.to_string();
                let is_legal = |(name, values): &(&str, &[&str])| {
                    name == key && values.contains(&text.as_str())
                };
                // `verify_args` is anything that is a map.
                let is_map = key == "verify_args" && value.is_object();
                refused(&read(&keys), key, &text, is_map || legal.iter().any(is_legal));
            }
        }
    }
}

#[test]
fn huge_values() {
    let long = "x".repeat(100_000);
    let huge = [
        json!("x".repeat(300_000)),
        json!(i64::MAX),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(1e300),
        json!(vec!["x"; 10_000]),
        json!([long]),
        json!((0..10_000).map(|n| (n.to_string(), json!(n))).collect::<Map<_, _>>()),
        nested(60),
    ];
    // Within the file's bound, sources may be long.
    let is_legal = |key: &str, value: &Value| {
        key == "verify" && value.as_array().is_some_and(|list| list.len() == 1)
    };
    let table: [(Map<String, Value>, Read); 2] = [(hook(), read_hook), (profile(), read_profile)];
    for (whole, read) in table {
        for key in whole.keys() {
            for value in &huge {
                let mut keys = whole.clone();
                keys.insert(key.clone(), value.clone());
                let text: String = value.to_string().chars().take(40).collect();
                refused(&read(&keys), key, &text, is_legal(key, value));
            }
        }
    }
}

#[test]
fn long_texts_inside_the_bound() {
    // What may be long is the text of people and of scripts.
    let may_be_long = ["description", "script", "verify"];
    let table: [(Map<String, Value>, Read); 2] = [(hook(), read_hook), (profile(), read_profile)];
    for (whole, read) in table {
        for key in whole.keys() {
            let mut keys = whole.clone();
            keys.insert(key.clone(), json!("x".repeat(100_000)));
            refused(&read(&keys), key, "100 kB", may_be_long.contains(&key.as_str()));
        }
    }
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!({}), |inner, _| json!({ "a": [inner] }))
}

fn refused(read: &Result<(), ArtifactError>, key: &str, value: &str, is_legal: bool) {
    let Err(error) = read else {
        assert!(is_legal, "{key}: {value} is taken");
        return;
    };
    assert!(!is_legal, "{key}: {value} is refused: {error}");
    let text = error.to_string();
    assert!(text.contains("`dir/a.md`"), "{key}: {value}: {text}");
    assert!(text.len() < 1_000, "{key}: {value}: {text}");
    let names_no_key = [
        "artifact_too_large",
        "artifact_budget",
        "artifact_yaml",
        "artifact_not_mapping",
        "artifact_missing_key",
        "artifact_name",
        "artifact_unknown_key",
        "hook_script_missing",
        "hook_event_unknown",
    ];
    let names_key = text.contains(&format!("`{key}"));
    assert!(names_key || names_no_key.contains(&error.code()), "{key}: {value}: {text}");
}
