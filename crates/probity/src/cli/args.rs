//! The command line: what it accepts and what its help says. No logic.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use probity_core::{OnFailure, RedFirst};
use probity_delegate::Format as OutputFormat;

use crate::request::{CountingMode, Millis};

const AFTER_HELP: &str = "\
Exit codes:
  0  verified             3  unverified (nothing checked it)   6  cancelled
  1  exhausted, rejected  4  faulted (a verifier broke)        7  escalated (waits for a human)
  2  inconclusive         5  the delegate failed               64 wrong usage or configuration
                                                               74 the run stopped; resume it

Try it:
  probity demo
  probity run \"write hello to out.txt\" --expect file:out.txt,created,contains=hello -- my-agent";

const RUN_HELP: &str = "\
Checks:
  file:PATH     created changed absent contains= matches= sha256= min_bytes= max_bytes= mode=
                newer_than=run-start
  dir:PATH      created changed absent entries= min_entries=
  text:         contains= matches=          (the delegate's response)
  json:PATH     schema= pointer= equals=
  command:LINE  exit= stdout_contains= stdout_matches= timeout= inputs=
  external:LINE args= env= inputs=           (JSON in on stdin, a JSON verdict out)
  http:URL      status= body_contains= pointer= equals=        (needs --allow-host)
  git:REF       exists created clean pushed=REMOTE contains_path=
  sqlite:PATH   query= equals= at_least=
  port:HOST:PORT   process:NAME   changes_only:GLOB[,GLOB]...
  The target ends at the first comma; write \\, for a comma inside it. inputs= and may_change= take
  one glob each and may be repeated. Every check but changes_only also takes id= and timeout=
  (default 10s; 2m for command and external).

Examples:
  probity run \"fix the tests\" --expect 'command:cargo test,timeout=10m' -- claude -p
  probity run \"write a summary\" --expect file:SUMMARY.md,created,min_bytes=200 \\
      --max-retries 4 --json -- sh -c 'my-agent \"$(cat)\"'
  probity run --request nightly.yaml
  probity run --resume 0198c0de";

/// Done means done: run any agent, check the world, let only a verified result through.
#[derive(Debug, Parser)]
#[command(name = "probity", version, after_help = AFTER_HELP, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a delegate, check its claim, send it back with the reason, seal the record.
    #[command(after_help = RUN_HELP)]
    Run(Box<RunArgs>),
    /// Check a claim that was made elsewhere; no delegate is run.
    Verify(Box<VerifyArgs>),
    /// Say whether a verified run still holds, or the world has moved since.
    Recheck(RecheckArgs),
    /// List, show, follow or export run logs.
    Log(LogArgs),
    /// Set up `.probity/` for this project.
    Init(InitArgs),
    /// Compile and validate every check of this project without running anything else.
    Check(CheckArgs),
    /// Explain a code that a verdict, a fault or an error carried.
    Explain(ExplainArgs),
    /// Allow the commands of a project's configuration to run, by their exact hash.
    Trust(TrustArgs),
    /// Watch a lying agent be caught, told why, and verified. Runs in a temporary folder.
    Demo(DemoArgs),
    /// Print shell completions.
    Completions(CompletionsArgs),
    /// Runs scripts for another probity process.
    #[command(hide = true)]
    ScriptWorker,
    /// Runs a command for another probity process and kills it whole.
    #[command(hide = true)]
    SandboxExec {
        /// Passed on.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<std::ffi::OsString>,
    },
}

/// Where runs are kept.
#[derive(Debug, Clone, Args)]
pub struct StoreArgs {
    /// Where runs are kept: sqlite:PATH, or memory. Default: a database in your state folder.
    #[arg(long, value_name = "STORE", env = "PROBITY_STORE")]
    pub store: Option<String>,
}

