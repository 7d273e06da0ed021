use probity_core::Step;
use probity_policy::{ArtifactError, HookRef, Profile, ProfileDelegate};
use serde_json::{Value, json};

const FULL: &str = r#"---
description: Writes code.
kind: coder
command: claude -p --output-format stream-json "with spaces"
resume: [claude, -p, --resume, "{session}"]
format: claude
on_delegate_error: claim
attempt_timeout: 30m
timeout: 1h
max_verify_retries: 3
max_tokens: 200000
max_tool_calls: 50
red_first: off
on_fail: escalate
on_exhausted: reject
allow_hosts: [api.github.com]
expect:
  - "file:out.txt,created"
  - {command: cargo test, exit: 0}
verify: |
  def run(result):
      return True
verify_files: [verifiers/a.star]
verify_args: {path: out.txt, deep: {n: 1}}
hooks:
  - audit
  - event: tool.pre
    script: |
      def handle(event, payload):
          return {"action": "allow"}
decision_type: refund
rungs:
  rules_only: {command: [rules, --strict]}
  small_model: {command: small -p, format: text}
---

You write code.

And tests.
"#;

fn parse(keys: &str) -> Result<Profile, ArtifactError> {
    Profile::parse(".probity/agents/coder.md", &format!("---\n{keys}---\nBe brief.\n"))
}

#[test]
fn every_key_is_read() {
    let profile = Profile::parse(".probity/agents/senior.md", FULL).unwrap();
    assert_eq!((profile.name.as_str(), profile.kind.as_str()), ("senior", "coder"));
    assert_eq!(profile.description, "Writes code.");
    assert_eq!(profile.system_prompt, "You write code.\n\nAnd tests.");
    let delegate = profile.delegate().unwrap();
    let words = ["claude", "-p", "--output-format", "stream-json", "with spaces"];
    assert_eq!(delegate.command, words);
    assert_eq!(delegate.resume.as_ref().unwrap()[3], "{session}");
    assert_eq!(delegate.format.as_deref(), Some("claude"));
    assert_eq!(profile.decision_type.as_deref(), Some("refund"));
    assert_eq!(profile.hooks.len(), 2);
    assert!(matches!(&profile.hooks[0], HookRef::Named(name) if name.as_str() == "audit"));
    assert_eq!(profile.hooks[1].name().as_str(), "senior.hook-2");
    let steps: Vec<Step> = profile.rungs.iter().map(|(step, _)| *step).collect();
    assert_eq!(steps, [Step::SmallModel, Step::RulesOnly]);
    assert_eq!(profile.rung(Step::RulesOnly).unwrap().command, ["rules", "--strict"]);
    assert_eq!(profile.rung(Step::SmallModel).unwrap().format.as_deref(), Some("text"));
    assert_eq!(profile.rung(Step::CacheBundle), None);
}

#[test]
fn request_keys_are_kept_as_they_are() {
    let profile = Profile::parse("senior.md", FULL).unwrap();
    let expected = json!({
        "on_delegate_error": "claim",
        "attempt_timeout": "30m",
        "timeout": "1h",
        "max_verify_retries": 3,
        "max_tokens": 200_000,
        "max_tool_calls": 50,
        "red_first": "off",
        "on_fail": "escalate",
        "on_exhausted": "reject",
        "allow_hosts": ["api.github.com"],
        "expect": ["file:out.txt,created", {"command": "cargo test", "exit": 0}],
        "verify": "def run(result):\n    return True\n",
        "verify_files": ["verifiers/a.star"],
        "verify_args": {"path": "out.txt", "deep": {"n": 1}},
    });
    assert_eq!(Value::Object(profile.request.clone()), expected);
    let mut defaults = expected;
    defaults["command"] = json!(["claude", "-p", "--output-format", "stream-json", "with spaces"]);
    defaults["resume"] = json!(["claude", "-p", "--resume", "{session}"]);
    defaults["format"] = json!("claude");
    assert_eq!(Value::Object(profile.request_defaults().unwrap()), defaults);
}

