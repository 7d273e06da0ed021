//! A waiver, as `probity log show` tells it.

use probity_engine::EngineError;
use probity_store::Store;
use serde::Serialize;

use super::timestamp;
use crate::cli::CliError;
use crate::cli::present::{self, Style, Tone, block, line};
use crate::cli::waiver_log::{Statement, WaiverLog};

#[derive(Serialize)]
struct Shown<'a> {
    run_id: &'a str,
    kind: &'static str,
    waives: &'a str,
    outcome: &'static str,
    candidate: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    seal: Option<String>,
    at: String,
    head: String,
    #[serde(flatten)]
    statement: Statement,
}

/// Prints who answers for which run, and why.
pub(super) async fn show(store: &dyn Store, log: &WaiverLog, json: bool) -> Result<u8, CliError> {
    let statement = log.statement(store).await?;
    let (step, at) = (&log.step, timestamp(log.at_ms));
    if json {
        present::json(&Shown {
            run_id: log.log.as_str(),
            kind: "waiver",
            waives: step.run.as_str(),
            outcome: step.outcome.as_str(),
            candidate: step.candidate.to_string(),
            seal: step.head.map(|head| head.to_string()),
            at,
            head: log.hash.to_string(),
            statement,
        })?;
        return Ok(0);
    }
    let word = Style::of_stdout().paint(Tone::Warn, "WAIVER");
    let (by, principal) = (line(&statement.by), line(&statement.principal));
    let mut text = format!("{word} · of run {}, which is {} · {at}\n", step.run, step.outcome);
    text.push_str(&format!("by {by}, with the key of {principal}:\n"));
    block(&statement.reason).iter().for_each(|said| text.push_str(&format!("  {said}\n")));
    let seal = match step.head {
        Some(head) => format!("the seal {}…", head.short()),
        None => "what the run's own log says".to_owned(),
    };
    text.push_str(&format!("candidate {}… · {seal}\n", step.candidate.short()));
    present::print(text.as_bytes())?;
    present::note(&format!("next: probity log show {}; probity audit {}", step.run, log.log));
    Ok(0)
}

/// The waiver that a log is, if it is one.
///
/// # Errors
/// [`EngineError`] if the store cannot be read.
pub(super) async fn find(
    store: &dyn Store,
    run: &probity_core::RunId,
) -> Result<Option<WaiverLog>, EngineError> {
    let first = store.read(run, 0, 1).await?;
    Ok(first.first().and_then(|line| WaiverLog::parse(line)))
}
