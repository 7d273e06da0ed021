//! The final account: logs, ledger and queue against each other and against the model.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use probity_audit::{Blob, Content, LogAuditor};
use probity_core::{Delegation, Digest, Entry, Event, Judgement, Outcome, RunId, Stage};
use probity_record::read_records;
use probity_store::{Blobs as _, Queue as _, read_run};
use tokio::time::Instant;

use super::control::run_name;
use super::invariant::Invariant;
use super::job::FleetJob;
use super::truth::{Act, Truth};
use crate::{Does, rows};

/// One log in so many is audited with all its content.
const AUDIT_EVERY: u64 = 16;
/// The longest blob of a script, in bytes.
const MAX_BLOB_BYTES: u64 = 1 << 20;
/// How long an append of somebody else goes unnoticed at most: the look at the log begins a quarter of a
/// second into the work, and is as late as anything else.
const NOTICE: Duration = Duration::from_millis(1_500);
/// How long a worker that gave up its lease waits for a store that does not answer a driver, before it
/// drops the driver and what that has at work.
const LET_GO: Duration = Duration::from_secs(5);
/// How much longer for every such look that failed.
const DEAF: Duration = Duration::from_millis(5_500);

/// When all should have ended, and before the workers are sent home.
pub(crate) async fn at_rest(truth: &Truth) {
    let names = (0..truth.schedule.runs).filter_map(run_name);
    let runs: Vec<RunId> = {
        let state = truth.lock();
        let mut runs: Vec<_> = names.chain(state.logs.keys().cloned()).collect();
        runs.sort();
        runs.dedup();
        runs
    };
    for run in &runs {
        let (is_sealed, stage) = {
            let state = truth.lock();
            let log = state.logs.get(run);
            let is_sealed = log.is_some_and(super::truth::Log::is_sealed);
            let last = log.and_then(|log| log.entries.last()).map(|entry| entry.event.name());
            (is_sealed, last.unwrap_or("nothing"))
        };
        let standing = truth.store.standing(run).await.ok().flatten();
        if !is_sealed {
            let what = format!("{run} has not ended: {stage}, in the queue {standing:?}");
            truth.breach(Invariant::RestsRight, what);
        }
        if standing.is_some() == is_sealed {
            let what = format!("{run}: {stage}, in the queue {standing:?}");
            truth.breach(Invariant::TokensRight, what);
        }
    }
}

/// Everything else.
pub(crate) async fn check(truth: &Truth) {
    let runs: Vec<RunId> = truth.lock().logs.keys().cloned().collect();
    for run in &runs {
        check_run(truth, run).await;
    }
    check_acked(truth);
    check_acts(truth);
    let mut state = truth.lock();
    state.tally.runs += truth.schedule.runs as u64;
    state.tally.children += runs.iter().filter(|run| run.as_str().contains('_')).count() as u64;
}

async fn check_run(truth: &Truth, run: &RunId) {
    let records = read_run(&truth.store, run).await.unwrap_or_default();
    let log = match read_records(&records) {
        Ok(log) => log.entries,
        Err(error) => return truth.breach(Invariant::ChainWhole, format!("{run}: {error}")),
    };
    check_epochs(truth, run, &log);
    let machine = match Delegation::replay(&log) {
        Ok(machine) => machine,
        Err(error) => {
            check_pass(truth, run, &log);
            return truth.breach(Invariant::ChainWhole, format!("{run}: {error}"));
        }
    };
    check_pass(truth, run, &log);
    let Some(job) = truth.job(run) else { return };
    check_attempts(truth, &job, &log, &machine);
    check_children(truth, run, &log).await;
    let is_sampled = (truth.schedule.seed ^ records.len() as u64).is_multiple_of(AUDIT_EVERY);
    if is_sampled && truth.defect.is_none() && matches!(machine.stage(), Stage::Sealed { .. }) {
        audit(truth, run, &records, &log).await;
    }
    let mut state = truth.lock();
    state.tally.records += log.len() as u64;
    state.tally.turns += rows(&log).len() as u64;
    state.tally.attempts += u64::from(machine.attempts());
    let place = match machine.ending().map(|ending| ending.outcome) {
        Some(Outcome::Verified) => &mut state.tally.verified,
        Some(Outcome::Exhausted) => &mut state.tally.exhausted,
        Some(Outcome::Rejected) => &mut state.tally.rejected,
        Some(Outcome::Cancelled) => &mut state.tally.cancelled,
        _ => &mut state.tally.other_outcomes,
    };
    *place += 1;
}

fn check_epochs(truth: &Truth, run: &RunId, log: &[Entry]) {
    let mut last = 0;
    for entry in log {
        if let Event::LeaseTaken { epoch, .. } = entry.event {
            if epoch <= last {
                truth.breach(Invariant::EpochsRise, format!("{run}: {epoch} behind {last}"));
            }
            last = epoch;
        }
    }
}

