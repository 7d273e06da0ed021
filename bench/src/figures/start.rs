//! What the program costs before and besides its work: start, memory, size.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::error::BenchError;
use crate::machine::kilobytes;
use crate::stopwatch::{median, ms};

/// Starts of which the median is taken.
const STARTS: usize = 41;

/// Times in milliseconds, sizes in bytes.
#[derive(Debug, Serialize)]
pub(super) struct Start {
    pub(super) probity_ms: f64,
    pub(super) shell_ms: f64,
    pub(super) python_ms: Option<f64>,
    /// A whole `probity run` with a shell script as its delegate and a durable store.
    pub(super) run_ms: f64,
    pub(super) peak_rss_bytes: u64,
    pub(super) binary_bytes: u64,
}

/// Starts programs and looks at them.
pub(super) fn measure(probity: &Path, folder: &Path, loops: usize) -> Result<Start, BenchError> {
    let binary = std::fs::metadata(probity).map_err(BenchError::io("find the probity binary"))?;
    let (run_ms, peak_rss_bytes) = run(probity, folder, loops)?;
    let python = Command::new("python3").arg("-c").arg("pass").output();
    let python_ms = match python {
        Ok(output) if output.status.success() => {
            Some(start_ms(Command::new("python3").args(["-c", "pass"]))?)
        }
        _ => None,
    };
    Ok(Start {
        probity_ms: start_ms(Command::new(probity).arg("--version"))?,
        shell_ms: start_ms(Command::new("sh").args(["-c", ":"]))?,
        python_ms,
        run_ms,
        peak_rss_bytes,
        binary_bytes: binary.len(),
    })
}

fn start_ms(command: &mut Command) -> Result<f64, BenchError> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut times = Vec::new();
    for _ in 0..STARTS {
        let started = Instant::now();
        command.status().map_err(BenchError::io("start a program"))?;
        times.push(started.elapsed());
    }
    Ok(ms(median(times)))
}

/// A whole run: its median time, and the most memory that any of them held.
fn run(probity: &Path, folder: &Path, loops: usize) -> Result<(f64, u64), BenchError> {
    let failed = BenchError::io("run probity");
    let mut times = Vec::new();
    let mut peak = 0;
    for _ in 0..loops {
        let home = tempfile::tempdir_in(folder).map_err(&failed)?;
        let workspace = home.path().join("workspace");
        std::fs::create_dir(&workspace).map_err(&failed)?;
        let mut command = Command::new(probity);
        command.args(["run", "write hello to out.txt", "--no-project", "--json"]);
        command.args(["--expect", "file:out.txt,created,contains=hello", "--store"]);
        command.arg(format!("sqlite:{}", home.path().join("runs.db").display()));
        command.arg("--workspace").arg(&workspace);
        command.args(["--", "sh", "-c", "echo hello > out.txt"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let started = Instant::now();
        let mut child = command.spawn().map_err(&failed)?;
        let status = format!("/proc/{}/status", child.id());
        let ended = loop {
            // The high-water mark only rises, so the last reading is the one that counts.
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            peak = peak.max(kilobytes(&text, "VmHWM").unwrap_or(0) * 1024);
            if let Some(ended) = child.try_wait().map_err(&failed)? {
                break ended;
            }
            std::thread::sleep(Duration::from_micros(200));
        };
        times.push(started.elapsed());
        if !ended.success() {
            let detail = format!("a run ended with {ended}");
            return Err(BenchError::Measure { what: "probity run", detail });
        }
    }
    Ok((ms(median(times)), peak))
}
