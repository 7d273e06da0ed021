//! Retry loops of other libraries, driven by `peers/overhead.py` in a Python that has them.

use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::ATTEMPTS;
use crate::error::BenchError;

/// Who can be driven without a network.
pub(super) const NAMES: [&str; 2] = ["instructor", "pydantic-ai-slim"];

/// Kept in the program, so that it runs from any folder.
const DRIVER: &str = include_str!("../../peers/overhead.py");

/// What one peer took.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Peer {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) import_s: f64,
    pub(super) per_attempt_ms: f64,
    pub(super) one_shot_ms: f64,
    pub(super) peak_rss_mb: f64,
}

/// Drives one.
pub(super) fn measure(name: &'static str, python: &Path, loops: usize) -> Result<Peer, BenchError> {
    let output = Command::new(python)
        .args(["-c", DRIVER, name, &ATTEMPTS.to_string(), &loops.to_string()])
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
