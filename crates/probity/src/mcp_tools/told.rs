//! What callers are told. Whether it is verified comes first, in words and in the object.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use probity_core::{Code, Outcome, RunId};
use probity_engine::{CheckReport, Report};
use probity_mcp::serve::Answer;
use probity_report::{Severity, VerificationReport};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::error::ToolFault;

/// The longest answer of a delegate that is handed on, in bytes. The rest is in the record.
const MAX_RESPONSE_BYTES: usize = 256 * 1024;
/// The longest reason, in bytes.
const MAX_REASON_BYTES: usize = 2 * 1024;
/// Reasons, findings and warnings at most.
const MAX_LINES: usize = 50;
/// Attempts of a run that are told, the last ones.
const MAX_ATTEMPTS: usize = 20;
/// What outcome a run has that has none.
const RUNNING: &str = "running";

#[derive(Serialize)]
struct Told {
    verified: bool,
    outcome: &'static str,
    code: Option<Code>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasons: Option<Vec<String>>,
    run_id: RunId,
    attempts: u32,
    max_attempts: u32,
    checks: Vec<CheckTold>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    history: Vec<AttemptTold>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    sealed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    waived: bool,
}

/// Whose a check is that the caller added.
const CALLER: &str = "caller";

#[derive(Serialize)]
struct CheckTold {
    id: Code,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'static str>,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<Code>,
    #[serde(skip_serializing_if = "Option::is_none")]
    discriminating: Option<bool>,
}

#[derive(Serialize)]
struct AttemptTold {
    turn: u32,
    verdict: Value,
    code: Code,
    counted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<String>,
}

/// A run that was driven for the caller. What a delegate said is handed on only where it is verified: its
/// own word for it is what the caller must not take.
pub(super) fn run(report: &Report, callers: &BTreeSet<Code>, warnings: &[String]) -> Answer {
    let mut told = Told::of(report);
    told.reasons = Some(reasons(report));
    told.warnings = warnings.iter().take(MAX_LINES).map(|it| cut(it, MAX_REASON_BYTES)).collect();
    for check in &mut told.checks {
        check.by = Some(if callers.contains(&check.id) { CALLER } else { "operator" });
    }
    if told.verified
        && let Some(claim) = report.delivered.as_ref().or(report.claim.as_ref())
    {
        told.response = Some(cut(&claim.response, MAX_RESPONSE_BYTES));
        told.output.clone_from(&claim.output);
    }
    told.answer()
}

/// A run as it is recorded. `shows_content`: also what was said.
pub(super) fn status(report: &Report, shows_content: bool) -> Answer {
    let mut told = Told::of(report);
    let skipped = report.history.len().saturating_sub(MAX_ATTEMPTS);
    told.history = report
        .history
        .iter()
        .skip(skipped)
        .map(|attempt| AttemptTold {
            turn: attempt.turn,
            verdict: json!(attempt.verdict),
            code: attempt.code.clone(),
            counted: attempt.counted,
            response: shows_content.then(|| cut(&attempt.response, MAX_REASON_BYTES)),
        })
        .collect();
    if shows_content {
        told.reasons = Some(reasons(report));
    }
    told.answer()
}

/// A record that was audited.
pub(super) fn audit(run: &RunId, report: &VerificationReport) -> Answer {
    let valid = report.verdict == probity_report::Verdict::Valid;
    let verdict = report.verdict.as_str();
    let failures = report.failures.iter().take(MAX_LINES);
    let findings: Vec<Value> = failures
        .map(|it| {
            let message = cut(&it.message, MAX_REASON_BYTES);
            json!({"code": it.code, "severity": it.severity, "message": message})
        })
        .collect();
    let errors = report.failures.iter().filter(|it| it.severity == Severity::Error).count();
    let mut text = match valid {
        true => {
            format!("VALID: the record of run {run} is whole, and its verdicts follow from it.\n")
        }
        false => {
            format!("NOT VALID: the record of run {run} is {verdict}, with {errors} errors.\n")
        }
    };
    for it in report.failures.iter().take(MAX_LINES) {
        let _ = writeln!(text, "- [{}] {}", it.code, cut(&it.message, MAX_REASON_BYTES));
    }
    let structured = object(json!({
        "valid": valid, "verdict": verdict, "run_id": run, "findings": findings,
    }));
    Answer { text, structured, is_error: false }
}

