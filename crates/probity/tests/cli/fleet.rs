//! Runs that are submitted here and driven there: `submit`, `worker`, `watch`, `cancel`, `steer`,
//! `resume`, on one SQLite file.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use crate::world::{CREATED, HONEST, LIAR, REPENTANT, Ran, World};

/// Submits a run under a name, with the example's check.
pub(crate) fn submit(world: &World, id: &str, more: &[&str], delegate: &[&str]) -> Ran {
    let head = ["submit", "write hello to out.txt", "--id", id, "--expect", CREATED];
    world.probity(head.iter().chain(more).chain(&["--"]).chain(delegate))
}

/// A worker that works off what is due.
pub(crate) fn work_off(world: &World, more: &[&str]) -> Ran {
    world.probity(["worker", "--once", "--idle", "500ms"].iter().chain(more))
}

/// A worker that goes on, once it has said that it works.
pub(crate) fn worker(
    world: &World,
    name: &str,
    more: &[&str],
) -> (Child, impl Iterator<Item = String> + use<>) {
    let args = ["worker", "--name", name, "--lease", "1s"];
    let mut child = world.command(args.iter().chain(more)).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(|line| line.unwrap());
    assert!(lines.any(|line| line.starts_with(&format!("worker {name}: store "))));
    (child, lines)
}

pub(crate) fn signal(child: &Child, signal: &str) {
    let told = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(told.success());
}

pub(crate) fn pipe(world: &World, name: &str) {
    assert!(Command::new("mkfifo").arg(world.beside(name)).status().unwrap().success());
}

pub(crate) fn events(world: &World, run: &str) -> Vec<String> {
    let tail = world.probity(["log", "export", run]);
    let event = |line: &str| {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        record["body"]["event"]["type"].as_str().unwrap().to_owned()
    };
    tail.stdout.lines().map(event).collect()
}

#[test]
fn a_run_is_submitted_driven_elsewhere_and_watched() {
    let world = World::new();
    let submitted = submit(&world, "it", &[], &REPENTANT);
    assert_eq!((submitted.code, submitted.stdout.as_str()), (0, "it\n"), "{submitted:?}");
    assert!(submitted.stderr.contains("next: probity worker; probity watch it"), "{submitted:?}");
    assert!(!world.at("out.txt").exists(), "nothing is driven by whoever submits");
    let waiting = world.probity(["watch", "it", "--timeout", "10ms"]);
    assert_eq!(waiting.code, 75, "{waiting:?}");
    assert!(waiting.stderr.contains("run it goes on"), "{waiting:?}");
    assert!(!waiting.stderr.contains("--resume"), "somebody has it: {waiting:?}");
    let again = submit(&world, "it", &["--json"], &REPENTANT);
    assert_eq!((again.code, &again.json()["new"]), (0, &false.into()));
    let other = submit(&world, "it", &["--json"], &HONEST);
    assert_eq!((other.code, other.error_code()), (64, "run_exists".to_owned()));

    let worked = work_off(&world, &["--name", "ada-1"]);
    assert_eq!(worked.code, 0, "{worked:?}");
    for told in
        ["worker ada-1: store sqlite:", "pools default", "it  taken, epoch 1", "it  verified"]
    {
        assert!(worked.stderr.contains(told), "{told}: {worked:?}");
    }
    let watched = world.probity(["watch", "it"]);
    assert_eq!(watched.code, 0, "{watched:?}");
    assert!(watched.stdout.contains("VERIFIED after 2 attempts"), "{watched:?}");
    assert!(watched.stderr.contains("worker ada-1 drives the run"), "{watched:?}");
    let report = world.probity(["watch", "it", "--json"]).json();
    assert_eq!((&report["outcome"], &report["attempts"]), (&"verified".into(), &2.into()));
    assert_eq!(report["interruptions"], 0);
}

