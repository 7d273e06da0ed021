//! What a delegate is told about a claim that was not accepted.

use probity_core::{
    Code, Delegation, Finding, JudgedTurn, Rejected, Told, Turn, VerdictKind, feedback, rejections,
};
use serde_json::Value;

use crate::journal::Journal;
use crate::{Correction, EngineError};

/// The text that sends the delegate back, from the findings of a judged turn.
pub(crate) async fn correction(
    machine: &Delegation,
    journal: &Journal,
    turn: Turn,
    style: Correction,
) -> Result<String, EngineError> {
    let judged = machine.judged().iter().position(|judged| judged.turn == turn);
    let (before, judged) = judged
        .and_then(|at| Some((machine.judged().get(..at)?, machine.judged().get(at)?)))
        .ok_or(EngineError::Stuck)?;
    match style {
        Correction::Findings => findings(machine, journal, judged).await,
        Correction::Rejections => elements(machine, journal, before, judged).await,
    }
}

/// One element for every finding that sends the delegate back.
async fn elements(
    machine: &Delegation,
    journal: &Journal,
    before: &[JudgedTurn],
    judged: &JudgedTurn,
) -> Result<String, EngineError> {
    let mut refused: Vec<(&Code, String, Option<Value>)> = Vec::new();
    for finding in judged.findings.iter().flatten() {
        let Finding::Verdict { verdict: VerdictKind::Revise, code, metadata, .. } = finding else {
            continue;
        };
        let metadata = match metadata {
            Some(digest) => Some(journal.json(*digest, "metadata").await?),
            None => None,
        };
        refused.push((code, reason(journal, finding).await?, metadata));
    }
    let is_same = |earlier: &&JudgedTurn| earlier.candidate == judged.candidate;
    let identical = before.iter().chain([judged]).rev().take_while(|it| !it.counted).count();
    let rejected: Vec<Rejected<'_>> = refused
        .iter()
        .map(|(code, message, metadata)| Rejected {
            code,
            message,
            metadata: metadata.as_ref(),
            attempt: machine.attempts(),
            max_attempts: machine.max_attempts(),
            repeat_of: before.iter().find(is_same).map(|earlier| earlier.turn),
            identical,
        })
        .collect();
    Ok(rejections(&rejected))
}

async fn findings(
    machine: &Delegation,
    journal: &Journal,
    judged: &JudgedTurn,
) -> Result<String, EngineError> {
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
