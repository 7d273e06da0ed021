//! The summary of a job, in Markdown. What somebody else wrote stands in fences that it cannot close.

use std::fmt::Write as _;

use super::super::present::line;
use super::sheet::{Case, Sheet, State};

/// Rows of the table of attempts.
const MAX_ROWS: usize = 100;
/// Bytes of one reason, and of all together.
const MAX_REASON_BYTES: usize = 2 * 1024;
const MAX_REASONS_BYTES: usize = 24 * 1024;
/// Observations, and bytes of one.
const MAX_EVIDENCE: usize = 50;
const MAX_EVIDENCE_BYTES: usize = 300;

/// The summary, which stands alone wherever it is appended. At most 64 KiB.
pub(super) fn summary(sheet: &Sheet) -> String {
    let mut text = format!("\n### Probity: {}\n\n", sheet.headline);
    let why = sheet.why.join("\n");
    if !why.is_empty() && !sheet.is_told_by_a_check() {
        text.push_str(&fenced("text", cut(&why, MAX_REASON_BYTES)));
    }
    for note in sheet.notes.iter().take(MAX_ROWS) {
        let _ = writeln!(text, "- {note}");
    }
    attempts(&mut text, sheet);
    reasons(&mut text, sheet);
    evidence(&mut text, sheet);
    audit(&mut text, sheet);
    text
}

fn attempts(text: &mut String, sheet: &Sheet) {
    if sheet.rows.is_empty() {
        return text.push_str("\nNothing was checked.\n");
    }
    text.push_str("\n| Attempt | Check | Verdict | Code |\n|---|---|---|---|\n");
    // The last attempt decides, so the first ones are left out.
    let left_out = sheet.rows.len().saturating_sub(MAX_ROWS);
    if left_out > 0 {
        let _ = writeln!(text, "| {left_out} earlier rows | | | |");
    }
    for row in sheet.rows.iter().skip(left_out) {
        let code = |code: Option<&str>| code.map_or_else(String::new, |code| format!("`{code}`"));
        let check = code(row.check.as_ref().map(|id| id.as_str()));
        let why = code(row.code.as_ref().map(|it| it.as_str()));
        let (attempt, verdict) = (&row.attempt, row.verdict.replace('_', " "));
        let _ = writeln!(text, "| {attempt} | {check} | {verdict} | {why} |");
    }
}

fn reasons(text: &mut String, sheet: &Sheet) {
    let is_told = |case: &&Case| {
        matches!(case.state, State::Failed | State::Broken) && case.reason != sheet.why
    };
    let told: Vec<&Case> = sheet.cases.iter().filter(is_told).collect();
    let begun = text.len();
    for (index, case) in told.iter().enumerate() {
        if text.len().saturating_sub(begun) > MAX_REASONS_BYTES {
            let more = told.len().saturating_sub(index);
            let _ = writeln!(text, "\n{more} more; `probity log show` has all of them.");
            return;
        }
        let reason = case.reason.join("\n");
        let reason = cut(&reason, MAX_REASON_BYTES);
        let _ = write!(
            text,
            "\n`{}` said **{}**:\n\n{}",
            case.name,
            case.verdict,
            fenced("text", reason)
        );
    }
}

fn evidence(text: &mut String, sheet: &Sheet) {
    let seen = sheet.cases.iter().flat_map(|case| {
        case.evidence.iter().map(move |it| {
            let digest = it.digest.map_or_else(String::new, |digest| format!("  sha256 {digest}"));
            let saw = line(&format!("{}: {}: {}", case.name, it.source, it.observed));
            format!("{}{digest}", cut(&saw, MAX_EVIDENCE_BYTES))
        })
    });
    let lines: Vec<String> = seen.take(MAX_EVIDENCE).collect();
    if !lines.is_empty() {
        let _ = write!(text, "\nWhat the checks saw:\n\n{}", fenced("text", &lines.join("\n")));
    }
}

fn audit(text: &mut String, sheet: &Sheet) {
    let Some(run) = &sheet.run else { return };
    let sealed = match &sheet.seal {
        Some(seal) => format!("sealed, {} events, head `{}`", seal.events, seal.head),
        None => "not sealed".to_owned(),
    };
    let bundle = format!("{run}.probity");
    let commands = format!("probity export {run} --bundle {bundle}\nprobity audit {bundle}");
    let _ = write!(
        text,
        "\nRun `{run}`, {sealed}. To prove it anywhere, from the file alone:\n\n{}",
        fenced("sh", &commands)
    );
}

/// A text between fences that are longer than any in it.
fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.saturating_add(1).max(3));
    format!("{fence}{language}\n{text}\n{fence}\n")
}

fn cut(text: &str, max_bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(max_bytes)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_what_is_in_it() {
        assert_eq!(fenced("text", "a"), "```text\na\n```\n");
        assert_eq!(fenced("text", "```\n# h\n`````\n"), "``````text\n```\n# h\n`````\n\n``````\n");
    }
}
