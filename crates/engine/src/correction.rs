//! What a delegate is told about a claim that was not accepted.

use probity_core::{Delegation, Finding, Told, Turn, feedback};

use crate::EngineError;
use crate::journal::Journal;

/// The text that sends the delegate back, from the findings of a judged turn.
pub(crate) async fn correction(
    machine: &Delegation,
    journal: &Journal,
    turn: Turn,
) -> Result<String, EngineError> {
    let judged = machine.judged().iter().find(|judged| judged.turn == turn);
    let judged = judged.ok_or(EngineError::Stuck)?;
    let mut reasons = Vec::new();
    for (decl, finding) in machine.checks().iter().zip(&judged.findings) {
        let Some(finding @ Finding::Verdict { verdict, code, .. }) = finding else { continue };
        let reason = reason(journal, finding).await?;
        reasons.push((&decl.id, *verdict, code, reason));
    }
    let told: Vec<Told<'_>> = reasons
        .iter()
        .map(|(check, verdict, code, reason)| Told { check, verdict: *verdict, code, reason })
        .collect();
    let attempts = machine.attempts();
    let left = machine.max_attempts().saturating_sub(attempts);
    Ok(feedback(attempts, left, &told))
}

/// Why a check decided as it did, in its own words; empty where it gave none.
pub(crate) async fn reason(journal: &Journal, finding: &Finding) -> Result<String, EngineError> {
    let Finding::Verdict { reason: Some(digest), .. } = finding else { return Ok(String::new()) };
    Ok(String::from_utf8_lossy(&journal.blob(*digest).await?).into_owned())
}
