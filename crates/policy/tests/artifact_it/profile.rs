use probity_core::Step;
use probity_policy::{ArtifactError, CommandDelegate, HookRef, Profile, ProfileDelegate};
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

fn command(profile: &Profile) -> &CommandDelegate {
    match &profile.delegate {
        ProfileDelegate::Command(command) => command,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_key_is_read() {
    let profile = Profile::parse(".probity/agents/senior.md", FULL).unwrap();
    assert_eq!((profile.name.as_str(), profile.kind.as_str()), ("senior", "coder"));
    assert_eq!(profile.description, "Writes code.");
    assert_eq!(profile.system_prompt, "You write code.\n\nAnd tests.");
    let delegate = command(&profile);
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
    assert_eq!(Value::Object(profile.request_defaults()), defaults);
}

#[test]
fn a_command_is_enough() {
    let profile = parse("command: [./agent]\n").unwrap();
    assert_eq!((profile.name.as_str(), profile.kind.as_str()), ("coder", "coder"));
    assert_eq!(profile.system_prompt, "Be brief.");
    assert_eq!(Value::Object(profile.request_defaults()), json!({"command": ["./agent"]}));
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
    for (line, words) in table {
        let profile = parse(&format!("command: {line}\n"));
        match words {
            Some(words) => assert_eq!(command(&profile.unwrap()).command, words),
            None => assert_eq!(profile.unwrap_err().code(), "artifact_value", "{line}"),
        }
    }
}

const CHAT: &str = "endpoint: https://models.example/v1\nmodel: some-model\n";

#[test]
fn a_chat_model_has_its_keys_under_chat() {
    let keys = "api: anthropic\nkey_env: MY_KEY\nstream: true\ntemperature: 0.2\n\
                max_output_tokens: 1000\nmax_model_calls: 20\ncall_timeout: 90s\n\
                tools: [{name: a, script_file: tools/a.star}, {name: b, script: x}]\n\
                mcp: {files: {command: [server]}}\n";
    let profile = parse(&format!("{CHAT}{keys}max_tokens: 5\n")).unwrap();
    let chat = json!({
        "endpoint": "https://models.example/v1",
        "model": "some-model",
        "api": "anthropic",
        "key_env": "MY_KEY",
        "stream": true,
        "temperature": 0.2,
        "max_output_tokens": 1000,
        "max_model_calls": 20,
        "call_timeout": "90s",
        "tools": [{"name": "a", "script_file": "tools/a.star"}, {"name": "b", "script": "x"}],
        "mcp": {"files": {"command": ["server"]}},
    });
    assert_eq!(Value::Object(profile.request_defaults()), json!({ "chat": chat, "max_tokens": 5 }));
    assert_eq!(profile.tool_files().collect::<Vec<_>>(), ["tools/a.star"]);
    let error = parse("endpoint: https://x/\n").unwrap_err();
    assert_eq!(error.code(), "artifact_missing_key");
    for url in [
        "models.example",
        "ftp://x",
        "file:///etc/passwd",
        "https://",
        "https://me:secret@x/",
        "https://me@x/",
        "'http://a b/'",
    ] {
        let error = parse(&format!("endpoint: {url}\nmodel: m\n")).unwrap_err();
        assert_eq!(error.code(), "artifact_value", "{url}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    for key in ["resume: a\n", "format: auto\n"] {
        let error = parse(&format!("{CHAT}{key}")).unwrap_err();
        assert_eq!((error.code(), error.place().line), ("artifact_value", Some(4)), "{key}");
    }
    for key in [
        "api: cohere",
        "key_env: 7",
        "stream: yes please",
        "temperature: 3",
        "temperature: hot",
        "max_output_tokens: 0",
        "max_model_calls: -1",
        "call_timeout: 2h",
        "tools: {}",
        "tools: [a]",
        "tools: [{name: a, script_file: ../a.star}]",
        "tools: [{name: a, script_file: /a.star}]",
        "mcp: []",
    ] {
        let error = parse(&format!("{CHAT}{key}\n")).unwrap_err();
        assert_eq!((error.code(), error.place().line), ("artifact_value", Some(4)), "{key}");
    }
}

#[test]
fn a_key_is_refused_and_not_shown() {
    let error = parse(&format!("{CHAT}key_env: sk-ant-12345\n")).unwrap_err();
    assert_eq!(error.code(), "artifact_value");
    assert!(!error.to_string().contains("12345"), "{error}");
    for key in ["key", "api_key", "token"] {
        let error = parse(&format!("{CHAT}{key}: sk-ant-12345\n")).unwrap_err();
        assert_eq!(error.code(), "artifact_unknown_key");
        assert!(error.to_string().contains("name that by `key_env`"), "{error}");
        assert!(!error.to_string().contains("12345"), "{error}");
    }
}

#[test]
fn an_acp_agent_has_its_keys_under_acp() {
    let profile = parse("acp: {command: 'agent --acp', mode: code}\n").unwrap();
    assert_eq!(
        Value::Object(profile.request_defaults()),
        json!({"acp": {"command": ["agent", "--acp"], "mode": "code"}})
    );
    for acp in ["[]", "{}", "{mode: x}", "{command: []}", "{command: ['']}", "{command: 7}"] {
        let error = parse(&format!("acp: {acp}\n")).unwrap_err();
        assert_eq!((error.code(), error.place().line), ("artifact_value", Some(2)), "{acp}");
    }
}

#[test]
fn there_is_exactly_one_delegate() {
    let error = parse("description: x\n").unwrap_err();
    assert_eq!(error.code(), "profile_delegate");
    assert!(error.to_string().ends_with("this one has none of them"), "{error}");
    for (keys, line) in [
        ("command: a\nendpoint: https://x/\nmodel: m\n", 3),
        ("acp: {command: a}\ncommand: a\n", 2),
        ("endpoint: https://x/\nmodel: m\nacp: {command: a}\n", 4),
    ] {
        let error = parse(keys).unwrap_err();
        assert_eq!((error.code(), error.place().line), ("profile_delegate", Some(line)), "{keys}");
        assert!(error.to_string().ends_with("this one has more than one"), "{error}");
    }
}

#[test]
fn what_a_command_decides_itself_is_refused_beside_it() {
    for delegate in ["command: a\n", "acp: {command: a}\n"] {
        for key in ["model", "tools", "mcp", "api", "key_env"] {
            let error = parse(&format!("{delegate}{key}: x\n")).unwrap_err();
            assert_eq!((error.code(), error.place().line), ("artifact_value", Some(3)));
            assert!(error.to_string().contains("it is about an `endpoint`"), "{error}");
        }
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
