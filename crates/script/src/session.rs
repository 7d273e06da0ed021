//! The state of one call while the script runs: what built-ins may reach and what they left behind.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use probity_core::Evidence;
use probity_verifier::{PathError, Workspace};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::fault::{self, cut};
use crate::files::{Files, FilesError};
use crate::host::{GateError, HostAnswer, HostCall};
use crate::interpreter::Bounds;
use crate::limits::Limits;

/// Observations one call may attach; more are dropped, the verdict is not affected.
pub(crate) const MAX_EVIDENCE: usize = 64;
/// What is kept of the check's time for the script to answer after a poll.
const ANSWER_RESERVE: Duration = Duration::from_millis(250);

/// What one call is given.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Input {
    /// The claim, the payload of an event, or the arguments of a tool's call.
    pub(crate) claim: Json,
    /// The event that a hook answers; empty for verifiers.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) event: String,
    /// The decision under way, for `verify`; `None` where there is none or nobody asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) decision: Option<Map<String, Json>>,
    /// The delegation's task, for `verify`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) task: String,
    /// 1-based attempt; 0 in the red run.
    #[serde(default)]
    pub(crate) attempt: u32,
    /// It is the `verify` of a tool that is called, and `result` what its `run` came to.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) asserts: bool,
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub(crate) result: Json,
    /// `None`: the world is `files`.
    pub(crate) workspace: Option<PathBuf>,
    /// RFC 3339 text of when the run started.
    pub(crate) now: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) changes: Option<Changes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) files: Option<BTreeMap<String, String>>,
    /// The workspace where this process holds it already.
    #[serde(skip)]
    pub(crate) opened: Option<Arc<Workspace>>,
}

/// Paths that differ from before the delegate started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Changes {
    pub(crate) created: Vec<String>,
    pub(crate) modified: Vec<String>,
    pub(crate) deleted: Vec<String>,
    pub(crate) mode_changed: Vec<String>,
    pub(crate) undecided: Vec<String>,
}

/// Asks the host, and waits: no longer than `within`, where that is given.
pub(crate) trait Ask {
    fn ask(&self, call: &HostCall, within: Option<Duration>) -> HostAnswer;
}

/// Why ground truth was out of reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Missed {
    pub(crate) reason: String,
    /// It might have answered, given more time.
    pub(crate) is_late: bool,
}

impl Missed {
    /// The code of the verdict: what answers too late drifts red, and its code ends in `timeout`.
    pub(crate) const fn code(&self) -> &'static str {
        if self.is_late { "verify_timeout" } else { "unreachable" }
    }
}

/// A poll under way; its end bounds what the host is asked meanwhile.
pub(crate) struct Poll<'a> {
    session: &'a Session,
    end: Instant,
    outer: Option<Instant>,
    /// How much was observed up to the end of its first look.
    first: Cell<usize>,
}

impl Poll<'_> {
    pub(crate) const fn end(&self) -> Instant {
        self.end
    }
}

impl Drop for Poll<'_> {
    fn drop(&mut self) {
        self.session.poll_end.set(self.outer);
    }
}

/// Why a built-in ended the script, where the error alone does not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stop {
    Fault { code: &'static str, message: String },
    Missed(Missed),
}

/// One call.
pub(crate) struct Session {
    /// False while the top level of the file or a `when` runs: the world is out of reach then.
    in_run: Cell<bool>,
    input: Input,
    host: Box<dyn Ask>,
    files: OnceCell<Files>,
    limits: Limits,
    /// Moves on while the host is waited for: that time is not the script's.
    deadline: Cell<Instant>,
    /// The end of the check's time, by the clock.
    until: Instant,
    /// The end of the innermost poll.
    poll_end: Cell<Option<Instant>>,
    stop: RefCell<Option<Stop>>,
    evidence: RefCell<Vec<Evidence>>,
    printed: RefCell<String>,
    expired: Cell<bool>,
}

/// An error raised by a built-in.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Raised(pub(crate) String);

pub(crate) fn raise(message: impl Into<String>) -> starlark::Error {
    starlark::Error::new_native(Raised(message.into()))
}

thread_local! {
    // The interpreter can carry such a value itself, but only for types with an unsafe marker trait.
    static CURRENT: RefCell<Option<Rc<Session>>> = const { RefCell::new(None) };
}

