//! `--json`: one object on standard output, whatever happens.

use serde_json::Value;

use crate::world::{LIAR, REPENTANT, World};

#[test]
fn a_run_is_one_object_with_every_documented_key() {
    let world = World::new();
    let ran = world.gate(&REPENTANT, &["--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.stderr, "", "progress beside JSON is for terminals");
    let report = ran.json();
    for key in [
        "run_id",
        "outcome",
        "attempts",
        "interruptions",
        "checks",
        "history",
        "claim",
        "seal",
        "conversation",
        "warnings",
    ] {
        assert!(report.get(key).is_some(), "{key}: {report}");
    }
    for key in ["id", "verdict", "reason", "code", "discriminating", "elapsed_ms", "evidence"] {
        assert!(report["checks"][0].get(key).is_some(), "{key}: {report}");
    }
    for key in ["response", "tool_calls", "tool_results"] {
        assert!(report["claim"].get(key).is_some(), "{key}: {report}");
    }
    assert_eq!(report["history"].as_array().map(Vec::len), Some(2));
    assert_eq!(report["seal"]["head"].as_str().map(str::len), Some(64));
    assert_eq!(report["conversation"], "fresh");
}

#[test]
fn every_command_answers_with_one_value() {
    let world = World::new();
    world.gate(&LIAR, &[]);
    world.write("Cargo.toml", "[package]\n");
    for (args, code, key) in [
        (&["log", "show", "last", "--json"][..], 0, "run_id"),
        (&["recheck", "last", "--json"], 3, "state"),
        (&["init", "--json"], 0, "written"),
        (&["check", "--json"], 0, "findings"),
        (&["trust", "--show", "--json"], 0, "sha256"),
        (&["explain", "verified", "--json"], 0, "page"),
        (&["explain", "--json"], 0, "codes"),
        (&["explain", "64", "--json"], 0, "meaning"),
        (&["demo", "--json"], 0, "run_id"),
    ] {
        let ran = world.probity(args);
        assert_eq!(ran.code, code, "{args:?}: {ran:?}");
        assert!(ran.json().get(key).is_some(), "{args:?}: {ran:?}");
    }
    assert!(world.probity(["log", "list", "--json"]).json().is_array());
    assert!(world.probity(["drift", "list", "--json"]).json().is_array());
    world.write("x.json", "{}");
    // One line a document, and one for all of them.
    let audited = world.probity(["episode", "verify", "x.json", "--json"]);
    let lines: Vec<Value> =
        audited.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["findings"][0]["code"], "document_unknown");
    assert_eq!(lines[1]["summary"]["rejected"], 1);
    for args in [
        &["episode", "show", "last", "--json"][..],
        &["drift", "show", "none", "--json"],
        &["hook", "fire", "tool.pre", "--json"],
        &["log", "answer", "last", "--by", "A", "--waive", "--json"],
    ] {
        let ran = world.probity(args);
        assert_eq!(ran.code, 64, "{args:?}: {ran:?}");
        assert!(!ran.error_code().is_empty());
    }
}

#[test]
fn every_error_is_an_object_with_a_code_too() {
    let world = World::new();
    for (args, exit, code) in [
        (&["run", "--json", "--", "true"][..], 64, "request_no_task"),
        (&["run", "x", "--json"], 64, "request_no_command"),
        (&["run", "x", "--json", "--max-retries", "-1", "--", "true"], 64, "request_bound"),
        (&["run", "x", "--json", "--store", "mongo:x", "--", "true"], 64, "store_url"),
        (&["run", "x", "--json", "--expect", "file", "--", "true"], 64, "expect_syntax"),
        (&["run", "x", "--json", "--unknown-flag"], 64, "usage"),
        (&["log", "show", "none", "--json"], 64, "run_missing"),
        (&["log", "show", "../x", "--json"], 64, "name"),
        (&["log", "list", "--json", "--store", "sqlite:absent.db"], 64, "file_read"),
        (&["log", "list", "--json", "--store", "memory"], 64, "usage"),
        (&["recheck", "none", "--json"], 64, "run_missing"),
        (&["check", "--json"], 64, "usage"),
        (&["trust", "--json"], 64, "request_read"),
        (&["init", "--workspace", "absent", "--json"], 64, "usage"),
        (&["explain", "no-such", "--json"], 64, "not_found"),
    ] {
        let ran = world.probity(args);
        assert_eq!((ran.code, ran.error_code().as_str()), (exit, code), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains("error:"), "{args:?}: {ran:?}");
    }
    assert!(!world.at("absent.db").exists(), "looking makes no store");
}

#[test]
fn the_report_of_the_log_is_that_of_the_run() {
    let world = World::new();
    let mut run = world.gate(&LIAR, &["--json"]).json();
    let shown = world.probity(["log", "show", "last", "--json"]).json();
    let run = run.as_object_mut().unwrap();
    run.remove("conversation");
    run.remove("warnings");
    assert_eq!(Value::Object(run.clone()), shown);
}
