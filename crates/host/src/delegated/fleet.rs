//! Delegations of a fleet.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use probity_core::{Answer, Delegation, Digest, Entry, Event, Outcome, RunId, Stage};
use probity_engine::{Clock, EngineError, Post, Report, read_blob, read_request};
use probity_projection::delegate_of;
use probity_record::{LineFault, Record, RunRecords, read_records};
use probity_store::{Cursor, Pool, Store, WorkStore, read_run};
use probity_worker::{Fleet, FleetError, Planner};
use serde::Deserialize;
use serde_json::Value;

use super::waiver::{self, About};
use super::{
    Delegated, Exporter, Glance, Listed, NewWaiver, Standing, Submission, Submitted, Submitter,
    Waiver,
};
use crate::error::{Failure, Reason};

/// The delegations of a fleet's store.
pub struct FleetDelegated {
    fleet: Fleet,
    clock: Arc<dyn Clock>,
    planner: Arc<dyn Planner>,
    submitter: Arc<dyn Submitter>,
    exporter: Arc<dyn Exporter>,
}

/// A log that was read and is that of a delegation.
struct Read {
    log: RunRecords,
    machine: Delegation,
}

/// The blob of a human's answer, as far as it matters here.
#[derive(Deserialize)]
struct Answered {
    by: String,
}

impl FleetDelegated {
    /// Delegations on a fleet. The planner makes plans of recorded runs, for answers to them.
    #[must_use]
    pub fn new(
        fleet: Fleet,
        clock: Arc<dyn Clock>,
        planner: Arc<dyn Planner>,
        submitter: Arc<dyn Submitter>,
        exporter: Arc<dyn Exporter>,
    ) -> Self {
        Self { fleet, clock, planner, submitter, exporter }
    }

    fn store(&self) -> &dyn Store {
        self.fleet.store().as_ref()
    }

    fn work_store(&self) -> &dyn WorkStore {
        self.fleet.store().as_ref()
    }

    async fn read(&self, run: &RunId) -> Result<Option<Read>, Failure> {
        let lines = read_run(self.store(), run).await?;
        if lines.first().is_none_or(|first| !is_delegation(first)) {
            return Ok(None);
        }
        let log = read_records(&lines).map_err(EngineError::from)?;
        let machine = Delegation::replay(&log.entries).map_err(EngineError::from)?;
        Ok(Some(Read { log, machine }))
    }

    async fn standing_of(&self, read: &Read) -> Result<Standing, Failure> {
        let Read { log, machine } = read;
        let request = read_blob(self.store(), machine.request()).await?;
        let ending = machine.ending();
        let is_sealed = log.seal.is_some();
        let waiver = match is_sealed {
            true => self.waiver_of(read).await?,
            false => None,
        };
        Ok(Standing {
            run: log.run.clone(),
            delegate: delegate_of(&request),
            outcome: outcome(machine),
            code: ending.map(|ending| ending.code.clone()),
            is_sealed,
            candidate: candidate(read),
            is_edited: ending.is_some_and(|ending| ending.outcome.delivers())
                && machine.edited_claim().is_some(),
            attempts: machine.attempts(),
            max_attempts: machine.max_attempts(),
            head: log.head,
            opened_ms: log.entries.first().map_or(0, |entry| entry.at_ms),
            changed_ms: log.entries.last().map_or(0, |entry| entry.at_ms),
            waiver,
        })
    }

    /// Who answers for a sealed run. One whose log says so is waived whatever stands beside it; one whose
    /// log does not is waived by a waiver of exactly this seal and this candidate.
    async fn waiver_of(&self, read: &Read) -> Result<Option<Waiver>, Failure> {
        let Some(ending) = read.machine.ending() else { return Ok(None) };
        if ending.outcome == Outcome::Verified {
            return Ok(None);
        }
        let beside = waiver::read(self.store(), &read.log.run).await?;
        if ending.waived {
            let (by, at_ms) = self.waived_by(&read.log.entries).await?;
            let beside = beside.map(|found| found.waiver).filter(|waiver| waiver.by == by);
            let inside = Waiver { by, principal: None, reason: None, at_ms, log: None };
            return Ok(Some(beside.unwrap_or(inside)));
        }
        let beside = beside.filter(|found| {
            found.head == Some(read.log.head) && Some(found.candidate) == candidate(read)
        });
        Ok(beside.map(|found| found.waiver))
    }

    /// Who waived a run whose log says that somebody did, and when.
    async fn waived_by(&self, entries: &[Entry]) -> Result<(String, u64), Failure> {
        let answered = entries.iter().rev().find_map(|entry| match &entry.event {
            Event::Answered { by, answer: Answer::Waive } => Some((*by, entry.at_ms)),
            _ => None,
        });
        let nobody = || Failure::new(Reason::Internal, "the log names nobody who waived");
        let (by, at_ms) = answered.ok_or_else(nobody)?;
        let bytes = read_blob(self.store(), by).await?;
        let answered: Answered = serde_json::from_slice(&bytes).map_err(|_| nobody())?;
        Ok((answered.by, at_ms))
    }

