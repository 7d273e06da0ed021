//! The episode of a run: its log, held together with what was declared, in the published shape.

use std::collections::BTreeMap;

use probity_audit::project::{self, RunFacts};
use probity_audit::{DriftSignal, EpisodeAuditor, EpisodeReport, SealedEpisode};
use probity_core::{Answer, Code, Entry, Event, RunId, Terms};
use probity_engine::EngineError;
use probity_policy::{Compiled, Decision, Envelope, Pack, PolicyFindings, compile};
use probity_record::blob_digest;
use probity_store::Store;
use serde::Deserialize;

use crate::prepare::{decision, issued_pack, method_ids, ready_steps};
use crate::recorded::{Recorded, RecordedBytes, content};
use crate::{PrepareError, Request};

/// A sealed run that made a decision.
#[derive(Debug, Clone)]
pub struct RunEpisode {
    /// The episode, sealed when the run was.
    pub episode: SealedEpisode,
    /// Every way in which the run departs from its envelope, in the order of its events.
    pub drift: Vec<DriftSignal>,
    /// The envelope that it ran under.
    pub envelope: Envelope,
    /// The policy pack beside it.
    pub pack: Option<Pack>,
}

/// A run has no episode.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EpisodeError {
    /// It has not ended.
    #[error(
        "run `{run}` is not sealed, and only a sealed run has an episode; follow it with \
         `probity log show {run}`"
    )]
    NotSealed {
        /// The run.
        run: RunId,
    },
    /// It did not run under an envelope.
    #[error(
        "run `{run}` made no decision under an envelope, so it has no episode; give runs a \
         `decision_type` that the project has an envelope for"
    )]
    NoDecision {
        /// The run.
        run: RunId,
    },
    /// The run cannot be read.
    #[error(transparent)]
    Run(#[from] EngineError),
    /// What was declared cannot be read any more.
    #[error(transparent)]
    Declared(#[from] PrepareError),
    /// The log is not one of a decision.
    #[error(transparent)]
    Projection(#[from] project::ProjectError),
}

impl EpisodeError {
    /// The stable machine word.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotSealed { .. } => "episode_not_sealed",
            Self::NoDecision { .. } => "episode_no_decision",
            Self::Run(error) => error.code(),
            Self::Declared(error) => error.code(),
            Self::Projection(error) => error.code(),
        }
    }
}

impl From<PolicyFindings> for EpisodeError {
    fn from(findings: PolicyFindings) -> Self {
        Self::Declared(findings.into())
    }
}

impl RunEpisode {
    /// Reads a run, and projects it.
    ///
    /// # Errors
    /// [`EpisodeError`]: the run is not sealed, made no decision, or is damaged.
    pub async fn read(store: &dyn Store, run: &RunId) -> Result<Self, EpisodeError> {
        let recorded = RecordedBytes::read(store, run).await?;
        let missing = || EpisodeError::NoDecision { run: run.clone() };
        // Before the request is looked at: what a critic was asked is none that a file could hold.
        let terms = terms(&recorded.log.entries).ok_or_else(missing)?.clone();
        if recorded.log.seal.is_none() {
            return Err(EpisodeError::NotSealed { run: run.clone() });
        }
        let unread = EngineError::Content {
            what: "request",
            digest: blob_digest(&recorded.bytes),
            detail: "it is not that of a delegation".to_owned(),
        };
        let Recorded { log, request, .. } = recorded.into_delegation().ok_or(unread)?;
        let class = request.decision_class().ok_or_else(missing)?;
        let decision = decision(&request, &class)?;
        let envelope = request.envelope.clone().ok_or_else(missing)?;
        let pack = issued_pack(&request)?;
        let opened_at_ms = log.entries.first().map_or(0, |entry| entry.at_ms);
        let compiled =
            compiled(&request, &envelope, pack.as_ref(), &decision, opened_at_ms, terms)?;
        let mut facts = RunFacts::new(&compiled);
        facts.methods = methods(&compiled);
        facts.approver = approver(store, &log.entries).await?;
        let episode = project::episode(&log.entries, &decision, &facts)?;
        let drift = project::drift(&log.entries, &decision, &facts)?;
        Ok(Self { episode, drift, envelope, pack })
    }

    /// Audits the episode under the envelope and pack of its run.
    #[must_use]
    pub fn audit(&self, source: &str) -> EpisodeReport {
        let auditor = EpisodeAuditor::new().with_envelope(self.envelope.clone());
        let auditor = match &self.pack {
            Some(pack) => auditor.with_pack(pack.clone()),
            None => auditor,
        };
        auditor.episode(self.episode.bytes(), source)
    }
}

/// What envelope, pack and decision came to. When a feature was captured, where only its age was
/// declared, and which steps were ready, stands in the log and nowhere else.
fn compiled(
    request: &Request,
    envelope: &Envelope,
    pack: Option<&Pack>,
    decision: &Decision,
    opened_at_ms: u64,
    terms: Terms,
) -> Result<Compiled, EpisodeError> {
    let ready = ready_steps(request);
    let mut compiled = compile(envelope, pack, decision, opened_at_ms, &ready, |_| true)?;
    if compiled.terms.envelope != terms.envelope {
        return Err(project::ProjectError::OtherTerms.into());
    }
    compiled.terms = terms;
    Ok(compiled)
}

fn terms(entries: &[Entry]) -> Option<&Terms> {
    entries.iter().find_map(|entry| match &entry.event {
        Event::RunOpened { terms, .. } => terms.as_ref(),
        _ => None,
    })
}

/// The verifiers by the names of their checks. Where verification was not required none was run.
fn methods(compiled: &Compiled) -> BTreeMap<Code, String> {
    if !compiled.terms.is_required {
        return BTreeMap::new();
    }
    let names: Vec<&str> = compiled.methods.iter().map(|method| method.name.as_str()).collect();
    method_ids(names.iter().copied())
        .into_iter()
        .zip(names.iter().map(ToString::to_string))
        .collect()
}

/// The one part of a human's answer that an episode names.
#[derive(Deserialize)]
struct By {
    by: String,
}

/// The human who let the run act: the last one who answered its question with "go on".
async fn approver(store: &dyn Store, entries: &[Entry]) -> Result<Option<String>, EngineError> {
    if !terms(entries).is_some_and(|terms| terms.needs_approval) {
        return Ok(None);
    }
    let answer = entries.iter().rev().find_map(|entry| match &entry.event {
        Event::Answered { answer: Answer::Continue { .. }, by, .. } => Some(*by),
        _ => None,
    });
    match answer {
        None => Ok(None),
        Some(digest) => {
            let (By { by }, _) = content(store, digest, "answer").await?;
            Ok(Some(by))
        }
    }
}
