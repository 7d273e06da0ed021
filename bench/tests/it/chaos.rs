//! A short chaos on every durable store: workers are killed, and one server of the cluster.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_chaos");

fn chaos(more: &[&str]) -> (Value, Option<i32>) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["--json", "--lease-ttl-ms", "1000", "--kill-every-ms", "600"]);
    command.args(["--give-up-s", "240", "--folder"]).arg(folder.path()).args(more);
    let output = command.env_remove("PROBITY_NATS_SERVER").output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let outcome = serde_json::from_slice(&output.stdout);
    let outcome = outcome.map_err(|error| format!("no outcome: {error}\n{stderr}")).unwrap();
    // Nothing is left behind.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    (outcome, output.status.code())
}

/// Everything that was submitted is there once, and nobody was asked what a log already held.
fn is_whole(on_store: &Value, runs: u64) {
    let at = |pointer: &str| on_store.pointer(pointer).and_then(Value::as_u64);
    for violation in ["lost", "miscounted", "repeated", "invented", "epochs", "refused"] {
        let found = at(&format!("/proof/violations/{violation}"));
        assert_eq!(found, Some(0), "{violation}: {on_store}");
    }
    assert_eq!(at("/proof/runs"), Some(runs), "{on_store}");
    assert_eq!(at("/proof/verified"), Some(runs), "{on_store}");
    assert_eq!(at("/proof/verdicts"), Some(runs * 4), "{on_store}");
    assert_eq!(at("/ended_by_themselves"), Some(0), "{on_store}");
    assert!(at("/worker_kills") >= Some(3), "{on_store}");
    // Kills came in the midst of work, and others went on with it.
    assert!(at("/resumption/runs") >= Some(1), "{on_store}");
    assert!(at("/proof/leases") > Some(runs), "{on_store}");
    let lost = at("/proof/unrecorded_calls");
    assert_eq!(at("/proof/model_calls"), lost.map(|lost| lost + runs * 4), "{on_store}");
}

#[test]
fn workers_on_one_file_are_killed_and_nothing_is_lost_or_counted_twice() {
    let (outcome, exit) = chaos(&["--stores", "sqlite-full", "--runs", "120"]);
    is_whole(&outcome["stores"][0], 120);
    assert_eq!(exit, Some(0));
}

#[test]
fn workers_and_a_server_of_a_cluster_are_killed_and_nothing_is_lost_or_counted_twice() {
    let server = server();
    let server = server.to_str().unwrap();
    let (outcome, exit) = chaos(&[
        "--stores",
        "jetstream",
        "--runs",
        "60",
        "--server-kills",
        "1",
        "--server-away-ms",
        "1000",
        "--nats-server",
        server,
    ]);
    is_whole(&outcome["stores"][0], 60);
    assert_eq!(outcome["stores"][0]["server_kills"], 1);
    assert_eq!(exit, Some(0));
}

/// A program that finds nothing wrong must be able to: where nothing ran, it is no success.
#[test]
fn where_nothing_is_killed_nothing_is_proved() {
    let (outcome, exit) = chaos(&["--stores", "memory,jetstream", "--runs", "1"]);
    assert_eq!(outcome["skipped"].as_array().map(Vec::len), Some(2));
    assert_eq!(exit, Some(1));
}

/// The server: as the environment says, else the one that `cargo xtask test` fetched, else as the path
/// has it.
fn server() -> PathBuf {
    if let Some(named) = std::env::var_os("PROBITY_NATS_SERVER") {
        return PathBuf::from(named);
    }
    let fetched = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/nats/nats-server");
    if fetched.is_file() { fetched } else { PathBuf::from("nats-server") }
}
