//! Workflow runs, where logs are shown.

use std::fmt::Write as _;

use probity_core::RunId;
use probity_workflow::{Entry, Event};
use serde::Serialize;
use serde_json::Value;

use super::timestamp;
use crate::cli::present::{self, Style, Tone, count, line};
use crate::cli::workflow_log::{WorkflowLog, chained, end_of};
use crate::cli::{CliError, EXIT_STOPPED};

#[derive(Serialize)]
struct Shown<'a> {
    run_id: &'a RunId,
    kind: &'static str,
    workflow: Option<&'a str>,
    /// `not finished` until its last event.
    status: &'static str,
    head: String,
    variables: Value,
    is_goal_satisfied: Option<bool>,
    events: Vec<&'a Entry>,
}

/// Prints what happened in a run, once the machine has made the same of its log.
///
/// # Errors
/// [`CliError::WorkflowLog`] if it would not have.
pub(in crate::cli) fn show(log: &WorkflowLog, json: bool) -> Result<u8, CliError> {
    let machine = log.replay().map_err(|error| CliError::WorkflowLog(error.into()))?;
    let snapshot = machine.snapshot();
    let events: Vec<&Entry> = log.entries().collect();
    let status = events.last().and_then(|entry| end_of(entry)).unwrap_or("not finished");
    if json {
        present::json(&Shown {
            run_id: &log.run,
            kind: "workflow",
            workflow: log.workflow(),
            status,
            head: log.head.to_string(),
            variables: Value::Object(snapshot.variables),
            is_goal_satisfied: snapshot.is_goal_satisfied,
            events,
        })?;
        return Ok(0);
    }
    let tone = match status {
        "completed" => Tone::Good,
        "not finished" => Tone::Warn,
        _ => Tone::Bad,
    };
    let (tone, status) = match (status, snapshot.is_goal_satisfied) {
        ("completed", Some(false)) => (Tone::Bad, "completed, goal not reached"),
        (status, _) => (tone, status),
    };
    let word = Style::of_stdout().paint(tone, &status.to_uppercase());
    let name = line(log.workflow().unwrap_or_default());
    let number = u64::try_from(events.len()).unwrap_or(u64::MAX);
    let begun = events.first().map(|entry| timestamp(entry.at_ms)).unwrap_or_default();
    let mut text = format!("{word} · workflow {name} · run {} · {begun}\n", log.run);
    events.iter().for_each(|entry| text.push_str(&event_line(entry)));
    let _ = writeln!(text, "{} · head {}…", count(number, "event"), log.head.short());
    present::print(text.as_bytes())?;
    Ok(0)
}

/// An event in a line: its place, its name, its node, what it says.
pub(in crate::cli) fn event_line(entry: &Entry) -> String {
    let read = serde_json::to_value(&entry.event).unwrap_or_default();
    let name = read.get("type").and_then(Value::as_str).unwrap_or_default();
    let node = entry.node.as_deref().unwrap_or("-");
    let text = format!("{:5}  {name:22}  {node:16}  {}", entry.sequence, said(&entry.event));
    format!("{}\n", line(&text))
}

fn said(event: &Event) -> String {
    match event {
        Event::RunStarted { workflow, .. } => workflow.clone(),
        Event::RunFailed { error, .. } | Event::NodeFailed { error } => {
            format!("[{}]  {}", error.code, error.message)
        }
        Event::NodeStarted { type_id, .. } => type_id.clone(),
        Event::NodeDispatched { child, workflow } => format!("{child}  {workflow}"),
        Event::AgentVerified(it) => {
            let verdict = format!("{:?}", it.verdict).to_lowercase();
            format!("{verdict}  by {}  of {}", it.agent, it.target)
        }
        Event::SupervisorDecided { agent, iteration, .. } => format!("{agent}  turn {iteration}"),
        Event::Handoff { phase, worker, .. } => format!("{phase:?}  {worker}").to_lowercase(),
        Event::VariableChanged { name, .. } => name.clone(),
        Event::InterruptRequested(interrupt) => format!("{:?}", interrupt.kind).to_lowercase(),
        Event::ApprovalReceived { action, by } => {
            format!("{action}  by {}", by.as_deref().unwrap_or("nobody"))
        }
        Event::RunCancelled { by, .. } => by.clone().unwrap_or_default(),
        _ => String::new(),
    }
}

/// Says what is wrong with an exported log, which is evidence all the same.
pub(super) fn exported(records: &[Vec<u8>]) -> Result<u8, CliError> {
    match chained(records) {
        Err(error) => {
            present::warn(&format!("the log is damaged: {error}"));
            return Ok(EXIT_STOPPED);
        }
        Ok(chained) if chained.has_blobs() => {
            present::warn(
                "some steps of the run are too long for its log, and are not in this file",
            );
        }
        Ok(_) => {}
    }
    Ok(0)
}
