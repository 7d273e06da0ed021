//! A control group of version 2 for one command: how many processes, how much memory, and a death that
//! nothing in it escapes.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::spawn::Limits;

/// How long to wait for a group to become empty after the last process died.
const REMOVE_BOUND: Duration = Duration::from_secs(1);
const REMOVE_PAUSE: Duration = Duration::from_millis(2);

/// A group that is removed when this is dropped.
pub(super) struct ControlGroup {
    folder: PathBuf,
}

impl ControlGroup {
    /// Makes a group with those of the limits that the machine delegates to this process; `None` where
    /// it delegates none.
    pub(super) fn make(limits: &Limits) -> Option<Self> {
        let (root, own) = own_group()?;
        let beside = own.parent().filter(|above| above.starts_with(&root)).map(Path::to_path_buf);
        beside.into_iter().chain([own]).find_map(|above| Self::below(&above, limits))
    }

    /// Where it is.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Kills everything in it at once, where the kernel can.
    pub(super) fn kill(&self) {
        // What stands beside this kills the same processes one by one.
        let _ = fs::write(self.folder.join("cgroup.kill"), "1");
    }

    fn below(above: &Path, limits: &Limits) -> Option<Self> {
        let folder = above.join(format!("probity-{}", std::process::id()));
        fs::create_dir(&folder).ok()?;
        let group = Self { folder };
        let asked = [("pids.max", limits.processes), ("memory.max", limits.memory_bytes)];
        let set = asked.into_iter().filter(|(file, most)| {
            most.is_some_and(|most| fs::write(group.folder.join(file), most.to_string()).is_ok())
        });
        if set.count() == 0 {
            return None;
        }
        if limits.memory_bytes.is_some() {
            // Memory that is merely moved out is memory all the same. Absent where there is no swap.
            let _ = fs::write(group.folder.join("memory.swap.max"), "0");
        }
        Some(group)
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        let deadline = Instant::now() + REMOVE_BOUND;
        while fs::remove_dir(&self.folder).is_err() && Instant::now() < deadline {
            thread::sleep(REMOVE_PAUSE);
        }
    }
}

/// Moves the calling process into a group. Says of processes and memory whether they are bounded there.
pub(super) fn join(folder: &Path) -> Option<(bool, bool)> {
    fs::write(folder.join("cgroup.procs"), "0").ok()?;
    let is_bounded = |file| {
        fs::read_to_string(folder.join(file)).is_ok_and(|most| most.trim().parse::<u64>().is_ok())
    };
    Some((is_bounded("pids.max"), is_bounded("memory.max")))
}

/// Where groups of version 2 are, and which of them this process is in.
fn own_group() -> Option<(PathBuf, PathBuf)> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let root = mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(1);
        let at = words.next()?;
        (words.next()? == "cgroup2").then(|| PathBuf::from(at))
    })?;
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let own = root.join(own.trim_start_matches('/'));
    Some((root, own))
}
