//! What verification came to in a run, read from its log.

use probity_core::{Event, Finding, RunId, SubmissionId, VerdictKind};
use probity_engine::{EngineError, Report, read_blob, read_entries, read_json};
use probity_store::Store;
use serde::Deserialize;

use crate::event::VerificationEvent;
use crate::feed::Seen;
use crate::reject::Refusal;

/// What each verdict of a run said, then what broke, oldest first.
pub(crate) fn reasons(report: &Report) -> Vec<String> {
    let verdicts = report.history.iter().flat_map(|attempt| &attempt.checks);
    let said = verdicts.filter(|check| !matches!(check.verdict, "pass" | "not_run"));
    let said = said.map(|check| check.reason.clone());
    said.chain(report.failure.clone()).filter(|reason| !reason.is_empty()).collect()
}

/// The events of a run, oldest first.
pub(crate) async fn read(
    store: &dyn Store,
    run: &RunId,
) -> Result<Vec<VerificationEvent>, EngineError> {
    let mut seen = Seen::default();
    let mut events = Vec::new();
    let mut submission: Option<SubmissionId> = None;
    for entry in &read_entries(store, run).await? {
        match &entry.event {
            Event::ClaimReceived { submission: of, .. } => submission = Some(of.clone()),
            Event::CheckFinished { finding, .. } => match said(store, finding).await? {
                Said::Refusal(refusal) => {
                    if let Some(submission) = &submission {
                        seen.remember(submission.clone(), refusal);
                    }
                }
                Said::Trouble(message) => seen.trouble(message),
                Said::Nothing => {}
            },
            _ => {}
        }
        events.extend(seen.fold(entry));
    }
    Ok(events)
}

/// What a verifier said in words.
enum Said {
    Refusal(Refusal),
    Trouble(String),
    Nothing,
}

/// The message of a fault, as it is kept.
#[derive(Deserialize)]
struct Broken {
    message: String,
}

async fn said(store: &dyn Store, finding: &Finding) -> Result<Said, EngineError> {
    Ok(match finding {
        Finding::Verdict { verdict: VerdictKind::Revise, code, reason, metadata, .. } => {
            let message = text(store, *reason).await?;
            let metadata = match metadata {
                Some(digest) => Some(read_json(store, *digest, "metadata").await?),
                None => None,
            };
            Said::Refusal(Refusal { message, code: Some(code.clone()), metadata })
        }
        Finding::Verdict { verdict: VerdictKind::Inconclusive, reason, .. } => {
            Said::Trouble(text(store, *reason).await?)
        }
        Finding::Fault { detail, .. } => {
            Said::Trouble(read_json::<Broken>(store, *detail, "fault").await?.message)
        }
        Finding::Verdict { .. } | Finding::NotApplicable => Said::Nothing,
    })
}

async fn text(
    store: &dyn Store,
    digest: Option<probity_core::Digest>,
) -> Result<String, EngineError> {
    match digest {
        Some(digest) => Ok(String::from_utf8_lossy(&read_blob(store, digest).await?).into_owned()),
        None => Ok(String::new()),
    }
}
