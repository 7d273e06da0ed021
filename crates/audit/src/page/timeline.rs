//! The timeline of a run: every event of its log, with what it named where that is there.

use std::fmt::Write as _;
use std::io::Read;

use probity_core::{CheckIndex, Digest, Event, Finding, HookDecision, HookIndex, Turn};
use probity_record::{RunRecords, read_jsonl};
use probity_report::Failures;

use super::markup::{self, escaped};
use crate::bundle::opened;
use crate::drift::from_ms;
use crate::log::{Blob, Content};

/// The most events that a page shows.
pub const MAX_ROWS: usize = 2000;

/// The most characters that a page shows of one piece of content.
pub const MAX_CONTENT_CHARS: usize = 2000;

/// The most characters of content that a page shows in all.
pub const MAX_PAGE_CONTENT_CHARS: usize = 1_000_000;

/// Long lists of files, and the rules of a decision: no story of the run.
const UNSHOWN: [&str; 3] = ["manifest", "judge", "envelope"];

/// The events of a run, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    /// At most [`MAX_ROWS`].
    pub rows: Vec<Row>,
    /// Events that are not among them.
    pub left_off: usize,
}

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// When, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// Its wire word.
    pub event: &'static str,
    /// The round that it belongs to, where it says so.
    pub turn: Option<Turn>,
    /// What it came to: verdict, outcome, step, code.
    pub came_to: String,
    /// What it named.
    pub content: Vec<Shown>,
}

/// A piece of content, as far as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// What it is to the event.
    pub role: &'static str,
    /// Its digest.
    pub digest: Digest,
    /// Its text, cut off; `None` where it is not there.
    pub text: Option<String>,
}

impl Timeline {
    /// The timeline of an exported log. `None` where the log is not whole: what it says is then not
    /// what happened.
    #[must_use]
    pub fn of(log: &[u8], content: &dyn Content) -> Option<Self> {
        let records = read_jsonl(log).ok()?;
        let mut room = MAX_PAGE_CONTENT_CHARS;
        let rows = records.entries.iter().take(MAX_ROWS).map(|entry| {
            let named = entry.event.named().into_iter();
            Row {
                at_ms: entry.at_ms,
                event: entry.event.name(),
                turn: turn(&entry.event),
                came_to: came_to(&entry.event, &records),
                content: named
                    .filter(|(role, _)| !UNSHOWN.contains(role))
                    .map(|(role, digest)| shown(role, digest, content, &mut room))
                    .collect(),
            }
        });
        let rows = rows.collect();
        Some(Self { rows, left_off: records.entries.len().saturating_sub(MAX_ROWS) })
    }
}

/// The timeline of the run in a bundle. `None` where the bundle cannot be read, holds other bytes than
/// it lists, or its log is not whole.
#[must_use]
pub fn bundle_timeline(source: &mut dyn Read) -> Option<Timeline> {
    let mut failures = Failures::new();
    let (log, content) = opened(source, &mut failures)?;
    if failures.is_clean() { Timeline::of(&log, content.as_ref()) } else { None }
}

pub(super) fn section(page: &mut String, timeline: &Timeline) {
    let _ = writeln!(
        page,
        "<h2>Timeline</h2>\n<table>\n<caption>{} events; {} more are not shown</caption>",
        timeline.rows.len(),
        timeline.left_off
    );
    markup::header(page, &["Time", "Event", "Round", "Came to", "Content"]);
    for row in &timeline.rows {
        let time = from_ms(row.at_ms).unwrap_or_else(|| format!("{} ms", row.at_ms));
        let turn = row.turn.map_or_else(String::new, |turn| {
            if turn.epoch == 0 {
                turn.number.to_string()
            } else {
                format!("{} of epoch {}", turn.number, turn.epoch)
            }
        });
        let _ = write!(
            page,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{turn}</td><td>{}</td><td>",
            escaped(&time),
            escaped(row.event),
            escaped(&row.came_to)
        );
        for shown in &row.content {
            let digest = shown.digest.short();
            match &shown.text {
                Some(text) => {
                    let text = escaped(text);
                    let _ = write!(page, "{} {digest}<pre>{text}</pre>", shown.role);
                }
                None => {
                    let _ = writeln!(page, "{} {digest}: not shown", shown.role);
                }
            }
        }
        page.push_str("</td></tr>\n");
    }
    page.push_str("</tbody>\n</table>\n");
}

fn shown(role: &'static str, digest: Digest, content: &dyn Content, room: &mut usize) -> Shown {
    let text = match content.blob(&digest) {
        Blob::Bytes(bytes) if *room > 0 => {
            let max = MAX_CONTENT_CHARS.min(*room);
            // At most four bytes make a character.
            let head = bytes.get(..max.saturating_mul(4)).unwrap_or(&bytes);
            let whole = String::from_utf8_lossy(head);
            let mut text: String = whole.chars().take(max).collect();
            *room = room.saturating_sub(text.chars().count());
            if text.len() < whole.len() || head.len() < bytes.len() {
                text.push('…');
            }
            Some(text)
        }
        _ => None,
    };
    Shown { role, digest, text }
}

