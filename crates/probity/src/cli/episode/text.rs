//! A report as people read it.

use probity_audit::{Acceptance, DocumentKind, EpisodeReport, Severity};

use crate::cli::present::{Style, Tone, block, line};

/// Lines of one message that are shown; the whole of it is in `--json`.
const MAX_LINES: usize = 5;

/// The report, each line ended.
pub(super) fn render(report: &EpisodeReport, style: Style) -> String {
    let (word, tone) = match report.verdict {
        Acceptance::Accepted => ("accepted", Tone::Good),
        Acceptance::Rejected => ("rejected", Tone::Bad),
    };
    let kind = match report.kind {
        DocumentKind::Episode => "episode",
        DocumentKind::Drift => "drift signal",
        DocumentKind::Envelope => "envelope",
        DocumentKind::Pack => "pack",
        DocumentKind::Unknown => "document",
    };
    let name = report.episode_id.as_deref().map_or_else(String::new, |id| format!(" {}", line(id)));
    let word = style.paint(tone, word);
    let mut text = format!("{word}  {}  {kind}{name}\n", place(report));
    if let Some(reading) = &report.reads_as {
        let (verification, reason) = (reading.verification, reading.reason);
        let outcome = reading.outcome;
        text.push_str(&format!(
            "  reads as verification {verification} ({reason}), outcome {outcome}\n"
        ));
    }
    for note in &report.drift {
        let kind = note.drift_type.map_or("of another vocabulary", |kind| kind.as_str());
        let severity = note.severity.map_or(String::new(), |it| format!(" {}", it.as_str()));
        text.push_str(&format!("  drift    {kind}{severity}  {}\n", line(&note.fingerprint.key)));
    }
    for finding in &report.findings {
        let (word, tone) = match finding.severity {
            Severity::Error => ("error", Tone::Bad),
            Severity::Warning => ("warning", Tone::Warn),
            Severity::Note => ("note", Tone::Dim),
        };
        let word = style.paint(tone, &format!("{word:7}"));
        let pointer = match finding.pointer.as_str() {
            "" => String::new(),
            pointer => format!("{}  ", line(pointer)),
        };
        let mut message = block(&finding.message).into_iter();
        let first = message.next().unwrap_or_default();
        text.push_str(&format!("  {word}  {pointer}{first}  [{}]\n", finding.code));
        message.take(MAX_LINES).for_each(|more| text.push_str(&format!("           {more}\n")));
    }
    text
}

/// Where the document stands: file, line, place in a list.
fn place(report: &EpisodeReport) -> String {
    let source = line(&report.source);
    match (report.line, report.index) {
        (Some(number), _) => format!("{source}:{number}"),
        (None, Some(index)) => format!("{source}#{index}"),
        (None, None) => source,
    }
}
