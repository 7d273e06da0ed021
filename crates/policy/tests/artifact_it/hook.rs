use probity_core::Code;
use probity_policy::{
    ArtifactError, DEFAULT_HOOK_MS, DEFAULT_PRIORITY, HookArtifact, HookEvent, MAX_ARTIFACT_BYTES,
    MAX_WHEN_BYTES, Place,
};
use serde_json::{Value, json};

/// The hook of seed 000, surface 2, with the indentation that the print lost.
const PRINTED: &str = r#"---
event: delegation.post_verify
priority: 10
script: |
  def handle(event, payload):
      # payload is the same dict the inline verifier sees
      claims = payload.get("response", "")
      if "I created" in claims:
          # cheap heuristic: claim implies a file should exist
          return {"action": "block", "reason": "claim made but no file path provided"}
      return {"action": "allow"}
---"#;

fn parse(keys: &str) -> Result<HookArtifact, ArtifactError> {
    HookArtifact::parse("hooks/a.md", &format!("---\n{keys}---\n"))
}

fn inline(value: &Value) -> Result<HookArtifact, ArtifactError> {
    HookArtifact::from_value(value, &Code::slug("fallback"), &Place::line("request.yaml", 7))
}

#[test]
fn the_printed_hook_is_a_hook() {
    let hook = HookArtifact::parse(".probity/hooks/no-bare-claims.md", PRINTED).unwrap();
    assert_eq!(hook.name.as_str(), "no-bare-claims");
    assert_eq!(hook.event, HookEvent::PostVerify);
    assert_eq!((hook.priority, hook.timeout_ms), (10, 10_000));
    assert_eq!((hook.when, hook.description.as_str()), (None, ""));
    let lines: Vec<&str> = hook.script.lines().collect();
    assert_eq!(lines.len(), 7);
    assert_eq!(lines[0], "def handle(event, payload):");
    assert_eq!(lines[2], r#"    claims = payload.get("response", "")"#);
    assert_eq!(lines[6], r#"    return {"action": "allow"}"#);
}

#[test]
fn the_print_without_its_indentation_is_no_yaml() {
    let flat: String = PRINTED.lines().map(|line| line.trim_start().to_owned() + "\n").collect();
    let error = HookArtifact::parse("a.md", &flat).unwrap_err();
    assert_eq!(error.code(), "artifact_yaml");
    assert!(error.place().line.is_some_and(|line| (4..=8).contains(&line)), "{error}");
}

#[test]
fn every_key_of_a_file_is_read() {
    let hook = HookArtifact::parse(
        "a.b_c-1.md",
        "---\nevent: tool.pre\npriority: -5\nwhen: event == \"tool.pre\"\ntimeout: 500ms\n\
         script: 'x = 1'\n---\n\n# Why\n\nBecause.\n",
    )
    .unwrap();
    assert_eq!(hook.name.as_str(), "a.b_c-1");
    assert_eq!(hook.event, HookEvent::ToolPre);
    assert_eq!((hook.priority, hook.timeout_ms), (-5, 500));
    assert_eq!(hook.when.as_deref(), Some("event == \"tool.pre\""));
    assert_eq!(hook.script, "x = 1");
    assert_eq!(hook.description, "# Why\n\nBecause.");
}

#[test]
fn what_is_left_out_has_its_default() {
    let hook = parse("event: attempt.end\nscript: x\n").unwrap();
    assert_eq!((hook.priority, hook.timeout_ms), (DEFAULT_PRIORITY, DEFAULT_HOOK_MS));
    assert_eq!((DEFAULT_PRIORITY, DEFAULT_HOOK_MS), (100, 10_000));
    // Zero is a priority like the others, not a word for the default.
    assert_eq!(parse("event: attempt.end\nscript: x\npriority: 0\n").unwrap().priority, 0);
}

#[test]
fn a_description_under_its_key_is_the_description() {
    let text = "---\nevent: attempt.end\nscript: x\ndescription: short\n---\nlong text\n";
    assert_eq!(HookArtifact::parse("a.md", text).unwrap().description, "short");
}

#[test]
fn every_event_can_be_hooked() {
    for event in HookEvent::ALL.into_iter().chain([HookEvent::Custom(Code::slug("mine"))]) {
        assert_eq!(parse(&format!("event: {event}\nscript: x\n")).unwrap().event, event);
    }
    let error = parse("script: x\nevent: delegate.pre\n").unwrap_err();
    assert_eq!((error.code(), error.place().line), ("hook_event_unknown", Some(3)));
    assert!(error.to_string().ends_with("did you mean `delegation.pre`?"), "{error}");
}

#[test]
fn a_hook_without_a_script_would_check_nothing() {
    for script in ["", "script: ''\n", "script: |\n\n\n", "script: \"  \\n \"\n"] {
        let error = parse(&format!("event: attempt.end\n{script}")).unwrap_err();
        assert_eq!(error.code(), "hook_script_missing", "{script:?}");
        assert_eq!(error.place().line, (!script.is_empty()).then_some(3), "{error}");
    }
}

#[test]
fn an_unknown_key_is_told_its_neighbour() {
    let table = [
        ("scripts", "did you mean `script`?"),
        ("prio", "did you mean `priority`?"),
        ("time_out", "did you mean `timeout`?"),
        ("Event", "did you mean `event`?"),
        ("on", "it is one of `event`, `priority`, `when`, `script`, `timeout`, `description`"),
        ("name", "a hook in a file is named by its file"),
        ("handler", "a hook in a file is named by its file"),
    ];
    for (key, hint) in table {
        let error = parse(&format!("event: attempt.end\nscript: x\n{key}: y\n")).unwrap_err();
        assert_eq!((error.code(), error.place().line), ("artifact_unknown_key", Some(4)), "{key}");
        assert!(error.to_string().ends_with(hint), "{error}");
        assert!(error.to_string().contains(&format!("`{key}` is no key of a hook")), "{error}");
    }
}

#[test]
fn the_name_of_the_file_must_be_a_name() {
    let text = "---\nevent: attempt.end\nscript: x\n---\n";
    for file in ["a.md", "x/y/a.md", "x\\a.md", "a"] {
        assert_eq!(HookArtifact::parse(file, text).unwrap().name.as_str(), "a", "{file}");
    }
    let long = format!("{}.md", "a".repeat(65));
    for file in ["", ".md", "dir/", "My Hook.md", "ä.md", "A.md", long.as_str()] {
        let error = HookArtifact::parse(file, text).unwrap_err();
        assert_eq!(error.code(), "artifact_name", "{file}");
    }
}

#[test]
fn bounds_are_exact() {
    let hook = |key: &str, value: Value| {
        let mut hook = json!({"event": "attempt.end", "script": "x"});
        hook[key] = value;
        inline(&hook).map_err(|error| error.code())
    };
    let wrong = Err("artifact_value");
    for (priority, legal) in [(-1000, true), (1000, true), (-1001, false), (1001, false)] {
        assert_eq!(hook("priority", json!(priority)).is_ok(), legal, "{priority}");
    }
    let lengths = [
        ("1ms", Some(1)),
        ("500ms", Some(500)),
        ("10s", Some(10_000)),
        ("5m", Some(300_000)),
        ("1h", Some(3_600_000)),
        ("60m", Some(3_600_000)),
        ("3600001ms", None),
        ("61m", None),
        ("2h", None),
        ("0ms", None),
        ("0s", None),
        ("10", None),
        ("s", None),
        ("-1s", None),
        ("+1s", None),
        ("1.5s", None),
        ("10 s", None),
        ("10S", None),
        ("99999999999999999999s", None),
        ("18446744073709551615h", None),
    ];
    for (text, millis) in lengths {
        let read = hook("timeout", json!(text)).map(|hook| hook.timeout_ms);
        assert_eq!(read, millis.ok_or("artifact_value"), "{text}");
    }
    let sized = |bytes: usize| json!("x".repeat(bytes));
    assert!(hook("when", sized(MAX_WHEN_BYTES)).is_ok());
    assert_eq!(hook("when", sized(MAX_WHEN_BYTES + 1)), wrong);
    assert_eq!(hook("when", json!(" \n")), wrong);
    assert!(hook("script", sized(MAX_ARTIFACT_BYTES)).is_ok());
    assert_eq!(hook("script", sized(MAX_ARTIFACT_BYTES + 1)), wrong);
    assert_eq!(hook("script", json!("a\0b")), wrong);
    assert_eq!(hook("description", sized(MAX_ARTIFACT_BYTES + 1)), wrong);
}

#[test]
fn an_inline_hook_says_its_name_or_is_given_one() {
    let hook = json!({"event": "delegation.post_verify", "script": "x"});
    assert_eq!(inline(&hook).unwrap().name.as_str(), "fallback");
    for key in ["name", "handler"] {
        let mut hook = hook.clone();
        hook[key] = json!("mine");
        assert_eq!(inline(&hook).unwrap().name.as_str(), "mine");
        hook[key] = json!("Not Mine");
        let error = inline(&hook).unwrap_err();
        assert_eq!(error.code(), "artifact_name");
        assert!(error.to_string().starts_with("`request.yaml` line 7: "), "{error}");
    }
    let mut both = hook;
    both["name"] = json!("a");
    both["handler"] = json!("a");
    let error = inline(&both).unwrap_err();
    assert_eq!(error.code(), "artifact_value");
    assert!(error.to_string().contains("`handler` must be left out beside `name`"), "{error}");
}

#[test]
fn what_is_no_map_is_no_inline_hook() {
    for value in [json!(null), json!(true), json!(1), json!("a"), json!([]), json!([{}])] {
        assert_eq!(inline(&value).unwrap_err().code(), "artifact_not_mapping", "{value}");
    }
}

#[test]
fn a_resolved_hook_reads_back_as_itself() {
    let hook = HookArtifact::parse("a.md", PRINTED).unwrap();
    let value = serde_json::to_value(&hook).unwrap();
    assert_eq!(value["timeout"], "10s");
    assert_eq!(value["priority"], 10);
    assert_eq!(serde_json::from_value::<HookArtifact>(value.clone()).unwrap(), hook);
    let mut nameless = value;
    nameless.as_object_mut().unwrap().remove("name");
    assert!(serde_json::from_value::<HookArtifact>(nameless).is_err());
}
