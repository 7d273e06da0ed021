//! The machine alone: inputs in, effects out.

use std::hint::black_box;

use probity::core::{
    Charter, CheckDecl, Code, Delegation, Digest, Effect, Entry, Finding, Handled, Input, Outcome,
    Phase, Policy, RunId, Stage, Subject, SubmissionId, Usage, VerdictKind,
};

use super::{Work, wrong};
use crate::error::BenchError;

const ATTEMPTS: u32 = 10;
const OPENED_AT_MS: u64 = 1_790_000_000_000;

pub(super) fn run() -> Result<Work, BenchError> {
    Ok(Box::new(|| black_box(ten_attempts()).map(drop)))
}

pub(super) fn replay() -> Result<Work, BenchError> {
    let log = ten_attempts()?;
    Ok(Box::new(move || {
        let machine = Delegation::replay(black_box(&log)).map_err(wrong)?;
        match machine.stage() {
            Stage::Sealed { outcome: Outcome::Verified } => Ok(()),
            other => Err(wrong(format!("the run is {other:?}"))),
        }
    }))
}

/// The log of a run with three checks; the first attempt that passes all of them is the tenth.
pub(super) fn ten_attempts() -> Result<Vec<Entry>, BenchError> {
    let run: RunId = "run-1".parse()?;
    let policy = Policy { max_attempts: ATTEMPTS, ..Policy::default() };
    let check = |id: &str, subject| -> Result<CheckDecl, BenchError> {
        Ok(CheckDecl { id: id.parse()?, subject, timeout_ms: 10_000 })
    };
    let checks = vec![
        check("out_exists", Subject::World)?,
        check("says_done", Subject::Claim)?,
        check("tests_pass", Subject::World)?,
    ];
    let mut now_ms = OPENED_AT_MS;
    let charter = Charter::new(policy, checks);
    let mut machine = Delegation::open(now_ms, run, digest(1), charter).map_err(wrong)?;
    let mut log = Vec::new();
    while let Some(effect) = machine.poll_effect() {
        now_ms += 7;
        let input = match effect {
            Effect::Append(entries) => {
                log.extend(entries);
                continue;
            }
            Effect::Seal(entry) => {
                log.push(entry);
                Input::Sealed
            }
            effect => match answer(effect)? {
                Some(input) => input,
                None => continue,
            },
        };
        let handled = machine.handle(now_ms, input).map_err(wrong)?;
        if handled != Handled::Accepted {
            return Err(wrong(format!("the machine took an input for {handled:?}")));
        }
    }
    match machine.stage() {
        Stage::Sealed { outcome: Outcome::Verified } if machine.attempts() == ATTEMPTS => Ok(log),
        other => Err(wrong(format!("the run is {other:?} after {}", machine.attempts()))),
    }
}

/// What the world says to an effect.
fn answer(effect: Effect) -> Result<Option<Input>, BenchError> {
    Ok(Some(match effect {
        Effect::Snapshot { phase } => {
            Input::Observed { phase, manifest: digest(10), judge: digest(200) }
        }
        Effect::RunCheck { phase, check, attempt, .. } => {
            let is_met = attempt == ATTEMPTS || (phase != Phase::Before && check.0 == 1);
            Input::CheckFinished {
                check,
                finding: finding(is_met),
                judge: Some(digest(200)),
                elapsed_ms: 3,
                rewrite: None,
            }
        }
        Effect::Dispatch { turn, attempt, .. } => {
            let candidate = u8::try_from(attempt).unwrap_or(u8::MAX);
            let submission: SubmissionId = format!("s-{attempt}").parse()?;
            Input::Claimed {
                turn,
                submission,
                candidate: digest(candidate),
                claim: digest(candidate + 100),
                work: u64::from(attempt),
                usage: Usage::default(),
            }
        }
        Effect::Commit { .. } | Effect::Reject { .. } => return Ok(None),
        other => return Err(wrong(format!("nothing answers {other:?}"))),
    }))
}

fn finding(is_met: bool) -> Finding {
    let (verdict, code, reason) = match is_met {
        true => (VerdictKind::Pass, "ok", None),
        false => (VerdictKind::Revise, "file_missing", Some(digest(77))),
    };
    Finding::Verdict {
        verdict,
        code: Code::slug(code),
        reason,
        criteria: vec![],
        confidence_bp: None,
        evidence: None,
        metadata: None,
        output: None,
    }
}

const fn digest(byte: u8) -> Digest {
    Digest::from_bytes([byte; 32])
}
