//! What a delegation is opened with.

use std::collections::BTreeSet;

use crate::policy::{MAX_CHECK_MS, MAX_WALL_MS, PolicyError};
use crate::{CheckDecl, Code, HookDecl, Policy, RunId, Subject, Terms};

/// The most checks and hooks a delegation may have, each.
pub const MAX_CHECKS: usize = 1000;

/// The bounds, the checks, the hooks and the terms of a run. Recorded in its first event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charter {
    /// The bounds.
    pub policy: Policy,
    /// The checks, in order of evaluation: those of the world and the claim, then hooks, then humans.
    pub checks: Vec<CheckDecl>,
    /// The hooks that are called by themselves, in order.
    pub hooks: Vec<HookDecl>,
    /// The terms of the decision, where the run is one under an envelope.
    pub terms: Option<Terms>,
    /// The run that waits for this one, if one does.
    pub parent: Option<RunId>,
}

/// The delegation cannot be opened as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A bound of the policy or of the terms.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The run waits for itself.
    #[error("run `{run}` cannot be its own parent")]
    OwnParent {
        /// The run.
        run: RunId,
    },
    /// Two checks or hooks share a name.
    #[error("two checks or hooks are called `{id}`; give one of them another id")]
    DuplicateCheck {
        /// The name.
        id: Code,
    },
    /// More checks or hooks than a run may have.
    #[error("a delegation has at most {max} checks and as many hooks, got {got}")]
    TooManyChecks {
        /// The bound.
        max: usize,
        /// How many there were.
        got: usize,
    },
    /// The time of a check or hook is out of range.
    #[error("`{id}` must have a timeout of 1 to {max_ms} ms, got {timeout_ms}")]
    CheckTimeout {
        /// The check.
        id: Code,
        /// What was asked for.
        timeout_ms: u64,
        /// The bound for its kind.
        max_ms: u64,
    },
    /// A check stands before one that is evaluated earlier.
    #[error("check `{id}` stands too late: hooks come behind checks, humans come last")]
    Order {
        /// The check.
        id: Code,
    },
}

impl Charter {
    /// Bounds and checks, without hooks and terms.
    #[must_use]
    pub const fn new(policy: Policy, checks: Vec<CheckDecl>) -> Self {
        Self { policy, checks, hooks: Vec::new(), terms: None, parent: None }
    }

    /// Checks every bound, the names and the order.
    ///
    /// # Errors
    /// [`OpenError`] naming the first thing that is wrong.
    pub fn validate(&self) -> Result<(), OpenError> {
        self.policy.validate()?;
        if let Some(terms) = &self.terms {
            terms.validate()?;
        }
        let got = self.checks.len().max(self.hooks.len());
        if got > MAX_CHECKS {
            return Err(OpenError::TooManyChecks { max: MAX_CHECKS, got });
        }
        let checks = self.checks.iter().map(|check| {
            let is_human = check.subject == Subject::Human;
            (&check.id, check.timeout_ms, if is_human { MAX_WALL_MS } else { MAX_CHECK_MS })
        });
        let hooks = self.hooks.iter().map(|hook| (&hook.id, hook.timeout_ms, MAX_CHECK_MS));
        let mut seen = BTreeSet::new();
        for (id, timeout_ms, max_ms) in checks.chain(hooks) {
            if !seen.insert(id) {
                return Err(OpenError::DuplicateCheck { id: id.clone() });
            }
            if !(1..=max_ms).contains(&timeout_ms) {
                return Err(OpenError::CheckTimeout { id: id.clone(), timeout_ms, max_ms });
            }
        }
        let mut pairs = self.checks.iter().zip(self.checks.iter().skip(1));
        match pairs.find(|(one, next)| one.subject.rank() > next.subject.rank()) {
            Some((_, late)) => Err(OpenError::Order { id: late.id.clone() }),
            None => Ok(()),
        }
    }
}
