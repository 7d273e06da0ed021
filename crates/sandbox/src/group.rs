//! Running a command from this process: the fallback for embedders without a helper.

use std::os::fd::OwnedFd;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStderr};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::capture::Capture;
use crate::confinement::Demand;
use crate::drive::{KILL_BOUND, never_started, read_both};
use crate::launcher::Containment;
use crate::part::{Enforcement, Lack, Level};
use crate::spawn::{Ended, Finished, SandboxError, Spawn, Status};

/// Kills the group when dropped: at the end, and when the caller stops waiting.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)))
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.0 {
            // Nothing left to signal is what is wanted.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

pub(crate) async fn run(spawn: &Spawn) -> Result<Finished, SandboxError> {
    let enforcement = unconfined(spawn)?;
    let started = Instant::now();
    if spawn.cancel.is_cancelled() {
        return Ok(Finished { containment: Containment::Group, ..never_started() });
    }
    let mut command = spawn.base(&spawn.program);
    command.args(&spawn.args).process_group(0);
    command.stdin(if spawn.stdin.is_empty() { Stdio::null() } else { Stdio::piped() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|source| spawn.start_error(source))?;
    drop(command);
    let group = Group::of(&child);
    let mut out = Capture::new(spawn.max_stdout_bytes);
    let mut err = Capture::new(spawn.max_stderr_bytes);
    let ended = {
        let stdin = child.stdin.take();
        let feed = async {
            if let Some(mut stdin) = stdin {
                // A command need not read what it is given.
                let _ = stdin.write_all(&spawn.stdin).await;
            }
        };
        let streams = read_both(child.stdout.take(), child.stderr.take(), &mut out, &mut err);
        let io = async { tokio::join!(feed, streams) };
        tokio::pin!(io);
        let mut done = false;
        let ended = {
            let over = wait(spawn, &mut child, &group, started);
            tokio::pin!(over);
            loop {
                tokio::select! {
                    ended = &mut over => break ended,
                    _ = &mut io, if !done => done = true,
                }
            }
        };
        if !done {
            done = timeout(spawn.linger, &mut io).await.is_ok();
        }
        drop(group);
        if !done {
            let _ = timeout(spawn.linger, &mut io).await;
        }
        ended
    };
    Ok(Finished {
        ended: ended
            .map_err(|source| SandboxError::Watch { program: spawn.program_text(), source })?,
        stdout: out.finish(),
        stderr: err.finish(),
        elapsed: started.elapsed(),
        containment: Containment::Group,
        strays: 0,
        survivors: 0,
        enforcement,
    })
}

/// A command that is started and talks over a socket of the caller.
pub(crate) struct Open {
    child: Child,
    group: Group,
    started: Instant,
    enforcement: Enforcement,
}

impl Open {
    /// Starts the command with `socket` as standard input and output.
    pub(crate) fn start(spawn: &Spawn, socket: OwnedFd) -> Result<Self, SandboxError> {
        let enforcement = unconfined(spawn)?;
        let started = Instant::now();
        let mut command = spawn.base(&spawn.program);
        command.args(&spawn.args).process_group(0);
        let stdin = socket.try_clone().map_err(|source| spawn.start_error(source))?;
        command.stdin(stdin).stdout(socket).stderr(Stdio::piped());
        let child = command.spawn().map_err(|source| spawn.start_error(source))?;
        let group = Group::of(&child);
        Ok(Self { child, group, started, enforcement })
    }

    pub(crate) fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    /// Waits for the command's end, or brings it about as [`Spawn::run`] does.
    pub(crate) async fn end(mut self, spawn: &Spawn) -> Result<Finished, SandboxError> {
        let ended = wait(spawn, &mut self.child, &self.group, self.started).await;
        if matches!(ended, Ok(Ended::Exited(_))) {
            sleep(spawn.linger).await;
        }
        drop(self.group);
        let ended = ended
            .map_err(|source| SandboxError::Watch { program: spawn.program_text(), source })?;
        let (elapsed, containment) = (self.started.elapsed(), Containment::Group);
        let enforcement = self.enforcement;
        Ok(Finished { ended, elapsed, containment, enforcement, ..never_started() })
    }
}

/// Without the helper no part of a confinement holds.
fn unconfined(spawn: &Spawn) -> Result<Enforcement, SandboxError> {
    if !spawn.limits.is_empty() {
        return Err(SandboxError::Unsupported { what: "a limit on resources" });
    }
    let Some(confinement) = &spawn.confinement else { return Ok(Enforcement::default()) };
    let lacking = |part| (part, Level::Unavailable(Lack::Helper));
    let enforcement: Enforcement = confinement.parts().into_iter().map(lacking).collect();
    match confinement.demand {
        Demand::BestEffort => Ok(enforcement),
        Demand::Required => Err(SandboxError::Unenforced { enforcement }),
    }
}

async fn wait(
    spawn: &Spawn,
    child: &mut Child,
    group: &Group,
    started: Instant,
) -> std::io::Result<Ended> {
    let stopped = tokio::select! {
        status = child.wait() => return status.map(|status| Ended::Exited(status_of(status))),
        () = spawn.cancel.cancelled() => Ended::Cancelled,
        () = sleep_until(started + spawn.timeout) => Ended::TimedOut,
    };
    if !spawn.term_grace.is_zero() {
        group.signal(Signal::TERM);
        let _ = timeout(spawn.term_grace, child.wait()).await;
    }
    group.signal(Signal::KILL);
    let _ = timeout(KILL_BOUND, child.wait()).await;
    Ok(stopped)
}

fn status_of(status: std::process::ExitStatus) -> Status {
    use std::os::unix::process::ExitStatusExt;
    match status.signal() {
        Some(signal) => Status::Signal(signal),
        None => Status::Code(status.code().unwrap_or_default()),
    }
}
