//! What the logs show once all is over, held against what really happened.

use std::borrow::Cow;
use std::sync::Arc;

use probity::audit::log::{Blob, Content, LogAuditor};
use probity::core::{Digest, Entry, Event, Judgement, NoteKind, Outcome, RunId};
use probity::record::read_records;
use probity::report::Verdict;
use probity::store::{WorkStore, read_run};
use serde::Serialize;
use tokio::runtime::Handle;

use super::side::{Calls, OfRun};
use super::wrong;
use crate::error::BenchError;

/// The longest note that is read back.
const MAX_NOTE_BYTES: u64 = 1 << 20;

/// What was found in all logs together. The numbers behind `violations` must all be 0.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Proof {
    pub(super) runs: u64,
    pub(super) verified: u64,
    pub(super) verdicts: u64,
    pub(super) records: u64,
    pub(super) record_bytes: u64,
    pub(super) leases: u64,
    pub(super) interruptions: u64,
    /// Calls of the model, and those of them whose answer no log has: their worker was killed.
    pub(super) model_calls: u64,
    pub(super) unrecorded_calls: u64,
    /// Calls of the verifier, and those beyond one for every verdict.
    pub(super) verifier_calls: u64,
    pub(super) verifier_again: u64,
    pub(super) violations: Violations,
    /// What they are, the first of them.
    pub(super) examples: Vec<String>,
}

/// What must not be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(super) struct Violations {
    /// Runs without a log, without a seal, or not verified.
    pub(super) lost: u64,
    /// Runs whose verdicts are not those of a run that nobody harmed.
    pub(super) miscounted: u64,
    /// Calls of the model whose answer a log already had, and answers that two notes have.
    pub(super) repeated: u64,
    /// Answers in a log that nobody is known to have given.
    pub(super) invented: u64,
    /// Runs with a lease whose epoch is not above the one before.
    pub(super) epochs: u64,
    /// Runs that the auditor does not accept.
    pub(super) refused: u64,
}

/// A verdict, as far as it must not depend on who was killed when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    turn: u32,
    judgement: Judgement,
    code: String,
    counted: bool,
    attempts: u32,
    candidate: Digest,
}

/// Holds of the worker that drove a run, for the times of resumption.
#[derive(Debug, Clone)]
pub(super) struct Held {
    /// Each lease: when, and whose.
    pub(super) leases: Vec<(u64, String)>,
    pub(super) opened_ms: u64,
    pub(super) sealed_ms: u64,
}

impl Violations {
    pub(super) const fn sum(&self) -> u64 {
        let Self { lost, miscounted, repeated, invented, epochs, refused } = *self;
        lost + miscounted + repeated + invented + epochs + refused
    }
}

/// Reads every log.
pub(super) async fn prove(
    store: &Arc<dyn WorkStore>,
    runs: &[RunId],
    expected: &[Row],
    calls: &Calls,
) -> Result<(Proof, Vec<Held>), BenchError> {
    let mut proof =
        Proof { runs: u64::try_from(runs.len()).unwrap_or(u64::MAX), ..Proof::default() };
    let mut held = Vec::new();
    let nothing = OfRun::default();
    for run in runs {
        let of_run = calls.runs.get(run.as_str()).unwrap_or(&nothing);
        let records = read_run(store.as_ref(), run).await.map_err(wrong)?;
        proof.records += u64::try_from(records.len()).unwrap_or(u64::MAX);
        proof.record_bytes +=
            records.iter().map(|it| u64::try_from(it.len()).unwrap_or(0)).sum::<u64>();
        let log = match read_records(&records) {
            Ok(log) if log.seal.is_some() => log.entries,
            Ok(_) => {
                proof.violations.lost += 1;
                proof.example(run, "has no seal");
                continue;
            }
            Err(error) => {
                proof.violations.lost += 1;
                proof.example(run, &error.to_string());
                continue;
            }
        };
        proof.verdicts(run, &log, expected);
        proof.calls(store, run, &log, of_run).await?;
        proof.looks(run, &log, calls);
        held.push(proof.leases(run, &log));
        let accepted = audit(Arc::clone(store), run.clone(), records).await?;
        if let Some(why) = accepted {
            proof.violations.refused += 1;
            proof.example(run, &why);
        }
    }
    Ok((proof, held))
}

/// The verdicts of a log.
pub(super) fn rows(log: &[Entry]) -> Vec<Row> {
    let row = |entry: &Entry| match &entry.event {
        Event::VerdictMerged { turn, judgement, code, counted, attempts, candidate, .. } => {
            Some(Row {
                turn: turn.number,
                judgement: *judgement,
                code: code.to_string(),
                counted: *counted,
                attempts: *attempts,
                candidate: *candidate,
            })
        }
        _ => None,
    };
    log.iter().filter_map(row).collect()
}

impl Proof {
    fn example(&mut self, run: &RunId, what: &str) {
        if self.examples.len() < 10 {
            self.examples.push(format!("{run}: {what}"));
        }
    }

    fn verdicts(&mut self, run: &RunId, log: &[Entry], expected: &[Row]) {
        let outcome = log.iter().rev().find_map(|entry| match entry.event {
            Event::Sealed { outcome } => Some(outcome),
            _ => None,
        });
        if outcome == Some(Outcome::Verified) {
            self.verified += 1;
        } else {
            self.violations.lost += 1;
            self.example(run, &format!("ended {outcome:?}"));
        }
        let rows = rows(log);
        self.verdicts += u64::try_from(rows.len()).unwrap_or(u64::MAX);
        if rows != expected {
            self.violations.miscounted += 1;
            self.example(run, &format!("has the verdicts {rows:?}"));
        }
    }

