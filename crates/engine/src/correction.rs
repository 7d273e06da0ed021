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
        let Some(Finding::Verdict { verdict, code, reason, .. }) = finding else { continue };
        let reason = match reason {
            Some(digest) => String::from_utf8_lossy(&journal.blob(*digest).await?).into_owned(),
            None => String::new(),
        };
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
