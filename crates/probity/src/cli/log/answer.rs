//! `probity log answer`: what a human says to a run that waits.

use std::sync::Arc;

use probity_core::{Answer, Outcome, Refusal, RunId, Stage, SubmissionId};
use probity_engine::{Approval, EngineError, Report};

use super::{open_existing, resolve_run};
use crate::cli::CliError;
use crate::cli::args::{AnswerArgs, AnswerWords, CheckingArgs};
use crate::cli::present::{self, Asked, Asks, Kept, wants_approval};
use crate::cli::progress::awaited;
use crate::cli::run::{Entry, drive, recorded, require_name, store_url};
use crate::location::Programs;

/// Answers a run that waits, and drives it on.
///
/// # Errors
/// [`CliError`] if there is no such run, it does not wait, it waits for another answer or for
/// somebody else, or it cannot be driven on.
pub(super) async fn answer(args: &AnswerArgs, programs: &Programs) -> Result<u8, CliError> {
    require_name(&args.by)?;
    let store = open_existing(&args.store).await?;
    let run = resolve_run(store.as_ref(), &args.run).await?;
    let report = Report::read(store.as_ref(), &run).await?;
    if let Some(why) = not_waiting(&report) {
        return Err(CliError::Answer(why));
    }
    let prepared = recorded(store.as_ref(), run.clone(), programs).await?;
    let asked = Asked::of(&prepared.plan);
    let is_asked = report.asked_about.is_some();
    let entry = match &report.asked_about {
        Some(asked_about) => {
            let words = &args.words;
            let approval = approval(words, &args.by, &run, asked.by(&report))?;
            Entry::Approve(args.by.clone(), about(words, asked_about)?, approval)
        }
        None => Entry::Answer(args.by.clone(), decision(&args.words, &report)?),
    };
    let checking = CheckingArgs {
        allow_unverified: args.allow_unverified,
        ..CheckingArgs::printing(args.json)
    };
    let kept = Kept::by(&store_url(&args.store)?);
    match drive(Arc::clone(&store), prepared, entry, &checking, kept.clone()).await {
        Err(CliError::Late { .. }) if is_asked => {
            present::warn(&format!(
                "{} did not answer in time, so the answer was not taken; run {run} goes on without \
                 it  [human_timeout]",
                args.by
            ));
            let prepared = recorded(store.as_ref(), run, programs).await?;
            drive(store, prepared, Entry::Resume, &checking, kept).await
        }
        ended => ended,
    }
}

/// Why a run does not take an answer, in the words of whoever gave it.
pub(in crate::cli) fn refused(run: &RunId, error: EngineError) -> CliError {
    let stage = match error {
        EngineError::Answer(Refusal::NotNow { stage, .. }) => stage,
        EngineError::Answer(Refusal::Ended { outcome }) => Stage::Sealed { outcome },
        error => return error.into(),
    };
    match stage {
        Stage::Awaiting { .. } => CliError::Late { run: run.clone() },
        Stage::Escalated { .. } => CliError::Answer(format!(
            "run {run} is escalated and waits on no human check; see `probity log show {run}` for \
             what it takes"
        )),
        Stage::Parked { until_ms, .. } => CliError::Answer(format!(
            "the delegate of run {run} waits {}; it takes no decision of this kind",
            awaited(until_ms)
        )),
        stage => CliError::Answer(match stage.outcome() {
            Some(outcome) => ended(run, outcome),
            None => interrupted(run),
        }),
    }
}

fn ended(run: &RunId, outcome: Outcome) -> String {
    format!("run {run} has ended {outcome}; it waits for nobody")
}

fn interrupted(run: &RunId) -> String {
    format!(
        "run {run} waits for nobody: it was interrupted, or another process drives it; take it up \
         with `probity run --resume {run}`"
    )
}

/// Why a run takes no answer of a human, if it takes none.
pub(in crate::cli) fn not_waiting(report: &Report) -> Option<String> {
    let run = &report.run_id;
    match report.outcome {
        Some(Outcome::Escalated) if report.seal.is_none() => None,
        Some(outcome) => Some(ended(run, outcome)),
        None => Some(interrupted(run)),
    }
}

/// The submission that was answered: the one that was named, or the one that waits now.
pub(in crate::cli) fn about(
    args: &AnswerWords,
    asked_about: &SubmissionId,
) -> Result<SubmissionId, CliError> {
    match &args.claim {
        None => Ok(asked_about.clone()),
        Some(claim) => claim.parse().map_err(|_| {
            CliError::Usage(format!("--claim must name a submission, such as {asked_about}"))
        }),
    }
}

/// The answer to a human check.
pub(in crate::cli) fn approval(
    args: &AnswerWords,
    by: &str,
    run: &RunId,
    asks: Option<&Asks>,
) -> Result<Approval, CliError> {
    let asked = asks.map_or_else(
        || format!("run {run} waits on a human check"),
        |asks| format!("run {run} asks {}: {}", asks.who, asks.question()),
    );
    if let Some(asks) = asks.filter(|asks| asks.who != by) {
        return Err(CliError::NotAsked { asked, who: asks.who.clone(), by: by.to_owned() });
    }
    if args.approve {
        return Ok(Approval::Approve);
    }
    let reason = |text: &str| match text.trim() {
        "" => format!("rejected by {by}"),
        text => text.to_owned(),
    };
    match (&args.revise, &args.reject) {
        (Some(why), _) if why.trim().is_empty() => Err(CliError::Usage(
            "--revise must say what is wrong: the delegate is told so".to_owned(),
        )),
        (Some(why), _) => Ok(Approval::Revise { reason: why.clone() }),
        (None, Some(why)) => Ok(Approval::Reject { reason: reason(why) }),
        (None, None) => Err(CliError::Answer(format!(
            "{asked} It takes --approve, --revise REASON or --reject [REASON]; --waive and \
             --continue are for escalated runs"
        ))),
    }
}

/// The answer to an escalation.
pub(in crate::cli) fn decision(args: &AnswerWords, report: &Report) -> Result<Answer, CliError> {
    let run = &report.run_id;
    let wants_approval = wants_approval(report);
    if args.waive {
        return Ok(Answer::Waive);
    }
    if args.approve && wants_approval {
        // The delegate has not been started; with leave to act it is.
        return Ok(Answer::Continue { attempts: 1 });
    }
    if let Some(attempts) = args.attempts {
        return Ok(Answer::Continue { attempts });
    }
    match args.reject.as_deref().map(str::trim) {
        Some("") => Ok(Answer::Reject),
        Some(_) => Err(CliError::Answer(format!(
            "run {run} is escalated and keeps no reason; write --reject alone"
        ))),
        None if wants_approval => Err(CliError::Answer(format!(
            "run {run} is escalated and asks for leave to act; it takes --approve, --continue N or \
             --reject"
        ))),
        None => Err(CliError::Answer(format!(
            "run {run} is escalated and waits on no human check; it takes --waive, --continue N or \
             --reject"
        ))),
    }
}
