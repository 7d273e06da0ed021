//! A workflow run that a host drives, followed to its end.

use std::io::Write as _;

use probity_core::{Outcome, RunId};
use probity_engine::EngineError;
use probity_store::Store;

use super::{PAGE, WAIT, Watching, bounded};
use crate::cli::log::{event_line, show_workflow};
use crate::cli::workflow_log::{WorkflowLog, end_of, is_of_workflow, step_of};
use crate::cli::{CliError, EXIT_GOES_ON, present};

/// Follows a workflow run to its end, and says what it came to; `None` if the run is a delegation. It is a
/// success only where its goal was reached: a criterion that is not met, and a result that was kept out and
/// never replaced, are none.
///
/// # Errors
/// [`CliError`] if it cannot be read.
pub(super) async fn watched(
    store: &dyn Store,
    run: &RunId,
    watching: &Watching,
) -> Result<Option<u8>, CliError> {
    let first = store.read(run, 0, 1).await.map_err(EngineError::from)?;
    if !first.first().is_some_and(|line| is_of_workflow(line)) {
        return Ok(None);
    }
    let code = bounded(watching.timeout, EXIT_GOES_ON, follow(store, run, watching.json)).await?;
    if code != 0 {
        present::note(&format!("run {run} goes on; watch it again with: probity watch {run}"));
        return Ok(Some(code));
    }
    let Some(log) = WorkflowLog::find(store, run).await? else { return Ok(None) };
    show_workflow(&log, watching.json)?;
    let machine = log.replay().map_err(|error| CliError::WorkflowLog(error.into()))?;
    let is_reached = machine.snapshot().is_goal_satisfied == Some(true);
    Ok(Some(match log.entries().last().and_then(end_of) {
        Some("completed") if is_reached => 0,
        Some("cancelled") => Outcome::Cancelled.exit_code(),
        _ => Outcome::Rejected.exit_code(),
    }))
}

async fn follow(store: &dyn Store, run: &RunId, json: bool) -> Result<u8, CliError> {
    let mut seen = 0_u64;
    loop {
        let state = store.wait_beyond(run, seen, WAIT).await.map_err(EngineError::from)?;
        while seen < state.len {
            let records = store.read(run, seen, PAGE).await.map_err(EngineError::from)?;
            if records.is_empty() {
                break;
            }
            for record in records {
                seen = seen.saturating_add(1);
                let step = step_of(store, &record).await.filter(|_| !json);
                for entry in step.iter().flat_map(|step| &step.entries) {
                    // Who does not read along still gets the end.
                    let _ = write!(std::io::stderr(), "{}", event_line(entry));
                }
            }
        }
        if state.sealed {
            return Ok(0);
        }
    }
}
