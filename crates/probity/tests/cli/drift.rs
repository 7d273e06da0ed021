//! `probity drift`: what departs from its envelope, and what comes back.

use serde_json::Value;

use crate::decision::{as_is, decide};
use crate::world::World;

/// A project in which a decision fails its verification, rejected by a human each time.
fn failing(times: usize) -> World {
    let world = as_is();
    for _ in 0..times {
        let ran = decide(&world, "medium", "true", "max_verify_retries: 0\n");
        assert_eq!(ran.code, 7, "{ran:?}");
        assert_eq!(world.probity(["log", "answer", "last", "--by", "Ada", "--reject"]).code, 1);
    }
    world
}

fn list(world: &World, more: &[&str]) -> Vec<Value> {
    let ran = world.probity(["drift", "list", "--json"].iter().chain(more));
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.json().as_array().unwrap().clone()
}

#[test]
fn no_runs_and_no_decisions_are_no_drift() {
    let world = World::new();
    assert_eq!(list(&world, &[]).len(), 0);
    assert_eq!(world.probity(["demo"]).code, 0);
    let ran = world.probity(["drift", "list"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", "no drift\n"));
}

#[test]
fn drift_that_comes_back_three_times_is_red_and_its_patch_is_due() {
    let world = failing(3);
    let signals = list(&world, &[]);
    let key = "AccountQuarantine::verify::status_check::";
    let of_check: Vec<&Value> =
        signals.iter().filter(|it| it["fingerprint"].as_str().unwrap().starts_with(key)).collect();
    let come_to: Vec<_> = of_check
        .iter()
        .map(|it| (it["occurrence"].clone(), it["severity"].clone(), it["is_patch_due"].clone()))
        .collect();
    assert_eq!(
        come_to,
        [
            (3.into(), "red".into(), true.into()),
            (2.into(), "yellow".into(), false.into()),
            (1.into(), "yellow".into(), false.into()),
        ],
        "{signals:#?}"
    );
    assert_eq!(list(&world, &["--limit", "1"]).len(), 1);
    let alone = list(&world, &["--window", "1ms"]);
    assert!(alone.iter().all(|it| it["is_patch_due"] == false), "{alone:#?}");

    let fingerprint = of_check[0]["fingerprint"].as_str().unwrap();
    let shown = world.probity(["drift", "show", fingerprint, "--json"]).json();
    assert_eq!(shown.as_array().map(Vec::len), Some(3));
    let run = of_check[2]["source"].as_str().unwrap();
    let shown = world.probity(["drift", "show", run, "--json"]).json();
    assert!(shown.as_array().unwrap().iter().all(|it| it["source"] == run), "{shown:#}");
    let text = world.probity(["drift", "list"]);
    assert!(text.stdout.contains(" is due\n"), "{text:?}");
    let none = world.probity(["drift", "show", "no::such", "--json"]);
    assert_eq!((none.code, none.error_code()), (64, "not_found".to_owned()));
}

#[test]
fn signals_in_files_are_listed_and_counted_whatever_their_vocabulary() {
    let world = World::new();
    let signal = |id: &str, at: &str| {
        format!(
            r#"{{"driftId":"{id}","episodeId":"ep-1","driftType":"time","severity":"green",
                "detectedAt":"{at}","evidenceRefs":[],"recommendedPatchType":"dte_change",
                "fingerprint":{{"key":"Refund::time::deadline","version":"2"}}}}"#
        )
    };
    world.write("d/a.json", &signal("d1", "2026-01-01T00:00:00Z"));
    world.write("d/b.json", &signal("d2", "2026-01-01T01:00:00Z"));
    world.write("d/c.json", &signal("d3", "2026-03-01T01:00:00Z"));
    let signals = list(&world, &["d"]);
    let come_to: Vec<_> =
        signals.iter().map(|it| (it["id"].clone(), it["severity"].clone())).collect();
    assert_eq!(
        come_to,
        [
            ("d3".into(), "green".into()),
            ("d2".into(), "yellow".into()),
            ("d1".into(), "green".into()),
        ] as [(Value, Value); 3]
    );
    let absent = world.probity(["drift", "list", "absent.json", "--json"]);
    assert_eq!((absent.code, absent.error_code()), (64, "file_read".to_owned()));
}

#[test]
fn what_is_no_drift_is_told_and_never_called_none() {
    let episode = r#"{"episodeId": "e", "decisionType": 1}"#;
    for (name, text, told) in [
        ("a.json", &b"garbage"[..], "[document_syntax]"),
        ("a.json", b"", "a.json: "),
        ("a.json", b"\xff\xfe", "a.json: "),
        ("a.json", b"{}", "[document_unknown]"),
        ("a.json", b"[]", "there is no document"),
        ("a.json", b"[1]", "a.json:0: "),
        ("a.json", b"\"drift\"", "[document_unknown]"),
        ("a.json", br#"{"driftId": "d"}"#, "a.json: "),
        ("a.json", br#"{"deadlineMs": 1}"#, "an envelope"),
        ("a.json", br#"{"policyPackId": "p", "rules": {}}"#, "a pack"),
        ("a.json", episode.as_bytes(), "a.json: "),
        ("a.jsonl", b"", "there is no document"),
        ("a.jsonl", b"\n\n", "there is no document"),
        ("a.jsonl", b"x\n", "a.jsonl:1: "),
    ] {
        let world = World::new();
        std::fs::write(world.at(name), text).unwrap();
        let ran = world.probity(["drift", "list", name]);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{text:?}: {ran:?}");
        assert!(ran.stderr.contains(told), "{text:?}: {ran:?}");
        assert!(!ran.stderr.contains("no drift\n") || told.starts_with("a"), "{ran:?}");
        let ran = world.probity(["drift", "list", name, "--json"]);
        assert_eq!((ran.code, ran.json()), (1, Value::Array(Vec::new())), "{ran:?}");
        let ran = world.probity(["drift", "show", name, "--json"]);
        assert_eq!((ran.code, ran.error_code()), (64, "not_found".to_owned()), "{ran:?}");
    }
}

#[test]
fn a_list_of_no_documents_is_told_in_a_few_lines() {
    let world = World::new();
    world.write("a.json", &format!("[{}1]", "1,".repeat(999)));
    let ran = world.probity(["drift", "list", "a.json"]);
    assert_eq!((ran.code, ran.stderr.lines().count()), (1, 21), "{ran:?}");
    assert!(ran.stderr.contains("and 980 more"), "{ran:?}");
}