/// The checks of a run.
#[derive(Debug, Clone, Args)]
pub struct CheckingArgs {
    /// A check: KIND:TARGET[,key=value]... May be given more than once.
    #[arg(long, value_name = "CHECK")]
    pub expect: Vec<String>,
    /// A Starlark verifier with `def run(result)`. May be given more than once.
    #[arg(long, value_name = "FILE")]
    pub verify: Vec<PathBuf>,
    /// An entry of `args` in the verifier. JSON if it parses as JSON, else text.
    #[arg(long = "verify-arg", value_name = "KEY=VALUE")]
    pub verify_arg: Vec<String>,
    /// A host that checks may ask over HTTP: example.com, *.example.com, 127.0.0.1:8080.
    #[arg(long = "allow-host", value_name = "HOST")]
    pub allow_host: Vec<String>,
    /// A host or address range that may be private: db.internal, 10.0.0.0/8.
    #[arg(long = "allow-private", value_name = "HOST")]
    pub allow_private: Vec<String>,
    /// A glob that the snapshot of the workspace leaves out, beside the built-in ones.
    #[arg(long, value_name = "GLOB")]
    pub ignore: Vec<String>,
    /// A glob of files that the delegate may change although a check names them.
    #[arg(long = "may-change", value_name = "GLOB")]
    pub may_change: Vec<String>,
    /// Where the work is done and checked. Default: the current folder.
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Exit 0 even if nothing checked the claim.
    #[arg(long)]
    pub allow_unverified: bool,
    /// Leave the project's `.probity/probity.toml` out.
    #[arg(long)]
    pub no_project: bool,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}

impl CheckingArgs {
    /// No checks; prints as told.
    #[must_use]
    pub const fn printing(json: bool) -> Self {
        Self {
            expect: Vec::new(),
            verify: Vec::new(),
            verify_arg: Vec::new(),
            allow_host: Vec::new(),
            allow_private: Vec::new(),
            ignore: Vec::new(),
            may_change: Vec::new(),
            workspace: None,
            allow_unverified: false,
            no_project: false,
            json,
        }
    }
}

/// `probity run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The task, in words for the delegate.
    #[arg(value_name = "TASK")]
    pub task: Option<String>,
    /// The checks.
    #[command(flatten)]
    pub checking: CheckingArgs,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
    /// A request file: JSON, YAML or TOML. What the command line gives adds to it.
    #[arg(long, value_name = "FILE")]
    pub request: Option<PathBuf>,
    /// Retries after a rejected claim: 0 to 99. 0 verifies once. [default: 2]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub max_retries: Option<i64>,
    /// How submissions become attempts. [default: every_submission]
    #[arg(long, value_name = "MODE", value_parser = counting_mode)]
    pub counting: Option<CountingMode>,
    /// Wall time of the whole run, such as 30m.
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<Millis>,
    /// Wall time of one attempt, such as 10m.
    #[arg(long, value_name = "TIME")]
    pub attempt_timeout: Option<Millis>,
    /// The command that continues the delegate's conversation on a retry, as one string; {session}
    /// and {prompt} are filled in. Without it every attempt starts anew.
    #[arg(long, value_name = "COMMAND")]
    pub resume_command: Option<String>,
    /// What the delegate writes.
    #[arg(long, value_name = "FORMAT", value_parser = output_format)]
    pub format: Option<OutputFormat>,
    /// What a delegate that ends with a failure means.
    #[arg(long, value_enum)]
    pub on_delegate_error: Option<OnDelegateErrorArg>,
    /// What a check that passes before the delegate starts means. [default: warn]
    #[arg(long, value_enum)]
    pub red_first: Option<RedFirstArg>,
    /// What follows when the run is rejected or exhausted. [default: reject]
    #[arg(long, value_enum)]
    pub on_failure: Option<OnFailureArg>,
    /// The run's name. Default: one is drawn.
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// Take up a run that was interrupted or escalated.
    #[arg(long, value_name = "RUN", conflicts_with_all = [
        "task", "request", "id", "expect", "verify", "verify_arg", "allow_host", "allow_private", "ignore",
        "may_change", "workspace", "no_project", "max_retries", "counting", "timeout", "attempt_timeout",
        "resume_command", "format", "on_delegate_error", "red_first", "on_failure", "command"
    ])]
    pub resume: Option<String>,
    /// Answer an escalated run: reject, waive, or a number of further attempts.
    #[arg(long, value_name = "ANSWER", requires = "resume", requires = "by")]
    pub answer: Option<String>,
    /// Who answers.
    #[arg(long, value_name = "NAME", requires = "answer")]
    pub by: Option<String>,
    /// The delegate's command line. {prompt} is filled in; without it the prompt goes to standard
    /// input.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// `probity verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// The claim: a JSON file with `response`, `tool_calls`, `tool_results`, or a text file that is
    /// the response. `-` reads standard input.
    #[arg(long, value_name = "FILE")]
    pub result: PathBuf,
    /// The task that the claim is about.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub task: String,
    /// The checks.
    #[command(flatten)]
    pub checking: CheckingArgs,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `probity recheck`.
