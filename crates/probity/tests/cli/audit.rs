//! `probity audit`: run directories and documents. What is made of runs is in `export`.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use probity_trace::sample::SampleRun;
use serde_json::Value;

use crate::world::{Ran, World};

/// Writes a run directory that is in order.
fn run_directory(folder: &Path, seed: u64) {
    SampleRun { seed, ..SampleRun::default() }.write_to(&mut |path, bytes| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let file = fs::OpenOptions::new().create(true).append(true).open(path);
        file.unwrap().write_all(bytes).unwrap();
    });
}

/// The first piece of evidence of a run directory, by name.
fn evidence(folder: &Path) -> PathBuf {
    let entries = fs::read_dir(folder.join("evidence")).unwrap();
    entries.map(|entry| entry.unwrap().path()).min().unwrap()
}

/// Changes one byte in the first piece of evidence.
fn break_evidence(folder: &Path) {
    let path = evidence(folder);
    let mut bytes = fs::read(&path).unwrap();
    bytes[0] ^= 1;
    fs::write(path, bytes).unwrap();
}

fn audit<S: AsRef<str>>(world: &World, args: &[S]) -> Ran {
    world.probity(["audit"].into_iter().chain(args.iter().map(AsRef::as_ref)))
}

/// The lines of `--json`: a report for each record, and the summary.
pub(crate) fn lines(ran: &Ran) -> (Vec<Value>, Value) {
    let mut lines: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let summary = lines.pop().unwrap()["summary"].clone();
    (lines, summary)
}

/// A good run directory `good`, and `bad`, whose evidence was changed.
fn two() -> World {
    let world = World::new();
    run_directory(&world.at("good"), 1);
    run_directory(&world.at("bad"), 2);
    break_evidence(&world.at("bad"));
    world
}

#[test]
fn every_exit_code_is_what_the_help_says() {
    let world = two();
    fs::create_dir(world.at("empty")).unwrap();
    run_directory(&world.at("torn"), 3);
    fs::write(world.at("torn/plan.json"), "{\"nodes\":").unwrap();
    world.write("deep.json", &format!("{}{}", "[".repeat(5000), "]".repeat(5000)));
    world.write("odd.txt", "hello");
    world.write("no.pem", "no key");
    let table: [(&[&str], i32); 25] = [
        (&["good"], 0),
        (&["good", "good"], 0),
        (&["bad"], 1),
        (&["good", "bad"], 1),
        (&[], 2),
        (&["good", "--no-such"], 2),
        (&["good", "--threads", "0"], 2),
        (&["good", "--quotes", "some"], 2),
        (&["good", "--require-signature"], 2),
        (&["good", "--key", "absent.pem"], 2),
        (&["good", "--key", "no.pem"], 2),
        (&["good", "--envelope", "absent.yaml"], 2),
        (&["good", "--html", "odd.txt"], 2),
        (&["absent"], 3),
        (&["good", "absent"], 3),
        (&["empty"], 3),
        (&["torn"], 3),
        (&["odd.txt"], 3),
        (&["good", "bad", "torn"], 3),
        (&["deep.json"], 4),
        (&["deep.json", "bad"], 4),
        (&["good", "--no-seal"], 5),
        (&["good", "--no-seal", "--allow-redacted"], 5),
        (&["good", "--compat"], 6),
        (&["bad", "--compat"], 1),
    ];
    for (args, code) in table {
        let ran = audit(&world, args);
        assert_eq!(ran.code, code, "{args:?}: {ran:?}");
        let quiet: Vec<&str> = args.iter().copied().chain(["--quiet"]).collect();
        assert_eq!(audit(&world, &quiet).code, code, "{args:?}");
    }
    assert_eq!(world.probity(["audit", "--help"]).code, 0);
}

