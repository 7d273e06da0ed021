//! Help texts and completions, word for word.

use std::collections::VecDeque;

use crate::world::World;

/// The commands that a help lists, itself left out.
fn listed(help: &str) -> Vec<&str> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    list.take_while(|line| !line.is_empty())
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect()
}

#[test]
fn help_says_what_it_said() {
    let world = World::new();
    let mut text = String::new();
    let mut commands = VecDeque::from([String::new()]);
    while let Some(command) = commands.pop_front() {
        let ran = world.probity(command.split_whitespace().chain(["--help"]));
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{command}");
        text.push_str(&format!("$ probity{command} --help\n{}\n", ran.stdout));
        commands.extend(listed(&ran.stdout).iter().map(|name| format!("{command} {name}")));
    }
    assert!(text.contains("$ probity hook run --help"), "commands of commands are there");
    let mut settings = insta::Settings::clone_current();
    // Absolute: the folder that tests run in is not the same under every runner.
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!("help", text));
}

#[test]
fn the_version_is_that_of_the_package() {
    let world = World::new();
    let ran = world.probity(["--version"]);
    assert_eq!(ran.code, 0);
    assert_eq!(ran.stdout, format!("probity {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn wrong_usage_is_64_and_says_so_on_standard_error_only() {
    let world = World::new();
    for args in [&[][..], &["frobnicate"], &["run", "x", "--no-such"], &["explain", "a", "b"]] {
        let ran = world.probity(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (64, ""), "{args:?}");
        assert!(!ran.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn every_shell_gets_completions_that_know_every_command() {
    let world = World::new();
    let help = world.probity(["--help"]).stdout;
    assert!(listed(&help).contains(&"serve"), "{help}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = world.probity(["completions", shell]);
        assert_eq!(ran.code, 0, "{shell}: {ran:?}");
        for command in listed(&help) {
            assert!(ran.stdout.contains(command), "{shell}: {command}");
        }
    }
    assert_eq!(world.probity(["completions", "tcsh"]).code, 64);
}