#[test]
fn a_command_is_enough() {
    let profile = parse("command: [./agent]\n").unwrap();
    assert_eq!((profile.name.as_str(), profile.kind.as_str()), ("coder", "coder"));
    assert_eq!(profile.system_prompt, "Be brief.");
    assert_eq!(Value::Object(profile.request_defaults().unwrap()), json!({"command": ["./agent"]}));
    assert!(profile.hooks.is_empty() && profile.rungs.is_empty());
    let bare = Profile::parse("x.md", "---\ncommand: a\n---").unwrap();
    assert_eq!(bare.system_prompt, "");
}

#[test]
fn a_command_is_split_as_a_shell_would() {
    let table: [(&str, Option<&[&str]>); 9] = [
        ("'a b c'", Some(&["a", "b", "c"])),
        (r#"'a "b c" d'"#, Some(&["a", "b c", "d"])),
        (r#"["a b", ""]"#, Some(&["a b", ""])),
        (r#"'a "open'"#, None),
        ("' '", None),
        ("[]", None),
        ("['', a]", None),
        ("[a, 1]", None),
        (r#"["a\0b"]"#, None),
    ];
    for (command, words) in table {
        let profile = parse(&format!("command: {command}\n"));
        match words {
            Some(words) => assert_eq!(profile.unwrap().delegate().unwrap().command, words),
            None => assert_eq!(profile.unwrap_err().code(), "artifact_value", "{command}"),
        }
    }
}

#[test]
fn an_endpoint_is_kept_and_cannot_work() {
    let profile = parse("endpoint: https://models.example/v1\n").unwrap();
    let url = "https://models.example/v1".to_owned();
    assert_eq!(profile.delegate, ProfileDelegate::Endpoint { url });
    for error in [profile.delegate().unwrap_err(), profile.request_defaults().unwrap_err()] {
        assert_eq!(error.code(), "profile_endpoint_unbuilt");
        let text = error.to_string();
        assert!(text.contains("chat endpoints are not available in this version"), "{text}");
        assert!(text.contains(".probity/agents/coder.md"), "{text}");
    }
    for url in [
        "models.example",
        "ftp://x",
        "file:///etc/passwd",
        "https://",
        "https://me:secret@x/",
        "https://me@x/",
        "'http://a b/'",
    ] {
        let error = parse(&format!("endpoint: {url}\n")).unwrap_err();
        assert_eq!(error.code(), "artifact_value", "{url}");
    }
    for key in ["resume: a\n", "format: auto\n"] {
        let error = parse(&format!("endpoint: https://x/\n{key}")).unwrap_err();
        assert_eq!((error.code(), error.place().line), ("artifact_value", Some(3)), "{key}");
    }
}

#[test]
fn there_is_exactly_one_delegate() {
    let error = parse("description: x\n").unwrap_err();
    assert_eq!(error.code(), "profile_delegate");
    assert!(error.to_string().ends_with("this one has neither"), "{error}");
    let error = parse("command: a\nendpoint: https://x/\n").unwrap_err();
    assert_eq!((error.code(), error.place().line), ("profile_delegate", Some(3)));
    assert!(error.to_string().ends_with("this one has both"), "{error}");
}

#[test]
fn what_is_not_built_is_refused_by_its_name() {
    for key in ["model", "tools"] {
        let error = parse(&format!("command: a\n{key}: x\n")).unwrap_err();
        assert_eq!((error.code(), error.place().line), ("profile_unbuilt", Some(3)));
        assert!(error.to_string().contains(&format!("`{key}`")), "{error}");
    }
}

#[test]
fn an_unknown_key_is_told_where_to_look() {
    let table = [
        ("comand", "did you mean `command`?"),
        ("hook", "did you mean `hooks`?"),
        ("retries", "did you mean `max_verify_retries`?"),
        ("on-fail", "did you mean `on_fail`?"),
        ("max_retries", "did you mean `max_verify_retries`?"),
        ("system_prompt", "the text below the front matter is the system prompt"),
        ("name", "a profile is named by its file"),
        ("task", "it belongs in a request"),
        ("workspace", "it belongs in a request"),
        ("sealed", "it belongs in a request"),
    ];
    for (key, hint) in table {
        let error = parse(&format!("command: a\n{key}: x\n")).unwrap_err();
        assert_eq!((error.code(), error.place().line), ("artifact_unknown_key", Some(3)), "{key}");
        assert!(error.to_string().ends_with(hint), "{error}");
    }
    let error = parse("command: a\nenv: {A: b}\n").unwrap_err();
    assert_eq!(error.code(), "artifact_unknown_key");
}

#[test]
fn rungs_are_steps_that_another_delegate_can_take() {
    for step in ["hitl", "abstain", "bypass"] {
        let error = parse(&format!("command: a\nrungs: {{{step}: {{command: b}}}}\n")).unwrap_err();
        assert_eq!(error.code(), "artifact_unknown_key", "{step}");
        assert!(error.to_string().ends_with("that step needs no delegate"), "{error}");
    }
    let table = [
        ("{small: {command: b}}", "artifact_unknown_key"),
        ("{small_model: {}}", "artifact_missing_key"),
        ("{small_model: b}", "artifact_not_mapping"),
        ("{small_model: {command: []}}", "artifact_value"),
        ("{small_model: {command: b, format: xml}}", "artifact_value"),
        ("{small_model: {command: b, resume: c}}", "artifact_unknown_key"),
        ("[small_model]", "artifact_value"),
    ];
    for (rungs, code) in table {
        let error = parse(&format!("command: a\nrungs: {rungs}\n")).unwrap_err();
        assert_eq!(error.code(), code, "{rungs}: {error}");
        assert_eq!(error.place().line, Some(3), "{rungs}: {error}");
    }
}

#[test]
fn values_are_judged_one_by_one() {
    let legal = [
        "max_verify_retries: 0",
        "max_verify_retries: 99",
        "max_tokens: 0",
        "max_tokens: 9007199254740991",
        "red_first: warn",
        "red_first: require",
        "on_delegate_error: fail",
        "on_fail: reject",
        "on_exhausted: escalate",
        "format: text",
        "format: auto",
        "format: codex",
        "format: gemini",
        "verify: [a, b]",
        "verify_files: [a/b.star, ./c.star]",
        "timeout: 1ms",
    ];
    for key in legal {
        assert!(parse(&format!("command: a\n{key}\n")).is_ok(), "{key}");
    }
    let wrong = [
        "max_verify_retries: -1",
        "max_verify_retries: 100",
        "max_tokens: -1",
        "max_tokens: 9007199254740992",
        "red_first: false",
        "red_first: sometimes",
        "on_delegate_error: ignore",
        "format: xml",
        "verify: [a, '']",
        "verify_files: [/etc/a.star]",
        "verify_files: [../a.star]",
        "verify_files: [a/../../b.star]",
        "timeout: 61m",
        "timeout: 10",
        "allow_hosts: ['']",
        "expect: [1]",
        "expect: [{}]",
        "decision_type: ''",
        "kind: ''",
    ];
    for key in wrong {
        let error = parse(&format!("command: a\n{key}\n")).unwrap_err();
        assert_eq!((error.code(), error.place().line), ("artifact_value", Some(3)), "{key}");
        let name = key.split(':').next().unwrap();
        assert!(error.to_string().contains(&format!("`{name}")), "{error}");
    }
    let long = |n: usize| format!("command: a\ndecision_type: {}\n", "ü".repeat(n));
    assert!(parse(&long(200)).is_ok());
    assert_eq!(parse(&long(201)).unwrap_err().code(), "artifact_value");
    assert_eq!(parse("command: a\nkind: My Kind\n").unwrap_err().code(), "artifact_name");
}