/// Restores the session before it on drop.
pub(crate) struct Entered(Option<Rc<Session>>);

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

impl Session {
    pub(crate) fn new(in_run: bool, input: Input, host: Box<dyn Ask>, bounds: &Bounds) -> Self {
        Self {
            in_run: Cell::new(in_run),
            input,
            host,
            files: OnceCell::new(),
            limits: bounds.limits,
            deadline: Cell::new(bounds.deadline),
            until: bounds.until,
            poll_end: Cell::new(None),
            stop: RefCell::new(None),
            evidence: RefCell::new(Vec::new()),
            printed: RefCell::new(String::new()),
            expired: Cell::new(false),
        }
    }

    /// Makes this the session of the evaluation that now runs on this thread, until the guard goes.
    pub(crate) fn enter(self: &Rc<Self>) -> Entered {
        Entered(CURRENT.replace(Some(Rc::clone(self))))
    }

    /// The session of the running evaluation.
    pub(crate) fn current() -> starlark::Result<Rc<Self>> {
        CURRENT.with_borrow(Clone::clone).ok_or_else(|| raise("built-in called outside a check"))
    }

    /// The session, where the built-in looks at the world and so is for `run` only.
    pub(crate) fn in_run() -> starlark::Result<Rc<Self>> {
        let session = Self::current()?;
        if session.in_run.get() {
            return Ok(session);
        }
        Err(session.end(
            fault::TOP_LEVEL,
            "this built-in looks at the world; call it inside the function that is called",
        ))
    }

    /// From here on built-ins may not look at the world.
    pub(crate) fn close_world(&self) {
        self.in_run.set(false);
    }

    /// From here on they may.
    pub(crate) fn open_world(&self) {
        self.in_run.set(true);
    }

    /// Ends the script with a fault of its own code.
    pub(crate) fn end(&self, code: &'static str, message: impl Into<String>) -> starlark::Error {
        let message = message.into();
        self.stop.replace(Some(Stop::Fault { code, message: message.clone() }));
        raise(message)
    }

    /// Why the script was ended, if a built-in ended it.
    pub(crate) fn stop(&self) -> Option<Stop> {
        self.stop.borrow().clone()
    }

    pub(crate) const fn input(&self) -> &Input {
        &self.input
    }

    pub(crate) const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The end of the script's own time.
    pub(crate) const fn deadline(&self) -> Instant {
        self.deadline.get()
    }

    /// The world's files.
    pub(crate) fn files(&self) -> starlark::Result<&Files> {
        if let Some(files) = self.files.get() {
            return Ok(files);
        }
        let input = &self.input;
        let files = match (&input.opened, &input.workspace) {
            (Some(workspace), _) => Files::Rooted(Arc::clone(workspace)),
            (None, Some(root)) => Files::open(root).map_err(|error| self.files_error(error))?,
            (None, None) => Files::Given(input.files.clone().unwrap_or_default()),
        };
        Ok(self.files.get_or_init(|| files))
    }

    /// Turns a file error into what it means for the script: a path outside is the script's fault,
    /// a world that cannot be read is no statement at all, the rest is raised.
    pub(crate) fn files_error(&self, error: FilesError) -> starlark::Error {
        let message = error.to_string();
        match error {
            FilesError::Path(PathError::Outside { .. }) => self.end(fault::PATH, message),
            FilesError::Path(PathError::Escapes { .. }) => self.end(fault::ESCAPE, message),
            FilesError::Path(
                PathError::Denied { .. } | PathError::Moved { .. } | PathError::Io { .. },
            )
            | FilesError::Workspace(_) => self.leave(message, false),
            FilesError::Missing { .. } | FilesError::Path(_) => raise(message),
        }
    }

    /// Ends the script because ground truth is out of reach.
    pub(crate) fn leave(&self, reason: String, is_late: bool) -> starlark::Error {
        self.stop.replace(Some(Stop::Missed(Missed { reason: reason.clone(), is_late })));
        raise(reason)
    }

    /// Asks the host; a denial or silence ends the script.
    pub(crate) fn ask(&self, denied: &'static str, call: &HostCall) -> starlark::Result<Json> {
        match self.ask_host(call) {
            Ok(value) => Ok(value),
            Err(GateError::Denied(message)) => Err(self.end(denied, message)),
            Err(GateError::Invalid(message)) => Err(raise(message)),
            Err(GateError::Unreachable(reason)) => Err(self.leave(reason, false)),
            Err(GateError::Late(reason)) => Err(self.leave(reason, true)),
        }
    }

