//! What all records came to.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use probity_report::{SubjectKind, Verdict, VerificationReport};
use serde_json::{Value, json};

use super::text::{kind_word, tone, verdict_word};
use crate::cli::present::Style;

/// Exit code where there was no record at all: nothing is accepted by being absent.
const EXIT_NO_RECORD: u8 = Verdict::Malformed.exit_code();

/// The kinds, in the order of the table.
const KINDS: [SubjectKind; 6] = [
    SubjectKind::Trace,
    SubjectKind::RunLog,
    SubjectKind::Bundle,
    SubjectKind::Episode,
    SubjectKind::Answer,
    SubjectKind::Unknown,
];

/// Counts records by kind and verdict.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    by_kind: BTreeMap<(usize, &'static str), u64>,
    records: u64,
    findings: u64,
    passed_over: u64,
    worst: Option<Verdict>,
    /// The one that decides the exit code: what was allowed does not.
    decides: Option<Verdict>,
    allows_redacted: bool,
}

impl Tally {
    /// No records yet. `allows_redacted`: content that was taken out of a log or a bundle is no
    /// reason for another exit code.
    pub(super) fn new(allows_redacted: bool) -> Self {
        Self { allows_redacted, ..Self::default() }
    }

    /// Counts a record.
    pub(super) fn add(&mut self, report: &VerificationReport) {
        let kind = KINDS.iter().position(|kind| *kind == report.kind).unwrap_or(KINDS.len());
        let count = self.by_kind.entry((kind, report.verdict.as_str())).or_default();
        *count = count.saturating_add(1);
        self.records = self.records.saturating_add(1);
        let findings = report.summary_metrics.get("failures").copied().unwrap_or(0);
        self.findings = self.findings.saturating_add(findings);
        let is_log = matches!(report.kind, SubjectKind::RunLog | SubjectKind::Bundle);
        let counts_as = match report.verdict {
            Verdict::IntegrityOnly if self.allows_redacted && is_log => Verdict::Valid,
            verdict => verdict,
        };
        self.worst = Some(self.worst.map_or(report.verdict, |it| it.worse(report.verdict)));
        self.decides = Some(self.decides.map_or(counts_as, |it| it.worse(counts_as)));
    }

    /// Counts a file that is none of the records looked for.
    pub(super) fn pass_over(&mut self) {
        self.passed_over = self.passed_over.saturating_add(1);
    }

    /// Records that were counted.
    pub(super) const fn records(&self) -> u64 {
        self.records
    }

    /// Records that are not valid.
    pub(super) fn not_valid(&self) -> u64 {
        self.records.saturating_sub(self.of_verdict(Verdict::Valid))
    }

    /// The exit code of the process.
    pub(super) fn exit_code(&self) -> u8 {
        self.decides.map_or(EXIT_NO_RECORD, Verdict::exit_code)
    }

    /// As an object.
    pub(super) fn json(&self) -> Value {
        let verdicts: Vec<Verdict> = Verdict::BY_WEIGHT.into_iter().rev().collect();
        let by_verdict: serde_json::Map<String, Value> = verdicts
            .iter()
            .map(|it| (it.as_str().to_owned(), self.of_verdict(*it).into()))
            .collect();
        let by_kind: serde_json::Map<String, Value> = self
            .kinds()
            .map(|(kind, at)| {
                let counts = verdicts.iter().map(|it| (it.as_str().to_owned(), self.of(at, *it)));
                let counts = counts.filter(|(_, count)| *count > 0);
                let counts = counts.map(|(verdict, count)| (verdict, count.into()));
                (key(kind).to_owned(), Value::Object(counts.collect()))
            })
            .collect();
        json!({
            "records": self.records,
            "findings": self.findings,
            "passed_over": self.passed_over,
            "verdict": self.worst.map(Verdict::as_str),
            "exit_code": self.exit_code(),
            "by_verdict": by_verdict,
            "by_kind": by_kind,
        })
    }

    /// As text: a sentence, and a table where there are several records.
    pub(super) fn text(&self, style: Style) -> String {
        let shown: Vec<Verdict> = Verdict::BY_WEIGHT
            .into_iter()
            .rev()
            .filter(|verdict| self.of_verdict(*verdict) > 0)
            .collect();
        let counts = shown.iter().map(|it| {
            let text = format!("{} {}", self.of_verdict(*it), verdict_word(*it).to_lowercase());
            style.paint(tone(*it), &text)
        });
        let counts: Vec<String> = counts.collect();
        let s = if self.records == 1 { "" } else { "s" };
        let mut text = match counts.as_slice() {
            [] => "no record".to_owned(),
            counts => format!("{} record{s}: {}", self.records, counts.join(", ")),
        };
        if self.passed_over > 0 {
            let s = if self.passed_over == 1 { "" } else { "s" };
            let _ = write!(text, "; {} file{s} passed over as no record", self.passed_over);
        }
        text.push('\n');
        if self.records > 1 {
            self.table(&shown, &mut text);
        }
        text
    }

