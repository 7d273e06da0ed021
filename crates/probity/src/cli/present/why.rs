//! Why a run ended as it did, or what it waits for, in words.

use probity_core::{Code, Judgement, Outcome, Trigger};
use probity_engine::{AttemptReport, CheckReport, HookReport, Report};

use super::super::progress::awaited;
use super::{Asks, Beside, StoppedBy, block, line};

/// Why the run ended as it did, as clean lines; none where the word says it all.
pub(crate) fn why(report: &Report, beside: &Beside<'_>) -> Vec<String> {
    if let Some(check) = &report.waits_for {
        return waits(report, check, beside.asks);
    }
    if let (Some(Outcome::Escalated), Some(question)) = (report.outcome, &report.question) {
        return block(&format!("the delegate waits for an answer\n{question}"));
    }
    if let (None, Some(until_ms)) = (report.outcome, report.parked_until_ms) {
        return vec![format!("the delegate waits {}", awaited(Some(until_ms)))];
    }
    if report.outcome == Some(Outcome::Escalated) && wants_approval(report) {
        return vec!["an action needs the approval of a human, and nothing was done".to_owned()];
    }
    match report.outcome {
        Some(Outcome::Verified) => Vec::new(),
        None => match beside.stopped_by {
            Some(stopped_by) => stopping(stopped_by),
            None => {
                vec!["the run was interrupted, or another process still drives it".to_owned()]
            }
        },
        Some(Outcome::Unverified) => vec![unverified(report).to_owned()],
        Some(Outcome::Faulted) => deciding(report, "fault").map_or_else(
            || ended(report),
            |check| prefixed(&format!("the verifier `{}` broke: ", check.id), check),
        ),
        Some(Outcome::Inconclusive) => deciding(report, "inconclusive").map_or_else(
            || ended(report),
            |check| prefixed(&format!("`{}` could not tell: ", check.id), check),
        ),
        Some(Outcome::Rejected) if blocking(report).is_some() => {
            blocking(report).map(blocked).unwrap_or_default()
        }
        Some(Outcome::Exhausted | Outcome::Rejected | Outcome::Escalated) => {
            let budget = budget(report);
            let rejecting = last(report).and_then(|attempt| rejecting(attempt));
            match rejecting.filter(|_| report.reason.is_none()) {
                Some(check) => prefixed(&format!("{budget}{}: ", check.id), check),
                None => ended(report),
            }
        }
        Some(Outcome::Cancelled) => match beside.stopped_by {
            Some(stopped_by) => stopped_by.said(),
            None => ended(report),
        },
        Some(Outcome::DelegateFailed) => ended(report),
    }
}

/// The run was asked to stop, and goes on until whoever drives it hears of it.
fn stopping(stopped_by: &StoppedBy) -> Vec<String> {
    let mut lines = stopped_by.said();
    if let Some(first) = lines.first_mut() {
        *first = format!("to be stopped {first}");
    }
    lines
}

/// Whether the run asks for leave to act, before the delegate was started.
pub(crate) fn wants_approval(report: &Report) -> bool {
    let last = report.degraded.last();
    report.history.is_empty() && last.is_some_and(|fallen| fallen.trigger == Trigger::Approval)
}

/// Whom the run waits for, and the way to answer.
fn waits(report: &Report, check: &Code, asks: Option<&Asks>) -> Vec<String> {
    let Some(asks) = asks else { return vec![format!("the check `{check}` waits for a human")] };
    let mut question = block(asks.question());
    if let Some(first) = question.first_mut() {
        *first = format!("waits for {}: {first}", line(&asks.who));
    }
    let (run, who) = (&report.run_id, name(&asks.who));
    let claim = claim(report);
    question.push(format!("answer with: probity log answer {run} --by {who}{claim} --approve"));
    question
}

/// The claim that an answer is about, as an argument.
pub(super) fn claim(report: &Report) -> String {
    let about = report.asked_about.as_ref();
    about.map_or_else(String::new, |submission| format!(" --claim {submission}"))
}

/// Which budget ran out, where it is not the plain number of attempts.
fn budget(report: &Report) -> String {
    match (report.outcome, report.code.as_ref().map(|code| code.as_str())) {
        (Some(Outcome::Exhausted), Some(code)) if code != "attempts" => format!("[{code}] "),
        (Some(Outcome::Escalated), _) => "a human is asked; ".to_owned(),
        _ => String::new(),
    }
}

/// The message of a failure, or at least its code.
fn ended(report: &Report) -> Vec<String> {
    let code = report.code.as_ref().map(|code| format!("[{code}]"));
    let mut lines =
        block(report.failure.as_deref().or(report.reason.as_deref()).unwrap_or_default());
    match (lines.last_mut(), code) {
        (Some(last), Some(code)) => {
            last.push_str("  ");
            last.push_str(&code);
        }
        (None, Some(code)) => lines.push(code),
        (_, None) => {}
    }
    lines
}

/// The hook that ended the run. Hooks that judge are checks, and not among these.
fn blocking(report: &Report) -> Option<&HookReport> {
    report.code.as_ref().filter(|code| code.as_str() == "hook_blocked")?;
    report.hooks.iter().rfind(|hook| hook.action == "block")
}

fn blocked(hook: &HookReport) -> Vec<String> {
    let mut lines = block(&hook.text);
    let said = lines.first().map_or_else(String::new, |first| format!(": {first}"));
    let first = format!("the hook `{}` at {} blocked{said}  [hook_blocked]", hook.id, hook.event);
    match lines.first_mut() {
        Some(line) => *line = first,
        None => lines.push(first),
    }
    lines
}

fn prefixed(prefix: &str, check: &CheckReport) -> Vec<String> {
    let mut lines = block(&check.reason);
    let code = check.code.as_ref().map_or(String::new(), |code| format!("  [{code}]"));
    match lines.first_mut() {
        Some(first) => *first = format!("{prefix}{first}{code}"),
        None => lines.push(format!("{prefix}{}", code.trim_start())),
    }
    lines
}

fn unverified(report: &Report) -> &'static str {
    if report.checks.is_empty() {
        "nothing checked this result"
    } else if proving_nothing(report).next().is_some() {
        "nothing that checked this result could tell it from no work at all"
    } else {
        "no check applied to this result"
    }
}

pub(super) fn last(report: &Report) -> Option<&AttemptReport> {
    report.history.last()
}

pub(super) fn deciding<'a>(report: &'a Report, verdict: &str) -> Option<&'a CheckReport> {
    last(report)?.checks.iter().find(|check| check.verdict == verdict)
}

/// The check that shut the gate: the first that is as bad as the merged verdict.
pub(super) fn rejecting(attempt: &AttemptReport) -> Option<&CheckReport> {
    let as_bad = |check: &&CheckReport| match attempt.verdict {
        Judgement::Pass => false,
        Judgement::Fail => check.verdict == "fail" || check.code.as_ref() == Some(&attempt.code),
        verdict => check.verdict == verdict.as_str(),
    };
    attempt.checks.iter().find(as_bad)
}

pub(super) fn proving_nothing(report: &Report) -> impl Iterator<Item = &CheckReport> {
    let proves_nothing =
        |check: &&CheckReport| check.verdict == "pass" && check.discriminating == Some(false);
    report.checks.iter().filter(proves_nothing)
}

/// A name as an argument of a shell.
pub(super) fn name(who: &str) -> String {
    let who = line(who);
    shlex::try_quote(&who).map_or_else(|_| "NAME".to_owned(), std::borrow::Cow::into_owned)
}
