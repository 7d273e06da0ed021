//! How long things may take, and what is said of a time that is none.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use crate::fleet::{signal, submit, work_off};
use crate::world::{HONEST, LIAR, Ran, World};

#[test]
fn waits_are_as_long_as_days() {
    let world = World::new();
    let submitted = submit(&world, "it", &["--after", "2d"], &HONEST);
    assert_eq!(submitted.code, 0, "{submitted:?}");
    let worked = work_off(&world, &["--drain-timeout", "24h"]);
    assert!(worked.stderr.contains("ended: 0 leases"), "{worked:?}");
}

#[test]
fn a_time_that_is_none_is_refused_with_its_bounds() {
    let world = World::new();
    let task = ["x", "--", "true"];
    for (command, key, most) in [
        (&["submit"][..], "--after", "30d"),
        (&["submit", "--wait"], "--wait-timeout", "30d"),
        (&["submit"], "--timeout", "30d"),
        (&["run"], "--timeout", "30d"),
        (&["run"], "--attempt-timeout", "30d"),
        (&["worker"], "--drain-timeout", "30d"),
        (&["watch", "--all"], "--timeout", "30d"),
        (&["worker", "--once"], "--idle", "1h"),
    ] {
        for wrong in ["31d", "0s", "1.5h", "10", "soon", ""] {
            let key = format!("{key}={wrong}");
            let task: &[&str] = if matches!(command[0], "submit" | "run") { &task } else { &[] };
            let ran = world
                .probity(command.iter().copied().chain([key.as_str()]).chain(task.iter().copied()));
            assert_eq!((ran.code, ran.stdout.as_str()), (64, ""), "{command:?} {key}: {ran:?}");
            let bounds = format!("`{wrong}` is no time from 1ms to {most}");
            assert!(ran.stderr.contains(&bounds), "{command:?} {key}: {ran:?}");
        }
    }
    assert!(!world.beside("state/probity").exists());
}

#[test]
fn a_run_and_an_attempt_may_take_more_than_an_hour() {
    let world = World::new();
    let times = ["--timeout", "8h", "--attempt-timeout", "30d"];
    assert_eq!(world.gate(&HONEST, &times).code, 0);
    std::fs::remove_file(world.at("out.txt")).unwrap();
    assert_eq!(submit(&world, "it", &times, &HONEST).code, 0);
    assert_eq!(work_off(&world, &[]).code, 0, "a worker reads them as they were written");
    assert_eq!(world.probity(["watch", "it"]).code, 0);
    world.write(
        "long.yaml",
        "id: file\ntimeout: 2d\nattempt_timeout: 90m\ntask: x\ncommand: [echo, x]\n",
    );
    assert_eq!(world.probity(["run", "--request", "long.yaml"]).code, 3);
    let opened = world.probity(["log", "export", "file"]);
    assert!(opened.stdout.contains("\"wall_ms\":172800000"), "{opened:?}");
    world.write("long.yaml", "timeout: 31d\ntask: x\ncommand: [echo, x]\n");
    let refused = world.probity(["run", "--request", "long.yaml", "--json"]);
    assert_eq!((refused.code, refused.error_code()), (64, "request_parse".to_owned()));
    assert!(refused.stderr.contains("1ms to 30d"), "{refused:?}");
}

#[test]
fn an_attempt_ends_with_its_own_time_where_that_is_shorter() {
    let world = World::new();
    let ran = world.gate(
        &["sh", "-c", "read word < /dev/zero"],
        &["--timeout", "2h", "--attempt-timeout", "300ms", "--json"],
    );
    assert_eq!((ran.code, &ran.json()["code"]), (5, &"delegate_timeout".into()), "{ran:?}");
}

#[test]
fn a_run_that_is_for_later_is_taken_then_and_not_before() {
    let world = World::new();
    let submitted =
        submit(&world, "it", &["--after", "2s", "--wait", "--wait-timeout", "10ms"], &HONEST);
    assert_eq!(submitted.code, 75, "the time to wait was over: {submitted:?}");
    let early = world.probity(["worker", "--once", "--idle", "100ms"]);
    assert!(early.stderr.contains("ended: 0 leases"), "{early:?}");
    let due = world.probity(["worker", "--once", "--idle", "10s"].iter());
    assert!(due.stderr.contains("it  verified"), "{due:?}");
    assert_eq!(world.probity(["watch", "it"]).code, 0);
}

/// `watch --all`, once it says that it follows. Its standard error goes on in the lines.
fn following(world: &World, more: &[&str]) -> (Child, impl Iterator<Item = String> + use<>) {
    let args = ["watch", "--all", "--timeout", "60s"];
    let mut child = world
        .command(args.iter().chain(more))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines().map(|line| line.unwrap());
    assert!(told.next().unwrap().starts_with("following every run from here on"));
    (child, told)
}

#[test]
fn all_runs_are_followed_from_there_on() {
    let world = World::new();
    submit(&world, "old", &[], &HONEST);
    assert_eq!(work_off(&world, &[]).code, 0);
    std::fs::remove_file(world.at("out.txt")).unwrap();
    submit(&world, "waits", &[], &LIAR);
    let (mut watch, mut told) = following(&world, &[]);
    submit(&world, "new", &[], &LIAR);
    assert!(told.any(|line| line.starts_with("new  run new: 1 check, at most 3 attempts")));
    assert_eq!(work_off(&world, &[]).code, 0);
    let mut seen = Vec::new();
    while seen.iter().filter(|line: &&String| line.contains("  exhausted [")).count() < 2 {
        seen.push(told.next().unwrap());
    }
    for (run, is_seen) in [("waits  ", true), ("new  ", true), ("old  ", false)] {
        assert_eq!(seen.iter().any(|line| line.starts_with(run)), is_seen, "{run}: {seen:?}");
    }
    signal(&watch, "-INT");
    assert_eq!(watch.wait().unwrap().code(), Some(130));
}

#[test]
fn all_runs_are_followed_as_records_for_programs() {
    let world = World::new();
    let none = world.probity(["watch", "--all", "--timeout", "10ms"]);
    assert_eq!((none.code, none.stdout.as_str()), (0, ""), "{none:?}");
    let (mut watch, _told) = following(&world, &["--json"]);
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines().map(|line| line.unwrap());
    assert_eq!(world.probity(["run", "x", "--id", "it", "--", "true"]).code, 3);
    let sealed = lines.find(|line| {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        record["body"]["event"]["type"] == "run.sealed"
    });
    assert!(sealed.is_some());
    // Whoever reads the records goes away.
    drop(lines);
    assert_eq!(world.probity(["run", "x", "--", "true"]).code, 3);
    assert_eq!(watch.wait().unwrap().code(), Some(0));
}

#[test]
fn an_index_is_read_where_the_store_is_named_by_the_environment() {
    let world = World::new();
    let probity = |args: &[&str]| -> Ran {
        world.command(args).env("PROBITY_STORE", "sqlite:../runs.db").output().unwrap().into()
    };
    let submitted = probity(&["submit", "x", "--id", "it", "--", "true"]);
    // What is said to come next works in any folder.
    let absolute = world.at("../runs.db").display().to_string();
    assert!(submitted.stderr.contains(&format!("--store sqlite:{absolute}")), "{submitted:?}");
    assert_eq!(probity(&["log", "index", "../index.db"]).code, 0);
    let listed = probity(&["log", "list", "--index", "../index.db"]);
    assert!(listed.code == 0 && listed.stdout.starts_with("it  "), "{listed:?}");
}
