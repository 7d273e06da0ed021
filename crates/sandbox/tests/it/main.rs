//! Real child processes, run through the real helper.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world fails")]

mod bounds;
mod child;
mod confine;
mod contain;
mod hostile;
mod parent;
mod plain;

use std::path::Path;
use std::time::{Duration, Instant};

use probity_sandbox::{Finished, Launcher, Spawn};

/// Long enough for a loaded machine; no test waits for it unless it fails.
const PATIENCE: Duration = Duration::from_secs(30);

fn helper() -> Launcher {
    Launcher::helper(env!("CARGO_BIN_EXE_probity-sandbox-exec"), Vec::<String>::new())
}

fn both() -> [Launcher; 2] {
    [helper(), Launcher::InProcess]
}

fn sh(script: &str) -> Spawn {
    Spawn::new("sh").args(["-c", script]).timeout(PATIENCE)
}

async fn run(spawn: &Spawn) -> Finished {
    spawn.run(&helper()).await.unwrap()
}

/// Processes whose command line holds `marker`, the helper's own excepted.
fn marked(marker: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(line) = std::fs::read(entry.path().join("cmdline")) else { continue };
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(marker) && !line.contains("probity-sandbox-exec run") {
            found.push(line);
        }
    }
    found
}

/// A name that no other process on the machine carries.
fn marker(test: &str) -> String {
    format!("probity-marker-{test}-{}", std::process::id())
}

/// Polls until `done`, and fails when it never is.
async fn until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A script that leaves a daemon behind: forked twice, in a session of its own, deaf to every
/// signal it can be deaf to, holding the output streams. It touches `ready` when it is there.
fn daemon_script(marker: &str, ready: &Path) -> String {
    format!(
        "(setsid sh -c 'trap \"\" TERM HUP INT; : {marker}; touch {ready}; \
         while :; do sleep 1; done' &) & \
         while [ ! -e {ready} ]; do sleep 0.01; done",
        ready = ready.display()
    )
}
