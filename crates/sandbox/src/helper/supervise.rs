//! Starts the command, waits, and leaves nothing behind.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Signal, WaitOptions, WaitStatus, getpid, getsid, set_child_subreaper,
    set_dumpable_behavior, setsid, wait,
};

use super::confine::Ground;
use super::control_group::ControlGroup;
use super::limit::Told;
use super::own_temp::OwnTemp;
use crate::confinement::Confinement;
use crate::descendants;
use crate::drive::KILL_BOUND;
use crate::order::{Order, Report, STARTED, proc_fd};
use crate::part::Enforcement;
use crate::spawn::Status;

/// What the step says is one line or two.
const MAX_TOLD_BYTES: u64 = 4096;

/// What the threads see. Each is sent at most once.
enum Seen {
    /// The command itself ended.
    Exited(Status),
    /// No descendant is left.
    AllGone,
    /// The caller wants an end, or is gone.
    Stop,
}

/// `<order> <confinement…> <prefix…> <program> <args…>`.
pub(super) fn main(args: &mut dyn Iterator<Item = OsString>) -> Option<ExitCode> {
    let order = Order::parse(args.next()?.to_str()?)?;
    let words: Vec<OsString> = args.take(order.confinement_len).collect();
    let confinement = match words.is_empty() {
        true => None,
        false => Some(Confinement::parse(&words)?),
    };
    let prefix: Vec<OsString> = args.take(order.prefix_len).collect();
    let program = args.next()?;
    let control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned().ok()?);
    let what = What { order: &order, prefix: &prefix, program: &program };
    let report = supervise(&what, args, confinement, &control);
    // Not sent when the caller is gone, or when a program below closed this direction to stand in
    // front of it with an answer of its own.
    let sent = (&control).write_all(report.encode().as_bytes());
    Some(if sent.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What is to be started.
struct What<'a> {
    order: &'a Order,
    prefix: &'a [OsString],
    program: &'a OsString,
}

fn supervise(
    what: &What<'_>,
    args: &mut dyn Iterator<Item = OsString>,
    confinement: Option<Confinement>,
    control: &UnixStream,
) -> Report {
    let order = what.order;
    let mut wire = control;
    let mut input = vec![0; order.stdin_bytes];
    if wire.read_exact(&mut input).is_err() {
        let enforcement = Enforcement::default();
        return Report::Done { status: None, strays: 0, survivors: 0, enforcement };
    }
    // Whatever can fail here fails before the command exists.
    let prepared = Place::prepare(order, confinement);
    // Afterwards, because who is not dumpable may not say who it is in a user namespace.
    let prepared = prepared.and_then(|place| settle(order).map(|()| place));
    let prepared =
        prepared.and_then(|place| Ok((place, stdin_of(order)?, Watch::start(control, input)?)));
    let (mut place, stdin, watch) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return Report::Unable { errno: errno(&error) },
    };
    let mut command = place.command(what);
    command.args(args).process_group(0).stdin(stdin);
    let mut child = match place.start(&mut command) {
        Ok(child) => child,
        Err(report) => return report,
    };
    let pid = i32::try_from(child.id()).unwrap_or_default();
    watch.begin(pid, child.stdin.take());
    if order.duplex {
        // A caller that is gone does not read it; the end of the socket says so too.
        let _ = wire.write_all(STARTED.as_bytes());
    }
    end(order, pid, &watch.seen, place, control)
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

/// What stands around the command. Whatever of it is on disk goes with it.
struct Place {
    /// Where there are limits. What they and the confinement came to is told by the step then.
    failure: Option<Failure>,
    group: Option<ControlGroup>,
    /// How this process confines the command itself.
    ground: Option<Ground>,
    /// The confinement for the step to set.
    handed_on: Option<Confinement>,
    temp: Option<OwnTemp>,
    enforcement: Enforcement,
}

impl Place {
    fn prepare(order: &Order, confinement: Option<Confinement>) -> io::Result<Self> {
        let mut confinement = confinement;
        let temp = match &confinement {
            Some(asked) if asked.is_closed => Some(OwnTemp::make()?),
            _ => None,
        };
        if let (Some(temp), Some(asked)) = (&temp, &mut confinement) {
            asked.writable.push(temp.path().to_path_buf());
        }
        let limits = &order.limits;
        let has_step = !limits.is_empty();
        let is_counted = limits.processes.is_some() || limits.memory_bytes.is_some();
        let (ground, handed_on) = match confinement {
            Some(asked) if has_step => (None, Some(asked)),
            Some(asked) => (Some(Ground::enter(asked)), None),
            None => (None, None),
        };
        Ok(Self {
            failure: has_step.then(Failure::new).transpose()?,
            group: is_counted.then(|| ControlGroup::make(limits)).flatten(),
            ground,
            handed_on,
            temp,
            enforcement: Enforcement::default(),
        })
    }

