//! What the numbers belong to.

use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use serde::Serialize;

use crate::error::BenchError;
use crate::stopwatch::{median, ms};

/// The machine, as it is now. Sizes in bytes.
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) cpu: String,
    pub(crate) cores: usize,
    pub(crate) memory_bytes: u64,
    pub(crate) load: String,
    /// How this program was built, which need not be how the one it measures was.
    pub(crate) profile: &'static str,
}

impl Machine {
    pub(crate) fn read() -> Self {
        let file = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let cpu = field(&file("/proc/cpuinfo"), "model name").unwrap_or_default();
        let memory = kilobytes(&file("/proc/meminfo"), "MemTotal").unwrap_or_default();
        Self {
            cpu,
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            memory_bytes: memory * 1024,
            load: file("/proc/loadavg").split(' ').take(3).collect::<Vec<_>>().join(" "),
            profile: if cfg!(debug_assertions) { "debug" } else { "release" },
        }
    }
}

/// The most memory that this process has had.
pub(crate) fn own_peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    kilobytes(&status, "VmHWM").unwrap_or(0) * 1024
}

/// A figure of `/proc` in kilobytes.
pub(crate) fn kilobytes(text: &str, name: &str) -> Option<u64> {
    field(text, name)?.split(' ').next()?.parse().ok()
}

/// What one small durable append costs here, without anything of ours.
pub(crate) fn fsync_ms(folder: &Path) -> Result<f64, BenchError> {
    let failed = BenchError::io("measure fsync");
    let mut file = tempfile::tempfile_in(folder).map_err(&failed)?;
    let mut times = Vec::new();
    for _ in 0..200 {
        let started = Instant::now();
        file.write_all(&[0; 4096]).map_err(&failed)?;
        file.sync_data().map_err(&failed)?;
        times.push(started.elapsed());
    }
    Ok(ms(median(times)))
}

/// How free the machine is at this moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, serde::Deserialize)]
pub(crate) struct Calm {
    /// Wall time by CPU time of a loop that only counts: 1.0 on a machine that nobody else uses.
    pub(crate) wall_by_cpu: f64,
    /// How far that loop comes in a second of CPU time, in millions: it falls where somebody else
    /// is on the other half of the same core.
    pub(crate) millions_per_cpu_s: f64,
    /// The load of the last minute.
    pub(crate) load: f64,
}

impl Calm {
    /// Counts for a tenth of a second of CPU time.
    pub(crate) fn look() -> Self {
        let (started, cpu_s) = (Instant::now(), crate::cost::own_cpu_s());
        let (mut count, mut state) = (0_u64, 1_u64);
        let spent_s = loop {
            for _ in 0..100_000 {
                state = std::hint::black_box(state.wrapping_mul(6_364_136_223_846_793_005) ^ count);
                count += 1;
            }
            let spent_s = crate::cost::own_cpu_s() - cpu_s;
            if spent_s >= 0.1 {
                break spent_s;
            }
        };
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        Self {
            wall_by_cpu: started.elapsed().as_secs_f64() / spent_s,
            millions_per_cpu_s: mb(count) / spent_s,
            load: load.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(f64::NAN),
        }
    }
}

fn field(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

#[expect(clippy::cast_precision_loss, reason = "sizes in MB, to be read by people")]
pub(crate) fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "sizes in GiB, to be read by people")]
pub(crate) fn gib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 30)
}
