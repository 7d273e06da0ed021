//! A log that was read and is whole.

use probity_core::{CheckDecl, HookDecl, Policy, Terms};
use probity_core::{Entry, Event, RunId};
use probity_record::{LineFault, RunRecords, Seal, read_jsonl, verify_jsonl};
use probity_report::{Class, Draft, Place, Rule};

use super::LogPolicy;
use super::rule::{self, CHAIN, SEAL};

/// The records of a whole log and where they stand.
pub(super) struct Log<'a> {
    pub(super) entries: Vec<Entry>,
    pub(super) seal: Option<Seal>,
    pub(super) lines: Lines<'a>,
}

/// Where the lines of a log stand.
pub(super) struct Lines<'a> {
    file: &'a str,
    /// The bytes of every line, its newline not included.
    spans: Vec<(u64, u64)>,
}

/// What a run was opened with.
#[derive(Clone, Copy)]
pub(super) struct Opened<'a> {
    pub(super) run: &'a RunId,
    pub(super) policy: &'a Policy,
    pub(super) checks: &'a [CheckDecl],
    pub(super) hooks: &'a [HookDecl],
    pub(super) terms: Option<&'a Terms>,
}

impl<'a> Log<'a> {
    /// Reads a log; everything that is wrong with its chain and its seal goes into the draft. `None`
    /// if it is not whole.
    pub(super) fn read(
        bytes: &[u8],
        file: &'a str,
        policy: &LogPolicy,
        draft: &mut Draft,
    ) -> Option<Self> {
        let lines = Lines::of(bytes, file);
        draft.metrics.insert("log_lines", lines.spans.len() as u64);
        let Ok(RunRecords { run, entries, head, seal }) = read_jsonl(bytes) else {
            tell(bytes, &lines, draft);
            return None;
        };
        draft.binds.insert("run", run.to_string());
        draft.binds.insert("head", head.to_string());
        match seal {
            Some(seal) => drop(draft.binds.insert("outcome", seal.outcome.to_string())),
            None => {
                let rule = if policy.allow_unsealed { &rule::GOING_ON } else { &rule::UNSEALED };
                draft.failures.add(rule, lines.end(), rule.finds);
            }
        }
        Some(Self { entries, seal, lines })
    }

    pub(super) fn opened(&self) -> Option<Opened<'_>> {
        match &self.entries.first()?.event {
            Event::RunOpened { run, policy, checks, hooks, terms, .. } => {
                Some(Opened { run, policy, checks, hooks, terms: terms.as_ref() })
            }
            _ => None,
        }
    }
}

impl<'a> Lines<'a> {
    fn of(bytes: &[u8], file: &'a str) -> Self {
        let mut start = 0;
        let lines = bytes.split_inclusive(|byte| *byte == b'\n').map(|line| {
            let end = start + line.strip_suffix(b"\n").unwrap_or(line).len() as u64;
            let span = (start, end);
            start += line.len() as u64;
            span
        });
        Self { file, spans: lines.collect() }
    }

    /// The record with a 0-based number.
    pub(super) fn record(&self, seq: u64) -> Place {
        let place = Place::file(self.file).line(seq.saturating_add(1));
        let span = usize::try_from(seq).ok().and_then(|seq| self.spans.get(seq));
        span.map_or(place.clone(), |(start, end)| place.bytes(*start, *end))
    }

    /// Where the log ends.
    fn end(&self) -> Place {
        let last = self.spans.len().saturating_sub(1);
        self.record(last as u64)
    }
}

/// Tells everything that the reader of records finds. A log of which no record can be read is none.
fn tell(bytes: &[u8], lines: &Lines<'_>, draft: &mut Draft) {
    let report = verify_jsonl(bytes);
    let class = if report.run.is_none() { Class::Malformed } else { Class::Finding };
    for finding in &report.findings {
        let check = check_of(&finding.fault);
        let rule = Rule { code: finding.fault.code(), check, class, ..rule::RECORD };
        let place = lines.record(finding.line.saturating_sub(1));
        draft.failures.add(&rule, place, finding.fault.to_string());
    }
    if let Some(run) = report.run {
        draft.binds.insert("run", run.to_string());
    }
    draft.metrics.insert("log_faults", report.findings_total as u64);
    draft.skip(SEAL);
}

const fn check_of(fault: &LineFault) -> &'static str {
    match fault {
        LineFault::SealMissing
        | LineFault::SealMisplaced
        | LineFault::SealOutcome
        | LineFault::AfterSeal
        | LineFault::SealEvents { .. }
        | LineFault::SealHead { .. } => SEAL,
        _ => CHAIN,
    }
}
