//! The binary on disk is replaced while it runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::world::World;

#[test]
fn a_delegate_that_replaces_the_binary_is_still_checked_by_the_one_that_runs() {
    let world = World::new();
    let binary = world.beside("copy");
    fs::copy(env!("CARGO_BIN_EXE_probity"), &binary).unwrap();
    // Answers in the helper's name that every command exited with 0.
    let fake = world.beside("fake");
    fs::write(&fake, "#!/bin/sh\necho done code 0 0 0 >&0\n").unwrap();
    fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).unwrap();
    let usual = world.command([
        "run",
        "x",
        "--store",
        "memory",
        "--max-retries",
        "0",
        "--expect",
        "command:false",
        "--",
        "mv",
    ]);
    let mut command = Command::new(&binary);
    command.args(usual.get_args()).arg(&fake).arg(&binary).current_dir(world.at(""));
    for (name, value) in usual.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = command.output().unwrap();
    assert!(fs::read(&binary).unwrap().starts_with(b"#!"), "{output:?}");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}
