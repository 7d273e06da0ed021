//! Which uses of a tool would write the judge: the project's checks, or the settings that call them.

use serde_json::{Map, Value};

/// Members in which a tool names the file that it writes.
const PATHS: [&str; 5] = ["file_path", "path", "notebook_path", "absolute_path", "filePath"];
/// Members that hold a patch.
const PATCHES: [&str; 3] = ["command", "input", "patch"];
/// How a patch names a file.
const HEADS: [&str; 4] =
    ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
/// The settings of tools that hold hooks: a folder and a file.
const SETTINGS: [(&str, &str); 5] = [
    (".claude", "settings.json"),
    (".claude", "settings.local.json"),
    (".codex", "hooks.json"),
    (".codex", "config.toml"),
    (".gemini", "settings.json"),
];
/// The folder of a project's checks.
const JUDGE: &str = ".probity";

/// The first file of the judge that a tool with this input would write; `None` if it would write none.
///
/// It is a rail and no wall: an agent with a shell can write whatever it likes. The seal of the judge's files
/// finds that out.
#[must_use]
pub fn guarded(input: &Map<String, Value>) -> Option<String> {
    let text = |member: &&str| input.get(*member).and_then(Value::as_str);
    let named = PATHS.iter().filter_map(text);
    let patched = PATCHES.iter().filter_map(text).flat_map(str::lines).filter_map(|line| {
        HEADS.iter().find_map(|head| line.trim_start().strip_prefix(head)).map(str::trim)
    });
    named.chain(patched).find(|path| is_of_judge(path)).map(str::to_owned)
}

fn is_of_judge(path: &str) -> bool {
    // File systems may not tell case apart; no honest file has these names in another case.
    let path = path.to_lowercase();
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let is_settings = || match parts.as_slice() {
        [.., folder, file] => SETTINGS.contains(&(folder, file)),
        _ => false,
    };
    parts.contains(&JUDGE) || is_settings()
}
