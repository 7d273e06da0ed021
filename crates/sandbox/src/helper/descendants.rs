//! Everything below this process, whatever session or group it moved to.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use crate::procfs;

/// Process ids of all descendants at this moment. A tree that is forking is never seen whole, so
/// callers repeat until nothing is left.
pub(super) fn list() -> BTreeSet<i32> {
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let mut found = BTreeSet::new();
    let mut todo = vec![own];
    let mut by_parent = None;
    while let Some(pid) = todo.pop() {
        // A kernel without `children` files costs a pass over all of `/proc`, once per call.
        let children = children_file(pid).unwrap_or_else(|| {
            by_parent.get_or_insert_with(scan).get(&pid).cloned().unwrap_or_default()
        });
        todo.extend(children.into_iter().filter(|child| found.insert(*child)));
    }
    found
}

/// Signals all descendants, and returns those it was sent to. Between the listing and the signal
/// an id could only change hands if the whole id space were used up in those microseconds.
pub(super) fn signal(signal: Signal) -> BTreeSet<i32> {
    let pids = list();
    for pid in pids.iter().copied().filter_map(Pid::from_raw) {
        // Gone already, or another user's: the reaper's count, not this call, tells when to stop.
        let _ = kill_process(pid, signal);
    }
    pids
}

/// Children of every thread of `pid`. `None` when the kernel does not offer the file; a process
/// that is gone has no children.
fn children_file(pid: i32) -> Option<Vec<i32>> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Some(Vec::new()) };
    let mut children = Vec::new();
    for task in tasks.flatten() {
        match fs::read_to_string(task.path().join("children")) {
            Ok(text) => {
                children.extend(text.split_whitespace().filter_map(|w| w.parse::<i32>().ok()))
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
    fn both_ways_of_listing_see_a_child() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(list().contains(&pid));
        assert!(scan().get(&own).is_some_and(|children| children.contains(&pid)));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!list().contains(&pid));
    }
}
