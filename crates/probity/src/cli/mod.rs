//! The command line: arguments in, text and an exit code out. All logic is in the library.

pub mod args;
mod audit;
mod bench;
mod check;
mod ci;
mod cite;
mod completions;
mod conformance;
mod demo;
mod dlq;
mod doctor;
mod documents;
mod drift;
mod episode;
mod error;
mod explain;
mod export;
mod fresh_file;
mod hook;
mod init;
mod kept_list;
mod log;
mod mcp;
mod post;
mod present;
mod progress;
mod quality;
mod recheck;
mod remote;
mod resume;
mod run;
mod serve;
mod signals;
mod source;
mod staged;
mod submit;
mod telemetry;
mod trust;
mod verify;
mod waiver_log;
mod watch;
mod worker;
mod workflow_log;

use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use serde_json::json;

pub use error::CliError;

use crate::location::Programs;
use args::{Cli, Command};

/// Wrong usage or configuration.
pub const EXIT_USAGE: u8 = 64;
/// Wrong usage of `probity audit`, whose other codes speak of records.
pub const EXIT_AUDIT_USAGE: u8 = 2;
/// The host that was to be held to the specification does not answer.
pub const EXIT_UNREACHABLE: u8 = 2;
/// The process was interrupted before there was anything to say.
pub const EXIT_INTERRUPTED: u8 = 130;
/// The run stopped without an outcome: the store failed, or another process took it over.
pub const EXIT_STOPPED: u8 = 74;
/// The run goes on, and nobody waited for it.
pub const EXIT_GOES_ON: u8 = 75;

/// Runs the command that the process was started with.
#[must_use]
pub fn main() -> ExitCode {
    // The two helpers come first: they are started once per check and need none of the rest.
    let mut words = std::env::args_os().skip(1);
    match words.next().as_deref().and_then(|word| word.to_str()) {
        Some("sandbox-exec") => return probity_sandbox::exec_main(words),
        Some("script-worker") => return probity_script::worker_main(),
        _ => {}
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            return error::report(
                &CliError::Io { what: "start", source: error },
                false,
                EXIT_STOPPED,
            );
        }
    };
    let json = wants_json(&cli.command);
    let is_audit = matches!(cli.command, Command::Audit(_));
    let result = runtime.block_on(dispatch(cli.command));
    // A reader of standard input or a slow name lookup must not hold up the end.
    runtime.shutdown_background();
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) if is_audit => error::report(&error, json, audit::exit_code(&error)),
        Err(error) => error::report(&error, json, error.exit_code()),
    }
}

async fn dispatch(command: Command) -> Result<u8, CliError> {
    // The program that runs, also when the file it came from is replaced or gone: a delegate can
    // write to that file.
    let programs = Programs::of(Path::new("/proc/self/exe"));
    match command {
        Command::Run(args) => run::run(&args, &programs).await,
        Command::Submit(args) => submit::submit(&args, &programs).await,
        Command::Worker(args) => worker::worker(&args, programs).await,
        Command::Serve(args) => serve::serve(&args, programs).await,
        Command::Mcp(args) => Box::pin(mcp::mcp(&args, programs)).await,
        Command::Conformance(args) => conformance::conformance(&args).await,
        Command::Watch(args) => watch::watch(&args, &programs).await,
        Command::Cancel(args) => post::cancel(&args).await,
        Command::Steer(args) => post::steer(&args).await,
        Command::Resume(args) => resume::resume(&args, &programs).await,
        Command::Dlq(args) => dlq::dlq(&args).await,
        Command::Doctor(args) => doctor::doctor(&args, &programs).await,
        Command::Verify(args) => verify::verify(&args, &programs).await,
        Command::Recheck(args) => recheck::recheck(&args, &programs).await,
        Command::Audit(args) => audit::audit(&args, &programs).await,
        Command::Export(args) => export::export(&args, &programs).await,
        Command::Log(args) => log::log(&args, &programs).await,
        Command::Episode(args) => episode::episode(&args, &programs).await,
        Command::Drift(args) => drift::drift(&args, &programs).await,
        Command::Hook(args) => hook::hook(&args, &programs).await,
        Command::Init(args) => init::init(&args, &programs).await,
        Command::Check(args) => check::check(&args, &programs).await,
        Command::Quality(args) => Box::pin(quality::quality(&args, &programs)).await,
        Command::Cite(args) => cite::cite(&args, &programs).await,
        Command::Explain(args) => explain::explain(&args, &programs).await,
        Command::Trust(args) => trust::trust(&args, &programs).await,
        Command::Demo(args) => demo::demo(&args, &programs).await,
        Command::Bench(args) => bench::bench(&args).await,
        Command::Completions(args) => completions::completions(&args, &programs).await,
        Command::ScriptWorker | Command::SandboxExec { .. } => Ok(EXIT_USAGE),
    }
}

