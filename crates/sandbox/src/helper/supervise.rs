//! Starts the command, waits, and leaves nothing behind.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Signal, WaitOptions, WaitStatus, getpid, getsid, set_child_subreaper,
    set_dumpable_behavior, setsid, wait,
};

use super::limit;
use crate::descendants;
use crate::drive::KILL_BOUND;
use crate::order::{Order, Report, STARTED, proc_fd};
use crate::spawn::Status;

/// What the threads see. Each is sent at most once.
enum Seen {
    /// The command itself ended.
    Exited(Status),
    /// No descendant is left.
    AllGone,
    /// The caller wants an end, or is gone.
    Stop,
}

/// `<order> <prefix…> <program> <args…>`.
pub(super) fn main(args: &mut dyn Iterator<Item = OsString>) -> Option<ExitCode> {
    let order = Order::parse(args.next()?.to_str()?)?;
    let prefix: Vec<OsString> = args.take(order.prefix_len).collect();
    let program = args.next()?;
    let control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned().ok()?);
    let report = supervise(&order, &prefix, &program, args, &control);
    // Not sent when the caller is gone, or when a program below closed this direction to stand in
    // front of it with an answer of its own.
    let sent = (&control).write_all(report.encode().as_bytes());
    Some(if sent.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn supervise(
    order: &Order,
    prefix: &[OsString],
    program: &OsString,
    args: &mut dyn Iterator<Item = OsString>,
    control: &UnixStream,
) -> Report {
    let mut wire = control;
    let mut input = vec![0; order.stdin_bytes];
    if wire.read_exact(&mut input).is_err() {
        return Report::Done { status: None, strays: 0, survivors: 0 };
    }
    // Whatever can fail here fails before the command exists.
    let prepared = settle(order).and_then(|()| Watch::start(control, input)).and_then(|watch| {
        let failure = (!order.limits.is_empty()).then(Failure::new).transpose()?;
        Ok((watch, failure))
    });
    let (watch, failure) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return Report::Unable { errno: errno(&error) },
    };
    let mut command = match &failure {
        Some(failure) => failure.limited(order, prefix, program),
        None => Command::new(program),
    };
    command.args(args).process_group(0);
    command.stdin(match stdin_of(order) {
        Ok(stdin) => stdin,
        Err(error) => return Report::Unable { errno: errno(&error) },
    });
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Report::NotStarted { errno: errno(&error) },
    };
    let pid = i32::try_from(child.id()).unwrap_or_default();
    watch.begin(pid, child.stdin.take());
    if order.duplex {
        // A caller that is gone does not read it; the end of the socket says so too.
        let _ = wire.write_all(STARTED.as_bytes());
    }
    end(order, pid, &watch.seen, failure, control)
}

fn stdin_of(order: &Order) -> io::Result<Stdio> {
    Ok(match (order.duplex, order.stdin_bytes) {
        (true, _) => io::stdout().as_fd().try_clone_to_owned()?.into(),
        (false, 0) => Stdio::null(),
        (false, _) => Stdio::piped(),
    })
}

fn errno(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or_default()
}

/// Makes this process a session leader without a terminal and the reaper of its descendants.
fn settle(order: &Order) -> io::Result<()> {
    // Refused to the leader of a group: fine if it leads a session, and no start at all if not,
    // because the session is how the caller knows its own children from those of a dead helper.
    if setsid().is_err() && getsid(None)? != getpid() {
        return Err(Errno::PERM.into());
    }
    set_child_subreaper(Some(getpid()))?;
    // Descriptors and memory of this process are not for other programs of the same user. The step
    // that sets limits opens one by path and needs it otherwise.
    if order.limits.is_empty() {
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    }
    std::fs::read_dir("/proc/self/task").map(|_| ())
}

/// Where the step that sets the limits says why the command did not start.
struct Failure {
    reader: PipeReader,
    /// Kept until the command has ended: the step opens it by path, at a time of its own.
    writer: PipeWriter,
}

impl Failure {
    fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        Ok(Self { reader, writer })
    }

    /// The command behind the step that sets its limits.
    fn limited(&self, order: &Order, prefix: &[OsString], program: &OsString) -> Command {
        let mut command = Command::new("/proc/self/exe");
        command.args(prefix).arg("limit").arg(order.encode());
        command.arg(proc_fd(std::process::id(), self.writer.as_raw_fd())).arg(program);
        command
    }

    /// The error number, once the step is gone: then nobody else holds the writing end.
    fn told(self) -> Option<i32> {
        let Self { mut reader, writer } = self;
        drop(writer);
        let mut bytes = [0; 4];
        reader.read_exact(&mut bytes).ok()?;
        Some(i32::from_ne_bytes(bytes))
    }
}

/// The threads that wait, started before there is anything to wait for.
struct Watch {
    seen: Receiver<Seen>,
    begin: SyncSender<i32>,
    feed: SyncSender<ChildStdin>,
}