fn check_pass(truth: &Truth, run: &RunId, log: &[Entry]) {
    let passed = log.iter().any(|entry| {
        matches!(&entry.event, Event::VerdictMerged { judgement: Judgement::Pass, .. })
    });
    let ended = log.iter().rev().find_map(|entry| match entry.event {
        Event::OutcomeDecided { outcome, .. } => Some(outcome),
        _ => None,
    });
    if passed && ended != Some(Outcome::Verified) {
        truth.breach(Invariant::PassKept, format!("{run} passed and ended as {ended:?}"));
    }
}

/// The log against the model, which knows of no fault.
fn check_attempts(truth: &Truth, job: &FleetJob, log: &[Entry], machine: &Delegation) {
    let run = &job.run;
    let breach = |what: String| truth.breach(Invariant::AttemptsExact, format!("{run}: {what}"));
    let expected = job.prediction();
    let has = |is_it: fn(&Event) -> bool| log.iter().any(|entry| is_it(&entry.event));
    let cancelled = has(|event| matches!(event, Event::CancelRequested { .. }));
    let steered = has(|event| matches!(event, Event::Steered { .. }));
    let mut got = rows(log);
    let mut wanted = expected.rows.clone();
    if steered {
        // What somebody says is work: the same claim behind it is not the same submission.
        got.iter_mut().chain(&mut wanted).for_each(|row| row.flaky = false);
    }
    let Some(ending) = machine.ending() else { return };
    let is_stopped = cancelled && ending.outcome == Outcome::Cancelled
        || ending.code.as_str() == "interruptions" && job.script.policy.max_interruptions < 1_000;
    if is_stopped {
        wanted.truncate(got.len());
    }
    if got != wanted {
        let (outcome, code) = (ending.outcome, &ending.code);
        return breach(format!("{outcome} {code}: {got:?} where the model has {wanted:?}"));
    }
    let mut turns: Vec<u32> = log
        .iter()
        .filter_map(|entry| match entry.event {
            Event::DelegateDispatched { turn, .. } => Some(turn.number),
            _ => None,
        })
        .collect();
    turns.dedup();
    if !turns.iter().copied().eq(0..u32::try_from(turns.len()).unwrap_or(0)) {
        breach(format!("turns {turns:?}"));
    }
    let counted = got.iter().filter(|row| row.counted).count();
    if machine.attempts() as usize != counted {
        breach(format!("{} attempts of {counted}", machine.attempts()));
    }
    let mut submissions = BTreeMap::new();
    for entry in log {
        if let Event::VerdictMerged { submission, .. } = &entry.event {
            *submissions.entry(submission.clone()).or_insert(0) += 1;
        }
    }
    if submissions.len() != got.len() {
        breach(format!("{} submissions of {} verdicts", submissions.len(), got.len()));
    }
    if is_stopped {
        return;
    }
    if ending.outcome != expected.outcome {
        breach(format!("{} where the model has {}", ending.outcome, expected.outcome));
    }
    let spent = (machine.usage().tokens, machine.usage().tool_calls);
    if spent != (expected.tokens, expected.tool_calls) {
        breach(format!("spent {spent:?} of {:?}", (expected.tokens, expected.tool_calls)));
    }
    let notes = log.iter().filter(|it| matches!(it.event, Event::DelegateNoted { .. })).count();
    if notes != expected.notes.len() {
        breach(format!("{notes} notes of {}", expected.notes.len()));
    }
}

/// Every wait for children came to one end, behind theirs.
async fn check_children(truth: &Truth, run: &RunId, log: &[Entry]) {
    let Some(job) = truth.job(run) else { return };
    let breach = |what: String| truth.breach(Invariant::ChildrenOnce, format!("{run}: {what}"));
    let mut open = None;
    for entry in log {
        match &entry.event {
            Event::DelegateParked { turn, detail, .. } => {
                open = Some((*turn, *detail));
            }
            Event::DelegateWoken { turn, .. } => match open.take() {
                Some((of, _)) if of == *turn => {}
                other => breach(format!("woken in {turn:?} behind {other:?}")),
            },
            _ => {}
        }
    }
    // In each turn that came to a claim, each wait of the script was waited for once.
    let judged = rows(log);
    for row in &judged {
        let Some(happens) = job.script.turn(row.turn) else { continue };
        let is_wait = |does: Does| matches!(does, Does::Asks(_) | Does::Sleeps(_));
        let wanted = happens.beats.iter().filter(|beat| is_wait(beat.does)).count();
        let woken = |entry: &&Entry| matches!(entry.event, Event::DelegateWoken { turn, .. } if turn.number == row.turn);
        let got = log.iter().filter(woken).count();
        if got != wanted {
            breach(format!("woken {got} times of {wanted} in turn {}", row.turn));
        }
        for (place, beat) in happens.beats.iter().enumerate() {
            if !matches!(beat.does, Does::Asks(_)) {
                continue;
            }
            for child in job.children(row.turn, place) {
                let has_ended = {
                    let state = truth.lock();
                    state.logs.get(&child).is_some_and(super::truth::Log::is_sealed)
                        || state.buried.contains(&child)
                };
                if !has_ended {
                    breach(format!("went on behind {child}, which has not ended"));
                }
            }
        }
    }
}

