//! What `docs/hooks.md` has its readers type does what it says.

use std::os::unix::fs::symlink;
use std::process::Command;

use crate::world::{Ran, World};

const PAGE: &str = include_str!("../../../../docs/hooks.md");

/// The script blocks of the page, in order, each with its name.
fn scripts() -> Vec<(&'static str, &'static str)> {
    let blocks = PAGE.split("```sh ").skip(1);
    let parts = |block: &'static str| block.split_once("\n```")?.0.split_once('\n');
    blocks.map(|block| parts(block).unwrap()).collect()
}

fn shell(world: &World, script: &str) -> Ran {
    // As the command itself is run: away from the user's own folders.
    let like = world.command([""; 0]);
    let envs = like.get_envs().filter_map(|(name, value)| value.map(|value| (name, value)));
    let mut shell = Command::new("sh");
    shell.args(["-euc", script]).current_dir(world.at("")).envs(envs);
    shell.output().unwrap().into()
}

#[test]
fn every_command_of_the_page_runs() {
    let world = World::new();
    symlink(env!("CARGO_BIN_EXE_probity"), world.beside("bin").join("probity")).unwrap();
    let scripts = scripts();
    assert_eq!(scripts.len(), 6, "{scripts:?}");
    for (name, script) in scripts {
        let ran = shell(&world, script);
        assert_eq!(ran.code, 0, "{name}: {ran:?}");
        if ["claude-code", "codex", "gemini"].contains(&name) {
            assert!(ran.stdout.contains("installed"), "{name}: {ran:?}");
        }
    }
}

#[test]
fn what_the_page_says_the_agent_sees_is_what_it_sees() {
    let world = World::new();
    symlink(env!("CARGO_BIN_EXE_probity"), world.beside("bin").join("probity")).unwrap();
    let (_, setup) = scripts().into_iter().find(|(name, _)| *name == "setup").unwrap();
    assert_eq!(shell(&world, setup).code, 0);
    let event = format!(
        r#"{{"session_id":"s","cwd":"{}","hook_event_name":"Stop","stop_hook_active":false}}"#,
        world.at("").display()
    );
    let ran = shell(&world, &format!("echo '{event}' | probity hook run claude-code Stop"));
    let told = ran.json()["reason"].as_str().unwrap().to_owned();
    let shown = PAGE.split_once("```text\n").unwrap().1.split_once("\n```").unwrap().0;
    let words = |text: &str| -> Vec<String> {
        let text = text.rsplit_once("Record: ").unwrap().0;
        text.split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(words(&told), words(shown));
}
