//! A run as people read it: one line per check and attempt, then the outcome in a word that cannot
//! be missed.

use std::fmt::Write as _;

use probity_core::Outcome;
use probity_engine::{AttemptReport, CheckReport, Report};
use serde_json::Value;

use super::why::{claim, deciding, last, name, proving_nothing, rejecting, wants_approval, why};
use super::{Beside, Kept, Style, Tone, block, count, line};

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// What each check said.
    Brief,
    /// And what it observed, and what the delegate answered.
    Full,
}

/// Lines of one reason that are shown; the whole of it is in `--json`.
const MAX_REASON_LINES: usize = 20;
/// Lines of a response that are shown.
const MAX_RESPONSE_LINES: usize = 10;
/// Bytes of one member of a rewritten claim that are shown, before and after.
const MAX_VALUE_BYTES: usize = 400;
/// The widest column of check names, in characters.
const MAX_ID_WIDTH: usize = 40;

const EDITED: &str = "what was handed on is not what was verified";
const PROVES_NOTHING: &str = "passed before the delegate started: its pass proves nothing";

/// The run as text, each line ended.
pub(crate) fn render(report: &Report, beside: &Beside<'_>, style: Style, detail: Detail) -> String {
    let mut text = String::new();
    let rows = rows(report);
    let widths = Widths::of(&rows);
    for row in &rows {
        row.write(&mut text, &widths, style, detail);
    }
    around(&mut text, report, style, detail);
    for check in proving_nothing(report) {
        let flag = style.paint(Tone::Warn, "note");
        push_line(&mut text, &format!("{flag}  {} {PROVES_NOTHING}", check.id));
    }
    if detail == Detail::Full {
        response(&mut text, report, style);
    }
    headline(&mut text, report, beside, style);
    text
}

/// What a reader would do next, if there is something.
pub(crate) fn next_step(report: &Report, beside: &Beside<'_>) -> Option<String> {
    // The run, as a command behind this one finds it again.
    let run = match beside.kept {
        Some(Kept::Nowhere) if report.outcome == Some(Outcome::Verified) => return None,
        Some(Kept::Nowhere) => {
            return code_to_explain(report).map(|code| format!("probity explain {code}"));
        }
        Some(Kept::In(words)) => format!("{}{words}", report.run_id),
        None => report.run_id.to_string(),
    };
    let log = format!("probity log show {run}");
    Some(match report.outcome {
        None => format!("probity run --resume {run}"),
        Some(Outcome::Verified) => format!("{log}; probity recheck {run}"),
        Some(Outcome::Escalated) if report.waits_for.is_some() => {
            let name = beside.asks.map_or_else(|| "NAME".to_owned(), |asks| name(&asks.who));
            let claim = claim(report);
            format!("probity log answer {run} --by {name}{claim} --approve (or --revise, --reject)")
        }
        Some(Outcome::Escalated) if report.question.is_some() => log,
        Some(Outcome::Escalated) if wants_approval(report) => {
            format!("probity log answer {run} --by NAME --approve (or --reject)")
        }
        Some(Outcome::Escalated) => {
            format!("probity log answer {run} --by NAME --waive (or --continue N, --reject)")
        }
        Some(_) => match code_to_explain(report) {
            Some(code) => format!("probity explain {code}; {log}"),
            None => log,
        },
    })
}

/// What happened beside the checks: hooks that did not let the run go on, steps of the ladder, an
/// edit behind the verdict.
fn around(text: &mut String, report: &Report, style: Style, detail: Detail) {
    for hook in &report.hooks {
        let tone = if hook.action == "modify" { Tone::Warn } else { Tone::Bad };
        let action = match hook.action {
            "block" => "blocked",
            "modify" => "modified what it saw",
            "fault" => "broke",
            "inconclusive" => "could not tell",
            other => other,
        };
        let code = hook.code.as_ref().map_or_else(String::new, |code| format!("  [{code}]"));
        let flag = style.paint(tone, "hook");
        // The whole of a rewrite is content; what is brief says that there was one.
        let is_shown = hook.action != "modify" || detail == Detail::Full;
        let mut said = block(&hook.text).into_iter().filter(|_| is_shown);
        let first = said.next().map_or_else(String::new, |first| format!(": {first}"));
        push_line(text, &format!("{flag}  {} at {} {action}{first}{code}", hook.id, hook.event));
        said.take(MAX_REASON_LINES).for_each(|more| push_line(text, &format!("      {more}")));
    }
    for fallen in &report.degraded {
        let flag = style.paint(Tone::Warn, "fallback");
        let (turn, step) = (fallen.turn, fallen.step.as_str());
        let trigger = serde_json::to_value(fallen.trigger).unwrap_or_default();
        let trigger = trigger.as_str().unwrap_or_default().replace('_', " ");
        push_line(text, &format!("{flag}  to {step} at claim {turn}, because of {trigger}"));
    }
    if report.edited {
        let flag = style.paint(Tone::Warn, "note");
        push_line(text, &format!("{flag}  edited after verification by a hook: {EDITED}"));
    }
}

