//! What to run, and what came of it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::capture::Captured;
use crate::child::Child;
use crate::confinement::Confinement;
use crate::launcher::{Containment, Launcher};
use crate::part::Enforcement;
use crate::{drive, group};

/// The variables of the caller that a command sees unless told otherwise.
pub const CLEAN_ENV: [&str; 7] = ["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TERM", "USER"];

/// Wall time a command has when nothing else is said.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// The longest time any bound here can be set to; more is cut to it.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(30 * 24 * 3600);

/// Bytes held per stream when nothing else is said.
pub const DEFAULT_MAX_OUTPUT_BYTES: usize = 1024 * 1024;

/// How long what the command left behind may go on after it when nothing else is said: enough for
/// the far end of a shell's process substitution to write its last lines.
pub const DEFAULT_LINGER: Duration = Duration::from_millis(100);

/// The most that can be given to standard input.
pub const MAX_STDIN_BYTES: usize = 16 * 1024 * 1024;

/// Bounds on a command's resources, set before it starts; it cannot raise them. They hold for each
/// process by itself, and every descendant inherits them. `None` leaves the caller's own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Virtual memory.
    pub address_space_bytes: Option<u64>,
    /// Processor time, rounded up by the system to whole seconds; then SIGXCPU.
    pub cpu_seconds: Option<u64>,
    /// Size of a file it writes; then SIGXFSZ.
    pub file_size_bytes: Option<u64>,
    /// Open file descriptors.
    pub open_files: Option<u64>,
    /// Processes and threads, of the command and all it starts together. Held by a control group, or,
    /// for other users than root, by what all processes of the user together may be.
    pub processes: Option<u64>,
    /// Memory, of the command and all it starts together. Held by a control group.
    pub memory_bytes: Option<u64>,
}

impl Limits {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Secrets of Probity's own server. No child inherits them: with one of them a delegate could answer in
/// the name of those who watch it.
pub const OWN_SECRETS: [&str; 2] = ["PROBITY_API_KEY", "PROBITY_TOKEN_SECRET"];

/// Files that a CI job takes outputs, variables, paths and its summary from. No child inherits them: with
/// one of them a delegate could write what the job believes, the verdict included.
pub const CI_FILES: [&str; 5] =
    ["GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY"];

/// One command to run.
#[derive(Debug, Clone)]
pub struct Spawn {
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) inherit_env: bool,
    pub(crate) env: BTreeMap<OsString, OsString>,
    pub(crate) stdin: Vec<u8>,
    pub(crate) max_stdout_bytes: usize,
    pub(crate) max_stderr_bytes: usize,
    pub(crate) timeout: Duration,
    pub(crate) linger: Duration,
    pub(crate) term_grace: Duration,
    pub(crate) cancel: CancellationToken,
    pub(crate) limits: Limits,
    pub(crate) confinement: Option<Confinement>,
}

