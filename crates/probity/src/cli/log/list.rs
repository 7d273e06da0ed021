//! `probity log list`.

use std::fmt::Write as _;

use probity_core::{Event, Outcome, RunId};
use probity_engine::EngineError;
use probity_record::Record;
use probity_store::{RunSummary, Store};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::cli::CliError;
use crate::cli::kept_list::KeptList;
use crate::cli::present::{self, Style, Tone};
use crate::cli::waiver_log::WaiverLog;
use crate::cli::workflow_log::{end_of, is_of_workflow, step_of, workflow_of};

/// The longest task that a line shows, in characters.
const MAX_TASK_CHARS: usize = 60;
/// The largest request that is read for its task, in bytes.
const MAX_REQUEST_BYTES: u64 = 4 * 1024 * 1024;

/// One run of the list.
#[derive(Debug, Serialize)]
struct Listed {
    run_id: RunId,
    /// `delegation`, `workflow`, `waiver` or `list`.
    kind: &'static str,
    /// RFC 3339, UTC.
    created_at: String,
    /// `escalated` while it waits for a human; absent while it goes on, or is interrupted.
    outcome: Option<Outcome>,
    sealed: bool,
    /// Records so far, the seal included.
    records: u64,
    task: Option<String>,
    /// What a workflow run runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    workflow: Option<String>,
    /// The run that somebody answers for.
    #[serde(skip_serializing_if = "Option::is_none")]
    waives: Option<RunId>,
    /// What a list holds that a host keeps.
    #[serde(skip_serializing_if = "Option::is_none")]
    holds: Option<&'static str>,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
}

/// The one part of a request that the list shows.
#[derive(Deserialize)]
struct Task {
    task: String,
}

/// The same of what a workflow run has done.
#[derive(Deserialize)]
#[serde(tag = "job", rename_all = "kebab-case")]
enum Job {
    Delegate { request: Task },
    Verify { target: RunId },
}

impl Job {
    fn task(self) -> String {
        match self {
            Self::Delegate { request } => request.task,
            Self::Verify { target } => format!("a look at what {target} left"),
        }
    }
}

/// Prints the newest runs.
pub(super) async fn list(store: &dyn Store, limit: usize, json: bool) -> Result<u8, CliError> {
    let mut runs = Vec::new();
    for summary in store.list(None, limit).await.map_err(EngineError::from)? {
        runs.push(listed(store, summary).await?);
    }
    if json {
        present::json(&runs)?;
    } else if runs.is_empty() {
        present::note("no runs yet; try `probity demo`");
    } else {
        present::print(table(&runs, Style::of_stdout()).as_bytes())?;
    }
    Ok(0)
}

async fn listed(store: &dyn Store, summary: RunSummary) -> Result<Listed, CliError> {
    let RunSummary { run, state, created_at_ms, .. } = summary;
    let first = record(store, &run, 0).await?;
    let bare = |run_id| Listed {
        run_id,
        kind: "delegation",
        created_at: timestamp(created_at_ms),
        outcome: None,
        sealed: state.sealed,
        records: state.len,
        task: None,
        workflow: None,
        waives: None,
        holds: None,
        status: None,
    };
    if let Some(waiver) = first.as_ref().and_then(|line| WaiverLog::parse(line)) {
        let (kind, waives) = ("waiver", Some(waiver.step.run));
        return Ok(Listed { kind, waives, status: Some(kind), ..bare(run) });
    }
    if let Some(list) = first.as_ref().and_then(|line| KeptList::parse(line)) {
        let (kind, holds) = ("list", Some(list.holds));
        return Ok(Listed { kind, holds, status: Some(kind), ..bare(run) });
    }
    if let Some(first) = first.as_ref().filter(|line| is_of_workflow(line)) {
        let last = record(store, &run, state.len.saturating_sub(1)).await?.unwrap_or_default();
        let last = step_of(store, &last).await;
        let begun = step_of(store, first).await;
        return Ok(Listed {
            kind: "workflow",
            workflow: begun.as_ref().and_then(workflow_of).map(str::to_owned),
            status: last.and_then(|step| step.entries.last().and_then(end_of)),
            ..bare(run)
        });
    }
    let outcome = match last_event(store, &run, state.len).await? {
        Some(Event::Sealed { outcome }) => Some(outcome),
        Some(Event::Escalated { .. } | Event::CheckAwaits { .. }) => Some(Outcome::Escalated),
        _ => None,
    };
    Ok(Listed { task: task(store, first.as_deref()).await, outcome, ..bare(run) })
}

