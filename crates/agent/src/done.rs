//! What a run came to.

use probity_core::{Claim, Code, Outcome, RunId};
use serde_json::Value;

use crate::verification::{LedgerEntry, VerificationState};

/// A run that ended with a result.
#[derive(Debug, Clone, PartialEq)]
pub struct Done<R> {
    /// The result: what the verifier returned, or the output where there is no verifier.
    pub result: R,
    /// The output as the model handed it in, in the form that was hashed; null for an agent without a
    /// declared output.
    pub output: Value,
    /// The run.
    pub run: RunId,
    /// [`Outcome::Verified`], or [`Outcome::Unverified`] where nothing checked it.
    pub outcome: Outcome,
    /// How verification stands.
    pub verification: VerificationState,
    /// The verdicts, oldest first.
    pub ledger: Vec<LedgerEntry>,
}

/// A run that ended without a result. Everything is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct NotDone {
    /// The run.
    pub run: RunId,
    /// How it ended: `exhausted`, `rejected`, `inconclusive`, `faulted`, `delegate_failed` or
    /// `cancelled`.
    pub outcome: Outcome,
    /// Why, in one word: the budget that is used up, the code of the rejection, what broke.
    pub code: Code,
    /// Why, in words, oldest first: what each verdict said, then what broke.
    pub reasons: Vec<String>,
    /// The last claim.
    pub last_claim: Option<Claim>,
    /// How verification stands.
    pub verification: VerificationState,
    /// The verdicts, oldest first.
    pub ledger: Vec<LedgerEntry>,
}

impl<R> Done<R> {
    /// The same with another result.
    pub(crate) fn map<S, E>(self, convert: impl FnOnce(R) -> Result<S, E>) -> Result<Done<S>, E> {
        let Self { result, output, run, outcome, verification, ledger } = self;
        Ok(Done { result: convert(result)?, output, run, outcome, verification, ledger })
    }
}

impl std::fmt::Display for NotDone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { run, outcome, code, reasons, verification, .. } = self;
        let (used, max) = (verification.attempts_used, verification.max_attempts);
        write!(f, "run `{run}` ended {outcome} ({code}) after {used} of {max} attempts")?;
        match reasons.last() {
            Some(reason) => write!(f, ": {reason}"),
            None => Ok(()),
        }
    }
}
