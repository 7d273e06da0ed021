//! Everything a run needs that is not in its log.

use std::sync::Arc;
use std::time::Duration;

use probity_core::{CheckDecl, Delegation, Policy, RunId};
use probity_delegate::Delegate;
use probity_record::blob_digest;
use probity_verifier::{Facts, JudgeFiles, SnapshotRules, Verifier, Workspace};

use crate::EngineError;

/// One run, ready to be driven. The same plan is needed to take an interrupted run up again.
#[derive(Clone)]
pub struct Plan {
    /// The run's name, unique in its store.
    pub run: RunId,
    /// The request as bytes. Kept as a blob; its digest is in the first event, so that a run cannot
    /// be taken up with another request.
    pub request: Vec<u8>,
    /// The task as the delegate is given it.
    pub task: Arc<str>,
    /// The bounds.
    pub policy: Policy,
    /// The checks, in order of evaluation.
    pub checks: Vec<Check>,
    /// Who does the work.
    pub delegate: Arc<dyn Delegate>,
    /// Where the work is done and looked at.
    pub workspace: Arc<Workspace>,
    /// What of it is read, and how much at most.
    pub snapshot: SnapshotRules,
    /// What else is read with it.
    pub facts: Arc<dyn Facts>,
    /// The files that must stay as they are: what the checks are made of.
    pub judge: Arc<JudgeFiles>,
    /// Wall time of one attempt; `None` leaves it to the run's own bound.
    pub attempt_timeout: Option<Duration>,
}

/// A check: what the machine knows of it, and the code that does it.
#[derive(Clone)]
pub struct Check {
    /// Name, subject, time.
    pub decl: CheckDecl,
    /// The verifier.
    pub verifier: Arc<dyn Verifier>,
}

impl Plan {
    /// Whether a run that was opened earlier was opened with this plan.
    pub(crate) fn check(&self, machine: &Delegation) -> Result<(), EngineError> {
        let differs = |what| EngineError::PlanDiffers { run: self.run.clone(), what };
        if blob_digest(&self.request) != machine.request() {
            return Err(differs("a request"));
        }
        if self.decls() != machine.checks() {
            return Err(differs("checks"));
        }
        Ok(())
    }

    pub(crate) fn decls(&self) -> Vec<CheckDecl> {
        self.checks.iter().map(|check| check.decl.clone()).collect()
    }
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plan")
            .field("run", &self.run)
            .field("task", &self.task)
            .field("policy", &self.policy)
            .field("checks", &self.decls())
            .field("delegate", &self.delegate.describe())
            .finish_non_exhaustive()
    }
}
