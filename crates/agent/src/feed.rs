//! What is told of a run while it is driven.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use probity_core::{
    Code, Entry, Event, Finding, Judgement, Outcome, RunId, SubmissionId, Turn, VerdictKind,
};
use probity_engine::Watch;
use probity_record::Record;
use probity_store::Store;
use serde_json::Value;

use crate::event::{VerdictEvent, VerificationEvent};
use crate::reject::Refusal;
use crate::verification::{Ledger, LedgerEntry, VerificationState};

/// Records that one reading asks for.
const MAX_READ_RECORDS: usize = 1000;

/// Where events go.
pub(crate) type Sink = Arc<dyn Fn(&VerificationEvent) + Send + Sync>;

/// Follows the log of one run as it grows, and tells what verification came to.
pub(crate) struct Feed {
    run: RunId,
    sink: Option<Sink>,
    /// Where the log is read on from, where nobody tells of it.
    log: Option<Arc<dyn Store>>,
    seen: Mutex<Seen>,
}

/// The log so far, and what was said in words that it only names.
#[derive(Default)]
pub(crate) struct Seen {
    ledger: Ledger,
    turn: Option<Turn>,
    /// What the verifier last said when it sent the model back, and about which submission.
    said: Option<(SubmissionId, Refusal)>,
    /// Why the verifier could not tell.
    trouble: String,
    /// The records that were read on.
    read: u64,
}

impl Feed {
    /// Follows a run, whose log so far this ledger folds.
    pub(crate) fn new(run: RunId, ledger: Ledger, sink: Option<Sink>) -> Self {
        Self { run, sink, log: None, seen: Mutex::new(Seen { ledger, ..Seen::default() }) }
    }

    /// Follows a run by reading its log on, where whoever drives it tells nobody.
    pub(crate) fn following(run: RunId, log: Arc<dyn Store>) -> Self {
        Self { run, sink: None, log: Some(log), seen: Mutex::default() }
    }

    /// Reads the log on to its end, each record once.
    ///
    /// # Errors
    /// Why it cannot be read, in words.
    pub(crate) async fn catch_up(&self) -> Result<(), String> {
        let Some(log) = &self.log else { return Ok(()) };
        loop {
            let from = self.seen().read;
            let lines = log.read(&self.run, from, MAX_READ_RECORDS).await;
            let lines = lines.map_err(|error| error.to_string())?;
            if lines.is_empty() {
                return Ok(());
            }
            let records: Result<Vec<_>, _> = lines.iter().map(|line| Record::parse(line)).collect();
            let records = records.map_err(|error| error.to_string())?;
            let mut seen = self.seen();
            if seen.read != from {
                continue;
            }
            for record in &records {
                seen.fold(&record.entry);
                seen.read = seen.read.saturating_add(1);
            }
        }
    }

    pub(crate) const fn run(&self) -> &RunId {
        &self.run
    }

    /// How verification stands.
    pub(crate) fn state(&self) -> VerificationState {
        self.seen().ledger.state().clone()
    }

    /// The verdicts so far.
    pub(crate) fn ledger(&self) -> Ledger {
        self.seen().ledger.clone()
    }

    /// Keeps what the verifier said, until the verdict is durable.
    pub(crate) fn remember(&self, submission: Option<&SubmissionId>, refusal: &Refusal) {
        if let Some(submission) = submission.filter(|_| self.sink.is_some()) {
            self.seen().remember(submission.clone(), refusal.clone());
        }
    }

    /// Keeps why the verifier could not tell, until that is durable.
    pub(crate) fn trouble(&self, message: &str) {
        if self.sink.is_some() {
            self.seen().trouble(message.to_owned());
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch for Feed {
    fn entry(&self, entry: &Entry) {
        let event = self.seen().fold(entry);
        if let (Some(sink), Some(event)) = (&self.sink, event) {
            sink(&event);
        }
    }
}

impl Seen {
    /// Folds one entry in; the event that it is, if it is one.
    pub(crate) fn fold(&mut self, entry: &Entry) -> Option<VerificationEvent> {
        self.ledger.apply(entry);
        self.event(entry)
    }

    /// Keeps what the verifier said of a submission when it sent the model back.
    pub(crate) fn remember(&mut self, submission: SubmissionId, refusal: Refusal) {
        self.said = Some((submission, refusal));
    }

    /// Keeps why the verifier could not tell.
    pub(crate) fn trouble(&mut self, message: String) {
        self.trouble = message;
    }

    fn event(&mut self, entry: &Entry) -> Option<VerificationEvent> {
        match &entry.event {
            Event::ClaimReceived { turn, .. } => {
                self.turn = Some(*turn);
                None
            }
            Event::CheckFinished { finding, .. } => self.error(finding),
            Event::VerdictMerged { .. } => self.verdict(),
            Event::OutcomeDecided { outcome: Outcome::Exhausted, code, .. } => self.exhausted(code),
            Event::Escalated { instead_of: Outcome::Exhausted, code } => self.exhausted(code),
            _ => None,
        }
    }

    fn error(&mut self, finding: &Finding) -> Option<VerificationEvent> {
        let code = match finding {
            Finding::Fault { code, .. }
            | Finding::Verdict { verdict: VerdictKind::Inconclusive, code, .. } => code.clone(),
            Finding::Verdict { .. } | Finding::NotApplicable => return None,
        };
        let VerificationState { attempts_used, max_attempts, .. } = *self.ledger.state();
        let message = std::mem::take(&mut self.trouble);
        let turn = self.turn.unwrap_or(Turn::FIRST);
        Some(VerificationEvent::Error { attempts_used, max_attempts, turn, code, message })
    }

    fn verdict(&mut self) -> Option<VerificationEvent> {
        let last = self.ledger.entries().last()?;
        let verdict = verdict_event(last, self.ledger.state());
        match last.verdict {
            Judgement::Pass => Some(VerificationEvent::Passed { verdict }),
            Judgement::Revise => Some(self.rejected(last, verdict)),
            _ => None,
        }
    }

    fn rejected(&self, last: &LedgerEntry, verdict: VerdictEvent) -> VerificationEvent {
        let (message, metadata) = self.said(last);
        VerificationEvent::Rejected {
            attempt_counted: last.counted,
            message,
            code: last.code.clone(),
            metadata,
            repeat_of: last.repeat_of,
            identical: self.ledger.identical_streak(),
            reused: last.reused,
            verdict,
        }
    }

    /// What was said of a submission, or of the unchanged one that answers for it.
    fn said(&self, last: &LedgerEntry) -> (String, Option<Value>) {
        let said = self.said.as_ref();
        let said = said.filter(|(submission, _)| last.reused || *submission == last.submission_id);
        said.map_or_else(Default::default, |(_, refusal)| {
            (refusal.message.clone(), refusal.metadata.clone())
        })
    }

    fn exhausted(&self, reason: &Code) -> Option<VerificationEvent> {
        let last = self.ledger.entries().last()?;
        Some(VerificationEvent::Exhausted {
            verdict: verdict_event(last, self.ledger.state()),
            reason: reason.clone(),
            message: self.said(last).0,
            code: last.code.clone(),
        })
    }
}

fn verdict_event(last: &LedgerEntry, state: &VerificationState) -> VerdictEvent {
    VerdictEvent {
        attempts_used: state.attempts_used,
        max_attempts: state.max_attempts,
        turn: last.turn,
        submission_id: last.submission_id.clone(),
        candidate_hash: last.candidate_hash,
        judgement: last.verdict,
    }
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").field("run", &self.run).finish_non_exhaustive()
    }
}
