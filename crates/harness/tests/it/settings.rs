//! Our hooks in a text: in, found again, out.

use probity_harness::{
    Installed, Scope, Tool, Unchecked, Wiring, diff, install, installed, uninstall,
};
use proptest::prelude::*;
use serde_json::Value;

fn wiring(tool: Tool) -> Wiring {
    Wiring::new(tool, "probity")
}

const FOREIGN: &str = r#"{
    "model": "opus",   "n": 1.50,
    "hooks": {
        "Stop": [
            { "hooks": [ { "type": "command", "command": "notify-send done" } ] }
        ],
        "PostToolUse": []
    },
    "permissions": { "allow": ["Bash(ls:*)"] }
}
"#;

#[test]
fn a_new_file_holds_every_event_and_nothing_else() {
    let text = install(None, &Wiring { deadline_ms: 60_000, ..wiring(Tool::ClaudeCode) }).unwrap();
    assert_eq!(
        text.split_once("SubagentStop").unwrap().0,
        r#"{
  "hooks": {
    "UserPromptSubmit": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "probity hook run claude-code UserPromptSubmit --deadline 60000ms",
            "timeout": 30
          }
        ]
      }
    ],
    "Stop": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "probity hook run claude-code Stop --deadline 60000ms",
            "timeout": 75
          }
        ]
      }
    ],
    ""#
    );
    for tool in Tool::ALL {
        let text = install(None, &Wiring { guards: true, ..wiring(tool) }).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        let events: Vec<&String> = value["hooks"].as_object().unwrap().keys().collect();
        let known: Vec<&str> = tool.events().iter().map(|(event, _)| *event).collect();
        assert_eq!(events, known, "{tool}");
    }
}

#[test]
fn the_tool_waits_longer_than_we_take_in_its_own_unit() {
    for (tool, event, expected) in [
        (Tool::ClaudeCode, "Stop", 315),
        (Tool::ClaudeCode, "TaskCompleted", 315),
        (Tool::Codex, "SubagentStop", 315),
        (Tool::Gemini, "AfterAgent", 315_000),
        (Tool::Gemini, "SessionEnd", 30_000),
    ] {
        let value: Value = serde_json::from_str(&install(None, &wiring(tool)).unwrap()).unwrap();
        assert_eq!(value["hooks"][event][0]["hooks"][0]["timeout"], expected, "{tool} {event}");
    }
}

#[test]
fn what_is_there_stays_to_the_byte_and_comes_back() {
    let compact = r#"{"a":1,"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]}}"#;
    let crlf = FOREIGN.replace('\n', "\r\n");
    let tabs = FOREIGN.replace("    ", "\t");
    for text in [FOREIGN, &crlf, &tabs, compact, "{}", "{}\n", r#"{"hooks": {"Other": []}}"#] {
        for tool in Tool::ALL {
            let with = install(Some(text), &Wiring { guards: true, ..wiring(tool) }).unwrap();
            let value: Value = serde_json::from_str(&with).unwrap();
            assert!(value["hooks"].is_object() && with != text, "{text}");
            assert_eq!(with.contains("\r\n"), text.contains("\r\n"));
            if text == FOREIGN {
                assert!(with.starts_with("{\n    \"model\": \"opus\",   \"n\": 1.50,\n"), "{with}");
                assert!(with.ends_with("\"permissions\": { \"allow\": [\"Bash(ls:*)\"] }\n}\n"));
            }
            assert_eq!(uninstall(&with, tool).unwrap(), text, "{tool}");
        }
    }
}

#[test]
fn twice_is_once_and_another_wish_takes_the_place_of_the_first() {
    for tool in Tool::ALL {
        let first = wiring(tool);
        let second = Wiring {
            program: "/opt/it's here/probity".to_owned(),
            deadline_ms: 5_000,
            unchecked: Unchecked::Note,
            guards: true,
            ..first.clone()
        };
        let with_first = install(Some(FOREIGN), &first).unwrap();
        assert_eq!(install(Some(&with_first), &first).unwrap(), with_first);
        let with_second = install(Some(&with_first), &second).unwrap();
        assert_eq!(with_second, install(Some(FOREIGN), &second).unwrap());
        assert_eq!(installed(Some(&with_second), tool).unwrap(), Installed::Current(second));
        assert_eq!(uninstall(&with_second, tool).unwrap(), FOREIGN);
    }
}

