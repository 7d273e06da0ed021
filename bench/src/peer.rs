//! Retry loops of other libraries, driven by `peers/overhead.py` in a Python that has them.

use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::error::BenchError;

/// Who can be driven without a network.
const NAMES: [&str; 3] = ["instructor", "pydantic-ai-slim", "openai-agents"];

/// Kept in the program, so that it runs from any folder.
const DRIVER: &str = include_str!("../peers/overhead.py");

/// What a loop does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Work {
    /// The last attempt makes a file, and the validator looks for it.
    File,
    /// Every attempt answers with another object of a declared type; the validator counts.
    Typed,
}

/// What one peer took.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Peer {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) import_s: f64,
    pub(crate) per_attempt_ms: f64,
    pub(crate) one_shot_ms: f64,
    pub(crate) peak_rss_mb: f64,
}

/// All that could be driven, and why the others could not.
pub(crate) struct Peers {
    pub(crate) measured: Vec<Peer>,
    pub(crate) skipped: Vec<String>,
}

/// Drives one after the other; without a Python, none.
pub(crate) fn measure(python: Option<&Path>, work: Work, attempts: u32, loops: usize) -> Peers {
    let mut peers = Peers { measured: Vec::new(), skipped: Vec::new() };
    for name in NAMES {
        match python.map(|python| drive(name, python, work, attempts, loops)) {
            Some(Ok(peer)) => peers.measured.push(peer),
            Some(Err(error)) => peers.skipped.push(error.to_string()),
            None => peers.skipped.push(format!("{name}: no --python given")),
        }
    }
    peers
}

fn drive(
    name: &'static str,
    python: &Path,
    work: Work,
    attempts: u32,
    loops: usize,
) -> Result<Peer, BenchError> {
    let work = match work {
        Work::File => "file",
        Work::Typed => "typed",
    };
    let output = Command::new(python)
        .args(["-c", DRIVER, name, &attempts.to_string(), &loops.to_string(), work])
        .output()
        .map_err(BenchError::io("start Python"))?;
    serde_json::from_slice(&output.stdout).map_err(|_| BenchError::Measure {
        what: name,
        detail: String::from_utf8_lossy(&output.stderr)
            .lines()
            .last()
            .unwrap_or("no output")
            .to_owned(),
    })
}
