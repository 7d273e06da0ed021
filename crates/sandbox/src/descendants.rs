//! Everything below this process, whatever session or group it moved to.
//!
//! Process ids are reused, on a busy machine within seconds, so an id that was read a moment ago
//! may name somebody else's process. A descendant is therefore held by a descriptor before it is
//! believed, believed only while its parent is, and signalled through the descriptor.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

use crate::procfs::{self, Process};

/// Descendants held at a time: below the usual bound of 1,024 open files. More are for the next
/// round; as their parents die they come closer.
const MAX_HELD: usize = 512;

/// A descendant, and what holds it: `None` where the kernel has no such descriptors.
struct Held {
    pid: i32,
    fd: Option<OwnedFd>,
}

impl Held {
    /// Whether it has not ended, so that its id is still its own.
    fn alive(&self) -> bool {
        let Some(fd) = &self.fd else { return true };
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(fd, PollFlags::IN)], Some(&now)) == Ok(0)
    }
}

/// How many descendants there are at this moment. A tree that is forking is never seen whole.
pub(crate) fn count() -> usize {
    hold(&|_| true).len()
}

/// Signals all descendants that are seen, and returns their ids. Callers repeat until nothing is
/// left.
pub(crate) fn signal(signal: Signal) -> BTreeSet<i32> {
    signal_below(signal, &|_| true)
}

/// The same for those children of this process that `pick` takes, and everything below them.
pub(crate) fn signal_below(signal: Signal, pick: &dyn Fn(&Process) -> bool) -> BTreeSet<i32> {
    let held = hold(pick);
    for process in &held {
        // Gone already, or another user's: the reaper's count, not this call, tells when to stop.
        let _ = match (&process.fd, Pid::from_raw(process.pid)) {
            (Some(fd), _) => pidfd_send_signal(fd, signal),
            (None, Some(pid)) => kill_process(pid, signal),
            (None, None) => Ok(()),
        };
    }
    held.iter().map(|process| process.pid).collect()
}

fn hold(pick: &dyn Fn(&Process) -> bool) -> Vec<Held> {
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let mut by_parent = None;
    // A kernel without `children` files costs a pass over all of `/proc`, once per call.
    let mut children = |pid| {
        children_file(pid).unwrap_or_else(|| {
            by_parent.get_or_insert_with(scan).get(&pid).cloned().unwrap_or_default()
        })
    };
    let mut seen = BTreeSet::new();
    let mut held: Vec<Held> = Vec::new();
    let mut next = 0_usize;
    let mut parent = own;
    loop {
        for pid in children(parent) {
            if held.len() >= MAX_HELD {
                return held;
            }
            let known = next.checked_sub(1).and_then(|index| held.get(index));
            let taken = |process: &Process| parent != own || pick(process);
            let Some(process) = hold_child(pid, parent, &taken) else { continue };
            if known.is_none_or(Held::alive) && seen.insert(pid) {
                held.push(process);
            }
        }
        let Some(process) = held.get(next) else { return held };
        parent = process.pid;
        next += 1;
    }
}

/// Holds `pid` if it is a child of `parent` and is taken. True only if `parent` is still the process it was,
/// which the caller looks at afterwards.
fn hold_child(pid: i32, parent: i32, taken: &dyn Fn(&Process) -> bool) -> Option<Held> {
    let fd = match pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()) {
        Ok(fd) => Some(fd),
        Err(Errno::NOSYS) => None,
        Err(_) => return None,
    };
    let process = procfs::one(pid)?;
    (process.parent == parent && taken(&process)).then_some(Held { pid, fd })
}

/// Children of every thread of `pid`. `None` when the kernel does not offer the file; a process
/// that is gone has no children.
fn children_file(pid: i32) -> Option<Vec<i32>> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Some(Vec::new()) };
    let mut children = Vec::new();
    for task in tasks.flatten() {
        match fs::read_to_string(task.path().join("children")) {
            Ok(text) => {
                children.extend(text.split_whitespace().filter_map(|w| w.parse::<i32>().ok()));
            }
            Err(_) if task.path().exists() => return None,
            Err(_) => {}
        }
    }
    Some(children)
}

/// Parent to children, from every process's `stat`.
fn scan() -> BTreeMap<i32, Vec<i32>> {
    let mut by_parent: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for process in procfs::all() {
        by_parent.entry(process.parent).or_default().push(process.pid);
    }
    by_parent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_listing_see_a_child_and_a_strangers_child_is_not_held() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(hold(&|_| true).iter().any(|held| held.pid == pid && held.alive()));
        assert!(scan().get(&own).is_some_and(|children| children.contains(&pid)));
        assert!(hold_child(pid, own, &|_| true).is_some());
        // What a reused id looks like: the process is there, its parent is another.
        assert!(
            hold_child(pid, 1, &|_| true).is_none() && hold_child(own, own, &|_| true).is_none()
        );
        assert!(hold_child(pid, own, &|_| false).is_none());
        assert!(!hold(&|process| process.pid != pid).iter().any(|held| held.pid == pid));
        let held = hold_child(pid, own, &|_| true).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!held.alive());
        assert!(!hold(&|_| true).iter().any(|held| held.pid == pid));
    }
}
