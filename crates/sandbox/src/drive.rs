//! Running a command through the helper, from the caller's side.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStderr, ChildStdout};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::capture::{Capture, drain};
use crate::launcher::Containment;
use crate::order::{Order, Report};
use crate::procfs::{self, Process};
use crate::spawn::{Ended, Finished, SandboxError, Spawn, Status};

/// How long the helper goes on killing before it reports survivors.
pub(crate) const KILL_BOUND: Duration = Duration::from_secs(10);

/// How long the helper may take beyond its own bounds before it counts as stuck.
const ANSWER_BOUND: Duration = Duration::from_secs(10);

/// How long a stream may stay open after everything is dead: only a survivor can hold it.
const EOF_BOUND: Duration = Duration::from_secs(1);

/// How often the session of a helper that died is searched, and the pause between.
const MAX_SWEEPS: u32 = 200;
const SWEEP_PAUSE: Duration = Duration::from_millis(5);

/// The helper's answer is one short line.
const MAX_ANSWER_BYTES: u64 = 1024;

pub(crate) async fn run(
    spawn: &Spawn,
    helper: &Path,
    prefix: &[OsString],
) -> Result<Finished, SandboxError> {
    let started = Instant::now();
    if spawn.cancel.is_cancelled() {
        return Ok(never_started());
    }
    let (control, mut child, stdout, stderr) = start(spawn, helper, prefix)?;
    let mut out = Capture::new(spawn.max_stdout_bytes);
    let mut err = Capture::new(spawn.max_stderr_bytes);
    let (stop, report) = {
        let streams = read_both(stdout, stderr, &mut out, &mut err);
        tokio::pin!(streams);
        let mut drained = false;
        let talk = converse(spawn, control, started);
        tokio::pin!(talk);
        let told = loop {
            tokio::select! {
                told = &mut talk => break told,
                () = &mut streams, if !drained => drained = true,
            }
        };
        if !drained && told.1.is_ok() {
            let _ = timeout(EOF_BOUND, &mut streams).await;
        }
        told
    };
    let report = match report {
        Ok(report) => {
            let _ = timeout(ANSWER_BOUND, child.wait()).await;
            report
        }
        Err(broken) => return Err(give_up(&mut child, broken).await),
    };
    let (status, strays, survivors) = match report {
        Report::Done { status, strays, survivors } => (status, strays, survivors),
        Report::NotStarted { errno } => {
            return Err(spawn.start_error(io::Error::from_raw_os_error(errno)));
        }
        Report::Unable { errno } => {
            let why = io::Error::from_raw_os_error(errno);
            return Err(SandboxError::Helper { detail: format!("it cannot contain: {why}") });
        }
    };
    Ok(Finished {
        ended: ended(status, stop)?,
        stdout: out.finish(),
        stderr: err.finish(),
        elapsed: started.elapsed(),
        containment: Containment::Tree,
        strays,
        survivors,
    })
}

/// The result for a command that was cancelled before it was started.
pub(crate) fn never_started() -> Finished {
    Finished {
        ended: Ended::Cancelled,
        stdout: Capture::new(0).finish(),
        stderr: Capture::new(0).finish(),
        elapsed: Duration::ZERO,
        containment: Containment::Tree,
        strays: 0,
        survivors: 0,
    }
}

/// The helper's word decides: a command that had ended when the stop arrived ended by itself.
fn ended(status: Option<Status>, stop: Option<Ended>) -> Result<Ended, SandboxError> {
    status
        .map(Ended::Exited)
        .or(stop)
        .ok_or_else(|| SandboxError::Helper { detail: "it stopped the command unasked".to_owned() })
}