/// One line of one attempt.
struct Row<'a> {
    label: String,
    check: Option<&'a CheckReport>,
    verdict: &'a str,
}

struct Widths {
    label: usize,
    verdict: usize,
    id: usize,
}

fn rows(report: &Report) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    let mut counted = 0_u32;
    for attempt in &report.history {
        counted = counted.saturating_add(attempt.counted.into());
        let mut label = match attempt.counted {
            true => format!("attempt {counted}"),
            false => format!("claim {} (not counted)", attempt.turn),
        };
        if attempt.checks.is_empty() {
            rows.push(Row { label, check: None, verdict: attempt.verdict.as_str() });
            continue;
        }
        for check in &attempt.checks {
            let label = std::mem::take(&mut label);
            rows.push(Row { label, check: Some(check), verdict: check.verdict });
        }
    }
    rows
}

impl Widths {
    fn of(rows: &[Row<'_>]) -> Self {
        let widest = |widths: &mut dyn Iterator<Item = usize>| widths.max().unwrap_or_default();
        let id = |row: &Row<'_>| row.check.map_or(0, |check| check.id.as_str().chars().count());
        Self {
            label: widest(&mut rows.iter().map(|row| row.label.chars().count())),
            verdict: widest(&mut rows.iter().map(|row| row.verdict.chars().count())),
            id: widest(&mut rows.iter().map(id)).min(MAX_ID_WIDTH),
        }
    }
}

impl Row<'_> {
    fn write(&self, text: &mut String, widths: &Widths, style: Style, detail: Detail) {
        let Widths { label, verdict, id } = *widths;
        let word = style.paint(verdict_tone(self.verdict), &format!("{:verdict$}", self.verdict));
        let start = format!("{:label$}  {word}", self.label);
        let Some(check) = self.check else { return push_line(text, &start) };
        let mut reason = block(&check.reason).into_iter();
        let first = reason.next().unwrap_or_default();
        let is_passed = check.verdict == "pass";
        let code = match check.code.as_ref().filter(|_| !is_passed) {
            Some(code) => style.paint(Tone::Dim, &format!("  [{code}]")),
            None => String::new(),
        };
        push_line(text, &format!("{start}  {:id$}  {first}{code}", check.id.as_str()));
        let indent = label + 2 + verdict + 2;
        for more in reason.clone().take(MAX_REASON_LINES) {
            push_line(text, &format!("{:indent$}{more}", ""));
        }
        if reason.count() > MAX_REASON_LINES {
            push_line(text, &format!("{:indent$}...", ""));
        }
        self.write_rewrite(text, check, indent, style, detail);
        if detail == Detail::Full {
            self.write_evidence(text, check, indent, style);
        }
    }

    /// Which members of the claim a hook changed; in full, from what to what.
    fn write_rewrite(
        &self,
        text: &mut String,
        check: &CheckReport,
        indent: usize,
        style: Style,
        detail: Detail,
    ) {
        let Some(rewrite) = &check.rewrite else { return };
        let changed = rewrite.delta.get("changed").and_then(Value::as_object);
        let members = || changed.into_iter().flatten();
        let names: Vec<String> = members().map(|(name, _)| line(name)).collect();
        let what = style.paint(Tone::Warn, &format!("rewrote the claim: {}", names.join(", ")));
        push_line(text, &format!("{:indent$}{what}", ""));
        for (name, change) in members().filter(|_| detail == Detail::Full) {
            for (word, value) in [("from", change.get("from")), ("to", change.get("to"))] {
                let value = value.unwrap_or(&Value::Null).to_string();
                let end = value.floor_char_boundary(MAX_VALUE_BYTES);
                let shown = line(value.get(..end).unwrap_or_default());
                let more = if end < value.len() { "..." } else { "" };
                push_line(text, &format!("{:indent$}  {} {word} {shown}{more}", "", line(name)));
            }
        }
    }

