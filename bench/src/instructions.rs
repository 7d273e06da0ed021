//! Cases whose instructions are counted: hot paths on one thread, the same input every time.
//!
//! This program does nothing but the work; `cargo xtask instructions` runs it under a tool that counts
//! and takes the difference of two numbers of rounds, so that start and setup are not in a figure.

mod machine;
mod record;
mod text;
mod wired;

use std::process::ExitCode;

use clap::Parser;

use crate::error::BenchError;

/// Does the work of one case so many times.
#[derive(Debug, Parser)]
#[command(name = "instructions")]
struct Args {
    /// The case. Absent lists all of them.
    case: Option<String>,
    /// How often.
    #[arg(default_value_t = 1)]
    rounds: u32,
}

/// A piece of work that is set up and can be done again and again.
type Work = Box<dyn FnMut() -> Result<(), BenchError>>;

/// A hot path. Names are kept: baselines go by them.
struct Case {
    name: &'static str,
    /// What one round is.
    what: &'static str,
    prepare: fn() -> Result<Work, BenchError>,
}

const fn case(
    name: &'static str,
    what: &'static str,
    prepare: fn() -> Result<Work, BenchError>,
) -> Case {
    Case { name, what, prepare }
}

const CASES: [Case; 13] = [
    case("canonical_json", "a record of a verdict as canonical JSON", record::canonical),
    case("chain_1000", "1,000 records written and chained", record::chain),
    case("read_1000", "1,000 records read and their chain checked", record::read),
    case("machine_ten_attempts", "a run of ten attempts through the machine alone", machine::run),
    case("replay_ten_attempts", "the same run folded from its log", machine::replay),
    case("correction", "the correction for five findings", text::correction),
    case("manifest_digest", "the digest of a snapshot of 1,000 files", text::manifest),
    case("changes", "what changed between two snapshots of 1,000 files", text::changes),
    case("citations", "an answer of eight quotations against its evidence", text::citations),
    case("audit_trace", "a reasoning trace of 105 events audited on one thread", record::trace),
    case("audit_episode", "an episode parsed, its shape and seal checked", record::episode),
    case("script_call", "a compiled Starlark verifier called in this process", wired::script),
    case("attempts_in_memory", "a run of ten attempts, engine and memory store", wired::attempts),
];

/// Lists the cases, or does one.
#[must_use]
pub fn main() -> ExitCode {
    let args = Args::parse();
    let Some(name) = &args.case else {
        CASES.iter().for_each(|case| println!("{}\t{}", case.name, case.what));
        return ExitCode::SUCCESS;
    };
    match work(name, args.rounds) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("instructions: {error}");
            ExitCode::FAILURE
        }
    }
}

fn work(name: &str, rounds: u32) -> Result<(), BenchError> {
    let case = CASES.iter().find(|case| case.name == name);
    let case = case.ok_or_else(|| wrong(format!("there is no case `{name}`")))?;
    let mut work = (case.prepare)()?;
    (0..rounds).try_for_each(|_| work())
}

/// A case that does not do what it says is not measured.
fn wrong(detail: impl std::fmt::Display) -> BenchError {
    BenchError::Measure { what: "a case", detail: detail.to_string() }
}
