//! What is no regular file is refused: nobody waits for a pipe that nobody writes.

use crate::world::World;

fn pipe(world: &World, name: &str) {
    let made = std::process::Command::new("mkfifo").arg(world.at(name)).status().unwrap();
    assert!(made.success());
}

#[test]
fn every_file_that_is_named_must_be_a_regular_file() {
    let world = World::new();
    for name in ["f.json", "f.jsonl", "f.star", "f.py", "f.toml", "f.md"] {
        pipe(&world, name);
    }
    world.write("e.json", "{}");
    let commands: &[&[&str]] = &[
        &["episode", "verify", "f.json"],
        &["episode", "verify", "f.jsonl"],
        &["episode", "verify", "/dev/zero"],
        &["episode", "verify", "e.json", "--envelope", "f.json"],
        &["episode", "verify", "e.json", "--pack", "f.json"],
        &["episode", "verify", "e.json", "--receipt", "f.json"],
        &["episode", "verify", "f.json", "--receipt", "e.json"],
        &["drift", "list", "f.json"],
        &["drift", "list", "f.jsonl"],
        &["check", "f.json"],
        &["check", "f.jsonl"],
        &["check", "f.star"],
        &["check", "f.py"],
        &["check", "f.toml"],
        &["check", "f.md"],
        &["check", "/dev/zero"],
        &["hook", "fire", "tool.pre", "--payload", "f.json"],
        &["verify", "--result", "f.json", "--expect", "file:a"],
        &["verify", "--result", "e.json", "--verify", "f.star"],
        &["run", "x", "--decision", "f.json", "--", "true"],
        &["run", "x", "--verify", "f.star", "--", "true"],
        &["run", "x", "--verify", "f.py", "--", "true"],
        &["run", "--request", "f.toml"],
    ];
    world.write("e.json", r#"{"response": "done"}"#);
    for command in commands {
        let ran = world.probity(*command);
        assert_eq!(ran.code, 64, "{command:?}: {ran:?}");
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(said.contains("it is no regular file"), "{command:?}: {ran:?}");
    }
}