const fn turn(event: &Event) -> Option<Turn> {
    match event {
        Event::HookCalled { turn, .. }
        | Event::DegradeChosen { turn, .. }
        | Event::DelegateDispatched { turn, .. }
        | Event::DelegateNoted { turn, .. }
        | Event::DelegateParked { turn, .. }
        | Event::DelegateWoken { turn, .. }
        | Event::ClaimReceived { turn, .. }
        | Event::DelegateFailed { turn, .. }
        | Event::VerdictMerged { turn, .. } => Some(*turn),
        _ => None,
    }
}

/// What an event came to, in its own words.
fn came_to(event: &Event, records: &RunRecords) -> String {
    match event {
        Event::RunOpened { checks, parent: None, .. } => declared(checks.len()),
        Event::RunOpened { checks, parent: Some(parent), .. } => {
            format!("{}, child of {parent}", declared(checks.len()))
        }
        Event::LeaseTaken { epoch, worker, interruptions } => {
            format!("epoch {epoch}, worker {worker}, {interruptions} interruptions so far")
        }
        Event::WorldUnreadable { code, .. } | Event::DelegateFailed { code, .. } => {
            code.to_string()
        }
        Event::CheckStarted { check, tries, .. } => {
            format!("{}, try {tries}", check_name(*check, records))
        }
        Event::CheckRed { check, finding, .. }
        | Event::CheckFinished { check, finding, .. }
        | Event::CheckAnswered { check, finding, .. } => {
            format!("{}: {}", check_name(*check, records), of_finding(finding))
        }
        Event::HookCalled { hook, .. } => hook_name(*hook, records),
        Event::HookAnswered { hook, decision, .. } => {
            format!("{}: {}", hook_name(*hook, records), of_decision(decision))
        }
        Event::DegradeChosen { trigger, step, .. } => {
            format!("{} after {}", step.as_str(), word(trigger))
        }
        Event::DelegateDispatched { attempt, .. } => format!("attempt {attempt}"),
        Event::DelegateNoted { kind, .. } => word(kind),
        Event::DelegateParked { until_ms: Some(until_ms), .. } => {
            let until = from_ms(*until_ms).unwrap_or_else(|| format!("{until_ms} ms"));
            format!("until {until}")
        }
        Event::DelegateParked { until_ms: None, .. } => "for an answer".to_owned(),
        Event::DelegateWoken { answer: Some(_), .. } => "by an answer".to_owned(),
        Event::DelegateWoken { answer: None, .. } => "by its time".to_owned(),
        Event::VerdictMerged { judgement, code, counted, .. } => {
            let charged = if *counted { "charged" } else { "not charged" };
            format!("{} ({code}), {charged}", word(judgement))
        }
        Event::RunResumed { interruptions } => format!("interruption {interruptions}"),
        Event::Escalated { instead_of, code } => format!("instead of {instead_of} ({code})"),
        Event::Answered { answer, .. } => word(answer),
        Event::OutcomeDecided { outcome, code, waived } => {
            let waived = if *waived { ", waived" } else { "" };
            format!("{outcome} ({code}){waived}")
        }
        Event::Sealed { outcome } => format!("{outcome}, head {}", records.head.short()),
        Event::CheckAwaits { check, .. } => check_name(*check, records),
        Event::WorldObserved { .. }
        | Event::ClaimReceived { .. }
        | Event::RunReleased
        | Event::CancelRequested { .. }
        | Event::Steered { .. } => String::new(),
    }
}

fn declared(checks: usize) -> String {
    format!("{checks} checks declared")
}

/// What a check is called where the run was opened.
fn check_name(check: CheckIndex, records: &RunRecords) -> String {
    let id = match records.entries.first().map(|entry| &entry.event) {
        Some(Event::RunOpened { checks, .. }) => checks.get(check.as_usize()).map(|c| &c.id),
        _ => None,
    };
    id.map_or_else(|| format!("check {}", check.0), ToString::to_string)
}

/// The same of a hook.
fn hook_name(hook: HookIndex, records: &RunRecords) -> String {
    let id = match records.entries.first().map(|entry| &entry.event) {
        Some(Event::RunOpened { hooks, .. }) => hooks.get(hook.as_usize()).map(|h| &h.id),
        _ => None,
    };
    id.map_or_else(|| format!("hook {}", hook.0), ToString::to_string)
}

fn of_finding(finding: &Finding) -> String {
    match finding {
        Finding::Verdict { verdict, code, .. } => format!("{} ({code})", word(verdict)),
        Finding::Fault { code, .. } => format!("fault ({code})"),
        Finding::NotApplicable => "not applicable".to_owned(),
    }
}

const fn of_decision(decision: &HookDecision) -> &'static str {
    match decision {
        HookDecision::Allow => "allow",
        HookDecision::NotApplicable => "not applicable",
        HookDecision::Block { .. } => "block",
        HookDecision::Modify { .. } => "modify",
        HookDecision::Inconclusive { .. } => "inconclusive",
        HookDecision::Fault { .. } => "fault",
    }
}

/// The wire word of a closed word, or of an object that is told apart by one.
fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(value) => value.get("decision").and_then(|w| w.as_str()).unwrap_or_default().to_owned(),
        Err(_) => String::new(),
    }
}