/// The event of the last record. `None` where it cannot be read: a list names damaged runs too.
async fn last_event(store: &dyn Store, run: &RunId, len: u64) -> Result<Option<Event>, CliError> {
    let line = record(store, run, len.saturating_sub(1)).await?;
    let record = line.and_then(|line| Record::parse(&line).ok());
    Ok(record.map(|record| record.entry.event))
}

async fn record(store: &dyn Store, run: &RunId, at: u64) -> Result<Option<Vec<u8>>, CliError> {
    Ok(store.read(run, at, 1).await.map_err(EngineError::from)?.into_iter().next())
}

async fn task(store: &dyn Store, first: Option<&[u8]>) -> Option<String> {
    let Event::RunOpened { request, .. } = Record::parse(first?).ok()?.entry.event else {
        return None;
    };
    // A missing or damaged request is for `log show` to report.
    let bytes = store.get(&request, MAX_REQUEST_BYTES).await.ok().flatten()?;
    match serde_json::from_slice::<Job>(&bytes) {
        Ok(job) => Some(job.task()),
        Err(_) => serde_json::from_slice::<Task>(&bytes).ok().map(|request| request.task),
    }
}

fn table(runs: &[Listed], style: Style) -> String {
    let id_width = runs.iter().map(|run| run.run_id.as_str().len()).max().unwrap_or_default();
    let mut text = String::new();
    for run in runs {
        let (word, tone) = match (run.outcome, run.status) {
            (Some(Outcome::Verified), _) => ("verified", Tone::Good),
            (Some(outcome), _) => (outcome.as_str(), Tone::Bad),
            (None, Some("waiver")) => ("waiver", Tone::Warn),
            (None, Some("list")) => ("list", Tone::Dim),
            (None, Some("completed")) => ("completed", Tone::Good),
            (None, Some(status)) => (status, Tone::Bad),
            (None, None) => ("not finished", Tone::Warn),
        };
        let word = style.paint(tone, &format!("{word:15}"));
        let id = run.run_id.as_str();
        let task = match (&run.workflow, &run.waives, run.holds) {
            (Some(workflow), ..) => short(&format!("workflow {workflow}")),
            (None, Some(waived), _) => format!("of run {waived}"),
            (None, None, Some(holds)) => format!("of {holds} that a host keeps"),
            (None, None, None) => short(run.task.as_deref().unwrap_or_default()),
        };
        let row = format!("{id:id_width$}  {}  {word}  {task}", run.created_at);
        let _ = writeln!(text, "{}", row.trim_end());
    }
    text
}

fn short(task: &str) -> String {
    let task = present::line(task);
    match task.char_indices().nth(MAX_TASK_CHARS) {
        Some((end, _)) => format!("{}…", task.get(..end).unwrap_or_default()),
        None => task,
    }
}

/// Milliseconds since the Unix epoch as RFC 3339 in UTC, to the second.
pub(in crate::cli) fn timestamp(at_ms: u64) -> String {
    let seconds = i64::try_from(at_ms / 1000).unwrap_or(i64::MAX);
    let at = OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    at.format(&Rfc3339).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_is_utc_to_the_second() {
        assert_eq!(timestamp(0), "1970-01-01T00:00:00Z");
        assert_eq!(timestamp(1_700_000_000_999), "2023-11-14T22:13:20Z");
        assert_eq!(timestamp(u64::MAX), "1970-01-01T00:00:00Z");
    }

    #[test]
    fn a_task_is_cut_between_characters_and_cannot_steer_the_terminal() {
        assert_eq!(short("a\nb\u{1b}[2J"), r"a b\u{1b}[2J");
        let long = "ü".repeat(61);
        assert_eq!(short(&long), format!("{}…", "ü".repeat(60)));
    }
}