#[test]
fn a_run_of_a_store_that_is_not_there_is_missing_and_what_is_no_store_is_wrong_usage() {
    let world = World::new();
    let ran = audit(&world, &["it", "--store", "sqlite:absent.db", "--json"]);
    assert_eq!((ran.code, &lines(&ran).0[0]["failures"][0]["code"]), (3, &"audit_missing".into()));
    world.write("broken.db", &"no database ".repeat(1000));
    let ran = audit(&world, &["it", "--store", "sqlite:broken.db", "--json"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    let ran = audit(&world, &["it", "--store", "nonsense", "--json"]);
    assert_eq!((ran.code, ran.error_code()), (2, "store_url".to_owned()), "{ran:?}");
}

#[test]
fn a_record_is_the_same_wherever_it_stands_and_however_it_is_named() {
    let world = World::new();
    run_directory(&world.at("runs/a"), 7);
    run_directory(&world.at("other name"), 7);
    std::os::unix::fs::symlink(world.at("runs/a"), world.at("link")).unwrap();
    let id = |path: &str| {
        let ran = audit(&world, &[path, "--json"]);
        assert_eq!(ran.code, 0, "{path}: {ran:?}");
        let (reports, _) = lines(&ran);
        assert_eq!(reports.len(), 1);
        reports[0]["id"].as_str().unwrap().to_owned()
    };
    let first = id("runs/a");
    for path in ["other name", "runs", "runs/a/trace.jsonl", "runs/a/plan.json", "runs/a/", "link"]
    {
        assert_eq!(id(path), first, "{path}");
    }
}

#[test]
fn many_records_come_out_in_order_and_text_and_json_agree() {
    let world = World::new();
    for number in 0..150 {
        let folder = world.at(&format!("runs/r{number:03}"));
        run_directory(&folder, number);
        if number % 50 == 7 {
            break_evidence(&folder);
        }
    }
    let ran = audit(&world, &["runs", "--json", "--threads", "3"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let (reports, summary) = lines(&ran);
    let sources: Vec<&str> = reports.iter().map(|it| it["source"].as_str().unwrap()).collect();
    let expected: Vec<String> = (0..150).map(|number| format!("runs/r{number:03}")).collect();
    assert_eq!(sources, expected);
    assert_eq!(
        (&summary["records"], &summary["verdict"], &summary["exit_code"]),
        (&150.into(), &"invalid".into(), &1.into())
    );
    assert_eq!(summary["by_kind"], serde_json::json!({"trace": {"valid": 147, "invalid": 3}}));

    let text = audit(&world, &["runs"]);
    assert_eq!(text.code, 1);
    for report in &reports {
        let word = report["verdict"].as_str().unwrap().to_uppercase();
        let line = format!("{word}  {}  trace\n", report["source"].as_str().unwrap());
        assert!(text.stdout.contains(&line), "{line}");
        for failure in report["failures"].as_array().unwrap() {
            assert!(text.stdout.contains(failure["code"].as_str().unwrap()), "{failure}");
        }
    }
    assert!(text.stdout.contains("150 records: 147 valid, 3 invalid\n"), "{}", text.stdout);
    let quiet = audit(&world, &["runs", "--quiet"]);
    assert!(text.stdout.ends_with(&quiet.stdout), "the summary is the same");
    assert_eq!(quiet.stdout.lines().count(), 3);
    assert_eq!(audit(&world, &["runs", "--json", "--quiet"]).stdout.lines().count(), 1);
}

#[test]
fn nothing_leads_out_of_a_run_directory_and_nobody_waits_for_a_pipe() {
    let world = World::new();
    let pipe = |path: &str| {
        let made = Command::new("mkfifo").arg(world.at(path)).status().unwrap();
        assert!(made.success());
    };
    for name in ["plain", "link", "pipe", "folder"] {
        run_directory(&world.at(name), 1);
    }
    let name = evidence(&world.at("plain")).file_name().unwrap().to_str().unwrap().to_owned();
    for folder in ["link", "pipe", "folder"] {
        fs::remove_file(world.at(&format!("{folder}/evidence/{name}"))).unwrap();
    }
    // The very bytes that belong there, but beyond a link.
    let target = world.at(&format!("plain/evidence/{name}"));
    std::os::unix::fs::symlink(&target, world.at(&format!("link/evidence/{name}"))).unwrap();
    pipe(&format!("pipe/evidence/{name}"));
    fs::create_dir(world.at(&format!("folder/evidence/{name}"))).unwrap();
    for folder in ["link", "pipe", "folder"] {
        let ran = audit(&world, &[folder]);
        assert!(matches!(ran.code, 1 | 3), "{folder}: {ran:?}");
    }
    assert_eq!(audit(&world, &["plain"]).code, 0);
    // A whole run directory beyond a link is not found on a walk.
    fs::create_dir(world.at("walk")).unwrap();
    std::os::unix::fs::symlink(world.at("plain"), world.at("walk/run")).unwrap();
    assert_eq!(audit(&world, &["walk"]).code, 3);
    pipe("it.probity");
    pipe("it.jsonl");
    for path in ["it.probity", "it.jsonl", "/dev/zero"] {
        let ran = audit(&world, &[path]);
        assert_eq!(ran.code, 3, "{path}: {ran:?}");
        assert!(ran.stdout.contains("[audit_unreadable]"), "{path}: {ran:?}");
    }
}

#[test]
fn what_is_no_record_is_passed_over_in_a_folder_and_refused_by_name() {
    let world = World::new();
    run_directory(&world.at("all/run"), 1);
    world.write("all/package.json", "{\"name\": \"x\"}\n");
    world.write("all/list.json", "[{\"name\": \"x\"}, 7]\n");
    world.write("all/rows.jsonl", "{\"row\": 1}\n{\"row\": 2}\n");
    world.write("all/one.jsonl", "{\"row\": 1}");
    world.write("all/notes.md", "nothing\n");
    let ran = audit(&world, &["all", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let (reports, summary) = lines(&ran);
    assert_eq!((reports.len(), &summary["passed_over"]), (1, &4.into()));
    for path in ["all/package.json", "all/list.json", "all/rows.jsonl", "all/notes.md"] {
        assert_eq!(audit(&world, &[path]).code, 3, "{path}");
    }
    // A torn or mixed file is not passed over: it may have been a record.
    world.write("torn/a.json", "{\"episodeId\": ");
    assert_eq!(audit(&world, &["torn"]).code, 3);
    world.write("mixed/a.json", "[{\"x\": 1}, {\"episodeId\": \"e\"}]");
    let ran = audit(&world, &["mixed", "--json"]);
    assert_eq!((ran.code, lines(&ran).0.len()), (3, 2), "{ran:?}");
    world.write("empty/a.jsonl", "");
    assert_eq!(audit(&world, &["empty"]).code, 3);
}

#[test]
fn a_file_with_nothing_in_it_does_not_vanish_behind_a_good_record() {
    let world = World::new();
    run_directory(&world.at("good"), 1);
    for (name, text) in [
        ("a.jsonl", ""),
        ("a.jsonl", "\n \n\n"),
        ("a.json", ""),
        ("a.json", "\n"),
        ("a.json", "[]"),
    ] {
        world.write(name, text);
        let ran = audit(&world, &["good", name, "--json"]);
        let (reports, summary) = lines(&ran);
        assert_eq!((ran.code, reports.len()), (3, 2), "{name} {text:?}: {ran:?}");
        assert_eq!(summary["by_verdict"]["malformed"], 1, "{name} {text:?}");
    }
}

#[test]
fn the_compat_reading_follows_links_within_the_run_and_the_strict_one_none() {
    let world = World::new();
    for (name, target) in [("inside", "../moved"), ("outside", "../../moved")] {
        let run = world.at(name);
        run_directory(&run, 1);
        let evidence = evidence(&run);
        let file = evidence.file_name().unwrap().to_owned();
        fs::rename(&evidence, run.join("moved")).unwrap();
        fs::copy(run.join("moved"), world.at("moved")).unwrap();
        std::os::unix::fs::symlink(target, run.join("evidence").join(file)).unwrap();
    }
    assert_eq!(audit(&world, &["inside", "--compat"]).code, 6);
    let out = audit(&world, &["outside", "--compat"]);
    assert_eq!(out.code, 1, "{out:?}");
    assert!(out.stdout.contains("[compat_evidence_path, INV-EVD-001]"), "{out:?}");
    assert_eq!([audit(&world, &["inside"]).code, audit(&world, &["outside"]).code], [1, 1]);
}

#[test]
fn a_run_directory_beyond_the_bounds_is_told_as_one() {
    let world = World::new();
    run_directory(&world.at("deep"), 1);
    fs::create_dir_all(world.at("deep").join("d/".repeat(70))).unwrap();
    let ran = audit(&world, &["deep"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.stdout.contains("[trace_folder_too_large]"), "{ran:?}");
}

#[test]
fn standard_input_is_known_by_its_bytes() {
    let world = World::new();
    run_directory(&world.at("good"), 1);
    let piped = |bytes: &[u8]| -> Ran {
        let mut command = world.command(["audit", "-", "--json"]);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(bytes).unwrap();
        child.wait_with_output().unwrap().into()
    };
    let trace = fs::read(world.at("good/trace.jsonl")).unwrap();
    for (bytes, kind, code) in [
        (trace.as_slice(), "trace", 3),
        (b"{\"episodeId\":\"e\"}\n{\"driftId\":\"d\"}\n", "episode", 1),
        (b"{\n\"episodeId\": \"e\"\n}\n", "episode", 1),
        (b"{\"x\":1}", "unknown", 3),
        (b"hello", "unknown", 3),
        (b"", "unknown", 3),
    ] {
        let ran = piped(bytes);
        let (reports, _) = lines(&ran);
        assert_eq!(reports[0]["kind"], kind, "{ran:?}");
        assert_eq!(reports[0]["source"], "-");
        assert_eq!(ran.code, code, "{kind}: {ran:?}");
    }
}

#[test]
fn a_page_is_written_for_one_record_and_never_over_another_file() {
    let world = two();
    let ran = audit(&world, &["bad", "--html", "page.html"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let page = world.read("page.html");
    assert!(page.starts_with("<!doctype html>") && page.contains("invalid"), "{page}");
    let again = audit(&world, &["bad", "--html", "page.html"]);
    assert_eq!(again.code, 2, "{again:?}");
    assert_eq!(world.read("page.html"), page);
    let several = audit(&world, &["good", "bad", "--html", "two.html"]);
    assert_eq!(several.code, 2, "{several:?}");
    assert!(!world.at("two.html").exists());
}

#[test]
fn every_code_of_a_report_is_explained() {
    let world = two();
    run_directory(&world.at("torn"), 3);
    fs::write(world.at("torn/trace.jsonl"), "{").unwrap();
    let ran = audit(&world, &["bad", "torn", "absent", "--json"]);
    let (reports, _) = lines(&ran);
    for report in reports {
        for failure in report["failures"].as_array().unwrap() {
            let code = failure["code"].as_str().unwrap();
            let page = world.probity(["explain", code]);
            assert_eq!(page.code, 0, "{code}");
        }
    }
}

#[test]
fn the_exit_code_speaks_for_every_record_whoever_reads_on() {
    let world = World::new();
    for number in 0..60 {
        run_directory(&world.at(&format!("runs/r{number:03}")), number);
    }
    break_evidence(&world.at("runs/r059"));
    for more in [&[][..], &["--json"], &["--quiet"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = world.command(["audit", "runs"].iter().chain(more));
        let output = command.stdout(writer).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), stderr.as_str()), (Some(1), ""), "{more:?}");
    }
}

#[test]
fn an_audit_that_is_told_to_stop_stops_and_leaves_nothing() {
    let world = World::new();
    let mut command = world.command(["audit", "-", "--html", "page.html"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // One document that does not end. By the time that all of this was taken, signals are heard.
    stdin.write_all(b"{\"episodeId\": \"e\",").unwrap();
    stdin.write_all(&vec![b' '; 4 << 20]).unwrap();
    let told = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(told.success());
    let ran: Ran = child.wait_with_output().unwrap().into();
    drop(stdin);
    assert_eq!(ran.code, 130, "{}", ran.stderr);
    assert_eq!(fs::read_dir(world.at("")).unwrap().count(), 0);
}

#[test]
fn the_text_of_a_good_and_of_a_bad_record() {
    let world = two();
    let mut text = String::new();
    for name in ["good", "bad"] {
        let ran = audit(&world, &[name]);
        text.push_str(&format!("$ probity audit {name}\n{}\n", world.redact(&ran.stdout)));
    }
    let text = regex::Regex::new("ev_v1_[0-9a-f]{64}").unwrap().replace_all(&text, "ev_v1_ID");
    let text = text.replace(env!("CARGO_PKG_VERSION"), "VERSION");
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!("audit", text));
}
