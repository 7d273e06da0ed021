//! What an audit says about a document.

use serde::{Deserialize, Serialize};

use crate::rule::{self, Rule};

/// The most findings of one document; what is beyond is counted in one last finding.
pub const MAX_FINDINGS: usize = 256;

/// The most characters of a pointer or message; what is beyond is cut off.
const MAX_TEXT: usize = 800;

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Note,
    /// Not as it should be; the document is accepted.
    Warning,
    /// The document is rejected.
    Error,
}

/// One thing that was found, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Stable machine word; its page is `docs/codes/<code>.md`.
    pub code: &'static str,
    /// How much it weighs.
    pub severity: Severity,
    /// JSON pointer (RFC 6901) into the document; empty for the document as a whole.
    pub pointer: String,
    /// Text for people.
    pub message: String,
}

/// Findings in the order of the checks, up to [`MAX_FINDINGS`].
#[derive(Debug, Default)]
pub(crate) struct Findings {
    list: Vec<Finding>,
    dropped: usize,
    worst: Option<Severity>,
}

impl Findings {
    /// Adds what a rule found, with the rule's weight.
    pub(crate) fn add(
        &mut self,
        rule: &Rule,
        pointer: impl Into<String>,
        message: impl Into<String>,
    ) {
        self.add_as(rule.severity, rule, pointer, message);
    }

    /// Adds what a rule found, with another weight.
    pub(crate) fn add_as(
        &mut self,
        severity: Severity,
        rule: &Rule,
        pointer: impl Into<String>,
        message: impl Into<String>,
    ) {
        let (pointer, message) = (pointer.into(), message.into());
        self.push(Finding { code: rule.code, severity, pointer, message });
    }

    /// Adds a finding as it is.
    pub(crate) fn push(&mut self, mut finding: Finding) {
        finding.pointer = legible(&finding.pointer, MAX_TEXT);
        finding.message = legible(&finding.message, MAX_TEXT);
        self.worst = self.worst.max(Some(finding.severity));
        if self.list.len() < MAX_FINDINGS {
            self.list.push(finding);
        } else {
            self.dropped += 1;
        }
    }

    /// Takes over what another list holds.
    pub(crate) fn append(&mut self, other: Self) {
        self.worst = self.worst.max(other.worst);
        self.dropped += other.dropped;
        other.list.into_iter().for_each(|finding| self.push(finding));
    }

    /// Whether nothing so far rejects the document.
    pub(crate) fn is_accepted(&self) -> bool {
        self.worst != Some(Severity::Error)
    }

    /// Whether a rule has found something.
    pub(crate) fn has(&self, rule: &Rule) -> bool {
        self.list.iter().any(|finding| finding.code == rule.code)
    }

    /// How many there are.
    pub(crate) const fn count(&self) -> usize {
        self.list.len() + self.dropped
    }

    /// The list, with a last word on what is not in it.
    pub(crate) fn into_list(mut self) -> Vec<Finding> {
        if self.dropped > 0 {
            let message = format!("{} more findings are not listed", self.dropped);
            let rule = &rule::FINDINGS_CUT;
            self.list.push(Finding {
                code: rule.code,
                severity: rule.severity,
                pointer: String::new(),
                message,
            });
        }
        self.list
    }
}

/// Text of a document as a report may show it: cut off, and without characters that steer a terminal.
pub(crate) fn legible(text: &str, max: usize) -> String {
    if text.len() <= max && text.bytes().all(|byte| matches!(byte, 0x20..=0x7e)) {
        return text.to_owned();
    }
    let mut shown: String = text
        .chars()
        .take(max)
        .map(|character| if character.is_control() { '\u{fffd}' } else { character })
        .collect();
    if text.chars().nth(max).is_some() {
        shown.push('…');
    }
    shown
}

/// The first finding that rejects, as a sentence for an error.
pub(crate) fn first(findings: &[Finding]) -> String {
    let worst = findings.iter().find(|finding| finding.severity == Severity::Error);
    worst.map_or_else(String::new, |finding| {
        let place = if finding.pointer.is_empty() { "the document" } else { &finding.pointer };
        format!("{} ({}) at {place}", finding.message, finding.code)
    })
}
