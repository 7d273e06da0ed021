//! How a run ended, read from its log.

use probity_core::{Finding, Outcome, RunId, Stage};
use probity_engine::{Engine, EngineError, Report, read_entries, read_json};
use probity_store::Store;
use serde_json::Value;

use crate::done::{Done, NotDone};
use crate::error::AgentError;
use crate::history;
use crate::verification::Ledger;

/// What a run came to; `None` while it is not over.
///
/// # Errors
/// [`AgentError::NotDone`] if it ended without a result, [`AgentError::Waits`] if it waits for somebody;
/// others if its log cannot be read.
pub(crate) async fn read(
    engine: &Engine,
    store: &dyn Store,
    run: &RunId,
) -> Result<Option<Done<Value>>, AgentError> {
    let found = engine.find(run).await?;
    let waits = match found.machine().stage() {
        Stage::Sealed { .. } => false,
        Stage::Escalated { .. } | Stage::Awaiting { .. } => true,
        Stage::Parked { until_ms: None, .. } => {
            found.wait().await?.is_some_and(|wait| wait.children.is_empty())
        }
        _ => return Ok(None),
    };
    let report = Report::read(store, run).await?;
    if waits {
        return Err(waits_for(run, report));
    }
    let (Some(outcome), Some(code)) = (report.outcome, report.code.clone()) else {
        return Ok(None);
    };
    let ledger = Ledger::of(&read_entries(store, run).await?);
    if !outcome.delivers() {
        return Err(not_done(run, outcome, code, report, &ledger));
    }
    let last = found.machine().judged().last();
    let mut outputs = last.iter().flat_map(|judged| &judged.findings).filter_map(|it| match it {
        Some(Finding::Verdict { output, .. }) => *output,
        _ => None,
    });
    let result = match outputs.next_back() {
        Some(digest) => Some(read_json(store, digest, "result").await?),
        None => None,
    };
    let claim = report.delivered.or(report.claim).unwrap_or_default();
    Ok(Some(done(run, outcome, claim, result, &ledger)))
}

/// A run that handed a claim on.
pub(crate) fn done(
    run: &RunId,
    outcome: Outcome,
    claim: probity_core::Claim,
    result: Option<Value>,
    ledger: &Ledger,
) -> Done<Value> {
    let output = claim.output.unwrap_or_default();
    let handed_in = match &output {
        Value::Null => Value::String(claim.response),
        output => output.clone(),
    };
    let (verification, entries) = (ledger.state().clone(), ledger.entries().to_vec());
    let result = result.unwrap_or(handed_in);
    Done { result, output, run: run.clone(), outcome, verification, ledger: entries }
}

/// A run that handed nothing on.
pub(crate) fn not_done(
    run: &RunId,
    outcome: Outcome,
    code: probity_core::Code,
    report: Report,
    ledger: &Ledger,
) -> AgentError {
    AgentError::NotDone(Box::new(NotDone {
        reasons: history::reasons(&report),
        last_claim: report.claim,
        verification: ledger.state().clone(),
        ledger: ledger.entries().to_vec(),
        run: run.clone(),
        outcome,
        code,
    }))
}

fn waits_for(run: &RunId, report: Report) -> AgentError {
    let code = match &report.parked_for {
        Some(_) => probity_core::Code::slug("parked"),
        None => probity_core::Code::slug("awaits_human"),
    };
    AgentError::Waits {
        run: run.clone(),
        code: report.code.unwrap_or(code),
        about: report.parked_for.unwrap_or_default(),
        question: report.question.unwrap_or_default(),
    }
}

/// Whether a run that cannot be read is one that is not there.
pub(crate) const fn is_missing(error: &AgentError) -> bool {
    matches!(error, AgentError::Engine(EngineError::Missing { .. }))
}