struct Blobs(BTreeMap<Digest, Vec<u8>>);

impl Content for Blobs {
    fn blob(&self, digest: &Digest) -> Blob<'_> {
        self.0.get(digest).map_or(Blob::Absent, |bytes| Blob::Bytes(Cow::Borrowed(bytes)))
    }
}

async fn audit(truth: &Truth, run: &RunId, records: &[Vec<u8>], log: &[Entry]) {
    let mut blobs = BTreeMap::new();
    let digests = log.iter().flat_map(|entry| named(&entry.event));
    for digest in digests {
        if let Ok(Some(bytes)) = truth.store.get(&digest, MAX_BLOB_BYTES).await {
            blobs.insert(digest, bytes);
        }
    }
    let content = Blobs(blobs);
    let report = LogAuditor::new(&content).records(records, run.as_str());
    if report.verdict != probity_report::Verdict::Valid {
        truth.breach(Invariant::ChainWhole, format!("{run}: {report:?}"));
    }
}

/// The digests that an event names.
fn named(event: &Event) -> Vec<Digest> {
    let value = serde_json::to_value(event).unwrap_or_default();
    let mut digests = Vec::new();
    let mut open = vec![&value];
    while let Some(value) = open.pop() {
        match value {
            serde_json::Value::String(text) => digests.extend(text.parse::<Digest>()),
            serde_json::Value::Array(items) => open.extend(items),
            serde_json::Value::Object(members) => open.extend(members.values()),
            _ => {}
        }
    }
    digests
}

fn check_acked(truth: &Truth) {
    let state = truth.lock();
    let mut lost = Vec::new();
    for acked in &state.acked {
        let from = usize::try_from(acked.from).unwrap_or(usize::MAX);
        let log = state.logs.get(&acked.run).map(|log| log.digests.as_slice()).unwrap_or_default();
        let there = log.get(from..).unwrap_or_default();
        if !there.starts_with(&acked.digests) {
            lost.push(format!("{}: {} records at {from}", acked.run, acked.digests.len()));
        }
    }
    drop(state);
    lost.into_iter().for_each(|what| truth.breach(Invariant::AckedKept, what));
}

/// Who did what at the same time.
fn check_acts(truth: &Truth) {
    let state = truth.lock();
    let lease = Duration::from_millis(truth.schedule.lease_ms);
    let mut found = Vec::new();
    for act in &state.acts {
        let Some(to) = act.to else { continue };
        let Some(life) = state.lives.get(act.actor) else { continue };
        let leases = state.logs.get(&act.run).map(|log| log.leases.as_slice()).unwrap_or_default();
        let later = leases.iter().find(|held| held.epoch > act.epoch);
        if let Some(later) = later.filter(|later| later.at < to) {
            let from = later.at.max(act.from);
            let awake =
                to.duration_since(later.at).saturating_sub(life.frozen_between(later.at, to));
            let is_deaf = |(actor, run, at): &&(usize, RunId, Instant)| {
                *actor == act.actor && *run == act.run && *at + DEAF >= later.at && *at <= to
            };
            let deaf = u32::try_from(state.deaf.iter().filter(is_deaf).count()).unwrap_or(u32::MAX);
            if awake > NOTICE.max(lease.mul_f64(0.8)) + NOTICE + DEAF * deaf {
                let what = describe(truth, act, &life.name);
                found.push(format!(
                    "{what}: {awake:?} behind the lease {} from {from:?}",
                    later.epoch
                ));
            }
        }
        if let Some(until) = state.until.get(&(act.run.clone(), act.epoch)) {
            let beyond = to.saturating_duration_since(*until);
            let frozen = life.frozen_between(act.from.min(*until), to);
            if beyond > frozen + LET_GO {
                let what = describe(truth, act, &life.name);
                found.push(format!("{what}: {beyond:?} behind the end of its own lease"));
            }
        }
    }
    drop(state);
    found.into_iter().for_each(|what| truth.breach(Invariant::OneAtWork, what));
}

fn describe(truth: &Truth, act: &Act, name: &str) -> String {
    let ms = |at: Instant| at.duration_since(truth.start).as_millis();
    let to = act.to.map_or(0, ms);
    let Act { run, epoch, what, from, .. } = act;
    format!("{run} {what:?} of {name} under {epoch} from {} to {to} ms", ms(*from))
}
