//! The worker process: reads calls from standard input, answers on standard output, ends with its
//! parent. It bounds its own memory and processor time; the parent kills it when that is not enough.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, BufReader, BufWriter, Stdin, Stdout};
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::frame::{FromWorker, ToWorker, read_blocking, write_blocking};
use crate::host::{GateError, HostAnswer, HostCall};
use crate::interpreter::{self, Bounds, Loaded, Source};
use crate::limits::Limits;
use crate::session::{Ask, Input};

/// Scripts one worker keeps compiled; beyond it the cache starts afresh.
const MAX_LOADED: usize = 64;
/// The longest a check may take as far as a worker is concerned: so that no end of it is out of the
/// clock's range.
const MAX_CHECK_TIME: Duration = Duration::from_secs(366 * 24 * 3600);
/// Processor seconds beyond the wall limit before the system ends an orphaned worker.
const SPARE_CPU_SECONDS: u64 = 2;

/// Entry point of the worker process. Returns when the parent closes standard input.
///
/// Start it as `probity script-worker` or as the `probity-script-worker` program; it is of no use on
/// a terminal.
#[must_use]
pub fn worker_main() -> ExitCode {
    // A panic of the interpreter is caught and reported as a fault. Its text on standard error would
    // only mislead whoever reads there why a worker died later.
    std::panic::set_hook(Box::new(|_| {}));
    match Worker::new().serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("script-worker: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The two pipes to the parent. Shared with the built-ins of a running script.
struct Pipes {
    input: BufReader<Stdin>,
    output: BufWriter<Stdout>,
}

struct Worker {
    pipes: Rc<RefCell<Pipes>>,
    loaded: HashMap<String, Loaded>,
    /// Time spent on frames so far; never less than the processor time spent.
    busy: Duration,
    cpu_seconds: u64,
}

impl Worker {
    fn new() -> Self {
        let pipes =
            Pipes { input: BufReader::new(io::stdin()), output: BufWriter::new(io::stdout()) };
        Self {
            pipes: Rc::new(RefCell::new(pipes)),
            loaded: HashMap::new(),
            busy: Duration::ZERO,
            cpu_seconds: 0,
        }
    }

    fn serve(&mut self) -> io::Result<()> {
        loop {
            let frame = read_blocking::<ToWorker>(&mut self.pipes.borrow_mut().input)?;
            let Some(frame) = frame else { return Ok(()) };
            let started = Instant::now();
            let reply = match frame {
                ToWorker::Hello { memory_bytes } => {
                    limit(Resource::Core, 0)?;
                    limit(Resource::As, memory_bytes)?;
                    continue;
                }
                ToWorker::Load { key, source, limits } => self.load(key, &source, limits)?,
                ToWorker::Call { key, input, limits, left_ms } => {
                    self.call(&key, *input, limits, Duration::from_millis(left_ms))?
                }
                ToWorker::Answer { .. } => {
                    return Err(io::Error::other("an answer to no question"));
                }
            };
            write_blocking(&mut self.pipes.borrow_mut().output, &reply)?;
            self.busy += started.elapsed();
        }
    }

    fn load(&mut self, key: String, source: &Source, limits: Limits) -> io::Result<FromWorker> {
        let bounds = self.bounds(limits, None)?;
        let result = interpreter::load(source, &bounds).map(|loaded| {
            if self.loaded.len() >= MAX_LOADED {
                self.loaded.clear();
            }
            self.loaded.insert(key, loaded);
        });
        Ok(FromWorker::Loaded { result })
    }

    fn call(
        &mut self,
        key: &str,
        input: Input,
        limits: Limits,
        left: Duration,
    ) -> io::Result<FromWorker> {
        let bounds = self.bounds(limits, Some(left))?;
        let Some(loaded) = self.loaded.get(key) else { return Ok(FromWorker::Missing) };
        let host = Box::new(Parent(Rc::clone(&self.pipes)));
        let report = interpreter::call(loaded, input, host, &bounds);
        Ok(FromWorker::Done { report: Box::new(report) })
    }

    /// The bounds of the next evaluation, after telling the system how much processor time it may
    /// take at most.
    fn bounds(&mut self, limits: Limits, left: Option<Duration>) -> io::Result<Bounds> {
        let wall = Duration::from_millis(limits.wall_ms);
        let seconds = self.busy.as_secs() + wall.as_secs() + 1 + SPARE_CPU_SECONDS;
        if seconds != self.cpu_seconds {
            limit(Resource::Cpu, seconds)?;
            self.cpu_seconds = seconds;
        }
        let now = Instant::now();
        let until = now + left.unwrap_or(wall).min(MAX_CHECK_TIME);
        Ok(Bounds { limits, deadline: now + wall, until, is_abandoned: Rc::new(is_orphaned) })
    }
}

/// Sets the soft limit; the hard one stays, so that the processor time can be raised per call.
fn limit(resource: Resource, value: u64) -> io::Result<()> {
    let maximum = rustix::process::getrlimit(resource).maximum;
    let current = Some(maximum.map_or(value, |maximum| value.min(maximum)));
    Ok(setrlimit(resource, Rlimit { current, maximum })?)
}

/// Whether the parent has closed its end.
fn is_orphaned() -> bool {
    let stdin = io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let is_ready = poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0);
    is_ready && fds.iter().any(|fd| fd.revents().intersects(PollFlags::HUP | PollFlags::ERR))
}

/// The pipes as the host of a script.
struct Parent(Rc<RefCell<Pipes>>);

impl Ask for Parent {
    fn ask(&self, call: &HostCall, within: Option<Duration>) -> HostAnswer {
        let lost = |error: io::Error| GateError::Invalid(format!("the parent is gone: {error}"));
        let mut pipes = self.0.borrow_mut();
        let within_ms = within.map(|left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
        let asks = FromWorker::Ask { call: call.clone(), within_ms };
        write_blocking(&mut pipes.output, &asks).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => GateError::Invalid(error.to_string()),
            _ => lost(error),
        })?;
        match read_blocking::<ToWorker>(&mut pipes.input).map_err(lost)? {
            Some(ToWorker::Answer { answer }) => answer,
            _ => Err(GateError::Invalid("the parent gave no answer".to_owned())),
        }
    }
}
