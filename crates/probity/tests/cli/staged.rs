//! `--staged`: what would be committed is checked, and the work tree is not touched.

use std::fs;
use std::process::Command;

use crate::world::{Ran, World};

fn git(world: &World, args: &[&str]) {
    let ran: Ran = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@example.com"])
        .args(args)
        .current_dir(world.at(""))
        .env("HOME", world.beside("home"))
        .output()
        .unwrap()
        .into();
    assert_eq!(ran.code, 0, "{args:?} {ran:?}");
}

/// A repository with a project whose check reads `answer.txt`.
fn project() -> World {
    let world = World::new();
    git(&world, &["init", "--quiet"]);
    world.write(".probity/probity.toml", "expect = [\"file:answer.txt,contains=42\"]\n");
    assert_eq!(world.probity(["trust"]).code, 0);
    git(&world, &["add", "--all"]);
    world
}

#[test]
fn what_is_staged_decides_and_not_what_lies_in_the_folder() {
    let world = project();
    world.write("answer.txt", "42\n");
    let unstaged = world.probity(["verify", "--staged"]);
    assert_eq!(unstaged.code, 1, "{unstaged:?}");
    git(&world, &["add", "answer.txt"]);
    world.write("answer.txt", "spoiled behind the index\n");
    let before = fs::metadata(world.at("answer.txt")).unwrap().modified().unwrap();
    let staged = world.probity(["verify", "--staged"]);
    assert_eq!(staged.code, 0, "{staged:?}");
    assert_eq!(world.read("answer.txt"), "spoiled behind the index\n");
    assert_eq!(fs::metadata(world.at("answer.txt")).unwrap().modified().unwrap(), before);
    let answer = world.beside("claim.txt");
    fs::write(&answer, "text").unwrap();
    let folder = world.probity(["verify", "--result", &answer.display().to_string()]);
    assert_eq!(folder.code, 1, "{folder:?}");
}

#[test]
fn a_project_in_the_index_is_validated_and_must_be_trusted_as_it_is_there() {
    let world = project();
    assert_eq!(world.probity(["check", "--staged"]).code, 0);
    world.write(".probity/probity.toml", "expct = []\n");
    assert_eq!(world.probity(["check", "--staged"]).code, 0);
    git(&world, &["add", "--all"]);
    let wrong = world.probity(["check", "--staged"]);
    assert_eq!(wrong.code, 64, "{wrong:?}");
    assert!(wrong.stdout.contains(".probity/probity.toml"), "{wrong:?}");
    world.write(".probity/probity.toml", "expect = [\"command:touch pwned\"]\n");
    git(&world, &["add", "--all"]);
    let untrusted = world.probity(["verify", "--staged", "--json"]);
    assert_eq!((untrusted.code, untrusted.error_code().as_str()), (64, "project_untrusted"));
}

#[test]
fn what_is_to_be_done_is_said_of_the_folder_and_not_of_its_copy() {
    let world = project();
    let config = world.at(".probity/probity.toml").canonicalize().unwrap();
    let hint = format!("probity trust {}`", config.display());
    world.write(".probity/probity.toml", "expect = [\"command:true\"]\n");
    git(&world, &["add", "--all"]);
    let checked = world.probity(["check", "--staged"]);
    assert!(checked.stdout.contains(&hint), "{checked:?}");
    let verified = world.probity(["verify", "--staged"]);
    assert!(verified.stderr.contains(&hint), "{verified:?}");
    // Done as it is said.
    assert_eq!(world.probity(["trust", &config.display().to_string()]).code, 0);
    assert_eq!(world.probity(["verify", "--staged"]).code, 0);

    let empty = World::new();
    git(&empty, &["init", "--quiet"]);
    let none = empty.probity(["check", "--staged"]);
    assert_eq!(none.code, 64, "{none:?}");
    let at = empty.at("").canonicalize().unwrap();
    assert!(none.stderr.contains(&format!("`{}` has no", at.display())), "{none:?}");
}

#[test]
fn a_commit_of_named_paths_is_checked_by_its_own_index() {
    let world = project();
    git(&world, &["commit", "--quiet", "--message", "project"]);
    let hook = world.at(".git/hooks/pre-commit");
    let probity = env!("CARGO_BIN_EXE_probity");
    crate::world::make_executable(&hook, &format!("#!/bin/sh\nexec {probity} verify --staged\n"));
    world.write("answer.txt", "42\n");
    world.write("other.txt", "");
    git(&world, &["add", "answer.txt", "other.txt"]);
    let commit = |path: &str| -> Ran {
        let like = world.command([""; 0]);
        let envs = like.get_envs().filter_map(|(name, value)| value.map(|value| (name, value)));
        Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.com"])
            .args(["commit", "--quiet", "--message", "x", "--only", "--", path])
            .current_dir(world.at(""))
            .envs(envs)
            .output()
            .unwrap()
            .into()
    };
    // The index of this commit has no answer in it, though the repository's has.
    let refused = commit("other.txt");
    assert_eq!(refused.code, 1, "{refused:?}");
    let taken = commit("answer.txt");
    assert_eq!(taken.code, 0, "{taken:?}");
}

#[test]
fn a_folder_below_the_top_is_checked_as_the_index_has_it() {
    let world = World::new();
    git(&world, &["init", "--quiet"]);
    world.write("sub/a.txt", "42");
    git(&world, &["add", "--all"]);
    let at = ["verify", "--staged", "--workspace", "sub", "--expect", "file:a.txt,contains=42"];
    let ran = world.probity(at);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn without_a_repository_or_with_checks_of_one_nothing_is_staged() {
    let world = World::new();
    for command in ["verify", "check"] {
        let ran = world.probity([command, "--staged", "--json"]);
        assert_eq!((ran.code, ran.error_code().as_str()), (64, "usage"), "{ran:?}");
        assert!(ran.stderr.contains("not a git repository"), "{ran:?}");
    }
    git(&world, &["init", "--quiet"]);
    let ran = world.probity(["verify", "--staged", "--expect", "git:HEAD"]);
    assert_eq!(ran.code, 64, "{ran:?}");
    assert!(ran.stderr.contains("leave it out with --staged"), "{ran:?}");
    let ran = world.probity(["verify", "--json"]);
    assert_eq!((ran.code, ran.error_code().as_str()), (64, "usage"));
}
