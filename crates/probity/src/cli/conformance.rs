//! `probity conformance`.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicUsize, Ordering};

use probity_conformance::{Disposition, Filter, Key, Kit, Options, Outcome, Progress, Scenario};
use serde::Serialize;
use uuid::Uuid;

use super::CliError;
use super::args::ConformanceArgs;
use super::present::{self, block};

/// A host that is asked nothing, where scenarios are only listed.
const NOBODY: &str = "http://127.0.0.1/";

/// Holds a host to the specification.
///
/// # Errors
/// [`CliError`] if there is no key, no scenario fits, or the host does not answer.
pub(super) async fn conformance(args: &ConformanceArgs) -> Result<u8, CliError> {
    let filter = Filter { ids: args.filter.clone(), levels: Vec::new() };
    if args.list {
        let kit = Kit::new(NOBODY, Key::new(""), Options::new(""))?;
        return list(&kit, &filter, args.json);
    }
    let mut options = Options::new(Uuid::now_v7().to_string());
    options.is_strict = args.strict;
    options.other_tenant = args.other_key_env.as_deref().map(key).transpose()?;
    options.receiver = args.receiver;
    let kit = Kit::new(args.url.as_deref().unwrap_or(NOBODY), key(&args.key_env)?, options)?;
    let count = kit.scenarios().iter().filter(|scenario| filter.takes(scenario)).count();
    let report = kit.run(&filter, &Shown::new(count)).await?;
    if args.json {
        present::json(&report)?;
    } else {
        // A host may say anything of itself, and a terminal would act on some of it.
        let text = block(&report.to_text()).join("\n");
        present::print(format!("{text}\n").as_bytes())?;
    }
    Ok(report.exit_code(args.allow_skips))
}

fn key(variable: &str) -> Result<Key, CliError> {
    let found = std::env::var(variable).ok().filter(|key| !key.trim().is_empty());
    found.map(Key::new).ok_or_else(|| {
        CliError::Usage(format!(
            "the environment variable `{variable}` is not set, which should hold a key of the host"
        ))
    })
}

#[derive(Serialize)]
struct Listed<'a> {
    id: &'a str,
    level: &'a str,
    title: &'a str,
    spec: &'a str,
    needs: Vec<String>,
}

fn list(kit: &Kit, filter: &Filter, json: bool) -> Result<u8, CliError> {
    let chosen = kit.scenarios().iter().filter(|scenario| filter.takes(scenario));
    if json {
        let listed: Vec<Listed<'_>> = chosen.map(listed).collect();
        present::json(&listed)?;
        return Ok(0);
    }
    let width = kit.scenarios().iter().map(|scenario| scenario.id.len()).max().unwrap_or_default();
    let lines = chosen.map(|scenario| format!("{:width$}  {}\n", scenario.id, scenario.title));
    present::print(lines.collect::<String>().as_bytes())?;
    Ok(0)
}

fn listed(scenario: &Scenario) -> Listed<'_> {
    Listed {
        id: scenario.id,
        level: scenario.level.as_str(),
        title: scenario.title,
        spec: scenario.spec,
        needs: scenario.needs.iter().map(ToString::to_string).collect(),
    }
}

/// What is through, on standard error: on a terminal in one line, elsewhere what did not hold.
struct Shown {
    count: usize,
    done: AtomicUsize,
    is_terminal: bool,
}

impl Shown {
    fn new(count: usize) -> Self {
        Self { count, done: AtomicUsize::new(0), is_terminal: io::stderr().is_terminal() }
    }
}

impl Progress for Shown {
    fn began(&self, _: &Scenario) {}

    fn ended(&self, outcome: &Outcome) {
        let done = self.done.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        let is_failed = matches!(outcome.disposition, Disposition::Failed { .. });
        let mut stderr = io::stderr().lock();
        if self.is_terminal {
            let end = if done == self.count { "\r\x1b[K" } else { "" };
            let _ = write!(stderr, "\r\x1b[K{done}/{} {}{end}", self.count, outcome.id);
            let _ = stderr.flush();
        }
        if is_failed {
            let start = if self.is_terminal { "\r\x1b[K" } else { "" };
            let _ = writeln!(stderr, "{start}FAILED {}", outcome.id);
        }
    }
}
