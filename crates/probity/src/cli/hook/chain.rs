//! The runs of one agent in one session: which was the last, and how far it got.
//!
//! A run lasts from what the user asked for to a pass, or to the end of its attempts. The name of each is
//! derived from the session and a number, so the last one is found in the store alone.

use std::fs::metadata;
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;

use probity_core::{Digest, NameError, Outcome, RunId, Stage};
use probity_engine::{Engine, EngineError, Found, read_notes};
use probity_harness::Event;
use probity_record::blob_digest;
use probity_store::Store;

use super::outside::Said;
use super::project;
use crate::cli::CliError;

/// The most runs of one agent in one session.
const MAX_RUNS: u64 = 1 << 20;
/// How much of a digest a name carries, in hexadecimal digits.
const NAME_DIGITS: usize = 20;

/// The runs of one agent in one session.
pub(super) struct Chain {
    base: String,
}

/// One run of it.
pub(super) struct Link {
    pub(super) number: u64,
    pub(super) run: RunId,
    pub(super) found: Found,
    /// What was kept of every event that brought a claim, oldest first.
    pub(super) said: Vec<Said>,
}

impl Chain {
    /// The runs that an event belongs to: of the session, or of one sub-agent or task of it.
    pub(super) fn of(event: &Event) -> Self {
        let part = |part: &Option<String>| part.clone().unwrap_or_default();
        let words =
            [event.tool.to_string(), event.session.clone(), part(&event.agent), part(&event.task)];
        let digest = blob_digest(words.join("\0").as_bytes()).to_string();
        let digits: String =
            digest.chars().filter(char::is_ascii_hexdigit).take(NAME_DIGITS).collect();
        Self { base: format!("{}-{digits}", event.tool) }
    }

    /// Its name.
    pub(super) fn name(&self) -> &str {
        &self.base
    }

    /// The name of one of its runs.
    pub(super) fn run(&self, number: u64) -> Result<RunId, NameError> {
        format!("{}-{number}", self.base).parse()
    }

    /// The last run that the store holds.
    ///
    /// # Errors
    /// [`CliError`] if it cannot be read.
    pub(super) async fn last(
        &self,
        store: &Arc<dyn Store>,
        engine: &Engine,
    ) -> Result<Option<Link>, CliError> {
        // Numbers have no gaps: doubling finds one that is not there, halving the one before it.
        let mut absent = 1;
        while absent < MAX_RUNS && self.is_there(store, absent).await? {
            absent *= 2;
        }
        let mut there = absent / 2;
        while absent - there > 1 {
            let middle = there + (absent - there) / 2;
            match self.is_there(store, middle).await? {
                true => there = middle,
                false => absent = middle,
            }
        }
        if there == 0 {
            return Ok(None);
        }
        let run = self.run(there)?;
        let found = engine.find(&run).await?;
        let notes = read_notes(store.as_ref(), &run).await?;
        let read = |content: &[u8]| serde_json::from_slice(content).ok();
        let said = notes.iter().filter_map(|kept| read(&kept.content)).collect();
        Ok(Some(Link { number: there, run, found, said }))
    }

    async fn is_there(&self, store: &Arc<dyn Store>, number: u64) -> Result<bool, CliError> {
        let first = store.read(&self.run(number)?, 0, 1).await.map_err(EngineError::from)?;
        Ok(!first.is_empty())
    }
}

impl Link {
    /// Whether it takes another claim: it waits for one, or was interrupted on the way there. One that
    /// waits for a human does not.
    pub(super) fn is_open(&self) -> bool {
        !matches!(
            self.found.machine().stage(),
            Stage::Sealed { .. } | Stage::Escalated { .. } | Stage::Awaiting { .. }
        ) && self.outcome().is_none()
    }

    pub(super) fn outcome(&self) -> Option<Outcome> {
        self.found.machine().ending().map(|ending| ending.outcome)
    }

    /// Whether it began and the workspace was not looked at: its hook was stopped before. What is seen
    /// from here on may be the work already.
    pub(super) fn is_unseen(&self) -> bool {
        self.is_open() && self.found.machine().baseline().is_none()
    }

    /// What the judge's files were when it began; what is kept of the runs before it, where it was one that
    /// could not be checked at all.
    pub(super) fn sealed_judge(&self) -> Option<Digest> {
        let kept = self.said.last().and_then(|said| said.sealed.as_ref()?.parse().ok());
        let machine = self.found.machine();
        let seen = machine.baseline().filter(|_| !project::is_unready(machine.checks()));
        kept.or_else(|| seen.map(|world| world.judge))
    }

    /// Whether the judge's files were changed in it.
    fn is_tampered(&self) -> bool {
        let ending = self.found.machine().ending();
        ending.is_some_and(|ending| {
            ending.outcome == Outcome::Rejected && ending.code.as_str() == "judge_tampered"
        })
    }

    /// What the judge's files must be from here on, where it was seen that they were changed.
    pub(super) fn held_judge(&self) -> Option<Digest> {
        let machine = self.found.machine();
        if self.is_tampered() {
            return machine.baseline().map(|world| world.judge);
        }
        let is_pass = self.outcome() == Some(Outcome::Verified);
        self.said.last().filter(|_| !is_pass)?.judge.as_ref()?.parse().ok()
    }
}

/// Which event it is, and whether another one could look the same.
pub(super) struct Identity {
    pub(super) digest: String,
    /// The conversation grows with every turn, so what looks the same is the same.
    pub(super) is_unique: bool,
}

impl Identity {
    pub(super) fn of(event: &Event) -> Self {
        let about = event.transcript.as_ref().and_then(|path| metadata(path).ok());
        let grown =
            about.as_ref().map(|it| format!("{} {} {}", it.size(), it.mtime(), it.mtime_nsec()));
        let is_unique = grown.is_some();
        let words = [
            event.name.to_owned(),
            format!("{:?}", event.is_continued),
            event.text.clone(),
            grown.unwrap_or_default(),
        ];
        Self { digest: blob_digest(words.join("\0").as_bytes()).to_string(), is_unique }
    }
}
