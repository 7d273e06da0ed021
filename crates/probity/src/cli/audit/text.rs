//! A report as people read it.

use std::fmt::Write as _;

use probity_report::{
    CheckState, Failure, Place, Reading, Severity, SubjectKind, Verdict, VerificationReport,
};

use crate::cli::present::{Style, Tone, line};

/// Findings of one record that are shown where it is one of many.
const MAX_SHOWN: usize = 20;
/// Codes of one record that `probity explain` is suggested for.
const MAX_EXPLAINED: usize = 3;

/// How much is said of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// Everything: it is the only one.
    Whole,
    /// The verdict, and what was found.
    Brief,
}

/// The report.
pub(super) fn render(report: &VerificationReport, detail: Detail, style: Style) -> String {
    let mut text = headline(report, style);
    if detail == Detail::Whole {
        checks(report, style, &mut text);
    }
    let most = if detail == Detail::Whole { usize::MAX } else { MAX_SHOWN };
    for failure in report.failures.iter().take(most) {
        told(failure, style, &mut text);
    }
    let total = report.summary_metrics.get("failures").copied().unwrap_or(0);
    let shown = report.failures.len().min(most) as u64;
    if total > shown {
        let more = total.saturating_sub(shown);
        let kept = report.failures.len() as u64;
        let hint = if kept > shown { "; --json lists them" } else { "" };
        let _ = writeln!(text, "  and {more} more{hint}");
    }
    explain(report, style, &mut text);
    if detail == Detail::Whole {
        about(report, style, &mut text);
    }
    text
}

/// A verdict in words for people.
pub(super) const fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Valid => "VALID",
        Verdict::Invalid => "INVALID",
        Verdict::Malformed => "MALFORMED",
        Verdict::LimitExceeded => "LIMIT EXCEEDED",
        Verdict::IntegrityOnly => "INTEGRITY ONLY",
        Verdict::AcceptedByCompat => "ACCEPTED BY COMPAT",
    }
}

/// The colour of a verdict. Only one is good.
pub(super) const fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Valid => Tone::Good,
        Verdict::IntegrityOnly | Verdict::AcceptedByCompat => Tone::Warn,
        Verdict::Invalid | Verdict::Malformed | Verdict::LimitExceeded => Tone::Bad,
    }
}

/// A kind in words for people.
pub(super) const fn kind_word(kind: SubjectKind) -> &'static str {
    match kind {
        SubjectKind::Trace => "trace",
        SubjectKind::RunLog => "run log",
        SubjectKind::Bundle => "bundle",
        SubjectKind::Episode => "episode",
        SubjectKind::Answer => "answer",
        SubjectKind::Unknown => "no record",
    }
}

fn headline(report: &VerificationReport, style: Style) -> String {
    let word = style.paint(tone(report.verdict), verdict_word(report.verdict));
    let mut text = format!("{word}  {}  {}", line(&report.source), kind_word(report.kind));
    let number = |name| report.summary_metrics.get(name);
    if let Some(at) = number("line") {
        let _ = write!(text, " on line {at}");
    }
    if let Some(at) = number("index") {
        let _ = write!(text, " number {at}");
    }
    if report.reading == Reading::Compat {
        text.push_str(", read as its own system reads it: gaps included");
    }
    let why = match report.verdict {
        Verdict::IntegrityOnly => "; not everything could be re-checked",
        Verdict::LimitExceeded => "; nothing is said of what lies beyond the bound",
        _ => "",
    };
    text.push_str(why);
    text.push('\n');
    text
}

fn checks(report: &VerificationReport, style: Style, text: &mut String) {
    let width = report.checks.iter().map(|check| check.name.len()).max().unwrap_or_default();
    for check in &report.checks {
        let (word, tone) = match check.state {
            CheckState::Passed => ("passed", Tone::Good),
            CheckState::Failed => ("failed", Tone::Bad),
            CheckState::Skipped => ("skipped", Tone::Warn),
        };
        let errors = match check.errors {
            0 => String::new(),
            1 => "  1 error".to_owned(),
            errors => format!("  {errors} errors"),
        };
        let _ = writeln!(text, "  {:width$}  {}{errors}", check.name, style.paint(tone, word));
    }
}

fn told(failure: &Failure, style: Style, text: &mut String) {
    let (word, tone) = match failure.severity {
        Severity::Error => ("error", Tone::Bad),
        Severity::Warning => ("warning", Tone::Warn),
        Severity::Note => ("note", Tone::Dim),
    };
    let word = style.paint(tone, &format!("{word:7}"));
    let place = place(&failure.place);
    let invariant = failure.invariant_id.map_or_else(String::new, |it| format!(", {it}"));
    let _ = writeln!(text, "  {word}  {place}  [{}{invariant}]", failure.code);
    let _ = writeln!(text, "           {}", line(&failure.message));
    let values = [("expected", &failure.expected), ("found", &failure.actual)];
    for (name, value) in values {
        if let Some(value) = value {
            let _ = writeln!(text, "           {name:8}  {}", line(value));
        }
    }
}

