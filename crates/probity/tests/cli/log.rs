//! `probity log`.

use std::process::Stdio;

use probity::record::read_jsonl;

use crate::world::{HONEST, LIAR, Ran, World, alter};

#[test]
fn the_list_is_newest_first_and_an_empty_one_makes_no_store() {
    let world = World::new();
    let none = world.probity(["log", "list"]);
    assert_eq!((none.code, none.stdout.as_str()), (0, ""));
    assert!(none.stderr.contains("probity demo"));
    assert!(!world.beside("state/probity").exists());
    world.gate(&LIAR, &["--id", "first"]);
    world.gate(&HONEST, &["--id", "second"]);
    let list = world.probity(["log", "list"]);
    assert_eq!(
        world.redact(&list.stdout),
        "second  TIME  verified         write hello to out.txt\n\
         first   TIME  exhausted        write hello to out.txt\n"
    );
    let one = world.probity(["log", "list", "--limit", "1", "--json"]).json();
    assert_eq!(one.as_array().map(Vec::len), Some(1));
    assert_eq!(one[0]["run_id"], "second");
    assert_eq!(one[0]["outcome"], "verified");
    assert_eq!(one[0]["sealed"], true);
}

#[test]
fn a_run_is_found_by_the_start_of_its_id_if_no_other_starts_so() {
    let world = World::new();
    world.gate(&LIAR, &["--id", "build-1"]);
    world.gate(&LIAR, &["--id", "build-2"]);
    world.gate(&LIAR, &["--id", "nightly"]);
    world.gate(&LIAR, &["--id", "nightly-2"]);
    for (text, run) in [("build-1", "build-1"), ("nightly", "nightly"), ("last", "nightly-2")] {
        assert_eq!(world.probity(["log", "show", text, "--json"]).json()["run_id"], run);
    }
    assert_eq!(world.probity(["log", "show", "nightly-", "--json"]).json()["run_id"], "nightly-2");
    let ambiguous = world.probity(["log", "show", "build", "--json"]);
    assert_eq!((ambiguous.code, ambiguous.error_code()), (64, "usage".to_owned()));
    assert!(ambiguous.stderr.contains("2 runs start with `build`: build-2, build-1"));
    assert_eq!(world.probity(["log", "show", "zzz", "--json"]).error_code(), "run_missing");
}

#[test]
fn a_run_is_shown_with_what_was_seen_and_said() {
    let world = World::new();
    world.gate(&LIAR, &["--max-retries", "0"]);
    let shown = world.probity(["log", "show", "last"]);
    assert_eq!(shown.code, 0, "{shown:?}");
    let text: Vec<String> = world
        .redact(&shown.stdout)
        .lines()
        .filter(|line| !line.contains("took"))
        .map(str::to_owned)
        .collect();
    assert_eq!(
        text,
        [
            "attempt 1  revise  file_out.txt  file `out.txt` does not exist  [file_missing]",
            "                   saw file:out.txt: absent",
            "the delegate said:",
            "  Done.",
            "EXHAUSTED after 1 attempt: file_out.txt: file `out.txt` does not exist  [file_missing]",
            "run RUN · sealed, 12 events, head HEAD…",
        ]
    );
}

#[test]
fn an_export_is_the_records_byte_for_byte_and_proves_itself() {
    let world = World::new();
    world.gate(&HONEST, &["--id", "it"]);
    let export = world.probity(["log", "export", "it"]);
    assert_eq!((export.code, export.stderr.as_str()), (0, ""));
    let records = read_jsonl(export.stdout.as_bytes()).unwrap();
    assert_eq!(records.run.as_str(), "it");
    assert!(records.seal.is_some());
    let tail = world.probity(["log", "tail", "it", "--json"]);
    assert_eq!(tail.stdout, export.stdout);
    let forged = export.stdout.replace("\"verified\"", "\"rejected\"");
    assert!(forged != export.stdout && read_jsonl(forged.as_bytes()).is_err());
}

#[test]
fn a_tail_tells_every_event_in_a_line_and_ends_with_the_seal() {
    let world = World::new();
    world.gate(&HONEST, &["--id", "it"]);
    let tail = world.probity(["log", "tail", "it"]);
    assert_eq!(tail.code, 0, "{tail:?}");
    let events: Vec<&str> =
        tail.stdout.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
    assert_eq!(
        events,
        [
            "run.opened",
            "world.observed",
            "check.started",
            "check.red",
            "world.observed",
            "delegate.dispatched",
            "claim.received",
            "world.observed",
            "check.started",
            "check.finished",
            "verdict.merged",
            "outcome.decided",
            "run.sealed",
        ]
    );
}

#[test]
fn a_tail_follows_a_run_that_goes_on() {
    let world = World::new();
    // The delegate waits for a word through a pipe, which is said once the follower follows.
    let made = std::process::Command::new("mkfifo").arg(world.beside("go")).status().unwrap();
    assert!(made.success());
    let wait = "cat > /dev/null; read word < ../go; echo hello > out.txt";
    let args =
        ["run", "x", "--id", "it", "--expect", "file:out.txt,created", "--", "sh", "-c", wait];
    let mut run = world.command(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut progress = std::io::BufRead::lines(std::io::BufReader::new(run.stderr.take().unwrap()));
    assert!(progress.any(|line| line.unwrap().contains("the delegate works")));
    let mut tail = world
        .command(["log", "tail", "it"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(tail.stdout.take().unwrap()));
    assert!(lines.any(|line| line.unwrap().contains("delegate.dispatched")));
    std::fs::write(world.beside("go"), "go\n").unwrap();
    assert!(lines.any(|line| line.unwrap().contains("run.sealed")));
    drop(progress);
    assert!(run.wait().unwrap().success());
    assert!(tail.wait().unwrap().success());
}

#[test]
fn a_damaged_log_is_exported_all_the_same_and_said_to_be_damaged() {
    let world = World::new();
    let store = format!("sqlite:{}", world.beside("it.db").display());
    world.gate(&HONEST, &["--id", "it", "--store", &store]);
    assert!(alter(&world.beside("it.db"), "verified", "rejected") > 0);
    let export = world.probity(["log", "export", "it", "--store", &store]);
    assert_eq!(export.code, 74, "{export:?}");
    assert!(export.stderr.contains("the log is damaged"), "{export:?}");
    assert!(read_jsonl(export.stdout.as_bytes()).is_err());
    let shown: Ran = world.probity(["log", "show", "it", "--json", "--store", &store]);
    assert_eq!((shown.code, shown.error_code()), (74, "log_damaged".to_owned()));
}

#[test]
fn the_library_reads_what_the_command_wrote() {
    let world = World::new();
    let path = world.beside("it.db");
    world.gate(&HONEST, &["--id", "it", "--store", &format!("sqlite:{}", path.display())]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let state = runtime.block_on(async {
        let store = probity::location::StoreUrl::Sqlite(path).open().unwrap();
        store.state(&"it".parse().unwrap()).await.unwrap()
    });
    assert!(state.unwrap().sealed);
}
