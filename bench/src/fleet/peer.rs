//! nfactorial's workers, driven by `peers/fleet.py` in a Python that has them.

use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::error::BenchError;

/// Kept in the program, so that it runs from any folder.
const DRIVER: &str = include_str!("../../peers/fleet.py");
/// The modes that its published release has.
pub(super) const MODES: [&str; 3] = ["plain", "output", "tools4"];
/// What Redis is told to do before it acknowledges.
pub(super) const DURABILITIES: [&str; 3] = ["none", "everysec", "always"];

/// What it printed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Peer {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) mode: String,
    pub(super) durability: String,
    pub(super) load_before: f64,
    pub(super) turns_per_s: Option<f64>,
    pub(super) worker_cpu_ms_per_turn: Option<f64>,
    pub(super) server_cpu_ms_per_turn: Option<f64>,
    pub(super) p50_ms: Option<f64>,
    pub(super) p90_ms: Option<f64>,
    pub(super) ms_per_turn_at: Option<std::collections::BTreeMap<String, f64>>,
    pub(super) whole_s: Option<f64>,
    pub(super) peak_rss_mb: f64,
}

/// Drives one measurement.
pub(super) fn drive(
    python: &Path,
    redis: &Path,
    mode: &str,
    count: u32,
    durability: &str,
) -> Result<Peer, BenchError> {
    let output = Command::new(python)
        .args(["-c", DRIVER, mode, &count.to_string(), durability])
        .arg(redis)
        .output()
        .map_err(BenchError::io("start Python"))?;
    serde_json::from_slice(&output.stdout).map_err(|_| BenchError::Measure {
        what: "nfactorial",
        detail: String::from_utf8_lossy(&output.stderr)
            .lines()
            .last()
            .unwrap_or("no output")
            .to_owned(),
    })
}
