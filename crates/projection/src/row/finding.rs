//! What checks said, one row for each time that one came back.

use probity_core::{
    CheckDecl, CheckIndex, Digest, Discrimination, Entry, Event, Finding, Subject, VerdictKind,
};

/// A finding without its words.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) seq: u64,
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) subject: &'static str,
    /// Before the delegate began.
    pub(super) red: bool,
    pub(super) result: &'static str,
    pub(super) code: Option<String>,
    pub(super) reason: Option<Digest>,
    pub(super) discrimination: Option<&'static str>,
    /// Absent where a human was waited for.
    pub(super) elapsed_ms: Option<u64>,
    pub(super) at_ms: u64,
}

/// The findings of a log, in order.
pub(super) fn of(checks: &[CheckDecl], entries: &[Entry]) -> Vec<Found> {
    (0u64..).zip(entries).filter_map(|(seq, entry)| one(checks, seq, entry)).collect()
}

fn one(checks: &[CheckDecl], seq: u64, entry: &Entry) -> Option<Found> {
    let (check, finding, elapsed_ms, discrimination) = match &entry.event {
        Event::CheckRed { check, finding, elapsed_ms, discrimination } => {
            (*check, finding, Some(*elapsed_ms), Some(discrimination_word(*discrimination)))
        }
        Event::CheckFinished { check, finding, elapsed_ms, .. } => {
            (*check, finding, Some(*elapsed_ms), None)
        }
        Event::CheckAnswered { check, finding, .. } => (*check, finding, None, None),
        _ => return None,
    };
    let decl = declared(checks, check)?;
    let (result, code, reason) = told(finding);
    Some(Found {
        seq,
        name: decl.id.to_string(),
        kind: kind_of(decl.id.as_str()).to_owned(),
        subject: subject_word(decl.subject),
        red: matches!(entry.event, Event::CheckRed { .. }),
        result,
        code,
        reason,
        discrimination,
        elapsed_ms,
        at_ms: entry.at_ms,
    })
}

fn declared(checks: &[CheckDecl], check: CheckIndex) -> Option<&CheckDecl> {
    checks.get(check.as_usize())
}

/// A check's name without the number that tells it from others of its kind.
fn kind_of(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((kind, number))
            if !kind.is_empty()
                && !number.is_empty()
                && number.bytes().all(|b| b.is_ascii_digit()) =>
        {
            kind
        }
        _ => name,
    }
}

fn told(finding: &Finding) -> (&'static str, Option<String>, Option<Digest>) {
    match finding {
        Finding::Verdict { verdict, code, reason, .. } => {
            let word = match verdict {
                VerdictKind::Pass => "pass",
                VerdictKind::Revise => "revise",
                VerdictKind::Fail => "fail",
                VerdictKind::Inconclusive => "inconclusive",
            };
            (word, Some(code.to_string()), *reason)
        }
        Finding::Fault { code, detail } => ("fault", Some(code.to_string()), Some(*detail)),
        Finding::NotApplicable => ("not_applicable", None, None),
    }
}

const fn subject_word(subject: Subject) -> &'static str {
    match subject {
        Subject::World => "world",
        Subject::Claim => "claim",
        Subject::Hook => "hook",
        Subject::Human => "human",
    }
}

const fn discrimination_word(discrimination: Discrimination) -> &'static str {
    match discrimination {
        Discrimination::Discriminating => "discriminating",
        Discrimination::NonDiscriminating => "non_discriminating",
        Discrimination::NotAssessed => "not_assessed",
        Discrimination::Exempt => "exempt",
    }
}
