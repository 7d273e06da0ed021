//! What one process cost, as the kernel counted it.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde::Serialize;
use wait4::{ResUse, Wait4 as _};

use crate::error::BenchError;
use crate::machine::kilobytes;

/// The most of a process's output that is looked at: its end.
const TAIL_BYTES: u64 = 8 << 10;
/// How often memory is looked at.
const LOOK: Duration = Duration::from_millis(1);

/// One process: `wait4(2)`, all its threads included.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Cost {
    pub(crate) user_s: f64,
    pub(crate) system_s: f64,
    pub(crate) wall_s: f64,
    pub(crate) peak_rss_bytes: u64,
}

/// How a process ended.
pub(crate) struct Ended {
    pub(crate) cost: Cost,
    pub(crate) exit: Option<i32>,
    /// The end of what it printed.
    pub(crate) said: String,
}

impl Cost {
    pub(crate) fn cpu_s(&self) -> f64 {
        self.user_s + self.system_s
    }

    /// The one with the middle CPU time. Peak memory is the highest of all.
    pub(crate) fn middle(costs: &[Self]) -> Self {
        let mut sorted = costs.to_vec();
        sorted.sort_by(|one, other| one.cpu_s().total_cmp(&other.cpu_s()));
        let middle = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
        let peak = costs.iter().map(|cost| cost.peak_rss_bytes).max().unwrap_or(0);
        Self { peak_rss_bytes: peak, ..middle }
    }
}

/// Runs a program in a folder. What it prints goes to a file there, so that a reader that is slow
/// costs it nothing.
pub(crate) fn run(command: &mut Command, folder: &Path) -> Result<Ended, BenchError> {
    let failed = BenchError::io("run a program");
    let out = folder.join("out");
    let file = File::create(&out).map_err(&failed)?;
    let both = file.try_clone().map_err(&failed)?;
    command.current_dir(folder).stdin(Stdio::null()).stdout(file).stderr(both);
    let started = Instant::now();
    let child = command.spawn().map_err(&failed)?;
    let (used, peak_rss_bytes) = watch(child).map_err(&failed)?;
    let wall_s = started.elapsed().as_secs_f64();
    Ok(Ended {
        cost: Cost {
            user_s: used.rusage.utime.as_secs_f64(),
            system_s: used.rusage.stime.as_secs_f64(),
            wall_s,
            peak_rss_bytes,
        },
        exit: used.status.code(),
        said: tail(&out).map_err(&failed)?,
    })
}

/// CPU time of this process so far, in seconds.
pub(crate) fn own_cpu_s() -> f64 {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(used).unwrap_or_default().as_secs_f64()
}

/// CPU time of another process so far, in seconds, to a hundredth; 0 if there is none.
pub(crate) fn cpu_s_of(process: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // Behind the name, which may hold anything, user and system time are the 12th and 13th.
    let fields = stat.rsplit_once(')').map(|(_, fields)| fields).unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks = ticks.filter_map(|field| field.parse::<f64>().ok());
    // The unit of that file is a hundredth of a second on every Linux.
    ticks.sum::<f64>() / 100.0
}

/// Bytes of all files below a folder, as far as they can be seen.
pub(crate) fn bytes_below(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(it) if it.is_dir() => bytes_below(&entry.path()),
        Ok(it) => it.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

/// Waits for a child. Its peak memory is what `wait4` says, which is exact, unless that is no more
/// than this process has had: a child inherits that peak. Then it is the high-water mark that was
/// last seen.
fn watch(mut child: Child) -> std::io::Result<(ResUse, u64)> {
    let peak = |process: &str| {
        let status = std::fs::read_to_string(format!("/proc/{process}/status"));
        kilobytes(&status.unwrap_or_default(), "VmHWM").unwrap_or(0) * 1024
    };
    let inherited = peak("self");
    let id = child.id().to_string();
    let mut seen = 0;
    loop {
        seen = seen.max(peak(&id));
        if let Some(used) = child.try_wait4()? {
            let exact = used.rusage.maxrss;
            return Ok((used, if exact > inherited { exact } else { seen }));
        }
        std::thread::sleep(LOOK);
    }
}

fn tail(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let bytes = file.metadata()?.len();
    file.seek(SeekFrom::Start(bytes.saturating_sub(TAIL_BYTES)))?;
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).trim_end().to_owned())
}
