//! What the figures belong to: the machine, the toolchain, the commit.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::BenchError;

/// Today, in UTC, as `2026-01-31`.
pub(super) fn day() -> Result<String, BenchError> {
    let output = Command::new("date").args(["-u", "+%F"]).output();
    let output = output.map_err(|error| BenchError::Io { path: PathBuf::from("date"), error })?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The load of the last one, five and fifteen minutes.
pub(super) fn load() -> String {
    read("/proc/loadavg").split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// The machine as it is now; what cannot be found out is empty.
pub(super) fn machine(root: &Path, folder: &Path) -> Value {
    let memory = field(&read("/proc/meminfo"), "MemTotal");
    let memory_kb = memory.split(' ').next().and_then(|it| it.parse::<u64>().ok());
    let folder = folder.display().to_string();
    json!({
        "cpu": field(&read("/proc/cpuinfo"), "model name"),
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "memory_bytes": memory_kb.unwrap_or_default() * 1024,
        "kernel": said(root, "uname", &["-sr"]),
        // File system and size, not where it is mounted.
        "disk": last_line(&said(root, "df", &["--output=fstype,size", "-h", &folder])),
        "rustc": said(root, "rustc", &["--version"]),
        "python": said(root, "python3", &["--version"]),
        "commit": said(root, "git", &["rev-parse", "--short=12", "HEAD"]),
    })
}

fn said(root: &Path, program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).current_dir(root).output();
    let output = output.map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).trim().to_owned()
}

fn last_line(text: &str) -> String {
    let words = text.lines().last().unwrap_or_default().split_whitespace();
    words.collect::<Vec<_>>().join(" ")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn field(text: &str, name: &str) -> String {
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_once(':').map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
}