    /// Answers a run that waits for a human, so that its own log holds the waiver.
    async fn answer(&self, read: &Read, by: &str) -> Result<(), Failure> {
        let run = &read.log.run;
        let request = read_request(self.store(), run).await?;
        let plan = self.planner.plan(run, request).await?;
        self.fleet.answer(plan, by, Answer::Waive).await?;
        Ok(())
    }
}

#[async_trait]
impl Delegated for FleetDelegated {
    async fn submit(
        &self,
        run: &RunId,
        request: Value,
        pool: Option<Pool>,
        delay: Duration,
    ) -> Result<Submitted, Failure> {
        let submission = self.submitter.submission(run, request).await?;
        let Submission { plan, pool: asked, warnings } = submission;
        if plan.run != *run {
            return Err(Failure::new(Reason::Internal, "the plan is another run's"));
        }
        let pool = pool.or(asked).unwrap_or_default();
        let posted = self.fleet.submit(&plan, &pool, delay).await?;
        Ok(Submitted { pool, is_new: posted.is_new, warnings })
    }

    async fn report(&self, run: &RunId) -> Result<Option<Report>, Failure> {
        let first = self.store().read(run, 0, 1).await?;
        if first.first().is_none_or(|first| !is_delegation(first)) {
            return Ok(None);
        }
        Ok(Some(Report::read(self.store(), run).await?))
    }

    async fn standing(&self, run: &RunId) -> Result<Option<Standing>, Failure> {
        match self.read(run).await? {
            Some(read) => Ok(Some(self.standing_of(&read).await?)),
            None => Ok(None),
        }
    }

    async fn is_stale(&self, run: &RunId) -> Result<Option<bool>, Failure> {
        self.submitter.is_stale(run).await
    }

    async fn records(
        &self,
        run: &RunId,
        from: u64,
        max: usize,
    ) -> Result<Option<Vec<Record>>, Failure> {
        let first = self.store().read(run, 0, 1).await?;
        if first.first().is_none_or(|first| !is_delegation(first)) {
            return Ok(None);
        }
        let lines = self.store().read(run, from, max).await?;
        let records = lines.iter().map(|line| Record::parse(line)).collect::<Result<_, _>>();
        records.map(Some).map_err(|_| Failure::new(Reason::Internal, "the log is damaged"))
    }

    async fn wait(&self, run: &RunId, len: u64, timeout: Duration) -> Result<(), Failure> {
        let state = self.store().wait_beyond(run, len, timeout).await?;
        // Whoever asks again and again would not wait at all.
        match state.sealed && state.len <= len {
            true => Err(Failure::new(Reason::RunTerminal, "the log has ended before that")),
            false => Ok(()),
        }
    }

