//! A few episodes, so that the measurement itself is known to work.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_episodes");

/// The program is `probity` by that name.
fn probity(folder: &Path) -> PathBuf {
    let path = folder.join("probity");
    std::os::unix::fs::symlink(PROGRAM, &path).unwrap();
    path
}

fn script(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn run(folder: &Path, probity: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(["--json", "--episodes", "20", "--lines", "10,300", "--loops", "1"]);
    command.arg("--probity").arg(probity).arg("--folder").arg(folder).args(more);
    command.env_remove("EPISODES_COHERENCE").output().unwrap()
}

fn figures(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn every_form_is_accepted_and_the_changed_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let probity = probity(folder.path());
    let figures = figures(&run(folder.path(), &probity, &[]));
    let ours = figures["ours"].as_array().unwrap();
    assert_eq!(ours.len(), 4);
    for audit in ours {
        assert!(audit["cost"]["peak_rss_bytes"].as_u64() > Some(1 << 20), "{audit}");
        assert_eq!(audit["ratio"], Value::Null);
        assert_eq!(audit["runs"].as_array().map(Vec::len), Some(1));
    }
    let lines: Vec<u64> = figures["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|lines| lines["lines"].as_u64().unwrap())
        .collect();
    assert_eq!(lines, [10, 300]);
    let changed = figures["changed"].as_array().unwrap();
    assert!(changed.iter().all(|told| told["exit"] == 1), "{changed:?}");
    assert_eq!(figures["skipped"].as_array().map(Vec::len), Some(1));
    // Nothing is left behind.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_peer_is_asked_and_one_that_says_something_else_is_no_figure() {
    let folder = tempfile::tempdir().unwrap();
    let probity = probity(folder.path());
    let says = "case $1 in --version) echo peer 1;; schema) echo PASS;; *) echo CLEAN;; esac";
    let peer = script(folder.path(), "peer", says);
    let figures = figures(&run(folder.path(), &probity, &["--coherence", peer.to_str().unwrap()]));
    assert_eq!(figures["peer"], "peer 1");
    assert_eq!(figures["peers"].as_array().map(Vec::len), Some(2));
    assert!(figures["ours"].as_array().unwrap().iter().all(|audit| audit["ratio"].is_number()));
    assert_eq!(figures["changed"].as_array().map(Vec::len), Some(6));

    let peer = script(folder.path(), "odd", "echo VIOLATION");
    let output = run(folder.path(), &probity, &["--coherence", peer.to_str().unwrap()]);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("VIOLATION"));

    let absent = run(folder.path(), &probity, &["--coherence", "/absent/coherence"]);
    let skipped = self::figures(&absent)["skipped"].to_string();
    assert!(skipped.contains("/absent/coherence"), "{skipped}");
}

#[test]
fn a_program_that_does_not_audit_is_no_figure() {
    let folder = tempfile::tempdir().unwrap();
    let idle = script(folder.path(), "idle", "echo probity 1");
    let output = run(folder.path(), &idle, &[]);
    assert!(!output.status.success());
    // One that accepts everything fails on the changed episode.
    let summary =
        r#"{"documents":'$n',"accepted":'$n',"rejected":0,"unread":0,"envelopes":1,"packs":0}"#;
    let lenient = script(
        folder.path(),
        "lenient",
        &format!(
            "case $* in --version) echo 1; exit;; *quiet*) ;; esac\n\
             d=$(dirname \"$5\"); n=$(wc -l < \"$d/all.jsonl\" | tr -d ' ')\n\
             echo '{{\"summary\":{summary}}}'"
        ),
    );
    let output = run(folder.path(), &lenient, &[]);
    assert!(!output.status.success());
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("\"documents\":10,"), "{told}");
}
