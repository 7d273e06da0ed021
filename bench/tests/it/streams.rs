//! A few readers, a host that is killed under them, and the floor beside it.

use std::process::Command;

use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_streams");

fn streams(more: &[&str]) -> (Value, Option<i32>) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["--json", "--readers", "4", "--per-run", "2", "--loops", "1"]);
    command.args(["--length-ms", "400", "--folder"]).arg(folder.path()).args(more);
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let outcome = serde_json::from_slice(&output.stdout);
    let outcome = outcome.map_err(|error| format!("no outcome: {error}\n{stderr}")).unwrap();
    // Nothing is left behind.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    (outcome, output.status.code())
}

#[test]
fn readers_of_a_host_that_is_killed_miss_nothing_and_are_told_nothing_twice() {
    let (outcome, exit) = streams(&["--kills", "3", "--kill-every-ms", "1500"]);
    for row in outcome["rows"].as_array().unwrap() {
        for side in ["host", "floor"] {
            let side = &row[side];
            assert!(side["events"].as_u64() > Some(0), "{row}");
            assert_eq!(
                (side["out_of_order"].as_u64(), side["without_end"].as_u64()),
                (Some(0), Some(0))
            );
        }
        assert_eq!(
            row["host"]["events"].as_u64().unwrap() % row["events_per_run"].as_u64().unwrap(),
            0
        );
    }
    let seen = &outcome["killed"]["seen"];
    assert!(seen["taken_up"].as_u64() > Some(0), "{seen}");
    assert_eq!((seen["out_of_order"].as_u64(), seen["without_end"].as_u64()), (Some(0), Some(0)));
    assert_eq!(exit, Some(0), "{outcome}");
}

/// A program that finds nothing wrong must be able to: where nothing broke, nothing was proved.
#[test]
fn where_no_stream_breaks_nothing_is_proved() {
    let (outcome, exit) = streams(&["--kills", "1", "--kill-every-ms", "1"]);
    let taken_up = outcome["killed"]["seen"]["taken_up"].as_u64().unwrap();
    assert_eq!(exit, Some(i32::from(taken_up == 0)));
}