#[derive(Debug, Args)]
pub struct RecheckArgs {
    /// The run.
    pub run: String,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}

/// `probity log`.
#[derive(Debug, Args)]
pub struct LogArgs {
    /// What to do with the logs.
    #[command(subcommand)]
    pub command: LogCommand,
}

/// The subcommands of `probity log`.
#[derive(Debug, Subcommand)]
pub enum LogCommand {
    /// The newest runs.
    List {
        /// How many at most.
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
        limit: u16,
        /// Where runs are kept.
        #[command(flatten)]
        store: StoreArgs,
        /// Print one JSON array instead of text.
        #[arg(long)]
        json: bool,
    },
    /// What a run came to.
    Show {
        /// The run.
        run: String,
        /// Where runs are kept.
        #[command(flatten)]
        store: StoreArgs,
        /// Print one JSON object instead of text.
        #[arg(long)]
        json: bool,
    },
    /// Follow a run's events until it is sealed.
    Tail {
        /// The run.
        run: String,
        /// Where runs are kept.
        #[command(flatten)]
        store: StoreArgs,
        /// Print records as they are stored.
        #[arg(long)]
        json: bool,
    },
    /// Write a run's records, one JSON object a line, to standard output.
    Export {
        /// The run.
        run: String,
        /// Where runs are kept.
        #[command(flatten)]
        store: StoreArgs,
    },
}

/// `probity init`.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// The project. Default: the current folder.
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Overwrite what is there.
    #[arg(long)]
    pub force: bool,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}

/// `probity check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Files to check: request files, .star files. Default: the project's configuration.
    pub files: Vec<PathBuf>,
    /// The project. Default: the current folder.
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}

/// `probity explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The code, such as `file_missing`. Without one, all codes are listed.
    pub code: Option<String>,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}

/// `probity trust`.
#[derive(Debug, Args)]
pub struct TrustArgs {
    /// The configuration. Default: `.probity/probity.toml`.
    pub file: Option<PathBuf>,
    /// Say whether it is trusted; change nothing. Exit 1 if it is not.
    #[arg(long)]
    pub show: bool,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}

/// `probity demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}

/// `probity completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell.
    pub shell: clap_complete::Shell,
}

/// What a delegate that ends with a failure means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnDelegateErrorArg {
    /// The run ends: the delegate failed.
    Fail,
    /// What it wrote is its claim, and is checked.
    Claim,
}

/// See [`RedFirst`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RedFirstArg {
    /// Report it.
    Warn,
    /// Its later pass counts for nothing.
    Require,
    /// Do not run checks before the delegate.
    Off,
}

impl From<RedFirstArg> for RedFirst {
    fn from(arg: RedFirstArg) -> Self {
        match arg {
            RedFirstArg::Warn => Self::Warn,
            RedFirstArg::Require => Self::Require,
            RedFirstArg::Off => Self::Off,
        }
    }
}

/// See [`OnFailure`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnFailureArg {
    /// The run ends.
    Reject,
    /// The run waits for a human: `probity run --resume RUN --answer ... --by NAME`.
    Escalate,
}

impl From<OnFailureArg> for OnFailure {
    fn from(arg: OnFailureArg) -> Self {
        match arg {
            OnFailureArg::Reject => Self::Reject,
            OnFailureArg::Escalate => Self::Escalate,
        }
    }
}

fn counting_mode(text: &str) -> Result<CountingMode, String> {
    serde_json::from_value(text.into()).map_err(|_| {
        "the modes are every_submission, by_candidate and by_candidate_strict".to_owned()
    })
}

fn output_format(text: &str) -> Result<OutputFormat, String> {
    serde_json::from_value(text.into())
        .map_err(|_| "the formats are text, auto, claude, codex and gemini".to_owned())
}