    async fn cancel(&self, run: &RunId, by: &str, reason: &str) -> Result<bool, Failure> {
        let post = Post::Cancel { by: by.to_owned(), text: reason.to_owned() };
        match self.fleet.post(run, &post).await {
            Ok(told) => Ok(told.is_new),
            Err(FleetError::Engine(EngineError::Answer(_))) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    async fn steer(&self, run: &RunId, by: &str, text: &str) -> Result<(), Failure> {
        let post = Post::Steer { by: by.to_owned(), text: text.to_owned() };
        self.fleet.post(run, &post).await?;
        Ok(())
    }

    async fn evidence(&self, run: &RunId, digest: Digest) -> Result<Option<Vec<u8>>, Failure> {
        match self.read(run).await? {
            Some(read) if names(&read.log.entries, digest) => {
                Ok(Some(read_blob(self.store(), digest).await?))
            }
            _ => Ok(None),
        }
    }

    async fn list(&self, after: Option<u64>, max: usize) -> Result<Vec<Listed>, Failure> {
        let page = self.work_store().list(after.map(Cursor), max).await?;
        let listed = page.into_iter().map(|summary| Listed {
            run: summary.run,
            place: summary.cursor.0,
            len: summary.state.len,
            is_sealed: summary.state.sealed,
        });
        Ok(listed.collect())
    }

    async fn glance(&self, listed: &Listed) -> Result<Option<Glance>, Failure> {
        let ends = match listed.is_sealed {
            true => self.ends(listed).await?,
            false => None,
        };
        let Some((opened, last)) = ends else {
            let standing = self.standing(&listed.run).await?;
            return Ok(standing.map(Glance::from));
        };
        let (Event::RunOpened { request, .. }, Event::Sealed { outcome }) =
            (&opened.event, &last.event)
        else {
            return Ok(None);
        };
        let request = read_blob(self.store(), *request).await?;
        Ok(Some(Glance {
            run: listed.run.clone(),
            delegate: delegate_of(&request),
            outcome: Some(*outcome),
            is_sealed: true,
            is_waived: false,
            opened_ms: opened.at_ms,
            changed_ms: last.at_ms,
        }))
    }

    async fn bundle(&self, run: &RunId) -> Result<Vec<u8>, Failure> {
        self.exporter.bundle(run).await
    }

    async fn waive(&self, run: &RunId, wanted: &NewWaiver) -> Result<Waiver, Failure> {
        let missing = || Failure::missing("delegation", run.as_str());
        let read = self.read(run).await?.ok_or_else(missing)?;
        let nothing = |why: &str| Failure::new(Reason::NothingToWaive, why);
        let ending = read.machine.ending();
        let is_inside = ending.is_some_and(|ending| ending.waived);
        let (outcome, head) = match (read.machine.stage(), ending) {
            (Stage::Sealed { outcome: Outcome::Verified }, _) => {
                return Err(nothing("the run is verified"));
            }
            (Stage::Sealed { outcome }, _) => (outcome, Some(read.log.head).filter(|_| !is_inside)),
            (Stage::Escalated { instead_of }, _) => (instead_of, None),
            // Answered like that, and not sealed yet.
            (_, Some(ending)) if is_inside => (ending.outcome, None),
            _ => {
                let message = "the run has not ended: only what has ended, or waits, is waived";
                return Err(Failure::new(Reason::RunNotEnded, message));
            }
        };
        let candidate = candidate(&read).ok_or_else(|| nothing("nothing was claimed"))?;
        if matches!(read.machine.stage(), Stage::Escalated { .. }) {
            self.answer(&read, &wanted.by).await?;
        }
        if let Some(there) = self.waiver_of(&read).await? {
            let there = waiver::agreed(there, wanted)?;
            if there.log.is_some() {
                return Ok(there);
            }
        }
        let about = About { run, head, outcome, candidate };
        waiver::write(self.store(), &about, wanted, self.clock.now_ms()).await
    }
}

impl FleetDelegated {
    /// The first and the last record of a sealed run that can have no waiver; `None` where the whole log
    /// has to be looked at.
    async fn ends(&self, listed: &Listed) -> Result<Option<(Entry, Entry)>, Failure> {
        let first = self.store().read(&listed.run, 0, 1).await?;
        let last = self.store().read(&listed.run, listed.len.saturating_sub(1), 1).await?;
        let entry = |lines: &[Vec<u8>]| {
            lines.first().and_then(|line| Record::parse(line).ok()).map(|record| record.entry)
        };
        let (Some(first), Some(last)) = (entry(&first), entry(&last)) else { return Ok(None) };
        let is_verified = matches!(last.event, Event::Sealed { outcome: Outcome::Verified });
        Ok(is_verified.then_some((first, last)))
    }
}

impl From<Standing> for Glance {
    fn from(standing: Standing) -> Self {
        Self {
            run: standing.run,
            delegate: standing.delegate,
            outcome: standing.outcome,
            is_sealed: standing.is_sealed,
            is_waived: standing.waiver.is_some(),
            opened_ms: standing.opened_ms,
            changed_ms: standing.changed_ms,
        }
    }
}

/// Whether a log is that of a delegation, by its first record. One that is damaged is taken for one, so
/// that whoever reads on says so.
fn is_delegation(first: &[u8]) -> bool {
    !matches!(Record::parse(first), Err(LineFault::WorkflowLog))
}

fn outcome(machine: &Delegation) -> Option<Outcome> {
    match machine.stage() {
        Stage::Escalated { .. } | Stage::Awaiting { .. } | Stage::Parked { until_ms: None, .. } => {
            Some(Outcome::Escalated)
        }
        stage => stage.outcome(),
    }
}

/// What was checked last, as hooks left it; what was claimed last, where that came to no verdict.
fn candidate(read: &Read) -> Option<Digest> {
    let claimed = read.log.entries.iter().rev().find_map(|entry| match &entry.event {
        Event::ClaimReceived { candidate, turn, .. } => Some((*candidate, *turn)),
        _ => None,
    });
    let judged = read.machine.judged().last();
    match (judged, claimed) {
        (Some(judged), Some((_, turn))) if judged.turn == turn => Some(judged.verified.candidate),
        (_, claimed) => claimed.map(|(candidate, _)| candidate),
    }
}

/// Whether an event of a log points at that content.
fn names(entries: &[Entry], digest: Digest) -> bool {
    entries.iter().flat_map(|entry| entry.event.named()).any(|(_, named)| named == digest)
}
