//! `probity episode`: the episode of a run, and audits of documents from anywhere.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::Value;

use crate::decision::{as_is, decide};
use crate::world::{Ran, World};

/// A project whose one run made a decision, and its episode in `episode.json`.
fn decided(command: &str) -> (World, String) {
    let world = as_is();
    let run = decide(&world, "medium", command, "max_verify_retries: 0\n").json()["run_id"]
        .as_str()
        .unwrap()
        .to_owned();
    (world, run)
}

fn exported() -> (World, String) {
    let (world, run) = decided("touch svc-demo");
    let ran = world.probity([
        "episode",
        "export",
        &run,
        "--out",
        "episode.json",
        "--receipt",
        "receipt.json",
    ]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
    (world, run)
}

fn verify(world: &World, args: &[&str]) -> Ran {
    world.probity(["episode", "verify"].iter().chain(args))
}

/// The lines of `--json`: a report for each document, and the summary.
fn lines(ran: &Ran) -> (Vec<Value>, Value) {
    let mut lines: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let summary = lines.pop().unwrap()["summary"].clone();
    (lines, summary)
}

#[test]
fn the_episode_of_a_verified_run_is_accepted_wherever_it_is_read() {
    let (world, run) = exported();
    let ran = verify(&world, &["episode.json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.starts_with(&format!("accepted  episode.json  episode {run}\n")), "{ran:?}");
    assert!(
        ran.stdout
            .ends_with("1 document: 1 accepted, 0 rejected; held against 1 envelope, 0 packs\n"),
        "{ran:?}"
    );
    let with_receipt = verify(&world, &["episode.json", "--receipt", "receipt.json"]);
    assert_eq!(with_receipt.code, 0, "{with_receipt:?}");
    let whole = verify(&world, &[&run]);
    assert_eq!(whole.code, 0, "{whole:?}");
    assert!(whole.stdout.contains("records, whole, head"), "{whole:?}");
    let shown = world.probity(["episode", "show", &run, "--json"]).json();
    assert_eq!(shown["episodeId"], run.as_str());
    assert_eq!(shown["verification"]["result"], "pass");
    let twice = world.probity(["episode", "export", &run, "--out", "episode.json"]);
    assert_eq!(twice.code, 64, "evidence is not overwritten: {twice:?}");
}

#[test]
fn what_was_changed_after_the_seal_is_rejected_with_its_place() {
    let (world, _) = exported();
    let text = world.read("episode.json");
    let mut episode: Value = serde_json::from_str(&text).unwrap();
    episode["actions"][0]["targetRefs"][0]["id"] = "svc-other".into();
    world.write("changed.json", &episode.to_string());
    let ran = verify(&world, &["changed.json"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains("  error    /seal/sealHash  "), "{ran:?}");
    // The seal does not cover its own time; the receipt does.
    let mut episode: Value = serde_json::from_str(&text).unwrap();
    episode["seal"]["sealedAt"] = "2030-01-01T00:00:00Z".into();
    world.write("later.json", &episode.to_string());
    let held = verify(&world, &["later.json", "--receipt", "receipt.json", "--json"]);
    assert_eq!(held.code, 1, "{held:?}");
    assert!(held.stdout.contains("receipt_differs"), "{held:?}");
}

#[test]
fn lines_lists_and_folders_come_out_in_the_order_they_went_in() {
    let (world, _) = exported();
    let text = world.read("episode.json");
    let good = text.trim();
    world.write("docs/b/2.json", good);
    world.write("docs/b/1.jsonl", &format!("{good}\n\n{{\"x\": 1}}\n"));
    world.write("docs/a.json", &format!("[{good},{good}]"));
    world.write("docs/note.md", "nothing");
    std::os::unix::fs::symlink(world.at("docs"), world.at("docs/loop")).unwrap();
    let ran = verify(&world, &["episode.json", "docs", "--json"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let (reports, summary) = lines(&ran);
    let places: Vec<String> = reports
        .iter()
        .map(|it| {
            let part = |key: &str| it.get(key).map_or(String::new(), |at| format!(" {key} {at}"));
            format!("{}{}{}", it["source"].as_str().unwrap(), part("line"), part("index"))
        })
        .collect();
    assert_eq!(
        places,
        [
            "episode.json",
            "docs/a.json index 0",
            "docs/a.json index 1",
            "docs/b/1.jsonl line 1",
            "docs/b/1.jsonl line 3",
            "docs/b/2.json",
        ]
    );
    assert_eq!((&summary["accepted"], &summary["rejected"]), (&5.into(), &1.into()));
}

#[test]
fn thousands_of_lines_from_a_pipe_keep_their_order_and_are_all_judged() {
    let (world, _) = exported();
    let good = world.read("episode.json").trim().to_owned();
    let mut command = world.command(["episode", "verify", "-", "--json"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        for number in 1..=3000 {
            let line = if number % 1000 == 0 { "{}" } else { good.as_str() };
            writeln!(stdin, "{line}").unwrap();
        }
    });
    let ran: Ran = child.wait_with_output().unwrap().into();
    writer.join().unwrap();
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let (reports, summary) = lines(&ran);
    let numbers: Vec<u64> = reports.iter().map(|it| it["line"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=3000).collect::<Vec<_>>());
    let rejected = |it: &&Value| it["verdict"] == "rejected";
    let rejected: Vec<u64> =
        reports.iter().filter(rejected).map(|it| it["line"].as_u64().unwrap()).collect();
    assert_eq!(rejected, [1000, 2000, 3000]);
    assert_eq!(summary["documents"], 3000);
}

#[test]
fn what_cannot_be_used_is_64_and_nothing_is_accepted_by_being_absent() {
    let (world, _) = exported();
    std::fs::create_dir(world.at("empty")).unwrap();
    world.write("bad.yaml", "deadlineMs: 1\n");
    world.write("no-receipt.json", "{}");
    for (args, told) in [
        (&["absent.json"][..], "cannot read `absent.json`"),
        (&["empty"], "there was no document"),
        (&["episode.json", "--envelope", "absent.yaml"], "absent.yaml"),
        (&["episode.json", "--envelope", "bad.yaml"], "policy_missing_member"),
        (&["episode.json", "--receipt", "no-receipt.json"], "is no receipt"),
        (&["episode.json", "empty", "--receipt", "receipt.json"], "exactly one file"),
    ] {
        let ran = verify(&world, args);
        assert_eq!(ran.code, 64, "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(told), "{args:?}: {ran:?}");
    }
    let quiet = verify(&world, &["episode.json", "--quiet"]);
    assert_eq!(quiet.stdout.lines().count(), 1, "{quiet:?}");
}

#[test]
fn an_envelope_decides_what_an_episode_may_say() {
    let (world, _) = exported();
    let envelope = world.read(".probity/envelopes/quarantine.yaml");
    world
        .write("strict.yaml", &envelope.replace("blastRadiusMax: medium", "blastRadiusMax: small"));
    let ran = verify(&world, &["episode.json", "--envelope", "strict.yaml", "--json"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains("tier_above_max"), "{ran:?}");
}

#[test]
fn a_run_without_a_seal_or_a_decision_has_no_episode() {
    let world = World::new();
    assert_eq!(world.probity(["demo"]).code, 0);
    for command in ["show", "export", "verify"] {
        let ran = world.probity(["episode", command, "last"]);
        assert_eq!(ran.code, 64, "{command}: {ran:?}");
        assert!(ran.stderr.contains("made no decision under an envelope"), "{command}: {ran:?}");
    }
    let (world, run) = decided("true");
    let ran = world.probity(["episode", "show", &run, "--json"]);
    assert_eq!((ran.code, ran.error_code()), (64, "episode_not_sealed".to_owned()), "{ran:?}");
}

#[test]
fn a_run_whose_records_were_changed_is_rejected() {
    let (world, run) = exported();
    let whole = verify(&world, &[&run, "--json"]);
    let (reports, _) = lines(&whole);
    assert_eq!(reports[0]["chain"], serde_json::json!([]));
    assert!(reports[0]["records"].as_u64().unwrap() > 5);
    let store = rusqlite::Connection::open(world.beside("state/probity/probity.db")).unwrap();
    let one = "SELECT pack.number, pack.bytes FROM part JOIN pack ON pack.number = part.pack
               WHERE part.seq <= 3 ORDER BY part.seq DESC LIMIT 1";
    let (number, mut bytes): (i64, Vec<u8>) =
        store.query_row(one, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let find = |bytes: &[u8], text: &[u8]| bytes.windows(text.len()).rposition(|at| at == text);
    let at = find(&bytes, b"\"seq\":3").unwrap();
    let at = find(&bytes[..at], b"\"at_ms\":1").unwrap();
    bytes[at + b"\"at_ms\":".len()] = b'2';
    let put = "UPDATE pack SET bytes = ?1 WHERE number = ?2";
    assert_eq!(store.execute(put, (bytes, number)).unwrap(), 1);
    drop(store);
    let ran = verify(&world, &[&run, "--json"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let (reports, summary) = lines(&ran);
    assert_eq!(reports[0]["chain"][0]["code"], "record_hash");
    assert_eq!((&reports[0]["chain"][0]["line"], &summary["rejected"]), (&4.into(), &1.into()));
    let text = verify(&world, &[&run]);
    assert!(
        text.stdout.starts_with(&format!("rejected  run {run}\n  error    record 4: ")),
        "{text:?}"
    );
}