    fn table(&self, shown: &[Verdict], text: &mut String) {
        let _ = write!(text, "  {:12}", "");
        for verdict in shown {
            let _ = write!(text, "  {}", verdict_word(*verdict).to_lowercase());
        }
        text.push('\n');
        for (kind, at) in self.kinds() {
            let _ = write!(text, "  {:12}", kind_word(kind));
            for verdict in shown {
                let width = verdict_word(*verdict).len();
                let _ = write!(text, "  {:>width$}", self.of(at, *verdict));
            }
            text.push('\n');
        }
    }

    /// The kinds that there are.
    fn kinds(&self) -> impl Iterator<Item = (SubjectKind, usize)> {
        let is_there = |at: usize| self.by_kind.keys().any(|(kind, _)| *kind == at);
        KINDS.into_iter().enumerate().filter(move |(at, _)| is_there(*at)).map(|(at, it)| (it, at))
    }

    fn of(&self, kind: usize, verdict: Verdict) -> u64 {
        self.by_kind.get(&(kind, verdict.as_str())).copied().unwrap_or(0)
    }

    fn of_verdict(&self, verdict: Verdict) -> u64 {
        (0..=KINDS.len()).map(|kind| self.of(kind, verdict)).sum()
    }
}

/// The wire word of a kind.
const fn key(kind: SubjectKind) -> &'static str {
    match kind {
        SubjectKind::Trace => "trace",
        SubjectKind::RunLog => "run_log",
        SubjectKind::Bundle => "bundle",
        SubjectKind::Episode => "episode",
        SubjectKind::Answer => "answer",
        SubjectKind::Unknown => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use probity_report::{Class, Draft, Place, Reading, Rule};

    use super::*;

    fn report(kind: SubjectKind, verdict: Verdict) -> VerificationReport {
        let mut draft = Draft::new(kind, "it", &["one"]);
        let class = match verdict {
            Verdict::Valid => None,
            Verdict::Invalid => Some(Class::Finding),
            Verdict::Malformed => Some(Class::Malformed),
            Verdict::LimitExceeded => Some(Class::Limit),
            Verdict::IntegrityOnly => Some(Class::Withheld),
            Verdict::AcceptedByCompat => {
                draft.reading = Reading::Compat;
                None
            }
        };
        if let Some(class) = class {
            let rule = Rule { class, ..Rule::error("record_hash", "one", "") };
            draft.failures.add(&rule, Place::default(), "m");
        }
        draft.finish()
    }

    #[test]
    fn the_weightiest_verdict_decides_and_no_record_is_no_success() {
        for (at, heavy) in Verdict::BY_WEIGHT.into_iter().enumerate() {
            for light in Verdict::BY_WEIGHT.into_iter().skip(at) {
                for pair in [[heavy, light], [light, heavy]] {
                    let mut tally = Tally::new(false);
                    pair.iter().for_each(|it| tally.add(&report(SubjectKind::Trace, *it)));
                    assert_eq!(tally.exit_code(), heavy.exit_code(), "{pair:?}");
                }
            }
        }
        assert_eq!(Tally::new(true).exit_code(), 3);
    }

    #[test]
    fn content_that_was_taken_out_may_be_allowed_for_logs_and_bundles_alone() {
        for (kind, code) in [
            (SubjectKind::Bundle, 0),
            (SubjectKind::RunLog, 0),
            (SubjectKind::Trace, 5),
            (SubjectKind::Episode, 5),
        ] {
            let mut tally = Tally::new(true);
            tally.add(&report(kind, Verdict::IntegrityOnly));
            assert_eq!(tally.exit_code(), code, "{kind:?}");
            assert_eq!(tally.json()["verdict"], "integrity_only", "it is told as what it is");
            tally.add(&report(kind, Verdict::Invalid));
            assert_eq!(tally.exit_code(), 1, "{kind:?}");
        }
    }

    #[test]
    fn text_and_json_count_the_same() {
        let mut tally = Tally::new(false);
        for (kind, verdict) in [
            (SubjectKind::Trace, Verdict::Valid),
            (SubjectKind::Trace, Verdict::Invalid),
            (SubjectKind::Bundle, Verdict::Valid),
        ] {
            tally.add(&report(kind, verdict));
        }
        tally.pass_over();
        assert_eq!(
            tally.text(Style::PLAIN),
            "3 records: 2 valid, 1 invalid; 1 file passed over as no record\n\
             \x20               valid  invalid\n\
             \x20 trace             1        1\n\
             \x20 bundle            1        0\n"
        );
        assert_eq!(
            tally.json(),
            json!({
                "records": 3, "findings": 1, "passed_over": 1, "verdict": "invalid", "exit_code": 1,
                "by_verdict": {
                    "valid": 2, "accepted_by_compat": 0, "integrity_only": 0, "invalid": 1,
                    "limit_exceeded": 0, "malformed": 0,
                },
                "by_kind": { "trace": { "valid": 1, "invalid": 1 }, "bundle": { "valid": 1 } },
            })
        );
    }
}
