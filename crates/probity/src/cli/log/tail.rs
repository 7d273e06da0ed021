//! `probity log tail`.

use std::time::Duration;

use probity_core::{CheckDecl, Event, HookDecl, RunId};
use probity_engine::EngineError;
use probity_record::Record;
use probity_store::Store;

use super::resolve_run;
use super::workflow::event_line;
use crate::cli::CliError;
use crate::cli::kept_list::KeptList;
use crate::cli::present::{self, Reader};
use crate::cli::progress::{awaited, decided, said};
use crate::cli::waiver_log::WaiverLog;
use crate::cli::workflow_log::{is_of_workflow, step_of};

/// Records of one read.
const PAGE: usize = 256;
/// How long one wait for the next record lasts before the reader is looked after again.
const WAIT: Duration = Duration::from_secs(5);

/// Prints a run's events and follows it until its seal, or until nobody reads on.
pub(super) async fn tail(store: &dyn Store, text: &str, json: bool) -> Result<u8, CliError> {
    let run = resolve_run(store, text).await?;
    let mut follower = Follower { json, opened_at_ms: None, checks: Vec::new(), hooks: Vec::new() };
    let mut seen = 0_u64;
    loop {
        let state = store.wait_beyond(&run, seen, WAIT).await.map_err(EngineError::from)?;
        while seen < state.len {
            let records = store.read(&run, seen, PAGE).await.map_err(EngineError::from)?;
            if records.is_empty() {
                break;
            }
            for record in records {
                let reader = match !json && is_of_workflow(&record) {
                    true => step(store, &record).await?,
                    false => follower.print(&run, seen, &record)?,
                };
                if reader == Reader::Gone {
                    return Ok(0);
                }
                seen = seen.saturating_add(1);
            }
        }
        if state.sealed {
            return Ok(0);
        }
    }
}

/// The events of a step of a workflow run.
async fn step(store: &dyn Store, record: &[u8]) -> Result<Reader, CliError> {
    match step_of(store, record).await {
        Some(step) => {
            present::print(step.entries.iter().map(event_line).collect::<String>().as_bytes())
        }
        None => match WaiverLog::parse(record) {
            Some(waiver) => {
                present::print(format!("a waiver of run {}\n", waiver.step.run).as_bytes())
            }
            None if KeptList::parse(record).is_some() => {
                present::print(b"an entry of a list that a host keeps\n")
            }
            None => present::print(b"a step that cannot be read\n"),
        },
    }
}

struct Follower {
    json: bool,
    opened_at_ms: Option<u64>,
    checks: Vec<CheckDecl>,
    hooks: Vec<HookDecl>,
}

impl Follower {
    fn print(&mut self, run: &RunId, seq: u64, record: &[u8]) -> Result<Reader, CliError> {
        if self.json {
            let mut line = record.to_vec();
            line.push(b'\n');
            return present::print(&line);
        }
        let line = match Record::parse(record) {
            Ok(record) => self.line(&record),
            Err(fault) => format!("record {seq} of run {run} cannot be read: {fault}"),
        };
        present::print(format!("{}\n", present::line(&line)).as_bytes())
    }

    /// Seconds since the run was opened, the event, what it says.
    fn line(&mut self, record: &Record) -> String {
        if let Event::RunOpened { checks, hooks, .. } = &record.entry.event {
            self.checks.clone_from(checks);
            self.hooks.clone_from(hooks);
        }
        let opened_at_ms = *self.opened_at_ms.get_or_insert(record.entry.at_ms);
        let since_ms = record.entry.at_ms.saturating_sub(opened_at_ms);
        let (seconds, millis) = (since_ms / 1000, since_ms % 1000);
        let event = &record.entry.event;
        format!("{seconds:4}.{millis:03}s  {:19}  {}", event.name(), self.about(event))
    }

    fn about(&self, event: &Event) -> String {
        let hook = |index: probity_core::HookIndex| {
            self.hooks.get(index.as_usize()).map_or("?", |decl| decl.id.as_str())
        };
        let name = |index: probity_core::CheckIndex| {
            self.checks.get(index.as_usize()).map_or("?", |decl| decl.id.as_str())
        };
        match event {
            Event::RunOpened { run, checks, policy, .. } => {
                format!("{run}  checks {}  attempts {}", checks.len(), policy.max_attempts)
            }
            Event::WorldObserved { phase, manifest, .. } => {
                format!("{phase:?}  manifest {}", manifest.short()).to_lowercase()
            }
            Event::WorldUnreadable { code, .. } | Event::DelegateFailed { code, .. } => {
                format!("[{code}]")
            }
            Event::CheckStarted { check, tries, .. } => match tries {
                1 => name(*check).to_owned(),
                tries => format!("{}  try {tries}", name(*check)),
            },
            Event::CheckRed { check, finding, elapsed_ms, .. }
            | Event::CheckFinished { check, finding, elapsed_ms, .. } => {
                format!("{}  {}  {elapsed_ms} ms", name(*check), said(finding))
            }
            Event::HookCalled { hook: index, .. } => hook(*index).to_owned(),
            Event::HookAnswered { hook: index, decision, elapsed_ms } => {
                format!("{}  {}  {elapsed_ms} ms", hook(*index), decided(decision))
            }
            Event::DegradeChosen { trigger, step, .. } => {
                format!("{step}  because of {trigger:?}").to_lowercase()
            }
            Event::CheckAwaits { check, .. } => name(*check).to_owned(),
            Event::CheckAnswered { check, finding, .. } => {
                format!("{}  {}", name(*check), said(finding))
            }
            Event::DelegateDispatched { attempt, step, .. } => match step {
                Some(step) => format!("attempt {attempt}  {step}"),
                None => format!("attempt {attempt}"),
            },
            Event::DelegateNoted { kind, usage, .. } => {
                format!("{kind:?}  tokens {}  tool calls {}", usage.tokens, usage.tool_calls)
                    .to_lowercase()
            }
            Event::DelegateParked { until_ms, .. } => awaited(*until_ms),
            Event::DelegateWoken { answer: Some(_), .. } => "an answer came".to_owned(),
            Event::DelegateWoken { answer: None, .. } => "its time came".to_owned(),
            Event::ClaimReceived { candidate, .. } => format!("candidate {}", candidate.short()),
            Event::VerdictMerged { judgement, code, attempts, .. } => {
                format!("{}  [{code}]  attempts {attempts}", judgement.as_str())
            }
            Event::LeaseTaken { epoch, worker, interruptions } => {
                format!("{worker}  epoch {epoch}  interruptions {interruptions}")
            }
            Event::RunReleased => "for a worker".to_owned(),
            Event::CancelRequested { .. } => "somebody asks the run to stop".to_owned(),
            Event::Steered { .. } => "something is said to the delegate".to_owned(),
            Event::RunResumed { interruptions } => format!("interruptions {interruptions}"),
            Event::Escalated { instead_of, code } => format!("instead of {instead_of}  [{code}]"),
            Event::Answered { answer, .. } => format!("{answer:?}").to_lowercase(),
            Event::OutcomeDecided { outcome, code, waived } => {
                format!("{outcome}  [{code}]{}", if *waived { "  waived" } else { "" })
            }
            Event::Sealed { outcome } => outcome.to_string(),
        }
    }
}
