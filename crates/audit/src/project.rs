//! Episodes and drift signals as views of a sealed run log.
//!
//! A run log holds no content: what was decided about comes from the declared decision, when it
//! happened and what came of it from the log. Nothing is made up; where the published shape asks for
//! a number that nobody measured, the rule is stated beside it.

mod document;
mod log;
mod signal;

use std::collections::BTreeMap;

use probity_core::{Code, Delegation, Entry};
use probity_policy::{Compiled, Decision};

use crate::drift::DriftSignal;
use crate::episode::{OpenEpisode, SealError, SealedEpisode};
use log::Log;
use serde_json::Value;

/// What a projection needs beside the log and the decision.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunFacts<'a> {
    /// What envelope, pack and decision came to. Its terms must be those of the log.
    pub compiled: &'a Compiled,
    /// The name of a verifier by the id of its check.
    pub methods: BTreeMap<Code, String>,
    /// The human who agreed to the actions. A name in a request is no approval, so without this no
    /// action names one.
    pub approver: Option<String>,
}

/// A run log cannot be seen as an episode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectError {
    /// The entries are no log that the machine could have written.
    #[error("not a run log: {message}")]
    Log {
        /// Where and why.
        message: String,
    },
    /// The run has not ended.
    #[error("the run is not sealed; project it once it has ended")]
    Unsealed,
    /// The run was not one under an envelope.
    #[error("the run has no terms of a decision; only a run under an envelope is an episode")]
    NoTerms,
    /// Envelope, pack or decision are not those that the run was opened with.
    #[error(
        "the run was opened under other terms; give the envelope, pack and decision of the run"
    )]
    OtherTerms,
    /// A time of the log lies beyond the year 9999.
    #[error("a time of the log, {at_ms} ms, has no date")]
    Time {
        /// The time in milliseconds since the Unix epoch.
        at_ms: u64,
    },
    /// The episode could not be sealed.
    #[error(transparent)]
    Seal(#[from] SealError),
}

impl ProjectError {
    /// Stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Log { .. } => "projection_log",
            Self::Unsealed => "projection_unsealed",
            Self::NoTerms => "projection_no_terms",
            Self::OtherTerms => "projection_other_terms",
            Self::Time { .. } => "projection_time",
            Self::Seal(error) => error.code(),
        }
    }
}

impl<'a> RunFacts<'a> {
    /// Facts in which each verifier's check is called as the verifier is.
    #[must_use]
    pub fn new(compiled: &'a Compiled) -> Self {
        let methods = compiled.methods.iter();
        let methods = methods.map(|method| (Code::slug(&method.name), method.name.clone()));
        Self { compiled, methods: methods.collect(), approver: None }
    }
}

/// The episode of a sealed run, sealed at the time at which the run was.
///
/// # Errors
/// [`ProjectError`], the first thing that is wrong.
pub fn episode(
    entries: &[Entry],
    decision: &Decision,
    facts: &RunFacts,
) -> Result<SealedEpisode, ProjectError> {
    let log = read(entries, facts)?;
    let document = document::of(&log, decision, facts)?;
    let sealed_at_ms = log.sealed_at_ms.max(log.ended_at_ms);
    Ok(OpenEpisode::parse(document.to_string().as_bytes())?.seal(sealed_at_ms)?)
}

/// Every drift of a sealed run, in the order of its events: each check that did not pass, each step
/// down the ladder, what was stale, late or blocked, and a refusal that a human overrode. None hides
/// another.
///
/// # Errors
/// [`ProjectError`], the first thing that is wrong.
pub fn drift(
    entries: &[Entry],
    decision: &Decision,
    facts: &RunFacts,
) -> Result<Vec<DriftSignal>, ProjectError> {
    signal::all(&read(entries, facts)?, decision, facts)
}

/// What an episode whose verification came to `result` takes from the log alone, by JSON pointer.
/// `has_methods`: it names methods that ran.
///
/// # Errors
/// [`ProjectError::NoTerms`], [`ProjectError::Unsealed`], [`ProjectError::Log`].
pub(crate) fn of_log(
    entries: &[Entry],
    result: &str,
    has_methods: bool,
) -> Result<Vec<(&'static str, Value)>, ProjectError> {
    Ok(document::of_log(&Log::read(entries)?, result, has_methods))
}

fn read<'e>(entries: &'e [Entry], facts: &RunFacts) -> Result<Log<'e>, ProjectError> {
    Delegation::replay(entries)
        .map_err(|error| ProjectError::Log { message: error.to_string() })?;
    let log = Log::read(entries)?;
    if *log.terms != facts.compiled.terms {
        return Err(ProjectError::OtherTerms);
    }
    Ok(log)
}

/// RFC 3339 text of a time of the log.
fn text(at_ms: u64) -> Result<String, ProjectError> {
    crate::drift::from_ms(at_ms).ok_or(ProjectError::Time { at_ms })
}
