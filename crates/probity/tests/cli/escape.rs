//! What a message quotes never reaches the terminal as it is.

use crate::world::World;

#[test]
fn an_error_shows_what_would_steer_the_terminal() {
    let world = World::new();
    world.write("key.json", r#"{"task": "x", "\u001b]0;owned\u0007\u0000": 1}"#);
    world.write("other/.probity/probity.toml", "\"\\u001b[2J\" = 1\n");
    let commands: &[&[&str]] = &[
        &["run", "--request", "\u{1b}[31m.toml"],
        &["run", "--request", "key.json"],
        &["run", "x", "--workspace", "other", "--", "true"],
        &["trust", "\u{1b}[31m"],
        &["explain", "\u{1b}[31m"],
        &["log", "show", "\u{1b}[31m"],
        &["no\u{7}\u{1b}[31m"],
        &["drift", "list", "\u{1b}[31m\u{9b}"],
    ];
    for command in commands {
        let ran = world.probity(*command);
        assert_eq!(ran.code, 64, "{command:?}: {ran:?}");
        let is_shown = ran.stderr.contains(r"\u{") || command[0].starts_with("no");
        assert!(is_shown, "{command:?}: {ran:?}");
        let steers = |char: char| char.is_control() && char != '\n';
        assert!(!ran.stderr.contains(steers), "{command:?}: {ran:?}");
    }
    // JSON has its own way to write them, and keeps what was said.
    let ran = world.probity(["drift", "list", "\u{1b}[31m", "--json"]);
    let message = ran.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("\u{1b}[31m"), "{message}");
}
