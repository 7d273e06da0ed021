//! What coding agents say to their hooks, what hooks say back, and the agents' own settings.

use probity_core::is_hidden;
use probity_harness::{
    Answer, Installed, MAX_ANSWER_BYTES, Role, Tool, Unchecked, Wiring, diff, guarded, install,
    installed, read, speak, switched_off, uninstall,
};

use super::Target;
use crate::tape::Tape;

pub(super) const TARGETS: [Target; 2] =
    [Target::new("hook_event", event, events), Target::new("settings", settings, all_settings)];

/// What a tool writes to its hook, and the text of an answer: what is said back is one JSON object, or
/// a refusal of a task, bounded, without what a terminal would obey.
fn event(bytes: &[u8]) {
    let mut tape = Tape::new(bytes);
    let tool = *tape.pick(&Tool::ALL).unwrap_or(&Tool::Codex);
    let kind = tape.below(4);
    let said = tape.rest();
    let text = String::from_utf8_lossy(said).into_owned();
    let role = match read(tool, None, said) {
        Ok(event) => {
            assert_eq!(tool.role(event.name), Some(event.role));
            assert!(event.cwd.is_absolute() && !event.session.is_empty());
            assert_eq!(read(tool, Some(event.name), said).ok().as_ref(), Some(&event));
            assert!(read(tool, Some("Other"), said).is_err(), "an event it was not installed for");
            let _ = event.uses.as_ref().map(|(_, input)| guarded(input));
            event.role
        }
        Err(_) => Role::Stop,
    };
    let answer = match kind {
        0 => Answer::Allow,
        1 => Answer::Note(text),
        2 => Answer::Block(text),
        _ => Answer::Deny(text),
    };
    let spoken = speak(tool, role, &answer);
    assert!(spoken.stdout.len() + spoken.stderr.len() <= 8 * MAX_ANSWER_BYTES);
    let is_shown = |c: char| !is_hidden(c) || matches!(c, '\n' | '\t');
    assert!(spoken.stdout.chars().chain(spoken.stderr.chars()).all(is_shown), "{spoken:?}");
    if spoken.exit_code == 0 {
        let said = serde_json::from_str::<serde_json::Value>(&spoken.stdout);
        assert!(said.is_ok_and(|said| said.is_object()), "{:?}", spoken.stdout);
    } else {
        assert!(matches!(answer, Answer::Block(_)), "only a block ends with a code");
    }
}

fn events() -> Vec<Vec<u8>> {
    let event = |tool: u8, name: &str, more: &str| {
        let text = format!(
            "{{\"session_id\":\"s\",\"cwd\":\"/w\",\"hook_event_name\":\"{name}\",\"transcript_path\":\"/t.jsonl\"{more}}}"
        );
        [&[tool, 2], text.as_bytes()].concat()
    };
    vec![
        event(0, "UserPromptSubmit", ",\"prompt\":\"do it\""),
        event(0, "Stop", ",\"stop_hook_active\":true,\"last_assistant_message\":\"done\""),
        event(0, "SubagentStop", ",\"agent_id\":\"a\",\"agent_type\":\"t\""),
        event(0, "TaskCompleted", ",\"task_id\":\"1\",\"task_subject\":\"x\""),
        event(0, "PreToolUse", ",\"tool_name\":\"Write\",\"tool_input\":{\"file_path\":\"a\"}"),
        event(0, "SessionEnd", ",\"reason\":\"exit\""),
        event(1, "Stop", ",\"turn_id\":\"t\",\"stop_hook_active\":false"),
        event(2, "AfterAgent", ",\"prompt_response\":\"done\",\"prompt\":\"p\""),
        event(2, "BeforeTool", ",\"tool_name\":\"write_file\",\"tool_input\":{}"),
    ]
}

/// Settings of a stranger: what was installed is found and goes again, twice is as once, and whatever
/// else stood there is there still.
fn settings(bytes: &[u8]) {
    let mut tape = Tape::new(bytes);
    let tool = *tape.pick(&Tool::ALL).unwrap_or(&Tool::Codex);
    let mut wiring = Wiring::new(tool, if tape.one_in(3) { "/a b/probity" } else { "probity" });
    wiring.guards = tape.one_in(2);
    wiring.deadline_ms = 1_000 * (1 + tape.number() % 3_480);
    if tape.one_in(2) {
        wiring.unchecked = Unchecked::Note;
    }
    let Ok(text) = std::str::from_utf8(tape.rest()) else { return };
    let _ = switched_off(text, tool);
    let Ok(with) = install(Some(text), &wiring) else { return };
    assert_eq!(
        installed(Some(&with), tool).ok(),
        Some(Installed::Current(wiring.clone())),
        "{with}"
    );
    assert_eq!(install(Some(&with), &wiring).as_ref(), Ok(&with), "twice is not as once");
    let Ok(without) = uninstall(&with, tool) else { return };
    assert_eq!(installed(Some(&without), tool).ok(), Some(Installed::Absent), "{without}");
    let as_value = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    if installed(Some(text), tool) == Ok(Installed::Absent) && !text.trim().is_empty() {
        let (was, is) = (as_value(text), as_value(&without));
        // Where there were hooks already, an event or all of them may have been empty before.
        let had_hooks = was.as_ref().and_then(|was| was.get("hooks")).is_some();
        assert!(had_hooks || was == is, "{text:?} became {without:?}");
        // Nothing is kept of the space inside of an object that was empty.
        let is_empty =
            was.as_ref().and_then(|was| was.as_object()).is_some_and(|was| was.is_empty());
        assert!(had_hooks || is_empty || text == without, "{text:?} became {without:?}");
    }
    let changes = diff(text, &with);
    assert!(text == with || !changes.is_empty(), "a change that is not shown");
}

fn all_settings() -> Vec<Vec<u8>> {
    let texts = [
        "",
        "{}\n",
        "{\n  \"model\": \"x\",\n  \"hooks\": {\n    \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"mine\"}]}]\n  }\n}\n",
        "{\t\"hooks\":{},\"disableAllHooks\":true}",
        "{\"hooks\":{\"Stop\":[]},\"a\":[1,{\"b\":\"\\u00e9\"}]}",
    ];
    let tools = 0..3_u8;
    let seeds =
        tools.flat_map(|tool| texts.map(|text| [&[tool, 1, 0, 0, 9, 1], text.as_bytes()].concat()));
    seeds.collect()
}
