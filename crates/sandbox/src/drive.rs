//! Running a command through the helper, from the caller's side.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStderr, ChildStdout};
use tokio::time::{Instant, sleep_until, timeout};

use crate::capture::{Capture, drain};
use crate::confinement::Confinement;
use crate::keeper::{Keeper, STOPPED_CHECK};
use crate::launcher::Containment;
use crate::order::{Order, Report, STARTED};
use crate::part::Enforcement;
use crate::spawn::{Ended, Finished, SandboxError, Spawn, Status};

/// How long the helper goes on killing before it reports survivors.
pub(crate) const KILL_BOUND: Duration = Duration::from_secs(10);

/// How long the helper may take beyond its own bounds before it counts as stuck.
const ANSWER_BOUND: Duration = Duration::from_secs(10);

/// How long a stream may stay open after everything is dead: only a survivor can hold it.
pub(crate) const EOF_BOUND: Duration = Duration::from_secs(1);

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
    let (control, keeper, mut child) = start(spawn, helper, prefix, None)?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let mut out = Capture::new(spawn.max_stdout_bytes);
    let mut err = Capture::new(spawn.max_stderr_bytes);
    let (stop, report) = {
        let streams = read_both(stdout, stderr, &mut out, &mut err);
        tokio::pin!(streams);
        let mut drained = false;
        let talk = converse(spawn, control, &keeper, &mut child, started);
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
    let finished = conclude(spawn, keeper, &mut child, stop, report).await?;
    let (stdout, stderr) = (out.finish(), err.finish());
    Ok(Finished { stdout, stderr, elapsed: started.elapsed(), ..finished })
}

/// A helper whose command is started and talks over a socket of the caller.
pub(crate) struct Open {
    control: UnixStream,
    keeper: Keeper,
    child: Child,
    started: Instant,
}

impl Open {
    /// Starts the command with `socket` as standard input and output.
    pub(crate) async fn start(
        spawn: &Spawn,
        helper: &Path,
        prefix: &[OsString],
        socket: OwnedFd,
    ) -> Result<Self, SandboxError> {
        let started = Instant::now();
        let (mut control, keeper, mut child) = start(spawn, helper, prefix, Some(socket))?;
        let first = timeout(ANSWER_BOUND, first_line(&mut control)).await;
        let report = match first.as_deref() {
            Ok(line) if line == STARTED.as_bytes() => {
                return Ok(Self { control, keeper, child, started });
            }
            Ok(line) => {
                let status = timeout(ANSWER_BOUND, child.wait()).await;
                believe(line, status.ok().and_then(Result::ok))
            }
            Err(_) => Err("it does not answer"),
        };
        // A command that ended without having started is no end to tell of.
        let ended = conclude(spawn, keeper, &mut child, None, report).await?;
        Err(SandboxError::Helper {
            detail: format!("it tells of an end before a start: {ended:?}"),
        })
    }

    pub(crate) fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    /// Waits for the command's end, or brings it about as [`Spawn::run`] does.
    pub(crate) async fn end(self, spawn: &Spawn) -> Result<Finished, SandboxError> {
        let Self { control, keeper, mut child, started } = self;
        let (stop, report) = converse(spawn, control, &keeper, &mut child, started).await;
        let finished = conclude(spawn, keeper, &mut child, stop, report).await?;
        Ok(Finished { elapsed: started.elapsed(), ..finished })
    }
}

/// Up to the end of the first line, or to the end; byte by byte, because what follows is for another.
async fn first_line(control: &mut UnixStream) -> Vec<u8> {
    let mut line = Vec::new();
    let mut bytes = control.take(MAX_ANSWER_BYTES);
    while let Ok(byte) = bytes.read_u8().await {
        line.push(byte);
        if byte == b'\n' {
            break;
        }
    }
    line
}

