//! What a verifier is given: the claim, the world, the bounds. Time and ids are in it, so that a
//! verifier needs no clock and no randomness of its own.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use probity_core::{Claim, Code, Phase, SubmissionId};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::changes::Changes;
use crate::manifest::Manifest;
use crate::snapshot::SnapshotRules;
use crate::workspace::Workspace;

/// The input of one run of one check. Made by [`CheckContext::new`]; the fields are then set.
#[derive(Debug, Clone)]
pub struct CheckContext {
    /// The check's name in records.
    pub check: Code,
    /// Before the delegate (the red run), or on a claim.
    pub phase: Phase,
    /// The submission under judgement; `None` in the red run. The same id is seen again when an
    /// interrupted check is run again.
    pub submission: Option<SubmissionId>,
    /// True when an earlier run of this check on this submission was interrupted.
    pub is_replay: bool,
    /// 1-based attempt; 0 in the red run.
    pub attempt: u32,
    /// The delegation's task.
    pub task: Arc<str>,
    /// What the delegate claims; empty in the red run.
    pub claim: Arc<Claim>,
    /// The decision under way, as seed 001's verifiers see it: `decisionType`, `actor`, `action` (the
    /// first of `actions`), `actions`, `context`, `plan`. Null outside an envelope.
    pub decision: Arc<Value>,
    /// The workspace: the only place paths may lead to.
    pub workspace: Arc<Workspace>,
    /// The workspace before the delegate started.
    pub before: Arc<Manifest>,
    /// The workspace as it was read after the claim; equal to `before` in the red run.
    pub after: Arc<Manifest>,
    /// What the two snapshots leave out.
    pub rules: Arc<SnapshotRules>,
    /// When the run started: what `newer_than=run-start` compares with.
    pub run_started: SystemTime,
    /// Time left for this try. A verifier that reaches it answers `inconclusive` if ground truth
    /// was slow, or faults if it was slow itself.
    pub timeout: Duration,
    /// Cancelled when the run is: the verifier stops and whatever it started is killed.
    pub cancel: CancellationToken,
    /// Shared by the clones that the checks of one attempt get, so that it is worked out once.
    changes: Arc<Mutex<Option<Compared>>>,
}

/// The changes, with the two manifests they belong to.
#[derive(Debug)]
struct Compared {
    before: Arc<Manifest>,
    after: Arc<Manifest>,
    changes: Arc<Changes>,
}

impl CheckContext {
    /// The context of a red run: phase `Before`, attempt 0, no submission, an empty task and claim,
    /// `after` equal to `before`, the default rules, `run_started` the epoch, a timeout of 30 s, a fresh token.
    #[must_use]
    pub fn new(check: Code, workspace: Arc<Workspace>, before: Arc<Manifest>) -> Self {
        Self {
            check,
            phase: Phase::Before,
            submission: None,
            is_replay: false,
            attempt: 0,
            task: "".into(),
            claim: Arc::new(Claim::default()),
            decision: Arc::new(Value::Null),
            workspace,
            after: Arc::clone(&before),
            before,
            rules: Arc::default(),
            run_started: SystemTime::UNIX_EPOCH,
            timeout: Duration::from_secs(30),
            cancel: CancellationToken::new(),
            changes: Arc::default(),
        }
    }

    /// What differs between `before` and `after`; worked out once for a context and its clones, as
    /// long as they hold the same two manifests.
    #[must_use]
    pub fn changes(&self) -> Arc<Changes> {
        let mut compared = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = compared.as_ref()
            && Arc::ptr_eq(&known.before, &self.before)
            && Arc::ptr_eq(&known.after, &self.after)
        {
            return Arc::clone(&known.changes);
        }
        let changes = Arc::new(Changes::between(&self.before, &self.after));
        *compared = Some(Compared {
            before: Arc::clone(&self.before),
            after: Arc::clone(&self.after),
            changes: Arc::clone(&changes),
        });
        changes
    }
}
