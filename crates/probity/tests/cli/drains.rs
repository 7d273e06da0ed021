//! How a worker stops: by itself, at the first signal, at the second, at the third.

use std::process::{Child, Command, Stdio};

use crate::fleet::{pipe, signal, submit, work_off, worker};
use crate::world::{HONEST, World};

/// Waits for a word of `../go` and does the work then.
const WAITING: [&str; 3] = ["sh", "-c", "read word < ../go; echo hello > out.txt; echo Done."];

/// A worker with a run in hand whose delegate waits.
fn busy(world: &World, more: &[&str]) -> (Child, impl Iterator<Item = String> + use<>) {
    pipe(world, "go");
    let (child, mut lines) = worker(world, "w", more);
    assert_eq!(submit(world, "it", &[], &WAITING).code, 0);
    assert!(lines.any(|line| line.contains("it  taken")));
    at_work(world);
    (child, lines)
}

fn at_work(world: &World) {
    let works = |line: &String| line.contains("the delegate works");
    let mut watch = world
        .command(["watch", "it"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let told = std::io::BufReader::new(watch.stderr.take().unwrap());
    assert!(std::io::BufRead::lines(told).map(|line| line.unwrap()).any(|line| works(&line)));
    watch.kill().unwrap();
    watch.wait().unwrap();
}

fn go(world: &World) {
    let path = world.beside("go");
    let told =
        Command::new("timeout").args(["20", "sh", "-c", "echo go > \"$0\""]).arg(path).status();
    assert!(told.unwrap().success());
}

#[test]
fn a_run_in_hand_ends_while_the_worker_drains() {
    for word in ["-TERM", "-INT", "-HUP"] {
        let world = World::new();
        let (mut child, mut lines) = busy(&world, &[]);
        signal(&child, word);
        assert!(lines.any(|line| line.starts_with("draining: nothing new is taken")));
        assert_eq!(submit(&world, "next", &[], &HONEST).code, 0);
        go(&world);
        assert!(lines.any(|line| line.starts_with("it  verified")), "{word}");
        let ended = lines.last().unwrap_or_default();
        assert!(ended.starts_with("ended: 1 lease, 1 run ended, 0 left"), "{word}: {ended}");
        assert_eq!(child.wait().unwrap().code(), Some(0), "{word}");
        let waits = world.probity(["watch", "next", "--timeout", "10ms"]);
        assert_eq!(waits.code, 75, "nothing new was taken: {waits:?}");
    }
}

#[test]
fn what_does_not_end_in_time_is_let_go_and_taken_up_by_another() {
    let world = World::new();
    let (mut child, lines) = busy(&world, &["--drain-timeout", "200ms"]);
    signal(&child, "-TERM");
    let told: Vec<String> = lines.collect();
    assert!(told.iter().any(|line| line == "it  left: the worker was told to stop"), "{told:?}");
    assert_eq!(child.wait().unwrap().code(), Some(0), "{told:?}");
    std::fs::remove_file(world.beside("go")).unwrap();
    std::fs::write(world.beside("go"), "go\n").unwrap();
    assert_eq!(work_off(&world, &[]).code, 0);
    let report = world.probity(["watch", "it", "--json"]).json();
    assert_eq!((&report["outcome"], &report["attempts"]), (&"verified".into(), &1.into()));
    assert_eq!(report["interruptions"], 1, "the attempt was begun again, and is no other one");
}

#[test]
fn the_second_signal_lets_go_of_what_would_take_longer() {
    for (first, second) in [("-TERM", "-TERM"), ("-TERM", "-INT")] {
        let world = World::new();
        let (mut child, mut lines) = busy(&world, &["--drain-timeout", "1h"]);
        signal(&child, first);
        assert!(lines.any(|line| line.starts_with("draining: ")));
        signal(&child, second);
        assert!(lines.any(|line| line.starts_with("letting go of the runs in hand")));
        let ended = lines.last().unwrap_or_default();
        assert!(ended.starts_with("ended: 1 lease, 0 runs ended, 1 left"), "{second}: {ended}");
        assert_eq!(child.wait().unwrap().code(), Some(0), "{second}");
    }
}

#[test]
fn a_worker_is_told_to_stop_as_soon_as_it_says_that_it_works() {
    let world = World::new();
    for _ in 0..5 {
        let (mut child, lines) = worker(&world, "w", &[]);
        signal(&child, "-TERM");
        assert_eq!(child.wait().unwrap().code(), Some(0));
        let told: Vec<String> = lines.collect();
        assert!(told.last().unwrap().starts_with("ended: 0 leases, 0 runs ended"), "{told:?}");
    }
}

#[test]
fn one_of_a_thing_is_not_several() {
    let world = World::new();
    let submitted = submit(&world, "it", &["--max-retries", "0"], &HONEST);
    assert_eq!(submitted.code, 0, "{submitted:?}");
    let mut told = String::new();
    for args in [
        &["worker", "--once", "--idle", "200ms", "--concurrency", "1"][..],
        &["watch", "it"],
        &["log", "show", "it"],
        &["log", "index", "../index.db"],
        &["run", "y", "--max-retries", "0", "--expect", "file:out.txt", "--", "true"],
    ] {
        let ran = world.probity(args);
        told.push_str(&format!("{args:?}\n{}{}", ran.stdout, ran.stderr));
    }
    let slip = regex::Regex::new(
        r"\b1 [a-z]+ ?(runs|leases|attempts|checks|events|calls|letters)\b|\b1 (runs|leases|attempts|checks|events|letters|interruptions)\b",
    );
    assert!(!slip.unwrap().is_match(&told), "{told}");
    for word in [
        "at most 1 run at once",
        "1 check, at most 1 attempt\n",
        "ended: 1 lease, 1 run ended",
        "1 run read, 1 of them new; 0 not ended",
    ] {
        assert!(told.contains(word), "{word}: {told}");
    }
}
