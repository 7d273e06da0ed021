//! One helper as its caller holds it, so that none outlives its run, and neither does what a dead one
//! leaves: its orphans become children of this process, which is a subreaper too.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, pidfd_open, pidfd_send_signal,
    set_child_subreaper, waitpid,
};
use tokio::process::{Child, Command};

use crate::descendants;
use crate::drive::KILL_BOUND;
use crate::procfs::{self, Process};

/// How often a helper is looked at for having been stopped by what it runs.
pub(crate) const STOPPED_CHECK: Duration = Duration::from_millis(200);

/// How long a helper that was killed may take to be dead.
const DEATH_BOUND: Duration = Duration::from_secs(5);

/// Passes over the process table that must find no orphan. One can miss a process that forks.
const QUIET_PASSES: u32 = 2;

/// The pause between such passes.
const QUIET_PAUSE: Duration = Duration::from_millis(2);

/// Helpers of this process that may be alive. Locked while one is started and while orphans are
/// looked for, so that a new helper is never taken for an orphan.
static HELPERS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

fn helpers() -> MutexGuard<'static, BTreeSet<i32>> {
    HELPERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A helper. Dropped before [`Keeper::release`], it is seen to its end in the background.
#[derive(Debug)]
pub(crate) struct Keeper(Option<Held>);

#[derive(Debug)]
struct Held {
    pid: i32,
    fd: OwnedFd,
    start_ticks: u64,
}

impl Keeper {
    /// Starts a helper and makes this process the reaper of what it may leave.
    pub(crate) fn start(command: &mut Command) -> io::Result<(Self, Child)> {
        set_child_subreaper(Some(getpid()))?;
        let mut helpers = helpers();
        let child = command.spawn()?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).unwrap_or_default();
        helpers.insert(pid);
        drop(helpers);
        // Not reaped yet, so the id is its own.
        let fd = Pid::from_raw(pid)
            .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
            .and_then(|pid| Ok(pidfd_open(pid, PidfdFlags::empty())?));
        let start_ticks = procfs::one(pid).map_or(0, |process| process.start_ticks);
        match fd {
            Ok(fd) => Ok((Self(Some(Held { pid, fd, start_ticks })), child)),
            Err(error) => {
                // Its end of the socket closes with the caller's, and it leaves.
                helpers_forget(pid);
                Err(error)
            }
        }
    }

    /// Whether the helper is halted: by the command, since it has no terminal and no job control.
    pub(crate) fn is_stopped(&self) -> bool {
        let process = self.0.as_ref().and_then(|held| procfs::one(held.pid));
        process.is_some_and(|process| process.stopped)
    }

    /// The helper ended as it should, with nothing below it.
    pub(crate) fn release(mut self) {
        if let Some(held) = self.0.take() {
            helpers_forget(held.pid);
        }
    }

    /// Kills the helper and what it leaves. Blocks, at most for the bounds of this module.
    pub(crate) fn kill(mut self) {
        if let Some(held) = self.0.take() {
            held.kill();
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let Some(held) = self.0.take() else { return };
        // The helper reads the end of its socket and clears up, unless it was stopped or killed. When
        // no thread can be had, that has to do.
        let _ = thread::Builder::new().spawn(move || {
            let deadline = Instant::now() + KILL_BOUND + DEATH_BOUND;
            while Instant::now() < deadline && !held.dead(STOPPED_CHECK) {
                if procfs::one(held.pid).is_some_and(|process| process.stopped) {
                    break;
                }
            }
            held.kill();
        });
    }
}

impl Held {
    /// Whether it is dead, at the latest after `bound`.
    fn dead(&self, bound: Duration) -> bool {
        let bound = Timespec::try_from(bound).ok();
        poll(&mut [PollFd::new(&self.fd, PollFlags::IN)], bound.as_ref()).is_ok_and(|n| n > 0)
    }

    fn kill(self) {
        // A stopped process dies of this too; one that is dead already is as good.
        let _ = pidfd_send_signal(&self.fd, Signal::KILL);
        self.dead(DEATH_BOUND);
        sweep(self.start_ticks);
        helpers_forget(self.pid);
    }
}

fn helpers_forget(pid: i32) {
    helpers().remove(&pid);
}

/// Kills the orphans of dead helpers, of those that started at `since_ticks` or later, until none is
/// left or the bound is reached.
fn sweep(since_ticks: u64) {
    let deadline = Instant::now() + KILL_BOUND;
    let mut quiet = 0;
    while quiet < QUIET_PASSES && Instant::now() < deadline {
        if pass(since_ticks) {
            quiet = 0;
        } else {
            quiet += 1;
            thread::sleep(QUIET_PAUSE);
        }
    }
}

/// Kills what it sees, and says whether there was something.
///
/// A session is left only for a new one and never entered again. Every helper is in one of its own
/// before it starts anything, so no descendant of a helper can be in this process's; and what this
/// process starts besides helpers is.
fn pass(since_ticks: u64) -> bool {
    let helpers = helpers();
    let own = getpid().as_raw_pid();
    let Some(session) = procfs::one(own).map(|process| process.session) else { return false };
    let orphan = |process: &Process| {
        process.parent == own
            && process.session != session
            && process.start_ticks >= since_ticks
            && !helpers.contains(&process.pid)
    };
    let mut orphans = procfs::all().into_iter().filter(&orphan).peekable();
    if orphans.peek().is_none() {
        return false;
    }
    for pid in orphans.filter(|process| process.zombie).filter_map(|p| Pid::from_raw(p.pid)) {
        // Adopted, so nobody else waits for it.
        let _ = waitpid(Some(pid), WaitOptions::NOHANG);
    }
    descendants::signal_below(Signal::KILL, &orphan);
    true
}
