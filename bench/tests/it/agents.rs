//! A few attempts and turns, so that the measurement itself is known to work.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn run(folder: &Path, more: &[&str]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agents"));
    command.args(["--json", "--loops", "1", "--turns", "20", "--folder"]).arg(folder).args(more);
    let output = command.env_remove("AGENTS_PYTHON").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn attempts_and_turns_are_measured_without_peers() {
    let folder = tempfile::tempdir().unwrap();
    let figures = run(folder.path(), &[]);
    let attempts = figures["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 4);
    for attempt in attempts {
        assert!(attempt["per_attempt_us"].as_f64() > Some(0.0), "{attempt}");
        assert!(attempt["one_shot_us"].as_f64() > Some(0.0), "{attempt}");
        assert_eq!(attempt["of_fastest_peer"], Value::Null);
    }
    let turns = figures["turns"].as_array().unwrap();
    assert_eq!(turns.len(), 2);
    assert!(turns.iter().all(|run| run["turns"] == 20 && run["window"] == 2), "{turns:?}");
    assert_eq!(figures["skipped"].as_array().map(Vec::len), Some(3));
    // Nothing is left behind.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn the_fastest_peer_is_what_attempts_are_held_against() {
    let folder = tempfile::tempdir().unwrap();
    let python = folder.path().join("python");
    let script = "#!/bin/sh\n\
        case $3 in instructor) ms=200;; openai-agents) ms=100;; *) echo no such >&2; exit 1;; esac\n\
        [ \"$4 $5 $6\" = '10 1 typed' ] || exit 1\n\
        echo '{\"name\":\"'$3'\",\"version\":\"1\",\"import_s\":1,\"per_attempt_ms\":'$ms',\
        \"one_shot_ms\":9,\"peak_rss_mb\":1}'\n";
    std::fs::write(&python, script).unwrap();
    std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).unwrap();
    let figures = run(folder.path(), &["--python", python.to_str().unwrap()]);
    assert_eq!(figures["peers"].as_array().map(Vec::len), Some(2));
    assert_eq!(figures["skipped"][0], "cannot measure pydantic-ai-slim: no such");
    for attempt in figures["attempts"].as_array().unwrap() {
        let expected = attempt["per_attempt_us"].as_f64().unwrap() / 100_000.0;
        let told = attempt["of_fastest_peer"].as_f64().unwrap();
        assert!((told - expected).abs() < 1e-9, "{attempt}");
    }
}
