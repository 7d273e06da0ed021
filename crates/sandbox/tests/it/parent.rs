//! The caller is killed with SIGKILL: nothing of what it ran stays.

use std::process::{Command, Stdio};
use std::time::Instant;

use crate::{PATIENCE, daemon_script, marked, marker, run, sh, until};

/// Names the daemon's marker to the driver.
const MARKER: &str = "PROBITY_TEST_DRIVER_MARKER";
/// Names the daemon's ready file to the driver.
const READY: &str = "PROBITY_TEST_DRIVER_READY";

/// Started by the test below as a process of its own, to be killed.
#[tokio::test]
#[ignore = "the process that another test kills"]
async fn driver() {
    let (Ok(marker), Some(ready)) = (std::env::var(MARKER), std::env::var_os(READY)) else {
        return;
    };
    let script = format!("{}; sleep 600", daemon_script(&marker, ready.as_ref()));
    run(&sh(&script).term_grace(PATIENCE)).await;
}

#[tokio::test]
async fn the_tree_dies_with_a_caller_that_is_killed() {
    let (dir, marker) = (tempfile::tempdir().unwrap(), marker("parent"));
    let ready = dir.path().join("ready");
    let mut driver = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "parent::driver"])
        .env(MARKER, &marker)
        .env(READY, &ready)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("the daemon to start", || ready.exists()).await;
    assert!(!marked(&marker).is_empty());
    driver.kill().unwrap();
    driver.wait().unwrap();
    // Well within the grace that the driver asked for: nobody is left to grant it.
    let killed = Instant::now();
    until("the daemon to die", || marked(&marker).is_empty()).await;
    assert!(killed.elapsed() < PATIENCE / 2);
}