fn start(
    spawn: &Spawn,
    helper: &Path,
    prefix: &[OsString],
) -> Result<(UnixStream, Child, Option<ChildStdout>, Option<ChildStderr>), SandboxError> {
    let refused = |source| SandboxError::HelperStart { program: helper.to_path_buf(), source };
    let order = Order {
        stdin_bytes: spawn.stdin.len(),
        linger: spawn.linger,
        term_grace: spawn.term_grace,
        limits: spawn.limits,
        prefix_len: if spawn.limits.is_empty() { 0 } else { prefix.len() },
    };
    let (ours, theirs) = StdUnixStream::pair().map_err(refused)?;
    ours.set_nonblocking(true).map_err(refused)?;
    let ours = UnixStream::from_std(ours).map_err(refused)?;
    let mut command = spawn.base(helper.as_os_str());
    command.args(prefix).arg("run").arg(order.encode());
    if order.prefix_len > 0 {
        command.args(prefix);
    }
    command.arg(&spawn.program).args(&spawn.args);
    command.stdin(OwnedFd::from(theirs)).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(refused)?;
    // The builder holds the helper's end of the socket and ends with this function: while it lives,
    // the helper's death is not seen as end of file.
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    Ok((ours, child, stdout, stderr))
}

pub(crate) async fn read_both(
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    out: &mut Capture,
    err: &mut Capture,
) {
    let stdout = async {
        if let Some(mut stdout) = stdout {
            drain(&mut stdout, out).await;
        }
    };
    let stderr = async {
        if let Some(mut stderr) = stderr {
            drain(&mut stderr, err).await;
        }
    };
    tokio::join!(stdout, stderr);
}

/// Gives the helper its input, tells it when to stop, and waits for its report.
async fn converse(
    spawn: &Spawn,
    control: UnixStream,
    started: Instant,
) -> (Option<Ended>, Result<Report, &'static str>) {
    let (answers, mut orders) = control.into_split();
    let mut answers = answers.take(MAX_ANSWER_BYTES);
    let mut answer = Vec::new();
    let mut input = spawn.stdin.as_slice();
    let mut stop = None;
    let mut deadline = started + spawn.timeout;
    loop {
        let stopping = tokio::select! {
            read = answers.read_buf(&mut answer) => {
                if matches!(read, Ok(0) | Err(_)) {
                    return (stop, read_report(&answer));
                }
                continue;
            }
            sent = orders.write_buf(&mut input), if !input.is_empty() => {
                // The helper reads all of it before it starts anything; if it cannot, it is gone,
                // and the read above says so.
                if sent.is_err() {
                    input = &[];
                }
                continue;
            }
            () = spawn.cancel.cancelled(), if stop.is_none() => Ended::Cancelled,
            () = sleep_until(deadline) => Ended::TimedOut,
        };
        if stop.is_some() {
            return (stop, Err("it does not answer"));
        }
        stop = Some(stopping);
        input = &[];
        let _ = orders.shutdown().await;
        deadline = Instant::now() + spawn.term_grace + KILL_BOUND + ANSWER_BOUND;
    }
}

fn read_report(answer: &[u8]) -> Result<Report, &'static str> {
    let text = String::from_utf8_lossy(answer);
    text.strip_suffix('\n').and_then(Report::parse).ok_or("it died without a report")
}

/// Without the helper its session is what is known of the tree. A descendant that left the session
/// is not found, and that is why the result is an error.
async fn give_up(child: &mut Child, detail: &str) -> SandboxError {
    let session = child.id().and_then(|id| i32::try_from(id).ok());
    let _ = child.start_kill();
    // Before the helper is reaped, so that its id cannot name another session.
    for _ in 0..MAX_SWEEPS {
        let inside = |process: &Process| Some(process.session) == session && !process.zombie;
        let members: Vec<Process> = procfs::all().into_iter().filter(inside).collect();
        if members.is_empty() {
            break;
        }
        for pid in members.into_iter().filter_map(|process| Pid::from_raw(process.pid)) {
            // Held, then looked at again: the id may have changed hands since it was read.
            if let Ok(held) = pidfd_open(pid, PidfdFlags::empty())
                && procfs::one(pid.as_raw_pid()).as_ref().is_some_and(inside)
            {
                let _ = pidfd_send_signal(held, Signal::KILL);
            }
        }
        sleep(SWEEP_PAUSE).await;
    }
    let how = match timeout(ANSWER_BOUND, child.wait()).await {
        Ok(Ok(status)) => status.to_string(),
        Ok(Err(_)) | Err(_) => "no status".to_owned(),
    };
    SandboxError::Helper { detail: format!("{detail} ({how})") }
}