/// `file:line, bytes 10 to 20, /pointer`.
fn place(place: &Place) -> String {
    let mut parts = Vec::new();
    match (place.file.as_str(), place.line) {
        ("", None) => {}
        ("", Some(at)) => parts.push(format!("line {at}")),
        (file, None) => parts.push(line(file)),
        (file, Some(at)) => parts.push(format!("{}:{at}", line(file))),
    }
    if let Some(span) = place.span {
        parts.push(format!("bytes {} to {}", span.start, span.end));
    }
    if !place.pointer.is_empty() {
        parts.push(line(&place.pointer));
    }
    match parts.as_slice() {
        [] => "the record".to_owned(),
        parts => parts.join(", "),
    }
}

fn explain(report: &VerificationReport, style: Style, text: &mut String) {
    let mut codes: Vec<&str> = Vec::new();
    let errors = report.failures.iter().filter(|failure| failure.severity != Severity::Note);
    for failure in errors {
        if !codes.contains(&failure.code) && codes.len() < MAX_EXPLAINED {
            codes.push(failure.code);
        }
    }
    if !codes.is_empty() {
        let hints: Vec<String> = codes.iter().map(|it| format!("probity explain {it}")).collect();
        let hints = style.paint(Tone::Dim, &format!("why: {}", hints.join("; ")));
        let _ = writeln!(text, "  {hints}");
    }
}

/// What was read, by number and digest.
fn about(report: &VerificationReport, style: Style, text: &mut String) {
    const OF_THE_REPORT: [&str; 4] =
        ["checks_total", "checks_failed", "checks_skipped", "failures"];
    let metrics = report.summary_metrics.iter().filter(|(name, _)| !OF_THE_REPORT.contains(name));
    let metrics: Vec<String> =
        metrics.map(|(name, count)| format!("{} {count}", name.replace('_', " "))).collect();
    let mut lines = Vec::new();
    if !metrics.is_empty() {
        lines.push(format!("read: {}", metrics.join(", ")));
    }
    lines.extend(report.binds.iter().map(|(name, digest)| format!("{name}: {}", line(digest))));
    lines.push(format!("report: {}", report.id));
    for shown in lines {
        let _ = writeln!(text, "  {}", style.paint(Tone::Dim, &shown));
    }
}

#[cfg(test)]
mod tests {
    use probity_report::{Draft, Rule};

    use super::*;

    static BROKEN: Rule = Rule::error("record_hash", "one", "other bytes").under("INV-1");

    fn report() -> VerificationReport {
        let mut draft = Draft::new(SubjectKind::Trace, "runs/a", &["one", "two"]);
        let place = Place::file("trace.jsonl").line(4).bytes(120, 180).pointer("/event/claim");
        draft.failures.differs(&BROKEN, place, "a", "b\u{1b}[2J");
        draft.failures.add(&BROKEN, Place::default(), "whole");
        draft.skip("two");
        draft.metrics.insert("events", 7);
        draft.binds.insert("trace", "00ff".to_owned());
        draft.finish()
    }

    #[test]
    fn a_failure_is_told_with_its_place_its_values_and_where_to_read_on() {
        let report = report();
        let text = render(&report, Detail::Whole, Style::PLAIN);
        let expected = format!(
            "INVALID  runs/a  trace\n\
             \x20 one  failed  2 errors\n\
             \x20 two  skipped\n\
             \x20 error    the record  [record_hash, INV-1]\n\
             \x20          whole\n\
             \x20 error    trace.jsonl:4, bytes 120 to 180, /event/claim  [record_hash, INV-1]\n\
             \x20          other bytes\n\
             \x20          expected  a\n\
             \x20          found     b\u{fffd}[2J\n\
             \x20 why: probity explain record_hash\n\
             \x20 read: events 7\n\
             \x20 trace: 00ff\n\
             \x20 report: {}\n",
            report.id
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn one_of_many_says_less_and_says_so() {
        let mut draft = Draft::new(SubjectKind::Trace, "runs/a", &["one"]);
        for line in 0..25 {
            draft.failures.add(&BROKEN, Place::file("f").line(line), "m");
        }
        let report = draft.finish();
        let text = render(&report, Detail::Brief, Style::PLAIN);
        assert_eq!(text.matches("[record_hash").count(), MAX_SHOWN);
        assert!(text.contains("  and 5 more; --json lists them\n"), "{text}");
        assert!(!text.contains("report:"), "{text}");
    }

    #[test]
    fn a_compat_acceptance_says_so_in_its_first_line() {
        let mut draft = Draft::new(SubjectKind::Trace, "runs/a", &["one"]);
        draft.reading = Reading::Compat;
        let text = render(&draft.finish(), Detail::Brief, Style::PLAIN);
        let expected =
            "ACCEPTED BY COMPAT  runs/a  trace, read as its own system reads it: gaps included\n";
        assert_eq!(text, expected);
    }
}