impl Spawn {
    /// Runs `program`, looked up on the command's own `PATH`, with no arguments, the variables of
    /// [`CLEAN_ENV`], an empty standard input and the default bounds.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            cwd: None,
            inherit_env: false,
            env: BTreeMap::new(),
            stdin: Vec::new(),
            max_stdout_bytes: DEFAULT_MAX_OUTPUT_BYTES,
            max_stderr_bytes: DEFAULT_MAX_OUTPUT_BYTES,
            timeout: DEFAULT_TIMEOUT,
            linger: DEFAULT_LINGER,
            term_grace: Duration::ZERO,
            cancel: CancellationToken::new(),
            limits: Limits::default(),
            confinement: None,
        }
    }

    /// Adds one argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<I, S>(mut self, args: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<OsString>,
    {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// The working directory; the caller's own when not set.
    #[must_use]
    pub fn cwd(mut self, dir: impl Into<PathBuf>) -> Self {
        self.cwd = Some(dir.into());
        self
    }

    /// Sets one variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Passes one variable of the caller on, if it is set.
    #[must_use]
    pub fn keep_env(self, name: impl AsRef<OsStr>) -> Self {
        match std::env::var_os(name.as_ref()) {
            Some(value) => self.env(name.as_ref(), value),
            None => self,
        }
    }

    /// Passes the caller's whole environment on, the user's secrets included, but for
    /// [`OWN_SECRETS`] and [`CI_FILES`]. For delegates, which need the user's credentials; not for checks.
    #[must_use]
    pub const fn inherit_env(mut self) -> Self {
        self.inherit_env = true;
        self
    }

    /// What the command reads, at most [`MAX_STDIN_BYTES`]; nothing when not set.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Bytes held of each of the two output streams.
    #[must_use]
    pub const fn max_output_bytes(mut self, max_bytes: usize) -> Self {
        self.max_stdout_bytes = max_bytes;
        self.max_stderr_bytes = max_bytes;
        self
    }

    /// Bytes held of standard error, when it should differ from standard output.
    #[must_use]
    pub const fn max_stderr_bytes(mut self, max_bytes: usize) -> Self {
        self.max_stderr_bytes = max_bytes;
        self
    }

    /// Wall time until everything is killed.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout.min(MAX_TIMEOUT);
        self
    }

    /// How long what the command left behind may go on after the command itself has ended.
    #[must_use]
    pub fn linger(mut self, linger: Duration) -> Self {
        self.linger = linger.min(MAX_TIMEOUT);
        self
    }

    /// On timeout or cancel, how long to wait between SIGTERM and SIGKILL. Zero, the default, kills
    /// at once.
    #[must_use]
    pub fn term_grace(mut self, grace: Duration) -> Self {
        self.term_grace = grace.min(MAX_TIMEOUT);
        self
    }

    /// Stops the command when cancelled.
    #[must_use]
    pub fn cancel(mut self, token: CancellationToken) -> Self {
        self.cancel = token;
        self
    }

    /// Bounds on resources.
    #[must_use]
    pub const fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// What the command is kept from, in place of what the launcher says.
    #[must_use]
    pub fn confinement(mut self, confinement: Confinement) -> Self {
        self.confinement = Some(confinement);
        self
    }

    /// Runs the command to its end and kills what it leaves behind. Dropping the future kills
    /// everything too, shortly after.
    ///
    /// # Errors
    /// [`SandboxError`] when the command did not start or could not be watched. A command that
    /// fails, is killed, or does not end in time is not an error but a [`Finished`].
    pub async fn run(&self, launcher: &Launcher) -> Result<Finished, SandboxError> {
        self.check()?;
        match launcher {
            Launcher::Helper { program, prefix } => drive::run(self, program, prefix).await,
            Launcher::InProcess => group::run(self).await,
            Launcher::Confined { .. } => {
                let (spawn, launcher) = self.under(launcher);
                Box::pin(spawn.run(launcher)).await
            }
        }
    }

    /// Starts the command and hands over its standard input and output, for programs that serve.
    ///
    /// It ends by itself, by [`Child::kill`], by [`Spawn::cancel`], when the [`Child`] is dropped, and
    /// at the latest after [`MAX_TIMEOUT`]; [`Spawn::timeout`] and [`Spawn::stdin`] do not apply. Of
    /// standard error at most [`Spawn::max_stderr_bytes`] are held. Needs a Tokio runtime, which must
    /// live as long as the child.
    ///
    /// # Errors
    /// [`SandboxError`] when the command did not start. With limits, a program that cannot be
    /// started may be told by [`Child::wait`] instead.
    pub async fn start(&self, launcher: &Launcher) -> Result<Child, SandboxError> {
        self.check()?;
        let (spawn, launcher) = self.under(launcher);
        Child::start(&spawn, launcher).await
    }

    /// The same with what the launcher adds, and the launcher that remains.
    fn under<'a>(&self, mut launcher: &'a Launcher) -> (Self, &'a Launcher) {
        let mut spawn = self.clone();
        while let Launcher::Confined { by, confinement, limits } = launcher {
            spawn.confinement.get_or_insert_with(|| Confinement::clone(confinement));
            if spawn.limits.is_empty() {
                spawn.limits = *limits;
            }
            launcher = by;
        }
        (spawn, launcher)
    }

    fn check(&self) -> Result<(), SandboxError> {
        if self.stdin.len() > MAX_STDIN_BYTES {
            return Err(SandboxError::StdinTooLong { bytes: self.stdin.len() });
        }
        if let Some(dir) = self.cwd.as_deref().filter(|dir| !dir.is_dir()) {
            return Err(SandboxError::Cwd { dir: dir.to_path_buf() });
        }
        if let Some(path) = self.confinement.as_ref().and_then(Confinement::unfit_path) {
            return Err(SandboxError::ConfinedPath { path: path.to_path_buf() });
        }
        let has_nul = |text: &OsStr| text.as_bytes().contains(&0);
        if has_nul(&self.program) || self.args.iter().any(|arg| has_nul(arg)) {
            return Err(SandboxError::Nul { program: self.program_text() });
        }
        let bad = |name: &OsStr| name.is_empty() || name.as_bytes().contains(&b'=');
        if let Some((name, _)) =
            self.env.iter().find(|(name, value)| bad(name) || has_nul(name) || has_nul(value))
        {
            return Err(SandboxError::Env { name: name.to_string_lossy().into_owned() });
        }
        Ok(())
    }

    /// The program as text for messages.
    pub(crate) fn program_text(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }

    /// Starts a process builder with this command's directory and environment.
    pub(crate) fn base(&self, program: &OsStr) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(program);
        if !self.inherit_env {
            command.env_clear();
            let kept = CLEAN_ENV.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
            command.envs(kept);
        }
        for name in OWN_SECRETS.into_iter().chain(CI_FILES) {
            command.env_remove(name);
        }
        command.envs(&self.env);
        if let Some(dir) = &self.cwd {
            command.current_dir(dir);
        }
        command
    }

    /// The error for a program that did not start.
    pub(crate) fn start_error(&self, source: std::io::Error) -> SandboxError {
        SandboxError::Start { program: self.program_text(), source }
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It exited with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit status {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}

/// Why a command is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It ended by itself.
    Exited(Status),
    /// It ran out of time and was killed.
    TimedOut,
    /// It was cancelled and killed, or never started because it already was.
    Cancelled,
}