#[test]
fn waiting_exits_as_a_run_here_would() {
    let world = World::new();
    let (mut child, _lines) = worker(&world, "w", &[]);
    for (id, delegate, code) in [("good", &HONEST, 0), ("bad", &LIAR, 1)] {
        let ran = submit(&world, id, &["--wait", "--max-retries", "0", "--json"], delegate);
        assert_eq!((ran.code, &ran.json()["run_id"]), (code, &id.into()), "{ran:?}");
    }
    signal(&child, "-TERM");
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_pool_is_worked_off_by_its_workers_only() {
    let world = World::new();
    world.write("it.yaml", "id: it\npool: gpu\ntask: write\ncommand: [echo, Done.]\n");
    let submitted = world.probity(["submit", "--request", "it.yaml", "--json"]);
    assert_eq!(submitted.json()["pool"], "gpu");
    let idle = work_off(&world, &["--json"]);
    assert!(!idle.stdout.contains("leased\",\"run"), "{idle:?}");
    assert_eq!(world.probity(["watch", "it", "--timeout", "10ms"]).code, 75);
    assert_eq!(work_off(&world, &["--pool", "gpu"]).code, 0);
    assert_eq!(world.probity(["watch", "it"]).code, 3);
    let wrong = world.probity(["submit", "x", "--pool", "No Pool", "--", "true"]);
    assert_eq!(wrong.code, 64);
    world.write("wrong.yaml", "pool: No\ntask: write\ncommand: [echo, Done.]\n");
    let wrong = world.probity(["submit", "--request", "wrong.yaml", "--json"]);
    assert_eq!((wrong.code, wrong.error_code()), (64, "request_parse".to_owned()));
}

#[test]
fn two_workers_share_what_there_is() {
    let world = World::new();
    let mut workers = Vec::new();
    for name in ["one", "two"] {
        workers.push(worker(&world, name, &["--concurrency", "1"]).0);
    }
    let folders = ["a", "b", "c", "d"];
    for id in folders {
        std::fs::create_dir(world.at(id)).unwrap();
        assert_eq!(submit(&world, id, &["--workspace", id], &HONEST).code, 0);
    }
    for id in folders {
        let ran = world.probity(["watch", id, "--timeout", "60s", "--json"]);
        assert_eq!((ran.code, &ran.json()["attempts"]), (0, &1.into()), "{ran:?}");
        assert_eq!(events(&world, id).iter().filter(|event| *event == "lease.taken").count(), 1);
    }
    for mut child in workers {
        signal(&child, "-TERM");
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn another_worker_finishes_what_a_killed_one_began() {
    let world = World::new();
    pipe(&world, "never");
    let delegate =
        "if [ -e ../second ]; then echo hello > out.txt; else read word < ../never; fi; echo Done.";
    let (mut first, mut lines) = worker(&world, "first", &[]);
    assert_eq!(submit(&world, "it", &[], &["sh", "-c", delegate]).code, 0);
    assert!(lines.any(|line| line.contains("it  taken")));
    let mut watch = world
        .command(["watch", "it"])
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(watch.stderr.take().unwrap()).lines();
    assert!(told.any(|line| line.unwrap().contains("the delegate works")));
    first.kill().unwrap();
    first.wait().unwrap();
    std::fs::write(world.beside("second"), "").unwrap();
    let (mut second, _lines) = worker(&world, "second", &[]);
    assert!(told.any(|line| line.unwrap().contains("worker second drives the run")));
    drop(told);
    assert!(watch.wait().unwrap().success());
    let report = world.probity(["log", "show", "it", "--json"]).json();
    assert_eq!(report["outcome"], "verified");
    assert_eq!((&report["attempts"], &report["interruptions"]), (&1.into(), &1.into()));
    signal(&second, "-TERM");
    assert!(second.wait().unwrap().success());
}

#[test]
fn a_run_that_nobody_took_is_cancelled_when_somebody_looks() {
    let world = World::new();
    submit(&world, "it", &[], &HONEST);
    let blank = world.probity(["cancel", "it", "--by", " ", "--json"]);
    assert_eq!((blank.code, blank.error_code()), (64, "usage".to_owned()));
    assert_eq!(world.probity(["cancel", "it"]).code, 64, "somebody must want it");
    let asked = world.probity(["cancel", "it", "--by", "Ada", "--reason", "too late"]);
    assert_eq!((asked.code, asked.stdout.as_str()), (0, "run it asked to stop\n"), "{asked:?}");
    let twice = world.probity(["cancel", "it", "--by", "Bob", "--json"]);
    assert_eq!((twice.code, &twice.json()["new"]), (0, &false.into()));
    assert_eq!(work_off(&world, &[]).code, 0);
    assert_eq!(world.probity(["watch", "it"]).code, 6);
    assert!(!world.at("out.txt").exists());
    let late = world.probity(["cancel", "it", "--by", "Ada", "--json"]);
    assert_eq!((late.code, late.error_code()), (64, "answer_refused".to_owned()), "{late:?}");
}

#[test]
fn a_run_at_work_is_told_things_and_cancelled() {
    let world = World::new();
    pipe(&world, "never");
    let (mut child, mut lines) = worker(&world, "w", &[]);
    submit(&world, "it", &[], &["sh", "-c", "read word < ../never"]);
    assert!(lines.any(|line| line.contains("it  taken")));
    let steered = world.probity(["steer", "it", "write it softly", "--by", "Ada"]);
    assert_eq!((steered.code, steered.stdout.as_str()), (0, "run it was told\n"), "{steered:?}");
    let empty = world.probity(["steer", "it", " ", "--by", "Ada", "--json"]);
    assert_eq!((empty.code, empty.error_code()), (64, "usage".to_owned()));
    let cancelled = world.probity(["cancel", "it", "--by", "Ada", "--wait"]);
    assert_eq!(cancelled.code, 6, "{cancelled:?}");
    let events = events(&world, "it");
    for event in ["run.steered", "run.cancel_requested", "run.sealed"] {
        assert!(events.iter().any(|it| it == event), "{event}: {events:?}");
    }
    signal(&child, "-INT");
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_run_is_answered_here_and_goes_on_there() {
    let world = World::new();
    let asks = "human:Ada,question=Is the text kind?";
    let delegate = ["sh", "-c", "cat > /dev/null; echo Done."];
    let args = ["submit", "write", "--id", "it", "--expect", asks, "--"];
    assert_eq!(world.probity(args.iter().chain(&delegate)).code, 0);
    assert_eq!(work_off(&world, &[]).code, 0);
    assert_eq!(world.probity(["watch", "it"]).code, 7, "it waits for Ada");
    for (words, code) in [
        (&["--approve"][..], "usage"),
        (&["--by", "Bob", "--approve"], "answer_not_asked"),
        (&["--by", "Ada", "--waive"], "answer_refused"),
        (&["--by", "Ada", "--wake", "{}", "--about", "x"], "answer_not_parked"),
        (&["--by", "Ada", "--wake", "{", "--about", "x"], "usage"),
    ] {
        let ran = world.probity(["resume", "it", "--json"].iter().chain(words));
        assert_eq!((ran.code, ran.error_code().as_str()), (64, code), "{words:?}: {ran:?}");
    }
    let revised = world.probity(["resume", "it", "--by", "Ada", "--revise", "softly"]);
    assert_eq!(revised.code, 0, "{revised:?}");
    assert!(revised.stdout.contains("was answered and waits for a worker of pool default"));
    assert!(revised.stderr.contains("next: probity worker"), "{revised:?}");
    assert_eq!(work_off(&world, &[]).code, 0);
    assert_eq!(world.probity(["resume", "it", "--by", "Ada", "--approve"]).code, 0);
    assert_eq!(work_off(&world, &[]).code, 0);
    let report = world.probity(["watch", "it", "--json"]).json();
    assert_eq!((&report["outcome"], &report["attempts"]), (&"verified".into(), &2.into()));
    let over = world.probity(["resume", "it", "--json"]);
    assert_eq!((over.code, over.error_code()), (64, "answer_refused".to_owned()), "{over:?}");
}

#[test]
fn an_escalated_run_is_allowed_more() {
    let world = World::new();
    let more = ["--max-retries", "0", "--on-failure", "escalate"];
    submit(&world, "it", &more, &REPENTANT);
    work_off(&world, &[]);
    assert_eq!(world.probity(["watch", "it"]).code, 7);
    let resumed = world.probity(["resume", "it", "--by", "Ada", "--answer", "1", "--json"]);
    assert_eq!((resumed.code, &resumed.json()["answered"]), (0, &true.into()), "{resumed:?}");
    work_off(&world, &[]);
    assert_eq!(world.probity(["watch", "it"]).code, 0);
}

#[test]
fn a_run_of_this_process_can_be_left_to_workers_and_taken_back() {
    let world = World::new();
    submit(&world, "it", &[], &HONEST);
    let here = world.probity(["run", "--resume", "it"]);
    assert_eq!(here.code, 0, "{here:?}");
    // The job is still there, and finds nothing to do.
    assert_eq!(work_off(&world, &[]).code, 0);
    let report = world.probity(["log", "show", "it", "--json"]).json();
    assert_eq!((&report["attempts"], &report["outcome"]), (&1.into(), &"verified".into()));
}

#[test]
fn a_run_that_was_never_queued_is_told_and_not_taken_away() {
    let world = World::new();
    pipe(&world, "go");
    let delegate = ["sh", "-c", "read word < ../go; echo hello > out.txt"];
    let head = ["run", "x", "--id", "it", "--expect", CREATED, "--"];
    let mut run = world
        .command(head.iter().chain(&delegate))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(run.stderr.take().unwrap()).lines();
    assert!(told.any(|line| line.unwrap().contains("the delegate works")));
    let steered = world.probity(["steer", "it", "softly", "--by", "Ada", "--json"]);
    assert_eq!((steered.code, &steered.json()["queued"]), (0, &false.into()), "{steered:?}");
    assert_eq!(work_off(&world, &[]).code, 0);
    std::fs::write(world.beside("go"), "go\n").unwrap();
    drop(told);
    assert!(run.wait().unwrap().success());
}

#[test]
fn what_a_fleet_cannot_do_is_said_before_anything_is_done() {
    let world = World::new();
    for args in [
        &["submit", "x", "--store", "memory", "--", "true"][..],
        &["worker", "--store", "memory"],
        &["watch", "it", "--store", "memory"],
        &["cancel", "it", "--by", "Ada", "--store", "memory"],
        &["resume", "it", "--store", "memory"],
        &["dlq", "list", "--store", "memory"],
        &["worker", "--lease", "1ms"],
        &["worker", "--lease", "1s", "--store", "nats://localhost:1"],
        &["worker", "--store", "nats://localhost:1/no name"],
        &["worker", "--store", "http://localhost"],
        &["submit", "--", "true"],
    ] {
        let ran = world.probity(
            args.iter()
                .take_while(|word| **word != "--")
                .chain(&["--json"])
                .chain(args.iter().skip_while(|word| **word != "--")),
        );
        assert_eq!(ran.code, 64, "{args:?}: {ran:?}");
        assert!(!ran.error_code().is_empty(), "{args:?}");
    }
    for args in [
        &["watch"][..],
        &["watch", "it", "--all"],
        &["cancel", "it"],
        &["steer", "it", "text"],
        &["resume", "it", "--by", "Ada"],
        &["resume", "it", "--by", "Ada", "--approve", "--waive"],
        &["resume", "it", "--by", "Ada", "--wake", "1"],
        &["dlq"],
        &["dlq", "retry"],
        &["dlq", "drop", "--all"],
        &["worker", "--idle", "1s"],
        &["worker", "--concurrency", "0"],
    ] {
        let ran = world.probity(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (64, ""), "{args:?}: {ran:?}");
    }
    assert!(!world.beside("state/probity").exists());
}

#[test]
fn a_project_that_is_not_the_trusted_one_any_more_is_not_begun() {
    let world = World::new();
    world.write(".probity/probity.toml", "expect = [\"file:out.txt,created\"]\n");
    assert_eq!(world.probity(["trust"]).code, 0);
    let trusted = world.probity(["submit", "x", "--id", "it", "--"].iter().chain(&HONEST));
    assert_eq!(trusted.code, 0, "{trusted:?}");
    world.write(".probity/probity.toml", "expect = [\"file:other.txt\"]\n");
    let untrusted = world.probity(["submit", "x", "--json", "--"].iter().chain(&HONEST));
    assert_eq!((untrusted.code, untrusted.error_code()), (64, "project_untrusted".to_owned()));
    assert_eq!(work_off(&world, &[]).code, 1);
    let dead = world.probity(["dlq", "show", "it", "--json"]).json();
    assert_eq!(dead["code"], "project_differs", "{dead}");
    assert!(!world.at("out.txt").exists());
    world.write(".probity/probity.toml", "expect = [\"file:out.txt,created\"]\n");
    assert_eq!(world.probity(["dlq", "retry", "it"]).code, 0);
    assert_eq!(work_off(&world, &[]).code, 0);
    assert_eq!(world.probity(["watch", "it"]).code, 0);
}

/// Were the worker to open the file once more, its locks would go, and with them the log beside it.
#[test]
fn a_store_in_the_workspace_is_left_alone_by_the_runs_that_it_keeps() {
    let world = World::new();
    let folder = world.at("kept {here}");
    std::fs::create_dir(&folder).unwrap();
    let url = format!("sqlite:{}", folder.join("runs.db").display());
    let store = ["--store", url.as_str()];
    let (mut child, mut lines) = worker(&world, "w", &store);
    for id in ["one", "two", "three"] {
        let more = [&store[..], &["--expect", "changes_only:out.txt"]].concat();
        let submitted = submit(&world, id, &more, &["sh", "-c", "echo hello > out.txt"]);
        assert_eq!(submitted.code, 0, "{submitted:?}");
        assert!(lines.any(|line| line.starts_with(&format!("{id}  verified"))));
        std::fs::remove_file(world.at("out.txt")).unwrap();
        // Whoever closes the store last removes its log; the worker has it open.
        let listed = world.probity(["log", "list", "--store", &url]);
        assert!(listed.stdout.contains(&format!("{id}  ")), "{listed:?}");
        assert!(folder.join("runs.db-wal").exists(), "{id}");
    }
    signal(&child, "-TERM");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn help_does_not_show_the_store_which_may_hold_a_password() {
    let world = World::new();
    let mut command = world.command(["worker", "--help"]);
    let ran: Ran = command.env("PROBITY_STORE", "nats://u:s3cr3t@h").output().unwrap().into();
    assert!(ran.stdout.contains("PROBITY_STORE") && !ran.stdout.contains("s3cr3t"), "{ran:?}");
}
