//! Which files of the judge a tool would write.

use probity_harness::guarded;
use serde_json::{Map, Value, json};

fn input(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(input) => input,
        other => panic!("{other}"),
    }
}

#[test]
fn the_judge_and_the_settings_that_call_it_are_found_under_any_spelling() {
    for path in [
        ".probity/probity.toml",
        "/home/u/p/.probity/verifiers/a.star",
        "./src/../.probity/hooks/x.md",
        ".Probity/probity.toml",
        "/p/.claude/settings.json",
        ".claude/settings.local.json",
        ".codex//hooks.json",
        "/home/u/.codex/config.toml",
        ".gemini/./settings.json",
    ] {
        for member in ["file_path", "path", "notebook_path", "absolute_path"] {
            assert_eq!(guarded(&input(json!({ member: path }))).as_deref(), Some(path), "{member}");
        }
    }
}

#[test]
fn a_patch_is_read_for_the_files_it_names() {
    let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-a\n+b\n*** Delete File: .probity/probity.toml\n*** End Patch";
    assert_eq!(
        guarded(&input(json!({ "command": patch }))).as_deref(),
        Some(".probity/probity.toml")
    );
    assert_eq!(guarded(&input(json!({ "input": patch.replace(".probity", "x") }))), None);
}

#[test]
fn the_work_itself_is_left_alone() {
    for path in [
        "src/main.rs",
        "probity/x",
        ".claude/agents/a.md",
        "settings.json",
        ".probity.md",
        ".probity/../a",
    ] {
        assert_eq!(
            guarded(&input(json!({ "file_path": path, "content": ".probity/x" }))),
            None,
            "{path}"
        );
    }
    assert_eq!(guarded(&input(json!({ "file_path": 1 }))), None);
}
