//! `probity bench lies`, and what `docs/lies.md` has its readers type.

use std::os::unix::fs::symlink;
use std::process::Command;

use crate::world::{Ran, World, make_executable};

const PAGE: &str = include_str!("../../../../docs/lies.md");

#[test]
fn a_class_of_lies_is_played_against_this_program_and_nothing_is_wrong() {
    let world = World::new();
    let ran = world.probity(["bench", "lies", "--only", "quiet", "--json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    let matrix = ran.json();
    let summary = &matrix["summary"];
    assert_eq!((&summary["false_accepts"], &summary["false_rejects"]), (&0.into(), &0.into()));
    assert!(summary["lies"].as_u64() >= Some(3), "{summary}");
    assert_eq!(matrix["classes"][0]["class"], "quiet");
    assert_eq!(matrix["classes"][0]["attempts_counted"], matrix["classes"][0]["attempts_made"]);
    assert_eq!(std::fs::read_dir(world.at("")).unwrap().count(), 0, "nothing of the user's");
}

#[test]
fn a_program_that_believes_everybody_is_told_and_ends_with_1() {
    let world = World::new();
    let gullible = world.at("gullible");
    let text = "#!/bin/sh\nfor script; do :; done\nsh \"$script\" < /dev/null > /dev/null 2>&1\n\
                echo '{\"outcome\": \"verified\", \"attempts\": 1}'\n";
    make_executable(&gullible, text);
    let path = gullible.display().to_string();
    let ran = world.probity(["bench", "lies", "--only", "vague", "--program", path.as_str()]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains("WRONG vague_all_good: false accept"), "{ran:?}");
}

#[test]
fn a_class_that_is_none_is_wrong_usage() {
    let world = World::new();
    let ran = world.probity(["bench", "lies", "--only", "honesty"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (64, ""), "{ran:?}");
    assert!(ran.stderr.contains("`honesty` is no class of lies"), "{ran:?}");
}

/// The commands of the page but the first, which plays every row: the suite of the bench does that.
#[test]
fn the_commands_of_the_page_run() {
    let world = World::new();
    symlink(env!("CARGO_BIN_EXE_probity"), world.beside("bin").join("probity")).unwrap();
    let blocks = PAGE.split("```sh\n").skip(1).filter_map(|part| part.split("\n```").next());
    let lines: Vec<&str> = blocks.flat_map(str::lines).collect();
    assert_eq!(lines.first(), Some(&"probity bench lies"));
    assert_eq!(lines.len(), 4, "{lines:?}");
    for line in lines.iter().skip(1) {
        let like = world.command([""; 0]);
        let envs = like.get_envs().filter_map(|(name, value)| value.map(|value| (name, value)));
        let mut shell = Command::new("sh");
        shell.args(["-euc", line]).current_dir(world.at("")).envs(envs);
        let ran = Ran::from(shell.output().unwrap());
        assert_eq!(ran.code, 0, "{line}: {ran:?}");
    }
    assert!(world.read("lies.json").contains("\"class\":\"not_pushed\""));
}