/// What the helper's report means. Its streams and time are for the caller to fill in.
async fn conclude(
    spawn: &Spawn,
    keeper: Keeper,
    child: &mut Child,
    stop: Option<Ended>,
    report: Result<Report, &'static str>,
) -> Result<Finished, SandboxError> {
    let report = match report {
        Ok(report) => report,
        Err(broken) => return Err(give_up(keeper, child, broken).await),
    };
    keeper.release();
    match report {
        Report::Done { status, strays, survivors, enforcement } => {
            let ended = ended(status, stop)?;
            Ok(Finished { ended, strays, survivors, enforcement, ..never_started() })
        }
        Report::Refused { enforcement } => Err(SandboxError::Unenforced { enforcement }),
        Report::NotStarted { errno } => Err(spawn.start_error(io::Error::from_raw_os_error(errno))),
        Report::Unable { errno } => {
            let why = io::Error::from_raw_os_error(errno);
            Err(SandboxError::Helper { detail: format!("it cannot contain: {why}") })
        }
    }
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
        enforcement: Enforcement::default(),
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
    socket: Option<OwnedFd>,
) -> Result<(UnixStream, Keeper, Child), SandboxError> {
    let refused = |source| SandboxError::HelperStart { program: helper.to_path_buf(), source };
    let confinement = spawn.confinement.as_ref().map(Confinement::encode).unwrap_or_default();
    let order = Order {
        stdin_bytes: spawn.stdin.len(),
        linger: spawn.linger,
        term_grace: spawn.term_grace,
        limits: spawn.limits,
        duplex: socket.is_some(),
        confinement_len: confinement.len(),
        prefix_len: if spawn.limits.is_empty() { 0 } else { prefix.len() },
    };
    let (ours, theirs) = StdUnixStream::pair().map_err(refused)?;
    ours.set_nonblocking(true).map_err(refused)?;
    let ours = UnixStream::from_std(ours).map_err(refused)?;
    let mut command = spawn.base(helper.as_os_str());
    command.args(prefix).arg("run").arg(order.encode()).args(confinement);
    if order.prefix_len > 0 {
        command.args(prefix);
    }
    command.arg(&spawn.program).args(&spawn.args);
    command.stdin(OwnedFd::from(theirs)).stderr(Stdio::piped());
    command.stdout(socket.map_or_else(Stdio::piped, Stdio::from));
    // The builder holds the helper's end of the socket and ends with this function: while it lives,
    // the helper's death is not seen as end of file.
    let (keeper, child) = Keeper::start(&mut command).map_err(refused)?;
    Ok((ours, keeper, child))
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

/// Gives the helper its input, tells it when to stop, and waits for its report and its end.
async fn converse(
    spawn: &Spawn,
    control: UnixStream,
    keeper: &Keeper,
    child: &mut Child,
    started: Instant,
) -> (Option<Ended>, Result<Report, &'static str>) {
    let (answers, mut orders) = control.into_split();
    let mut answers = answers.take(MAX_ANSWER_BYTES);
    let mut answer = Vec::new();
    let mut input = spawn.stdin.as_slice();
    let mut stop = None;
    let mut deadline = started + spawn.timeout;
    let mut look = Instant::now() + STOPPED_CHECK;
    loop {
        let stopping = tokio::select! {
            read = answers.read_buf(&mut answer) => {
                if matches!(read, Ok(0) | Err(_)) {
                    let status = timeout(ANSWER_BOUND, child.wait()).await;
                    return (stop, believe(&answer, status.ok().and_then(Result::ok)));
                }
                continue;
            }
            status = child.wait() => {
                // What it sent before is still there. The end of file may not be, if something that
                // is none of its descendants has a copy of its socket.
                return match timeout(EOF_BOUND, answers.read_to_end(&mut answer)).await {
                    Ok(_) => (stop, believe(&answer, status.ok())),
                    Err(_) => (stop, Err("its end of the socket outlived it")),
                };
            }
            sent = orders.write_buf(&mut input), if !input.is_empty() => {
                // The helper reads all of it before it starts anything; if it cannot, it is gone,
                // and the read above says so.
                if sent.is_err() {
                    input = &[];
                }
                continue;
            }
            () = sleep_until(look) => {
                if keeper.is_stopped() {
                    return (stop, Err("it was stopped from below"));
                }
                look = Instant::now() + STOPPED_CHECK;
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

/// The answer of a helper that ended by itself, well. Anybody who runs as the same user may be able
/// to write to its socket, close it and kill the helper; but a helper that exits with 0 has sent its
/// own answer, and next to that one another is one too many.
fn believe(answer: &[u8], status: Option<ExitStatus>) -> Result<Report, &'static str> {
    if answer.is_empty() {
        return Err("it ended without a report");
    }
    if !status.is_some_and(|status| status.success()) {
        return Err("it did not live to stand by its report");
    }
    let line = str::from_utf8(answer).ok().and_then(|text| text.strip_suffix('\n'));
    line.and_then(Report::parse).ok_or("its report is not one line that it would write")
}

/// Kills the helper and what it leaves, off the runtime's threads.
async fn give_up(keeper: Keeper, child: &mut Child, detail: &str) -> SandboxError {
    // Fails only when the runtime is going down; the keeper is dropped then, and sees to it.
    let _ = tokio::task::spawn_blocking(move || keeper.kill()).await;
    let how = match timeout(ANSWER_BOUND, child.wait()).await {
        Ok(Ok(status)) => status.to_string(),
        Ok(Err(_)) | Err(_) => "no status".to_owned(),
    };
    SandboxError::Helper { detail: format!("{detail} ({how})") }
}
