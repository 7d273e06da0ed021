//! Bytes: records, logs, traces, episodes.

use std::hint::black_box;

use probity::audit::{Acceptance, EpisodeAuditor};
use probity::core::{Entry, Event, RunId};
use probity::policy::{Envelope, Format};
use probity::record::{Chain, canonical, read_jsonl};
use probity::report::Verdict;
use probity::trace::{TraceAuditor, TracePolicy};
use probity_trace::sample::SampleRun;

use super::machine::ten_attempts;
use super::{Work, wrong};
use crate::episodes;
use crate::error::BenchError;

const RECORDS: usize = 1000;
/// Nine events each, and six more.
const PAIRS: u64 = 11;

pub(super) fn canonical() -> Result<Work, BenchError> {
    let log = ten_attempts()?;
    let merged = log.into_iter().find(|it| matches!(it.event, Event::VerdictMerged { .. }));
    let merged = merged.ok_or_else(|| wrong("the run has no verdict"))?;
    Ok(Box::new(move || {
        let text = canonical::to_canonical(black_box(&merged.event)).map_err(wrong)?;
        if black_box(text).is_empty() { Err(wrong("no text")) } else { Ok(()) }
    }))
}

pub(super) fn chain() -> Result<Work, BenchError> {
    let entries = many(ten_attempts()?);
    Ok(Box::new(move || written(black_box(&entries)).map(|text| drop(black_box(text)))))
}

pub(super) fn read() -> Result<Work, BenchError> {
    let text = written(&many(ten_attempts()?))?;
    Ok(Box::new(move || {
        let log = read_jsonl(black_box(&text)).map_err(wrong)?;
        if log.entries.len() == RECORDS { Ok(()) } else { Err(wrong("a record is missing")) }
    }))
}

pub(super) fn trace() -> Result<Work, BenchError> {
    let files = SampleRun { pairs: PAIRS, ..SampleRun::default() }.files();
    Ok(Box::new(move || {
        let auditor = TraceAuditor::new(TracePolicy { threads: 1, ..TracePolicy::default() });
        accepted(auditor.audit(black_box(&files), "run").verdict)
    }))
}

pub(super) fn episode() -> Result<Work, BenchError> {
    let (text, envelope) = episodes::one();
    let envelope = Envelope::parse(&envelope, Format::Json).map_err(wrong)?;
    let auditor = EpisodeAuditor::new().with_envelope(envelope);
    Ok(Box::new(move || {
        let report = auditor.episode(black_box(text.as_bytes()), "episode");
        match report.verdict {
            Acceptance::Accepted => Ok(()),
            Acceptance::Rejected => Err(wrong("the episode is rejected")),
        }
    }))
}

fn accepted(verdict: Verdict) -> Result<(), BenchError> {
    match verdict {
        Verdict::Valid => Ok(()),
        other => Err(wrong(format!("the audit says {other:?}"))),
    }
}

/// The opening, then the middle of the log again and again, its end left out.
fn many(log: Vec<Entry>) -> Vec<Entry> {
    let middle = log.len().saturating_sub(2);
    let again = log.iter().take(middle).skip(1).cycle();
    log.iter().take(1).chain(again).take(RECORDS).cloned().collect()
}

fn written(entries: &[Entry]) -> Result<Vec<u8>, BenchError> {
    let run: RunId = "run-1".parse()?;
    let mut chain = Chain::new(run);
    let mut text = Vec::new();
    for entry in entries {
        text.extend_from_slice(chain.append(entry).map_err(wrong)?.as_bytes());
        text.push(b'\n');
    }
    Ok(text)
}