    async fn calls(
        &mut self,
        store: &Arc<dyn WorkStore>,
        run: &RunId,
        log: &[Entry],
        made: &OfRun,
    ) -> Result<(), BenchError> {
        // The name that the answer of each recorded call carries, by number.
        let mut recorded = Vec::new();
        for entry in log {
            if let Event::DelegateNoted { kind: NoteKind::Model, content, .. } = entry.event {
                recorded.push(answer_of(store, &content).await?);
            }
        }
        self.model_calls += u64::try_from(made.model.len()).unwrap_or(u64::MAX);
        for (number, name) in recorded.iter().enumerate() {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            let of_number: Vec<&str> = made
                .model
                .iter()
                .filter(|(of, _)| *of == number)
                .map(|(_, name)| name.as_str())
                .collect();
            let at = of_number.iter().position(|of| of == name);
            let Some(at) = at else {
                self.violations.invented += 1;
                self.example(run, &format!("answer {number}, `{name}`, was given by nobody"));
                continue;
            };
            // Those before it were lost with their worker. Behind it nobody may ask again.
            self.unrecorded_calls += u64::try_from(at).unwrap_or(u64::MAX);
            let behind = of_number.len() - at - 1;
            if behind > 0 {
                self.violations.repeated += u64::try_from(behind).unwrap_or(u64::MAX);
                self.example(run, &format!("call {number} was made again {behind} times"));
            }
        }
        let beyond = made
            .model
            .iter()
            .filter(|(number, _)| usize::try_from(*number).unwrap_or(usize::MAX) >= recorded.len());
        let beyond = beyond.count();
        if beyond > 0 {
            self.violations.repeated += u64::try_from(beyond).unwrap_or(u64::MAX);
            self.example(run, &format!("{beyond} calls behind the last recorded one"));
        }
        Ok(())
    }

    /// Every verdict stands on a call of the verifier.
    fn looks(&mut self, run: &RunId, log: &[Entry], calls: &Calls) {
        for entry in log {
            if let Event::VerdictMerged { submission, .. } = &entry.event {
                let looked = calls.verifier.get(&submission.to_string()).copied().unwrap_or(0);
                self.verifier_calls += looked;
                self.verifier_again += looked.saturating_sub(1);
                if looked == 0 {
                    self.violations.invented += 1;
                    self.example(run, &format!("nobody looked at submission {submission}"));
                }
            }
        }
    }

    fn leases(&mut self, run: &RunId, log: &[Entry]) -> Held {
        let mut held = Held {
            leases: Vec::new(),
            opened_ms: log.first().map_or(0, |entry| entry.at_ms),
            sealed_ms: log.last().map_or(0, |entry| entry.at_ms),
        };
        let (mut above, mut last) = (0, 0);
        for entry in log {
            if let Event::LeaseTaken { epoch, worker, interruptions } = &entry.event {
                if *epoch <= above {
                    self.violations.epochs += 1;
                    self.example(run, &format!("epoch {epoch} behind {above}"));
                }
                (above, last) = (*epoch, *interruptions);
                self.leases += 1;
                held.leases.push((entry.at_ms, worker.as_str().to_owned()));
            }
        }
        self.interruptions += u64::from(last);
        held
    }
}

/// The name that the answer in a note carries.
async fn answer_of(store: &Arc<dyn WorkStore>, note: &Digest) -> Result<String, BenchError> {
    let bytes = store.get(note, MAX_NOTE_BYTES).await.map_err(wrong)?;
    let bytes = bytes.ok_or_else(|| wrong(format!("there is no note {note}")))?;
    let note: serde_json::Value = serde_json::from_slice(&bytes).map_err(wrong)?;
    let id = note.pointer("/reply/tool_calls/0/id").and_then(serde_json::Value::as_str);
    id.map(str::to_owned).ok_or_else(|| wrong(format!("a note without an answer: {note}")))
}

/// Content of the store, for the auditor, which asks from a thread that may wait.
struct Kept {
    store: Arc<dyn WorkStore>,
    handle: Handle,
}

impl Content for Kept {
    fn blob(&self, digest: &Digest) -> Blob<'_> {
        match self.handle.block_on(self.store.get(digest, MAX_NOTE_BYTES)) {
            Ok(Some(bytes)) => Blob::Bytes(Cow::Owned(bytes)),
            Ok(None) | Err(_) => Blob::Absent,
        }
    }
}

/// Why the auditor does not accept a run; `None` if it does.
async fn audit(
    store: Arc<dyn WorkStore>,
    run: RunId,
    records: Vec<Vec<u8>>,
) -> Result<Option<String>, BenchError> {
    let kept = Kept { store, handle: Handle::current() };
    let audited = tokio::task::spawn_blocking(move || {
        let report = LogAuditor::new(&kept).records(&records, run.as_str());
        let first = report.failures.first().map(|it| format!("{it:?}")).unwrap_or_default();
        (report.verdict != Verdict::Valid).then(|| format!("audit: {:?}, {first}", report.verdict))
    });
    audited.await.map_err(wrong)
}
