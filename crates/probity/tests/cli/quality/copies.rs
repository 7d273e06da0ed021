//! The workspace is never touched, and the copies go.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::world::{Ran, World};

/// Every path with what the system and the content say of it, times of modification included.
fn listing(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let stat = fs::symlink_metadata(&path).unwrap();
            let content = if stat.is_dir() {
                folders.push(path.clone());
                Vec::new()
            } else if stat.is_symlink() {
                fs::read_link(&path).unwrap().display().to_string().into_bytes()
            } else if stat.is_file() && stat.len() < 1_000_000 {
                fs::read(&path).unwrap()
            } else {
                Vec::new()
            };
            let content = String::from_utf8_lossy(&content).into_owned();
            found.push(format!(
                "{} {:o} {} {} {} {content}",
                path.display(),
                stat.mode(),
                stat.ino(),
                stat.len(),
                stat.mtime_nsec()
            ));
        }
    }
    found.sort();
    found
}

/// A workspace with everything in it that could go wrong.
fn odd(world: &World) -> PathBuf {
    world.write("out.txt", "hello\nyou\n");
    world.write("folder/read-only.py", "a = 1 + 1\n");
    world.write(".git/config", "[core]\n\tbare = false\n");
    fs::create_dir(world.beside("outside")).unwrap();
    fs::write(world.beside("outside/theirs.txt"), "theirs\n").unwrap();
    symlink(world.beside("outside"), world.at("way-out")).unwrap();
    symlink(world.beside("outside/theirs.txt"), world.at("link-out.txt")).unwrap();
    symlink(world.at("out.txt"), world.at("absolute.txt")).unwrap();
    fs::set_permissions(world.at("folder/read-only.py"), fs::Permissions::from_mode(0o444))
        .unwrap();
    fs::set_permissions(world.at("folder"), fs::Permissions::from_mode(0o555)).unwrap();
    assert!(Command::new("mkfifo").arg(world.at("pipe")).status().unwrap().success());
    fs::File::create(world.at("sparse.bin")).unwrap().set_len(1 << 30).unwrap();
    let temporary = world.beside("tmp");
    fs::create_dir(&temporary).unwrap();
    temporary
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

#[test]
fn the_workspace_is_what_it_was_and_nothing_is_left() {
    let world = World::new();
    let temporary = odd(&world);
    let before = (listing(&world.at("")), listing(&world.beside("outside")));
    // A check that writes: into the copy, and through a link of its own making.
    let expect =
        "command:echo more >> absolute.txt; ln -sfn $PWD/folder made; grep -q hello out.txt";
    let args = [
        "quality",
        "--json",
        "--max-mutants",
        "60",
        "--expect",
        expect,
        "--expect",
        "file:out.txt",
    ];
    let ran: Ran = world.command(args).env("TMPDIR", &temporary).output().unwrap().into();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!((listing(&world.at("")), listing(&world.beside("outside"))), before);
    assert!(is_empty(&temporary));
    let json = ran.json();
    let left: Vec<&str> = json["left_out"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["path"].as_str().unwrap())
        .collect();
    assert_eq!(left, ["pipe", "sparse.bin"], "{json:#}");
}

/// Starts a trial that waits in the midst of a mutant, for ever.
fn waiting(world: &World, temporary: &Path) -> Child {
    for name in ["reached", "never"] {
        assert!(Command::new("mkfifo").arg(world.beside(name)).status().unwrap().success());
    }
    let (reached, never) = (world.beside("reached"), world.beside("never"));
    let expect = format!(
        "command:grep -q hello out.txt || {{ echo > {}; read word < {}; }}",
        reached.display(),
        never.display()
    );
    let args = ["quality", "--json", "--expect", &expect, "--files", "out.txt"];
    let mut command = world.command(args);
    command.env("TMPDIR", temporary).stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = command.spawn().unwrap();
    let mut word = [0];
    fs::File::open(reached).unwrap().read_exact(&mut word).unwrap();
    run
}

#[test]
fn a_trial_that_is_told_to_stop_takes_its_copies_along() {
    let world = World::new();
    let temporary = odd(&world);
    let before = listing(&world.at(""));
    for signal in ["-INT", "-TERM"] {
        let run = waiting(&world, &temporary);
        assert!(!is_empty(&temporary));
        let told = Command::new("kill").args([signal, &run.id().to_string()]).status().unwrap();
        assert!(told.success());
        let ran: Ran = run.wait_with_output().unwrap().into();
        assert_eq!((ran.code, ran.stdout.as_str()), (130, ""), "{ran:?}");
        assert!(ran.stderr.contains("interrupted"), "{ran:?}");
        assert!(is_empty(&temporary), "{signal}");
        for name in ["reached", "never"] {
            fs::remove_file(world.beside(name)).unwrap();
        }
    }
    assert_eq!(listing(&world.at("")), before);
}

#[test]
fn a_trial_that_is_killed_has_not_touched_the_workspace() {
    let world = World::new();
    let temporary = odd(&world);
    let before = listing(&world.at(""));
    let mut run = waiting(&world, &temporary);
    run.kill().unwrap();
    run.wait().unwrap();
    assert_eq!(listing(&world.at("")), before);
}

#[test]
fn two_trials_at_once_are_none_of_each_others_business() {
    let world = World::new();
    let temporary = odd(&world);
    let before = listing(&world.at(""));
    let args = ["quality", "--json", "--expect", "command:grep -q hello out.txt"];
    let start = || {
        let mut command = world.command(args);
        command.env("TMPDIR", &temporary).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let (one, other) = (start(), start());
    let [one, other]: [Ran; 2] = [one, other].map(|run| run.wait_with_output().unwrap().into());
    assert_eq!((one.code, other.code), (0, 0), "{one:?} {other:?}");
    let mutants = |ran: &Ran| ran.json()["checks"][0]["mutants"].clone();
    assert_eq!(mutants(&one), mutants(&other));
    assert_eq!(listing(&world.at("")), before);
    assert!(is_empty(&temporary));
}
