//! The command line: what it accepts and what its help says. No logic.

mod audit;
mod bench;
mod checking;
mod ci;
mod cite;
mod conformance;
mod dlq;
mod doctor;
mod drift;
mod episode;
mod export;
mod fleet;
mod hook;
mod log;
mod mcp;
mod quality;
mod run;
mod sandbox;
mod serve;
mod verify;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub use audit::{AuditArgs, QuotesArg};
pub use bench::{BenchArgs, BenchCommand, LiesArgs};
pub use checking::CheckingArgs;
pub use ci::CiArgs;
pub use cite::CiteArgs;
pub use conformance::ConformanceArgs;
pub use dlq::{DlqArgs, DlqCommand, DlqWhich};
pub use doctor::DoctorArgs;
pub use drift::{DriftArgs, DriftCommand};
pub use episode::{EpisodeArgs, EpisodeCommand, EpisodeVerifyArgs};
pub use export::ExportArgs;
pub use fleet::{CancelArgs, ResumeArgs, SteerArgs, SubmitArgs, WatchArgs, WorkerArgs};
pub use hook::{
    HookArgs, HookCommand, HookFireArgs, HookInstallArgs, HookProgramArg, HookRunArgs,
    HookStatusArgs, HookUninstallArgs,
};
pub use log::{AnswerArgs, AnswerWords, IndexArgs, ListArgs, LogArgs, LogCommand};
pub use mcp::McpArgs;
pub use quality::QualityArgs;
pub use run::{OnDelegateErrorArg, OnFailureArg, RedFirstArg, RequestArgs, RunArgs};
pub use sandbox::{ReachArg, SandboxArgs};
pub use serve::ServeArgs;
pub use verify::VerifyArgs;

const AFTER_HELP: &str = "\
Exit codes:
  0  verified             3  unverified (nothing checked it)   6  cancelled
  1  exhausted, rejected  4  faulted (a verifier broke)        7  escalated (waits for a human)
  2  inconclusive         5  the delegate failed               64 wrong usage or configuration
                                                               74 the run stopped; resume it
                                                               75 the run goes on (watch, --wait)

Try it:
  probity demo
  probity run \"write hello to out.txt\" --expect file:out.txt,created,contains=hello -- my-agent";

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
    #[command(after_help = run::RUN_HELP)]
    Run(Box<RunArgs>),
    /// Leave a run for a worker: the same request as `run`, executed by another process.
    #[command(after_help = fleet::SUBMIT_HELP)]
    Submit(Box<SubmitArgs>),
    /// Take runs from the queue of a store, drive them and leave them.
    #[command(after_help = fleet::WORKER_HELP)]
    Worker(WorkerArgs),
    /// Serve workflow runs (openwop v1) and delegations over HTTP, and drive them.
    #[command(after_help = serve::SERVE_HELP)]
    Serve(ServeArgs),
    /// Offer delegation, verification and audits to other agents (Model Context Protocol).
    #[command(after_help = mcp::MCP_HELP)]
    Mcp(McpArgs),
    /// Hold a host to openwop v1: every scenario is run against it from outside.
    #[command(after_help = conformance::CONFORMANCE_HELP)]
    Conformance(ConformanceArgs),
    /// Follow a run to its end, whoever drives it; the exit code is that of its outcome.
    #[command(after_help = fleet::WATCH_HELP)]
    Watch(WatchArgs),
    /// Ask for a run to be stopped, whoever drives it.
    Cancel(CancelArgs),
    /// Say something to the delegate of a run in the midst of its work.
    Steer(SteerArgs),
    /// Have a run looked at by a worker again, with an answer to what it waits for.
    #[command(after_help = fleet::RESUME_HELP)]
    Resume(ResumeArgs),
    /// Dead letters: runs that workers gave up on.
    Dlq(DlqArgs),
    /// Say whether a store can be trusted with runs, and what to do where it cannot.
    #[command(after_help = doctor::DOCTOR_HELP)]
    Doctor(DoctorArgs),
    /// Check a claim that was made elsewhere; no delegate is run.
    Verify(Box<VerifyArgs>),
    /// Say whether a verified run still holds, or the world has moved since.
    Recheck(RecheckArgs),
    /// Prove records from their bytes alone: traces, run logs, bundles, episodes.
    #[command(after_help = audit::AUDIT_HELP)]
    Audit(AuditArgs),
    /// Write a run as one file that anyone can check: its records, its content, who signed.
    #[command(after_help = export::EXPORT_HELP)]
    Export(ExportArgs),
    /// List, show, follow or export run logs; answer a run that waits.
    Log(LogArgs),
    /// Audit episodes and drift signals, and write the episode of a run.
    Episode(EpisodeArgs),
    /// List the drift of runs and files, and what comes back.
    Drift(DriftArgs),
    /// Have coding agents ask before they stop; try the project's own hooks.
    Hook(HookArgs),
    /// Set up `.probity/` for this project.
    Init(InitArgs),
    /// Compile and validate every check of this project without running anything else.
    Check(CheckArgs),
    /// Say what the checks would miss: they run on copies, each with one thing changed.
    #[command(after_help = quality::QUALITY_HELP)]
    Quality(Box<QualityArgs>),
    /// Write a citation: words that stand in a file, with their marker.
    #[command(after_help = cite::CITE_HELP)]
    Cite(CiteArgs),
    /// Explain a code that a verdict, a fault or an error carried.
    Explain(ExplainArgs),
    /// Allow the commands of a project's configuration to run, by their exact hash.
    Trust(TrustArgs),
    /// Watch a lying agent be caught, told why, and verified. Runs in a temporary folder.
    Demo(DemoArgs),
    /// Hold this program to scripted lies and their honest twins.
    Bench(BenchArgs),
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
    /// Where runs are kept: sqlite:PATH, memory, or nats://HOST (tls://HOST). Default: a database in
    /// your state folder.
    // The URL of a store may hold a password, which help must not show.
    #[arg(long, value_name = "STORE", env = "PROBITY_STORE", hide_env_values = true)]
    pub store: Option<String>,
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
    /// Files to check: requests, verifiers, hooks, profiles, envelopes, packs, episodes. Default: the
    /// whole project.
    pub files: Vec<PathBuf>,
    /// The project. Default: the current folder.
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Check the project as it is staged in Git, not as it lies in the folder.
    #[arg(long, conflicts_with = "files")]
    pub staged: bool,
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
    /// The configuration, or the project's folder. Default: `.probity`.
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