impl Watch {
    fn start(control: &UnixStream, input: Vec<u8>) -> io::Result<Self> {
        let (sender, seen) = sync_channel(4);
        let (begin, begun) = sync_channel(1);
        let (feed, fed) = sync_channel::<ChildStdin>(1);
        let mut control = control.try_clone()?;
        let reaper = sender.clone();
        thread::Builder::new().spawn(move || {
            if let Ok(pid) = begun.recv() {
                reap(pid, &reaper);
            }
        })?;
        thread::Builder::new().spawn(move || {
            // Nothing more is sent; a byte, an error and the end all mean stop.
            let _ = control.read(&mut [0]);
            let _ = sender.send(Seen::Stop);
        })?;
        if !input.is_empty() {
            // Ends when the bytes are read, or the pipe is closed, or this process ends.
            thread::Builder::new().spawn(move || fed.recv().map(|mut to| to.write_all(&input)))?;
        }
        Ok(Self { seen, begin, feed })
    }

    fn begin(&self, pid: i32, stdin: Option<ChildStdin>) {
        let _ = self.begin.send(pid);
        if let Some(stdin) = stdin {
            let _ = self.feed.send(stdin);
        }
    }
}

/// Reaps the command and every orphan. With no child left there is no descendant left, because
/// orphans become children of this process.
fn reap(pid: i32, seen: &SyncSender<Seen>) {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((reaped, status))) if reaped.as_raw_pid() == pid => {
                let _ = seen.send(Seen::Exited(status_of(status)));
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    let _ = seen.send(Seen::AllGone);
}

fn status_of(status: WaitStatus) -> Status {
    match status.terminating_signal() {
        Some(signal) => Status::Signal(signal),
        None => Status::Code(status.exit_status().unwrap_or_default()),
    }
}

/// Waits for the command or the caller, then clears the tree.
fn end(
    order: &Order,
    pid: i32,
    seen: &Receiver<Seen>,
    failure: Option<Failure>,
    control: &UnixStream,
) -> Report {
    let status = match seen.recv() {
        Ok(Seen::Exited(status)) => Some(status),
        Ok(Seen::Stop) => None,
        // Whoever started this process made it ignore the death of children: the system reaped the
        // command, and its status is lost.
        Ok(Seen::AllGone) | Err(_) => return Report::Unable { errno: Errno::CHILD.raw_os_error() },
    };
    if status == Some(Status::Code(i32::from(limit::NOT_STARTED)))
        && let Some(errno) = failure.and_then(Failure::told)
    {
        return Report::NotStarted { errno };
    }
    let mut strays = BTreeSet::new();
    let gone = match status {
        Some(_) => wait_gone(seen, order.linger),
        None if order.term_grace.is_zero() || caller_is_gone(control) => false,
        None => {
            descendants::signal(Signal::TERM);
            wait_gone(seen, order.term_grace)
        }
    };
    let survivors = if gone { 0 } else { kill_all(seen, &mut strays) };
    strays.remove(&pid);
    Report::Done { status, strays: u32::try_from(strays.len()).unwrap_or(u32::MAX), survivors }
}

/// A caller that closed only its sending side waits for the report; one that is gone does not, and
/// its commands get no time to say good-bye.
fn caller_is_gone(control: &UnixStream) -> bool {
    let mut fds = [PollFd::new(control, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&now)).is_ok_and(|n| n > 0)
        && fds.iter().any(|fd| fd.revents().contains(PollFlags::HUP))
}

/// Whether everything was gone by itself within `bound`.
fn wait_gone(seen: &Receiver<Seen>, bound: Duration) -> bool {
    let deadline = Instant::now() + bound;
    loop {
        match seen.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Seen::AllGone) => return true,
            Ok(Seen::Exited(_) | Seen::Stop) => {}
            Err(RecvTimeoutError::Timeout) => return false,
            // The reaper gives up its end only when nothing is left.
            Err(RecvTimeoutError::Disconnected) => return true,
        }
    }
}

/// Kills until nothing is left, or the bound is reached. Returns how many are left.
fn kill_all(seen: &Receiver<Seen>, killed: &mut BTreeSet<i32>) -> u32 {
    let deadline = Instant::now() + KILL_BOUND;
    let mut pause = Duration::from_millis(1);
    while Instant::now() < deadline {
        let before = killed.len();
        killed.extend(descendants::signal(Signal::KILL));
        // While new processes turn up, do not pause: a forking tree must lose the race.
        let wait = if killed.len() > before { Duration::from_micros(200) } else { pause };
        if wait_gone(seen, wait) {
            return 0;
        }
        if killed.len() == before {
            pause = (pause * 2).min(Duration::from_millis(100));
        }
    }
    u32::try_from(descendants::count()).unwrap_or(u32::MAX)
}
