//! A report as one page for a browser: no script, nothing fetched, readable without colour.
//!
//! Everything that comes out of a record is text of a stranger and stands on the page as text.

mod markup;
mod timeline;

use std::fmt::Write as _;

use probity_report::{
    CheckState, Failure, Place, Reading, Severity, SubjectKind, Verdict, VerificationReport,
};

pub use timeline::{
    MAX_CONTENT_CHARS, MAX_PAGE_CONTENT_CHARS, MAX_ROWS, Row, Shown, Timeline, bundle_timeline,
};

use markup::{cells, escaped};

const STYLE: &str = include_str!("page/style.css");

/// The page of a report, with the timeline of the run where there is one. Equal input gives equal
/// text.
#[must_use]
pub fn render_page(report: &VerificationReport, timeline: Option<&Timeline>) -> String {
    let mut page = String::with_capacity(16 * 1024);
    head(&mut page, report);
    verdict(&mut page, report);
    checks(&mut page, report);
    failures(&mut page, report);
    if let Some(timeline) = timeline {
        timeline::section(&mut page, timeline);
    }
    figures(&mut page, report);
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

fn head(page: &mut String, report: &VerificationReport) {
    let title = format!("{}: {}", report.verdict.as_str(), report.source);
    // Writing to a `String` cannot fail.
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
         'unsafe-inline'\">\n<meta name=\"viewport\" content=\"width=device-width, \
         initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n<title>{}</title>\n<style>\n{STYLE}\
         </style>\n</head>\n<body>\n<main>\n",
        escaped(&title)
    );
}

fn verdict(page: &mut String, report: &VerificationReport) {
    let (mark, word, sentence) = spoken(report.verdict);
    let class = if report.verdict == Verdict::Valid { "good" } else { "bad" };
    let reading = match report.reading {
        Reading::Strict => "strict",
        Reading::Compat => "compat",
    };
    let _ = write!(
        page,
        "<h1>{mark} {word}</h1>\n<p class=\"verdict {class}\">{sentence}</p>\n<table>\n\
         <caption>What was audited</caption>\n<tbody>\n"
    );
    for (name, value) in [
        ("Source", report.source.as_str()),
        ("Kind", kind(report.kind)),
        ("Reading", reading),
        ("Report", report.id.as_str()),
    ] {
        let _ = writeln!(page, "<tr><th scope=\"row\">{name}</th><td>{}</td></tr>", escaped(value));
    }
    page.push_str("</tbody>\n</table>\n");
}

fn checks(page: &mut String, report: &VerificationReport) {
    page.push_str("<h2>Checks</h2>\n<table>\n<caption>A skipped check did not pass</caption>\n");
    markup::header(page, &["Check", "State", "Errors"]);
    for check in &report.checks {
        let state = match check.state {
            CheckState::Passed => "✓ passed",
            CheckState::Failed => "✗ failed",
            CheckState::Skipped => "– skipped",
        };
        cells(page, &[check.name, state, &check.errors.to_string()]);
    }
    page.push_str("</tbody>\n</table>\n");
}

fn failures(page: &mut String, report: &VerificationReport) {
    page.push_str("<h2>Findings</h2>\n");
    if report.failures.is_empty() {
        page.push_str("<p>Nothing was found.</p>\n");
        return;
    }
    let total = report.summary_metrics.get("failures").copied().unwrap_or(0);
    let _ = writeln!(page, "<table>\n<caption>{} of {total}</caption>", report.failures.len());
    markup::header(page, &["Weight", "Code", "Where", "What"]);
    for failure in &report.failures {
        let weight = match failure.severity {
            Severity::Error => "✗ error",
            Severity::Warning => "! warning",
            Severity::Note => "· note",
        };
        cells(page, &[weight, failure.code, &place(&failure.place), &what(failure)]);
    }
    page.push_str("</tbody>\n</table>\n");
}

fn figures(page: &mut String, report: &VerificationReport) {
    page.push_str("<h2>Figures</h2>\n<table>\n<caption>What was counted</caption>\n");
    markup::header(page, &["Name", "Value"]);
    for (name, value) in &report.summary_metrics {
        cells(page, &[name, &value.to_string()]);
    }
    page.push_str("</tbody>\n</table>\n<table>\n<caption>What the report binds</caption>\n");
    markup::header(page, &["Name", "Value"]);
    for (name, value) in &report.binds {
        cells(page, &[name, value]);
    }
    page.push_str("</tbody>\n</table>\n");
}

/// A mark that needs no colour, the word, and what it means.
const fn spoken(verdict: Verdict) -> (&'static str, &'static str, &'static str) {
    match verdict {
        Verdict::Valid => ("✓", "valid", "Everything was looked at and no rule is broken."),
        Verdict::Invalid => ("✗", "invalid", "At least one rule is broken."),
        Verdict::Malformed => ("✗", "malformed", "The bytes cannot be read as a record."),
        Verdict::LimitExceeded => {
            ("✗", "limit exceeded", "A bound of the auditor was reached before the end.")
        }
        Verdict::IntegrityOnly => {
            ("–", "integrity only", "Integrity is proved; grounding was not re-checked.")
        }
        Verdict::AcceptedByCompat => (
            "–",
            "accepted by compat",
            "The source system's own rules accept it; the strict reading was not asked for.",
        ),
    }
}

const fn kind(kind: SubjectKind) -> &'static str {
    match kind {
        SubjectKind::Trace => "reasoning trace",
        SubjectKind::RunLog => "run log",
        SubjectKind::Bundle => "proof bundle",
        SubjectKind::Episode => "episode",
        SubjectKind::Answer => "answer",
        SubjectKind::Unknown => "unknown",
    }
}

fn place(place: &Place) -> String {
    let mut text = place.file.clone();
    if let Some(line) = place.line {
        let _ = write!(text, ":{line}");
    }
    if let Some(span) = place.span {
        let _ = write!(text, " bytes {}..{}", span.start, span.end);
    }
    if !place.pointer.is_empty() {
        let _ = write!(text, " {}", place.pointer);
    }
    text
}

fn what(failure: &Failure) -> String {
    let mut text = failure.message.clone();
    if let Some(invariant) = failure.invariant_id {
        let _ = write!(text, " [{invariant}]");
    }
    if let Some(expected) = &failure.expected {
        let _ = write!(text, "\nexpected: {expected}");
    }
    if let Some(actual) = &failure.actual {
        let _ = write!(text, "\nfound: {actual}");
    }
    text
}