#[test]
fn what_was_changed_by_hand_is_seen_and_taken_out_all_the_same() {
    let tool = Tool::ClaudeCode;
    let with = install(Some(FOREIGN), &wiring(tool)).unwrap();
    assert_eq!(installed(Some(FOREIGN), tool).unwrap(), Installed::Absent);
    assert_eq!(installed(None, tool).unwrap(), Installed::Absent);
    let is_changed =
        |text: &str| matches!(installed(Some(text), tool).unwrap(), Installed::Changed { .. });
    for (from, to) in [
        ("\"timeout\": 315", "\"timeout\": 5"),
        ("claude-code Stop\"", "claude-code Stop --deadline 10ms\""),
        ("probity hook run claude-code Stop", "/x/probity hook run claude-code Stop"),
        ("\"TaskCompleted\"", "\"Elsewhere\""),
    ] {
        let changed = with.replacen(from, to, 1);
        assert_ne!(changed, with, "{from}");
        assert!(is_changed(&changed), "{from}");
        assert_eq!(install(Some(&changed), &wiring(tool)).unwrap(), with, "{from}");
        assert_eq!(uninstall(&changed, tool).unwrap(), FOREIGN, "{from}");
    }
    // Beside a handler of somebody else, in one group.
    let shared = with.replacen("\"notify-send done\" }", "\"notify-send done\" }, {\"type\":\"command\",\"command\":\"probity hook run claude-code Stop\"}", 1);
    assert!(is_changed(&shared));
    assert_eq!(uninstall(&shared, tool).unwrap(), FOREIGN);
}

#[test]
fn hooks_of_others_are_not_ours() {
    for command in [
        "notify-send",
        "probity hook fire x",
        "probity hook run codex Stop",
        "my-hook run claude-code",
        "not-probity-like hook run claude-code x",
        "probity hook run claude-codex",
    ] {
        let text = format!(r#"{{"hooks":{{"Stop":[{{"hooks":[{{"command":"{command}"}}]}}]}}}}"#);
        assert_eq!(
            installed(Some(&text), Tool::ClaudeCode).unwrap(),
            Installed::Absent,
            "{command}"
        );
        assert_eq!(uninstall(&text, Tool::ClaudeCode).unwrap(), text);
    }
}

#[test]
fn a_file_that_an_edit_could_spoil_is_refused() {
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    for (text, code) in [
        ("{ // mine\n}", "hook_settings_comment"),
        ("{\"a\": 1 /* x */}", "hook_settings_comment"),
        ("{\"a\": 1,}", "hook_settings_json"),
        ("{\"a\": 01}", "hook_settings_json"),
        ("{\"a\": \"\n\"}", "hook_settings_json"),
        ("{\"a\" 1}", "hook_settings_json"),
        ("{", "hook_settings_json"),
        ("{} {}", "hook_settings_json"),
        ("{\"hooks\": {}, \"h\\u006foks\": {}}", "hook_settings_twice"),
        ("[]", "hook_settings_kind"),
        ("{\"hooks\": []}", "hook_settings_kind"),
        ("{\"hooks\": {\"Stop\": {}}}", "hook_settings_kind"),
        (&deep, "hook_settings_json"),
    ] {
        let error = install(Some(text), &wiring(Tool::ClaudeCode)).unwrap_err();
        assert_eq!(error.code(), code, "{text:.60}: {error}");
        assert!(uninstall(text, Tool::ClaudeCode).is_err(), "{text:.60}");
    }
}

#[test]
fn an_empty_file_is_one_that_says_nothing() {
    let with = install(None, &wiring(Tool::Gemini)).unwrap();
    assert_eq!(install(Some(" \n"), &wiring(Tool::Gemini)).unwrap(), with);
}

#[test]
fn a_diff_shows_what_changes_and_little_else() {
    let with = install(Some(FOREIGN), &wiring(Tool::Codex)).unwrap();
    assert_eq!(diff(FOREIGN, FOREIGN), "");
    let shown = diff(FOREIGN, &with);
    assert!(shown.contains("+ ") && !shown.contains("opus"), "{shown}");
    assert_eq!(diff("a\nb\nc\n", "a\nx\nc\n"), "  a\n- b\n+ x\n  c\n");
    assert_eq!(diff("", "a\n"), "+ a\n");
}

#[test]
fn every_tool_has_settings_of_the_project_and_of_the_user() {
    for tool in Tool::ALL {
        assert!(tool.settings(Scope::Project).is_some() && tool.settings(Scope::User).is_some());
        assert_eq!(tool.as_str().parse::<Tool>().unwrap(), tool);
    }
    assert!("cursor".parse::<Tool>().is_err());
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[ -~ü\"\\\\]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,6}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn any_settings_come_back(members in prop::collection::btree_map("[a-z]{1,6}", json(), 0..5), is_pretty: bool) {
        let mut value = Value::Object(members.into_iter().collect());
        value.as_object_mut().unwrap().remove("hooks");
        let text = if is_pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
        let with = install(Some(&text), &wiring(Tool::ClaudeCode)).unwrap();
        let mut read: Value = serde_json::from_str(&with).unwrap();
        read.as_object_mut().unwrap().remove("hooks");
        prop_assert_eq!(&read, &value);
        prop_assert_eq!(uninstall(&with, Tool::ClaudeCode).unwrap(), text);
    }

    #[test]
    fn no_text_is_a_panic(text in "[\\[\\]{}\",:/a1\\\\ü \n]{0,40}") {
        let _ = install(Some(&text), &wiring(Tool::Codex));
        let _ = uninstall(&text, Tool::Codex);
    }
}