/// A tool that did nothing.
pub(super) fn fault(tool: &str, fault: &ToolFault) -> Answer {
    let (code, message) = (fault.code(), fault.to_string());
    let key = if tool == "audit" { "valid" } else { "verified" };
    let structured = object(json!({key: false, "error": {"code": code, "message": message}}));
    let text = format!("error [{code}]: {message}\nNothing was verified.");
    Answer { text, structured, is_error: true }
}

impl Told {
    fn of(report: &Report) -> Self {
        let verified = report.outcome == Some(Outcome::Verified) && !report.waived;
        let checks = report.checks.iter().map(|check| CheckTold {
            id: check.id.clone(),
            by: None,
            verdict: check.verdict,
            code: check.code.clone(),
            discriminating: check.discriminating,
        });
        Self {
            verified,
            outcome: report.outcome.map_or(RUNNING, Outcome::as_str),
            code: report.code.clone(),
            reasons: None,
            run_id: report.run_id.clone(),
            attempts: report.attempts,
            max_attempts: report.max_attempts,
            checks: checks.collect(),
            history: Vec::new(),
            response: None,
            output: None,
            warnings: Vec::new(),
            sealed: report.seal.is_some(),
            waived: report.waived,
        }
    }

    fn answer(self) -> Answer {
        let text = self.text();
        Answer { text, structured: object(json!(self)), is_error: false }
    }

    /// Whether nobody but the caller said what is checked.
    fn is_callers(&self) -> bool {
        !self.checks.is_empty() && self.checks.iter().all(|check| check.by == Some(CALLER))
    }

    fn text(&self) -> String {
        let Self { outcome, run_id, attempts, max_attempts, .. } = self;
        let code = self.code.as_ref().map(Code::as_str).unwrap_or_default();
        let mut text = match self.verified {
            true if self.is_callers() => format!(
                "VERIFIED [{code}]: every check passed. All of them are yours: the operator requires none."
            ),
            true => format!("VERIFIED [{code}]: every check passed."),
            false => format!(
                "NOT VERIFIED: {outcome} [{code}]. Do not rely on this work, and do not report it as \
                 done."
            ),
        };
        let _ = writeln!(text, "\nrun {run_id}, {attempts} of {max_attempts} attempts");
        for check in &self.checks {
            let code = check.code.as_ref().map(|code| format!(" [{code}]")).unwrap_or_default();
            let by = if check.by == Some(CALLER) { " (yours)" } else { "" };
            let _ = writeln!(text, "- check {}{by}: {}{code}", check.id, check.verdict);
        }
        if !self.verified {
            for reason in self.reasons.iter().flatten() {
                let _ = writeln!(text, "- {reason}");
            }
        }
        if let Some(response) = &self.response {
            let _ = write!(text, "The delegate's answer:\n{response}");
        }
        text
    }
}

/// Everything that says why, in words.
fn reasons(report: &Report) -> Vec<String> {
    let own = [&report.reason, &report.failure, &report.question];
    let mut reasons: Vec<String> = own.into_iter().flatten().cloned().collect();
    if let Some(check) = &report.waits_for {
        reasons.push(format!("check {check} waits for a human"));
    }
    reasons.extend(report.checks.iter().filter_map(reason));
    let blocked = report.hooks.iter().filter(|hook| hook.action != "modify");
    reasons.extend(blocked.map(|hook| format!("hook {}: {}: {}", hook.id, hook.action, hook.text)));
    reasons.truncate(MAX_LINES);
    reasons.iter().map(|reason| cut(reason, MAX_REASON_BYTES)).collect()
}

fn reason(check: &CheckReport) -> Option<String> {
    if matches!(check.verdict, "pass" | "not_applicable" | "not_run") {
        return None;
    }
    let code = check.code.as_ref().map(|code| format!(" [{code}]")).unwrap_or_default();
    Some(format!("check {}: {}{code}: {}", check.id, check.verdict, check.reason))
}

/// The beginning of a text, and that it is one.
fn cut(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let until = text.floor_char_boundary(max_bytes);
    format!("{} (cut)", text.get(..until).unwrap_or_default())
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
