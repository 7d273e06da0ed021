//! What `docs/quality.md` has its readers type does what it says.

use std::os::unix::fs::symlink;
use std::process::Command;

use crate::world::{Ran, World};

const PAGE: &str = include_str!("../../../../../docs/quality.md");

/// The blocks of the page that begin with a word, each with its name.
fn blocks(word: &str) -> Vec<(&'static str, &'static str)> {
    let begin = format!("```{word} ");
    let blocks = PAGE.split(begin.as_str()).skip(1).collect::<Vec<_>>();
    let parts = |block: &'static str| block.split_once("\n```")?.0.split_once('\n');
    blocks.into_iter().map(|block| parts(block).unwrap()).collect()
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
fn every_command_of_the_page_runs_and_prints_what_it_says() {
    let shown = blocks("text");
    let scripts = blocks("sh");
    assert_eq!((scripts.len(), shown.len()), (3, 2), "{scripts:?}");
    for (name, script) in scripts {
        let world = World::new();
        symlink(env!("CARGO_BIN_EXE_probity"), world.beside("bin").join("probity")).unwrap();
        let ran = shell(&world, script);
        assert_eq!(ran.code, 0, "{name}: {ran:?}");
        match shown.iter().find(|(of, _)| *of == name) {
            Some((_, text)) => assert_eq!(ran.stdout.trim_end(), *text, "{name}"),
            None => assert_eq!(ran.json()["scored"], 1, "{name}: {ran:?}"),
        }
    }
}

#[test]
fn every_member_and_operator_that_is_printed_is_on_the_page() {
    let world = World::new();
    world.write("out.txt", "one\ntwo\n");
    let args = [
        "quality",
        "--json",
        "--max-missed",
        "1",
        "--expect",
        "file:out.txt",
        "--expect",
        "command:false",
    ];
    let json = world.probity(args).json();
    let mut names: Vec<String> = json.as_object().unwrap().keys().cloned().collect();
    let checks = json["checks"].as_array().unwrap();
    let mutants = checks.iter().flat_map(|it| it["mutants"].as_array().unwrap());
    for object in checks.iter().chain(mutants.clone()) {
        names.extend(object.as_object().unwrap().keys().cloned());
    }
    names.extend(mutants.map(|it| it["operator"].as_str().unwrap().to_owned()));
    for name in names {
        assert!(
            PAGE.contains(&format!("`{name}`")) || PAGE.contains(&format!("checks[].{name}`")),
            "{name}"
        );
    }
}