fn usage(error: &clap::Error) -> ExitCode {
    match std::env::args_os().skip(1).any(|word| steers(&word)) {
        true => present::note(&error.render().to_string()),
        false => drop(error.print()),
    }
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return ExitCode::SUCCESS;
    }
    // The arguments could not be read, but a script that asked for an object still gets one.
    let mut words = std::env::args_os().skip(1).take_while(|word| word != "--");
    if words.any(|word| word == "--json") {
        let text = error.render().to_string();
        let message = text.trim_start_matches("error: ").lines().next().unwrap_or_default();
        let _ = present::json(&json!({"error": {"code": "usage", "message": message}}));
    }
    let is_audit = std::env::args_os().nth(1).is_some_and(|word| word == "audit");
    ExitCode::from(if is_audit { EXIT_AUDIT_USAGE } else { EXIT_USAGE })
}

/// Whether a word holds what a terminal would act on.
fn steers(word: &OsStr) -> bool {
    word.to_string_lossy().chars().any(char::is_control)
}

const fn wants_json(command: &Command) -> bool {
    match command {
        Command::Run(args) => args.request.checking.json,
        Command::Submit(args) => args.request.checking.json,
        Command::Worker(args) => args.json,
        Command::Serve(args) => args.json,
        Command::Conformance(args) => args.json,
        Command::Watch(args) => args.json,
        Command::Cancel(args) => args.json,
        Command::Steer(args) => args.json,
        Command::Resume(args) => args.json,
        Command::Dlq(args) => match &args.command {
            args::DlqCommand::List { json, .. } | args::DlqCommand::Show { json, .. } => *json,
            args::DlqCommand::Retry(which) | args::DlqCommand::Drop(which) => which.json,
        },
        Command::Doctor(args) => args.json,
        Command::Verify(args) => args.checking.json,
        Command::Recheck(args) => args.json,
        Command::Audit(args) => args.json,
        Command::Export(args) => args.json,
        Command::Init(args) => args.json,
        Command::Check(args) => args.json,
        Command::Quality(args) => args.checking.json,
        Command::Cite(args) => args.json,
        Command::Explain(args) => args.json,
        Command::Trust(args) => args.json,
        Command::Demo(args) => args.json,
        Command::Bench(args) => match &args.command {
            args::BenchCommand::Lies(args) => args.json,
        },
        Command::Log(args) => match &args.command {
            args::LogCommand::Show { json, .. }
            | args::LogCommand::Tail { json, .. }
            | args::LogCommand::ExportOtel { json, .. } => *json,
            args::LogCommand::List(args) => args.json,
            args::LogCommand::Index(args) => args.json,
            args::LogCommand::Answer(args) => args.json,
            args::LogCommand::Export { .. } => false,
        },
        Command::Episode(args) => match &args.command {
            args::EpisodeCommand::Verify(args) => args.json,
            args::EpisodeCommand::Show { json, .. } => *json,
            args::EpisodeCommand::Export { .. } => false,
        },
        Command::Drift(args) => match &args.command {
            args::DriftCommand::List { json, .. } | args::DriftCommand::Show { json, .. } => *json,
        },
        Command::Hook(args) => match &args.command {
            args::HookCommand::Fire(args) => args.json,
            args::HookCommand::Install(args) => args.json,
            args::HookCommand::Uninstall(args) => args.json,
            args::HookCommand::Status(args) => args.json,
            args::HookCommand::Run(_) => false,
        },
        // Its standard output is the protocol's.
        Command::Mcp(_)
        | Command::Completions(_)
        | Command::ScriptWorker
        | Command::SandboxExec { .. } => false,
    }
}
