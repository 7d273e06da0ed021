//! A few tasks, so that the measurement itself is known to work.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn run(folder: &Path, more: &[&str]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_workers"));
    command.args(["--json", "--loops", "1", "--size", "2", "--folder"]).arg(folder).args(more);
    command.env_remove("FLEET_PYTHON").env_remove("PROBITY_NATS_SERVER");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn every_mode_is_measured_in_one_process_and_in_two() {
    let folder = tempfile::tempdir().unwrap();
    let parts = "throughput,two,idle,long";
    let figures = run(folder.path(), &["--stores", "memory,sqlite-normal", "--parts", parts]);
    let throughput = figures["throughput"].as_array().unwrap();
    // Five modes: in memory, on SQLite, on SQLite by two processes.
    assert_eq!(throughput.len(), 15);
    for it in throughput {
        let turns = match it["mode"].as_str() {
            Some("verify4" | "tools4") => 10 * 4,
            _ => 40,
        };
        assert_eq!(it["turns"], turns, "{it}");
        assert!(it["cpu_ms_per_turn"].as_f64() > Some(0.0), "{it}");
        assert!(it["turns_per_s"].as_f64() > Some(0.0), "{it}");
    }
    assert_eq!(figures["idle"].as_array().map(Vec::len), Some(2));
    let long = figures["long"].as_array().unwrap();
    assert!(long.iter().all(|it| it["ms_per_turn_at"][0][0] == 20), "{long:?}");
    assert_eq!(figures["skipped"].as_array().map(Vec::len), Some(1));
    // Nothing is left behind.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn the_peer_is_told_how_durable_it_is_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let python = folder.path().join("python");
    let script = "#!/bin/sh\n\
        [ \"$3 $4 $6\" = 'plain 40 redis' ] || exit 1\n\
        echo '{\"name\":\"nfactorial\",\"version\":\"1\",\"mode\":\"'$3'\",\"durability\":\"'$5'\",\
        \"load_before\":1,\"turns_per_s\":10,\"worker_cpu_ms_per_turn\":2.5,\
        \"server_cpu_ms_per_turn\":0.5,\"peak_rss_mb\":1}'\n";
    std::fs::write(&python, script).unwrap();
    std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).unwrap();
    let python = python.to_str().unwrap();
    let more = ["--stores", "memory", "--parts", "throughput", "--modes", "plain"];
    let peers = ["--python", python, "--redis-server", "redis"];
    let figures = run(folder.path(), &[more.as_slice(), peers.as_slice()].concat());
    let told: Vec<&str> = figures["peers"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|peer| peer["durability"].as_str())
        .collect();
    assert_eq!(told, ["none", "everysec", "always"]);
}
