//! Checks in files: the same keys from JSON, YAML and TOML; bounds; ids; what is derived.

use probity_core::Subject;
use probity_verifier::spec::{CheckSpec, assign_ids};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct File {
    checks: Vec<CheckSpec>,
}

#[test]
fn json_yaml_and_toml_hold_the_same_checks() {
    let toml: File = toml::from_str(
        r#"
        [[checks]]
        file = "out.txt"
        created = true
        contains = "hello"
        mode = "0644"

        [[checks]]
        command = "make test"
        inputs = ["Makefile", "tests/**"]
        timeout = "5m"

        [[checks]]
        json = "a.json"
        schema = { type = "object" }
        equals = 3
        "#,
    )
    .unwrap();
    let yaml: File = serde_saphyr::from_str(
        r#"
checks:
  - {file: out.txt, created: true, contains: [hello], mode: "0644"}
  - command: make test
    inputs: [Makefile, "tests/**"]
    timeout: 5m
  - json: a.json
    schema: {type: object}
    equals: 3
"#,
    )
    .unwrap();
    let json: File = serde_json::from_value(json!({"checks": [
        "file:out.txt,created,contains=hello,mode=0644",
        {"command": "make test", "inputs": ["Makefile", "tests/**"], "timeout": "5m"},
        {"json": "a.json", "schema": {"type": "object"}, "equals": 3},
    ]}))
    .unwrap();
    assert_eq!(toml.checks, yaml.checks);
    assert_eq!(toml.checks, json.checks);
}

#[test]
fn a_map_that_is_no_check_says_why() {
    let table = [
        (json!({}), "exactly one kind"),
        (json!({"created": true}), "exactly one kind"),
        (json!({"file": "a", "dir": "b"}), "`file`, `dir`"),
        (json!({"file": "a", "contain": "x"}), "did you mean `contains`?"),
        (json!({"file": 3}), "the target of `file` must be a text"),
        (json!({"file": ["a"]}), "the target of `file` must be a text"),
        (json!({"file": "a", "created": "yes"}), "`created` must be a flag"),
        (json!({"file": "a", "mode": 644}), "`mode` must be octal"),
        (json!({"file": "a", "min_bytes": 1.5}), "`min_bytes` must be a whole number"),
        (json!({"file": "a", "contains": [1]}), "`contains` must be a text"),
        (json!({"file": "a", "contains": vec!["x"; 65]}), "at most 64 values"),
        (json!({"file": "a", "timeout": 10}), "`timeout` must be"),
        (json!({"file": "x".repeat(9_000)}), "at most 8192 bytes"),
        (
            json!({"sqlite": "a", "query": "select 1", "at_least": "1"}),
            "`at_least` must be a number",
        ),
        (json!({"changes_only": [1]}), "the target of `changes_only`"),
        (json!(3), "a check is a map or a text"),
        (json!("file:a,contain=x"), "column 8"),
    ];
    for (value, words) in table {
        let error = serde_json::from_value::<CheckSpec>(value.clone()).unwrap_err().to_string();
        assert!(error.contains(words), "{value}: {error}");
    }
}

#[test]
fn ids_are_derived_and_unique() {
    let read = |texts: &[&str]| -> Vec<CheckSpec> {
        texts.iter().map(|text| serde_json::from_value(json!(text)).unwrap()).collect()
    };
    let long = format!("file:{}", "x".repeat(100));
    let checks = read(&[
        "file:out.txt",
        "file:out.txt,created",
        "file:b,id=file_out.txt-2",
        "text:,contains=a",
        "http:http://a.example/x",
        &long,
        &long,
        "changes_only:none",
        "human:Alice Secret",
        "human:bob@example.org,question=Is it live?",
    ]);
    let ids: Vec<String> = assign_ids(&checks).unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(
        ids[..5],
        ["file_out.txt", "file_out.txt-3", "file_out.txt-2", "text", "http_http___a.example_x"]
    );
    assert_eq!(ids[5], format!("file_{}", "x".repeat(59)));
    assert_eq!(ids[6], format!("file_{}-2", "x".repeat(51)));
    assert_eq!(ids[7], "changes_only");
    // Who is asked is in no id.
    assert_eq!(ids[8..], ["human", "human-2"]);

    let twice = assign_ids(&read(&["file:a,id=x", "file:b,id=x"])).unwrap_err();
    assert_eq!(twice.code(), "spec_duplicate_id");
}

#[test]
fn subject_timeout_inputs_and_command_follow_from_the_kind() {
    type Row = (&'static str, Subject, u64, &'static [&'static str], Option<&'static str>);
    let table: [Row; 13] = [
        ("file:a", Subject::World, 10_000, &[], None),
        ("text:,contains=a", Subject::Claim, 10_000, &[], None),
        ("json:a.json", Subject::World, 10_000, &[], None),
        ("json:-", Subject::Claim, 10_000, &[], None),
        ("json:a.json,schema=s[1].json", Subject::World, 10_000, &[r"s\[1\].json"], None),
        (
            "command:make test,inputs=Makefile",
            Subject::World,
            120_000,
            &["Makefile"],
            Some("make test"),
        ),
        ("external:./judge,timeout=3s", Subject::World, 3_000, &[], Some("./judge")),
        ("http:http://a/,timeout=250ms", Subject::World, 250, &[], None),
        ("read_after_write:file:a,expected=1", Subject::World, 10_000, &[], None),
        (
            "invariant_check:command:./ok {target.id},inputs=ok",
            Subject::World,
            10_000,
            &["ok"],
            Some("./ok {target.id}"),
        ),
        ("citations:a.md,evidence=e[1]", Subject::Claim, 10_000, &[r"e\[1\]/**"], None),
        ("human:ana", Subject::Human, 86_400_000, &[], None),
        ("human:ana,timeout=30d", Subject::Human, 2_592_000_000, &[], None),
    ];
    for (text, subject, timeout_ms, inputs, line) in table {
        let check: CheckSpec = serde_json::from_value(json!(text)).unwrap();
        let decl = check.declare(check.default_id());
        assert_eq!((decl.subject, decl.timeout_ms), (subject, timeout_ms), "{text}");
        assert_eq!(check.inputs(), inputs, "{text}");
        assert_eq!(check.command_line(), line, "{text}");
    }
}
