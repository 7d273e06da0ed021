//! From what a run came to, to what the agent and its user are told.

use probity_core::Outcome;
use probity_engine::{CheckReport, Report};
use probity_harness::{
    Answer, Tally, Unchecked, exhausted, not_accepted, nothing_checked, refused, unchecked,
    unchecked_and_released, waits_for_human,
};

use super::outside::Said;

/// The code of a run whose attempts are used up, and not another of its budgets.
const ATTEMPTS: &str = "attempts";
/// The code of a run in which the judge's files were changed.
const TAMPERED: &str = "judge_tampered";

/// Whether the bounds of a run that ended so go on in the next one: the agent may have been held by it.
pub(super) const fn may_go_on(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Inconclusive | Outcome::Faulted | Outcome::Rejected)
}

/// There is nothing that says what to check.
pub(super) fn no_project() -> Answer {
    Answer::Note(nothing_checked(
        "there is no `.probity` folder here or above; make one with `probity init`",
    ))
}

/// What is said of a claim, once its run waits for the next one or has ended.
pub(super) fn answer(report: &Report, said: Option<&Said>, choice: Unchecked) -> Answer {
    let run = report.run_id.as_str();
    let tally = Tally {
        run,
        claim: said.map_or(1, |said| said.refused + 1),
        allowed: said.map_or(report.max_attempts, |said| said.allowed.max(1)),
    };
    let code = report.code.as_ref().map_or("", |code| code.as_str());
    match report.outcome {
        Some(Outcome::Verified) => Answer::Allow,
        Some(Outcome::Unverified) => Answer::Note(nothing_checked(
            "no check of this project applies; add some to `.probity/probity.toml`",
        )),
        Some(Outcome::Escalated) => match &report.question {
            Some(correction) => Answer::Block(refused(&tally, correction)),
            None => Answer::Note(waits_for_human(run)),
        },
        Some(Outcome::Exhausted) if code == ATTEMPTS => {
            Answer::Note(exhausted(&tally, &why(report)))
        }
        Some(Outcome::Rejected) if code == TAMPERED => not_known(&tally, report, Unchecked::Block),
        Some(Outcome::Inconclusive | Outcome::Faulted) if is_tampering(report) => {
            not_known(&tally, report, Unchecked::Block)
        }
        Some(Outcome::Inconclusive | Outcome::Faulted) => not_known(&tally, report, choice),
        Some(outcome) => Answer::Note(not_accepted(run, outcome.as_str(), &why(report))),
        None => not_known(&tally, report, choice),
    }
}

fn not_known(tally: &Tally<'_>, report: &Report, choice: Unchecked) -> Answer {
    match choice == Unchecked::Block && tally.claim < tally.allowed {
        true => Answer::Block(unchecked(Some(tally), &why(report))),
        false => Answer::Note(unchecked_and_released(Some(tally), &why(report))),
    }
}

fn is_tampering(report: &Report) -> bool {
    report.checks.iter().any(|check| check.code.as_ref().is_some_and(|it| it.as_str() == TAMPERED))
}

/// Every reason that decided, with the check that gave it.
fn why(report: &Report) -> String {
    if let Some(reason) = &report.reason {
        return reason.clone();
    }
    let last = report.history.last();
    let checks = last.map_or(report.checks.as_slice(), |last| &last.checks);
    let deciding = last.map_or("fault", |last| last.verdict.as_str());
    let decided = |check: &&CheckReport| check.verdict == deciding;
    let mut lines: Vec<String> = checks.iter().filter(decided).map(line).collect();
    lines.extend(report.failure.clone());
    if lines.is_empty() {
        lines.extend(report.code.as_ref().map(ToString::to_string));
    }
    lines.join("\n")
}

fn line(check: &CheckReport) -> String {
    let code = check.code.as_ref().map_or(String::new(), |code| format!(" [{code}]"));
    format!("{}: {}{code}", check.id, check.reason.trim())
}
