//! Each answer to each event, to the byte.

use probity_harness::{Answer, MAX_ANSWER_BYTES, Role, Spoken, Tool, speak};
use serde_json::Value;

fn spoken(stdout: &str, stderr: &str, exit_code: u8) -> Spoken {
    let line = |text: &str| if text.is_empty() { String::new() } else { format!("{text}\n") };
    Spoken { stdout: line(stdout), stderr: line(stderr), exit_code }
}

#[test]
fn a_claim_is_let_through_with_an_empty_object() {
    for tool in Tool::ALL {
        for (_, role) in tool.events() {
            assert_eq!(speak(tool, *role, &Answer::Allow), spoken("{}", "", 0), "{tool} {role:?}");
        }
    }
}

#[test]
fn a_block_is_what_each_tool_takes_for_one() {
    let block = Answer::Block("not done".to_owned());
    let json = r#"{"decision":"block","reason":"not done"}"#;
    for (tool, role, expected) in [
        (Tool::ClaudeCode, Role::Stop, spoken(json, "", 0)),
        (Tool::ClaudeCode, Role::Subagent, spoken(json, "", 0)),
        // A task knows no decision: its reason goes to standard error, and the code blocks.
        (Tool::ClaudeCode, Role::Task, spoken("", "not done", 2)),
        (Tool::Codex, Role::Stop, spoken(json, "", 0)),
        (Tool::Codex, Role::Subagent, spoken(json, "", 0)),
        (Tool::Gemini, Role::Stop, spoken(r#"{"decision":"deny","reason":"not done"}"#, "", 0)),
    ] {
        assert_eq!(speak(tool, role, &block), expected, "{tool} {role:?}");
    }
}

#[test]
fn a_note_reaches_the_user_with_a_terminal_and_without() {
    let note = Answer::Note("NOT VERIFIED".to_owned());
    let expected = spoken(r#"{"systemMessage":"NOT VERIFIED"}"#, "NOT VERIFIED", 0);
    for tool in Tool::ALL {
        for (_, role) in tool.events() {
            assert_eq!(speak(tool, *role, &note), expected, "{tool} {role:?}");
        }
    }
}

#[test]
fn a_use_of_a_tool_is_denied_in_the_words_of_the_tool() {
    let deny = Answer::Deny("no".to_owned());
    let output = |word: &str| {
        format!(
            r#"{{"hookSpecificOutput":{{"hookEventName":"PreToolUse","permissionDecision":"{word}","permissionDecisionReason":"no"}}}}"#
        )
    };
    assert_eq!(speak(Tool::ClaudeCode, Role::Guard, &deny), spoken(&output("ask"), "", 0));
    assert_eq!(speak(Tool::Codex, Role::Guard, &deny), spoken(&output("deny"), "", 0));
    let gemini = r#"{"decision":"deny","reason":"no"}"#;
    assert_eq!(speak(Tool::Gemini, Role::Guard, &deny), spoken(gemini, "", 0));
}

#[test]
fn no_prompt_and_no_end_of_a_session_is_ever_blocked() {
    for role in [Role::Begin, Role::End, Role::Guard] {
        let spoken = speak(Tool::ClaudeCode, role, &Answer::Block("x".to_owned()));
        assert!(spoken.exit_code == 0 && !spoken.stdout.contains("decision"), "{spoken:?}");
    }
}

#[test]
fn no_text_steers_a_terminal_breaks_the_object_or_has_no_end() {
    let hostile = format!("a\u{1b}[2J\u{202e}\"}}\n{}", "ü".repeat(MAX_ANSWER_BYTES));
    for (tool, role) in [(Tool::Codex, Role::Stop), (Tool::ClaudeCode, Role::Task)] {
        let Spoken { stdout, stderr, .. } = speak(tool, role, &Answer::Block(hostile.clone()));
        let text = match serde_json::from_str::<Value>(&stdout) {
            Ok(object) => object["reason"].as_str().unwrap().to_owned(),
            Err(_) => stderr,
        };
        assert!(text.len() <= MAX_ANSWER_BYTES + 8, "{}", text.len());
        assert!(text.starts_with("a\u{fffd}[2J\u{fffd}\"}\nü"), "{text:.40}");
        assert!(text.trim_end().ends_with("[cut]"));
    }
}