    /// The command, behind the step that sets its limits where there are some.
    fn command(&self, what: &What<'_>) -> Command {
        let mut command = match &self.failure {
            Some(failure) => {
                let confinement = self.handed_on.as_ref().map(Confinement::encode);
                let confinement = confinement.unwrap_or_default();
                let group = self.group.as_ref().map(ControlGroup::folder);
                failure.limited(what, group, confinement)
            }
            None => Command::new(what.program),
        };
        if let Some(temp) = &self.temp {
            command.env("TMPDIR", temp.path());
        }
        command
    }

    /// Starts the command from a thread that is confined and gone when this returns: a thread in the
    /// command's own domain is one that it may signal.
    fn start(&mut self, command: &mut Command) -> Result<Child, Report> {
        let failed = |error: io::Error| Report::NotStarted { errno: errno(&error) };
        let Some(ground) = &self.ground else { return command.spawn().map_err(failed) };
        let started = thread::scope(|scope| {
            let confined = || {
                let enforcement =
                    ground.apply().map_err(|enforcement| Report::Refused { enforcement })?;
                Ok((command.spawn().map_err(failed)?, enforcement))
            };
            let thread = thread::Builder::new().spawn_scoped(scope, confined);
            let thread = thread.map_err(|error| Report::Unable { errno: errno(&error) })?;
            thread.join().unwrap_or(Err(Report::Unable { errno: 0 }))
        });
        let (child, enforcement) = started?;
        self.enforcement = enforcement;
        Ok(child)
    }

    /// What the step said, where there is one. To be asked once the step is gone, with the command or
    /// before it.
    fn hear(&mut self) -> Told {
        let told = self.failure.take().map(Failure::told).unwrap_or_default();
        self.enforcement.join(&told.enforcement);
        told
    }
}

/// Where the step that sets the limits says what held, and why the command did not start.
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
    fn limited(
        &self,
        what: &What<'_>,
        group: Option<&Path>,
        confinement: Vec<OsString>,
    ) -> Command {
        let mut command = Command::new("/proc/self/exe");
        let order = Order { confinement_len: confinement.len(), ..*what.order };
        command.args(what.prefix).arg("limit").arg(order.encode());
        command.arg(proc_fd(std::process::id(), self.writer.as_raw_fd()));
        command.arg(group.unwrap_or(Path::new("-"))).args(confinement).arg(what.program);
        command
    }

    /// What was written, once the step is gone: then nobody else holds the writing end.
    fn told(self) -> Told {
        let Self { reader, writer } = self;
        drop(writer);
        let mut text = String::new();
        // Half of it says half of it.
        let _ = reader.take(MAX_TOLD_BYTES).read_to_string(&mut text);
        Told::parse(&text)
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
    mut place: Place,
    control: &UnixStream,
) -> Report {
    let status = match seen.recv() {
        Ok(Seen::Exited(status)) => Some(status),
        Ok(Seen::Stop) => None,
        // Whoever started this process made it ignore the death of children: the system reaped the
        // command, and its status is lost.
        Ok(Seen::AllGone) | Err(_) => return Report::Unable { errno: Errno::CHILD.raw_os_error() },
    };
    if status.is_some() {
        match place.hear() {
            Told { is_refused: true, enforcement, .. } => return Report::Refused { enforcement },
            Told { errno: Some(errno), .. } => return Report::NotStarted { errno },
            Told { .. } => {}
        }
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
    let group = place.group.as_ref();
    let survivors = if gone { 0 } else { kill_all(seen, &mut strays, group) };
    strays.remove(&pid);
    if survivors == 0 {
        place.hear();
    }
    let strays = u32::try_from(strays.len()).unwrap_or(u32::MAX);
    Report::Done { status, strays, survivors, enforcement: place.enforcement.clone() }
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
fn kill_all(
    seen: &Receiver<Seen>,
    killed: &mut BTreeSet<i32>,
    group: Option<&ControlGroup>,
) -> u32 {
    let deadline = Instant::now() + KILL_BOUND;
    // Named first, so that they are counted; the group takes those that were quicker.
    killed.extend(descendants::signal(Signal::KILL));
    if let Some(group) = group {
        group.kill();
    }
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