    fn write_evidence(&self, text: &mut String, check: &CheckReport, indent: usize, style: Style) {
        for seen in &check.evidence {
            let digest = match seen.digest {
                Some(digest) => format!("  sha256 {}…", digest.short()),
                None => String::new(),
            };
            let seen = format!("saw {}: {}{digest}", line(&seen.source), line(&seen.observed));
            push_line(text, &format!("{:indent$}{}", "", style.paint(Tone::Dim, &seen)));
        }
        if check.elapsed_ms > 0 {
            let took = style.paint(Tone::Dim, &format!("took {} ms", check.elapsed_ms));
            push_line(text, &format!("{:indent$}{took}", ""));
        }
    }
}

fn response(text: &mut String, report: &Report, style: Style) {
    let Some(claim) = &report.claim else { return };
    // Where hooks rewrote what the delegate said, its own words come first.
    let is_verified = |of: &&AttemptReport| of.verified_response.as_ref() == Some(&claim.response);
    if let Some(attempt) = last(report).filter(is_verified) {
        quoted(text, "the delegate said:", &attempt.response, style);
        quoted(text, "judged, as hooks rewrote it:", &claim.response, style);
    } else {
        quoted(text, "the delegate said:", &claim.response, style);
    }
    let calls = u64::try_from(claim.tool_calls.len()).unwrap_or(u64::MAX);
    if calls > 0 {
        push_line(text, &format!("  ({})", count(calls, "tool call")));
    }
}

fn quoted(text: &mut String, title: &str, response: &str, style: Style) {
    push_line(text, &style.paint(Tone::Dim, title));
    let lines = block(response);
    for said in lines.iter().take(MAX_RESPONSE_LINES) {
        push_line(text, &format!("  {said}"));
    }
    if lines.len() > MAX_RESPONSE_LINES {
        push_line(text, "  ...");
    }
}

fn headline(text: &mut String, report: &Report, beside: &Beside<'_>, style: Style) {
    let (word, tone) = match report.outcome {
        None => ("NOT FINISHED".to_owned(), Tone::Warn),
        Some(outcome) => (outcome.as_str().to_uppercase().replace('_', " "), outcome_tone(outcome)),
    };
    let mut headline = style.paint(tone, &word);
    if report.waived {
        headline.push_str(" (waived by a human)");
    }
    if report.attempts > 0 {
        let _ = write!(headline, " after {}", count(report.attempts.into(), "attempt"));
    }
    let facts = facts(report);
    let mut why = why(report, beside).into_iter();
    match why.next() {
        None => push_line(text, &format!("{headline} · {facts}")),
        Some(first) => {
            push_line(text, &format!("{headline}: {first}"));
            why.take(MAX_REASON_LINES).for_each(|more| push_line(text, &format!("  {more}")));
            push_line(text, &facts);
        }
    }
}

fn facts(report: &Report) -> String {
    let mut facts = format!("run {}", report.run_id);
    if report.interruptions > 0 {
        let _ = write!(facts, " · {}", count(report.interruptions.into(), "interruption"));
    }
    match &report.seal {
        Some(seal) => {
            let (events, head) = (count(seal.events, "event"), seal.head.short());
            let _ = write!(facts, " · sealed, {events}, head {head}…");
        }
        None => facts.push_str(" · not sealed"),
    }
    facts
}

fn code_to_explain(report: &Report) -> Option<&str> {
    let attempt = last(report);
    let of_check = attempt.and_then(|attempt| match report.outcome? {
        Outcome::Faulted => deciding(report, "fault"),
        Outcome::Inconclusive => deciding(report, "inconclusive"),
        Outcome::Exhausted | Outcome::Rejected => rejecting(attempt),
        _ => None,
    });
    let code = of_check.and_then(|check| check.code.as_ref()).or(report.code.as_ref());
    code.map(|code| code.as_str())
}

fn verdict_tone(verdict: &str) -> Tone {
    match verdict {
        "pass" => Tone::Good,
        "revise" | "fail" | "fault" => Tone::Bad,
        "inconclusive" | "unverified" => Tone::Warn,
        _ => Tone::Dim,
    }
}

/// How an outcome is painted.
pub(in crate::cli) const fn outcome_tone(outcome: Outcome) -> Tone {
    match outcome {
        Outcome::Verified => Tone::Good,
        Outcome::Inconclusive | Outcome::Unverified | Outcome::Cancelled | Outcome::Escalated => {
            Tone::Warn
        }
        Outcome::Exhausted | Outcome::Rejected | Outcome::Faulted | Outcome::DelegateFailed => {
            Tone::Bad
        }
    }
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line.trim_end());
    text.push('\n');
}
