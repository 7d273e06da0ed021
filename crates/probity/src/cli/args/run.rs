//! `probity run`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use probity_core::{OnFailure, RedFirst};
use probity_delegate::Format as OutputFormat;

use super::{CheckingArgs, CiArgs, StoreArgs};
use crate::request::{ChatApi, CountingMode, Millis};

pub(super) const RUN_HELP: &str = "\
Checks:
  file:PATH     created changed absent contains= matches= sha256= min_bytes= max_bytes= mode=
                newer_than=run-start
  dir:PATH      created changed absent entries= min_entries= mode= newer_than=run-start
  text:         contains= matches=          (the delegate's response)
  json:PATH     schema= pointer= equals=    (PATH - is the response)
  command:LINE  exit= stdout_contains= stdout_matches= inputs= may_change= env=
  external:LINE args= inputs= may_change= env=     (JSON in on stdin, a JSON verdict out)
  http:URL      status= body_contains= body_matches= pointer= equals=     (needs --allow-host)
  git:REF       exists created clean pushed=REMOTE contains_path= reachable_from=REF
  sqlite:PATH   query= equals= at_least=
  port:HOST:PORT   closed
  process:NAME  absent
  changes_only:GLOB[,GLOB]...               (changes_only:none allows nothing)
  read_after_write:SOURCE  expected= mode= pointer= query= inputs= may_change= env=
                (reads until it fits or time is up)
  invariant_check:SOURCE   equals= at_least= at_most= status= matches= pointer= query= inputs=
                may_change= env=
                SOURCE is file:PATH, http:URL, sqlite:PATH or command:LINE
  citations:PATH  evidence=FOLDER min_supports= quotes=any allow_marked_insufficient revise
                may_change=                 (PATH - is the response)
  agent:MAP     (another delegate judges the claim; see docs/delegates.md)
  human:NAME    question=            (the run waits; answer with probity log answer)
  The target ends at the first comma; write \\, for a comma inside it. Keys that take a text, a
  glob or a name more than once are repeated. Every check but changes_only also takes id= and
  timeout= (default 10s; 2m for command and external, 5m for agent, 24h for human).
  Commands see PATH, HOME, LANG, LC_ALL, TMPDIR, TERM and USER; env=NAME hands another variable on.
  docs/checks.md says what each key means.

Examples:
  probity run \"fix the tests\" --expect 'command:cargo test,timeout=10m' -- claude -p
  probity run \"write a summary\" --expect file:SUMMARY.md,created,min_bytes=200 \\
      --max-retries 4 --json -- sh -c 'my-agent \"$(cat)\"'
  probity run \"add a test\" --expect 'command:cargo test' --acp -- gemini --acp
  probity run --request nightly.yaml
  probity run --resume 0198c0de";

/// What is asked for: by `probity run` here and now, by `probity submit` of a worker.
#[derive(Debug, Args)]
pub struct RequestArgs {
    /// The task, in words for the delegate.
    #[arg(value_name = "TASK")]
    pub task: Option<String>,
    /// The checks.
    #[command(flatten)]
    pub checking: CheckingArgs,
    /// A request file: JSON, YAML or TOML. What the command line gives adds to it.
    #[arg(long, value_name = "FILE")]
    pub request: Option<PathBuf>,
    /// A profile of the project: `.probity/agents/NAME.md`. Its checks and hooks count too.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// What is known of the decision: a JSON or YAML file with actor, context, plan and actions.
    #[arg(long, value_name = "FILE")]
    pub decision: Option<PathBuf>,
    /// The class of decisions that the task belongs to; the run is held to its envelope.
    #[arg(long, value_name = "CLASS")]
    pub decision_type: Option<String>,
    /// Retries after a rejected claim: 0 to 99. 0 verifies once. [default: 2]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub max_retries: Option<i64>,
    /// How submissions become attempts: every_submission, by_candidate or by_candidate_strict.
    /// [default: every_submission]
    #[arg(long, value_name = "MODE", value_parser = counting_mode)]
    pub counting: Option<CountingMode>,
    /// Wall time of the whole run, such as 30m; up to 30d. [default: no bound]
    #[arg(long, value_name = "TIME", value_parser = Millis::long)]
    pub timeout: Option<Millis>,
    /// Wall time of one attempt, such as 10m; up to 30d. [default: 1h, or the time of --timeout if that
    /// is longer; no bound for a chat model]
    #[arg(long, value_name = "TIME", value_parser = Millis::long)]
    pub attempt_timeout: Option<Millis>,
    /// The command that continues the delegate's conversation on a retry, as one string; {session}
    /// and {prompt} are filled in. Without it every attempt starts anew.
    #[arg(long, value_name = "COMMAND")]
    pub resume_command: Option<String>,
    /// What the delegate writes: text, auto, claude, codex, gemini or opencode. [default: text]
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
    /// The delegate is a chat model at this address, such as `https://api.openai.com/v1`. Its
    /// tools come from a request file or a profile.
    #[arg(long, value_name = "URL", conflicts_with_all = ["command", "acp"])]
    pub endpoint: Option<String>,
    /// The chat model's name, as its server knows it.
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// The language of the chat server: openai or anthropic. [default: openai]
    #[arg(long, value_name = "API", value_parser = chat_api)]
    pub api: Option<ChatApi>,
    /// The environment variable that holds the chat model's key. [default: OPENAI_API_KEY or
    /// ANTHROPIC_API_KEY, by the language]
    #[arg(long, value_name = "VARIABLE")]
    pub key_env: Option<String>,
    /// The command speaks the Agent Client Protocol: one session for all attempts.
    #[arg(long, requires = "command", conflicts_with_all = ["format", "resume_command"])]
    pub acp: bool,
    /// The delegate's command line. {prompt} is filled in; without it the prompt goes to standard
    /// input.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// `probity run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// What is asked for.
    #[command(flatten)]
    pub request: RequestArgs,
    /// Where runs are kept.
    #[command(flatten)]
    pub store: StoreArgs,
    /// What the job is told that this is part of.
    #[command(flatten)]
    pub reports: CiArgs,
    /// Take up a run that was interrupted or escalated.
    #[arg(long, value_name = "RUN", conflicts_with_all = [
        "task", "request", "id", "expect", "verify", "verify_arg", "allow_host", "allow_private", "ignore",
        "may_change", "workspace", "no_project", "sandbox", "network", "writable", "max_retries", "counting",
        "timeout", "attempt_timeout",
        "resume_command", "format", "on_delegate_error", "red_first", "on_failure", "command",
        "agent", "decision", "decision_type", "endpoint", "model", "api", "key_env", "acp"
    ])]
    pub resume: Option<String>,
    /// Answer an escalated run: reject, waive, or a number of further attempts. As `log answer`.
    #[arg(long, value_name = "ANSWER", requires = "resume", requires = "by")]
    pub answer: Option<String>,
    /// Who answers.
    #[arg(long, value_name = "NAME", requires = "answer")]
    pub by: Option<String>,
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
    /// The run waits for a human: `probity log answer RUN --by NAME ...`.
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
        .map_err(|_| "the formats are text, auto, claude, codex, gemini and opencode".to_owned())
}

fn chat_api(text: &str) -> Result<ChatApi, String> {
    serde_json::from_value(text.into()).map_err(|_| "it is openai or anthropic".to_owned())
}