/// A command that is over, with everything it had started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Why it is over.
    pub ended: Ended,
    /// What it wrote to standard output.
    pub stdout: Captured,
    /// What it wrote to standard error.
    pub stderr: Captured,
    /// From start to death of the last process.
    pub elapsed: Duration,
    /// How far killing reached.
    pub containment: Containment,
    /// Processes besides the command itself that had to be killed. Always 0 under
    /// [`Containment::Group`], which does not count them.
    pub strays: u32,
    /// Processes that would not die, for example because they run as another user. 0 but for
    /// programs with more rights than the caller.
    pub survivors: u32,
    /// What it was kept from: every part of its confinement that was asked for. Empty without one.
    pub enforcement: Enforcement,
}

impl Finished {
    /// How the command ended, if it ended by itself.
    #[must_use]
    pub const fn status(&self) -> Option<Status> {
        match self.ended {
            Ended::Exited(status) => Some(status),
            Ended::TimedOut | Ended::Cancelled => None,
        }
    }

    /// Whether it ended by itself with code 0.
    #[must_use]
    pub fn success(&self) -> bool {
        self.status() == Some(Status::Code(0))
    }
}

/// A command could not be run or watched. What it did to the world, if anything, is unknown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The program could not be started.
    #[error("cannot start `{program}`: {source}; check that it is installed and on PATH")]
    Start {
        /// What was to be run.
        program: String,
        /// Why it could not.
        source: std::io::Error,
    },
    /// The working directory is not a directory.
    #[error("the working directory `{dir}` is not a directory")]
    Cwd {
        /// The path.
        dir: PathBuf,
    },
    /// The program or an argument holds a NUL byte, which no system call can pass.
    #[error("an argument of `{program}` holds a NUL byte; pass such data by standard input")]
    Nul {
        /// The program.
        program: String,
    },
    /// A variable is named or valued in a way no system call can pass.
    #[error("the variable `{name}` is empty, or holds `=` in its name or a NUL byte")]
    Env {
        /// The variable's name.
        name: String,
    },
    /// Standard input is over the bound.
    #[error("standard input is {bytes} bytes, more than {MAX_STDIN_BYTES}; pass a file instead")]
    StdinTooLong {
        /// Its length.
        bytes: usize,
    },
    /// The launcher cannot hold the command to what was asked; nothing was started.
    #[error("{what} needs the sandbox helper; use `Launcher::Helper`")]
    Unsupported {
        /// What was asked for.
        what: &'static str,
    },
    /// Not everything that the confinement requires would hold; nothing was started.
    #[error("the sandbox cannot hold what is required of it here: {}", lacking(enforcement))]
    Unenforced {
        /// Every part, with its level.
        enforcement: Enforcement,
    },
    /// A path of the confinement cannot be meant.
    #[error("the sandbox cannot take the path `{path}`: it is not absolute, or holds a NUL byte")]
    ConfinedPath {
        /// The path.
        path: PathBuf,
    },
    /// The helper could not be started.
    #[error("cannot start the sandbox helper `{program}`: {source}")]
    HelperStart {
        /// The helper's path.
        program: PathBuf,
        /// Why it could not.
        source: std::io::Error,
    },
    /// The helper ended, or stopped answering, without saying how the command ended.
    #[error("the sandbox helper failed: {detail}")]
    Helper {
        /// What is known.
        detail: String,
    },
    /// The operating system refused something on the way.
    #[error("cannot watch `{program}`: {source}")]
    Watch {
        /// What was run.
        program: String,
        /// Why.
        source: std::io::Error,
    },
}

impl SandboxError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Start { .. } => "command_start",
            Self::Cwd { .. } => "command_cwd",
            Self::Nul { .. } => "command_nul",
            Self::Env { .. } => "command_env",
            Self::StdinTooLong { .. } => "command_stdin_too_long",
            Self::Unsupported { .. } => "sandbox_unsupported",
            Self::Unenforced { .. } => "sandbox_unavailable",
            Self::ConfinedPath { .. } => "sandbox_path",
            Self::HelperStart { .. } => "sandbox_helper_start",
            Self::Helper { .. } => "sandbox_helper",
            Self::Watch { .. } => "sandbox_watch",
        }
    }
}

fn lacking(enforcement: &Enforcement) -> String {
    let missing = enforcement.missing();
    let missing: Vec<String> =
        missing.map(|(part, lack)| format!("{} ({})", part.as_str(), lack.text())).collect();
    missing.join(", ")
}
