//! A log that was read and is whole.

use probity_core::{CheckDecl, HookDecl, Policy, Terms};
use probity_core::{Entry, Event, RunId};
use probity_record::{LineFault, RunRecords, Seal, read_jsonl, verify_jsonl};
use probity_report::{Class, Draft, Place, Rule};

use super::rule::{self, CHAIN, SEAL};
use super::{LogPolicy, MAX_LOG_BYTES};

/// The records of a whole log and where they stand.
pub(super) struct Log<'a> {
    pub(super) entries: Vec<Entry>,
    pub(super) seal: Option<Seal>,
    pub(super) lines: Lines<'a>,
}

/// Where the lines of a log stand.
pub(super) struct Lines<'a> {
    file: &'a str,
    count: u64,
    /// The bytes of every line, its newline not included, of those that are kept.
    spans: Vec<(u64, u64)>,
}

/// The most lines whose bytes are kept. Every record of the longest log is among them: a line takes
/// more than 128 bytes to be one. Beyond are lines of nothing, of which there may be very many.
const MAX_SPANS: usize = MAX_LOG_BYTES / 128;

/// What a run was opened with.
#[derive(Clone, Copy)]
pub(super) struct Opened<'a> {
    pub(super) run: &'a RunId,
    pub(super) policy: &'a Policy,
    pub(super) checks: &'a [CheckDecl],
    pub(super) hooks: &'a [HookDecl],
    pub(super) terms: Option<&'a Terms>,
    pub(super) parent: Option<&'a RunId>,
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
        draft.metrics.insert("log_lines", lines.count);
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
            Event::RunOpened { run, policy, checks, hooks, terms, parent, .. } => {
                let (terms, parent) = (terms.as_ref(), parent.as_ref());
                Some(Opened { run, policy, checks, hooks, terms, parent })
            }
            _ => None,
        }
    }
}

impl<'a> Lines<'a> {
    fn of(bytes: &[u8], file: &'a str) -> Self {
        let (mut start, mut count, mut spans) = (0, 0, Vec::new());
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if spans.len() < MAX_SPANS {
                let end = start + line.strip_suffix(b"\n").unwrap_or(line).len() as u64;
                spans.push((start, end));
            }
            start += line.len() as u64;
            count += 1;
        }
        Self { file, count, spans }
    }

    /// The record with a 0-based number.
    pub(super) fn record(&self, seq: u64) -> Place {
        let place = Place::file(self.file).line(seq.saturating_add(1));
        let span = usize::try_from(seq).ok().and_then(|seq| self.spans.get(seq));
        span.map_or(place.clone(), |(start, end)| place.bytes(*start, *end))
    }

    /// Where the log ends.
    fn end(&self) -> Place {
        self.record(self.count.saturating_sub(1))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_nothing_are_counted_and_their_bytes_are_not_kept() {
        let count = MAX_SPANS + 7;
        let bytes = vec![b'\n'; count];
        let lines = Lines::of(&bytes, "log.jsonl");
        assert_eq!((lines.count, lines.spans.len()), (count as u64, MAX_SPANS));
        let first = Place::file("log.jsonl").line(2).bytes(1, 1);
        assert_eq!(lines.record(1), first);
        assert_eq!(lines.end(), Place::file("log.jsonl").line(count as u64));
    }
}