    fn ask_host(&self, call: &HostCall) -> HostAnswer {
        let asked = Instant::now();
        let left = |end: Instant| end.saturating_duration_since(asked);
        let within = match call {
            HostCall::Wait { .. } => None,
            _ => self.poll_end.get().map(left),
        };
        let answer = self.host.ask(call, within);
        self.deadline.set(self.deadline.get() + asked.elapsed());
        answer
    }

    /// Begins a poll of at most `timeout`, and of no more than is left of the check, less what the
    /// script needs to answer.
    pub(crate) fn start_poll(&self, timeout: Option<Duration>) -> Poll<'_> {
        let now = Instant::now();
        let left = self.until.saturating_duration_since(now);
        let left = left.saturating_sub((left / 10).min(ANSWER_RESERVE));
        let end = now + timeout.map_or(left, |timeout| timeout.min(left));
        let outer = self.poll_end.get();
        let end = outer.map_or(end, |outer| outer.min(end));
        self.poll_end.set(Some(end));
        let first = Cell::new(self.evidence.borrow().len());
        Poll { session: self, end, outer, first }
    }

    /// Of what the looks of a poll observed, keeps the first and the last only: a long poll would
    /// leave room for nothing else. Called before each look.
    pub(crate) fn forget_middle(&self, poll: &Poll<'_>, looks: u32) {
        let mut evidence = self.evidence.borrow_mut();
        match looks {
            0 => {}
            1 => poll.first.set(evidence.len()),
            _ => evidence.truncate(poll.first.get()),
        }
    }

    /// Waits without using up the script's own time or ticks. False where there is nothing to wait
    /// for any more: the check's time is over, or the world is that of an example.
    pub(crate) fn wait(&self, pause: Duration) -> starlark::Result<bool> {
        let ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX).max(1);
        match self.ask_host(&HostCall::Wait { ms }) {
            Ok(_) => Ok(true),
            Err(GateError::Unreachable(_) | GateError::Late(_) | GateError::Denied(_)) => Ok(false),
            Err(error @ GateError::Invalid(_)) => Err(raise(error.to_string())),
        }
    }

    /// Takes back that ground truth was out of reach, and says why it was. `None` when that is not
    /// what ended the script.
    pub(crate) fn recover(&self) -> Option<Missed> {
        let mut stop = self.stop.borrow_mut();
        match stop.take() {
            Some(Stop::Missed(missed)) => Some(missed),
            other => {
                *stop = other;
                None
            }
        }
    }

    /// Checks a text the script produced against its bound.
    pub(crate) fn fits(&self, bytes: usize) -> starlark::Result<()> {
        let max = self.limits.output_bytes;
        if u64::try_from(bytes).unwrap_or(u64::MAX) <= max {
            return Ok(());
        }
        Err(self.end(fault::OUTPUT, format!("{bytes} bytes of text, the limit is {max}")))
    }

    pub(crate) fn print(&self, text: &str) -> starlark::Result<()> {
        let mut printed = self.printed.borrow_mut();
        self.fits(printed.len().saturating_add(text.len()).saturating_add(1))?;
        printed.push_str(text);
        printed.push('\n');
        Ok(())
    }

    pub(crate) fn observe(&self, evidence: Evidence) {
        let mut list = self.evidence.borrow_mut();
        if list.len() < MAX_EVIDENCE {
            list.push(Evidence {
                source: cut(&evidence.source, 512),
                observed: cut(&evidence.observed, 512),
                ..evidence
            });
        }
    }

    /// True once the deadline has passed. The interpreter asks now and then.
    pub(crate) fn is_expired(&self) -> bool {
        if Instant::now() >= self.deadline.get() {
            self.expired.set(true);
        }
        self.expired.get()
    }

    /// Whether [`Session::is_expired`] ever said yes.
    pub(crate) fn has_expired(&self) -> bool {
        self.expired.get()
    }

    pub(crate) fn take_evidence(&self) -> Vec<Evidence> {
        self.evidence.take()
    }

    pub(crate) fn take_printed(&self) -> String {
        self.printed.take()
    }
}

impl starlark::PrintHandler for Session {
    fn println(&self, text: &str) -> starlark::Result<()> {
        self.print(text)
    }
}
