//! What a verifier is given: the claim, the world, the bounds. Time and ids are in it, so that a
//! verifier needs no clock and no randomness of its own.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use probity_core::{Claim, Code, Phase, SubmissionId};
use tokio_util::sync::CancellationToken;

use crate::snapshot::Manifest;

/// The input of one run of one check.
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
    /// Root of the workspace: absolute, and the only place paths may lead to.
    pub workspace: Arc<Path>,
    /// The workspace before the delegate started.
    pub before: Arc<Manifest>,
    /// The workspace as it was read after the claim; equal to `before` in the red run.
    pub after: Arc<Manifest>,
    /// When the run started: what `newer_than=run-start` compares with.
    pub run_started: SystemTime,
    /// Time left for this try. A verifier that reaches it answers `inconclusive` if ground truth
    /// was slow, or faults if it was slow itself.
    pub timeout: Duration,
    /// Cancelled when the run is: the verifier stops and whatever it started is killed.
    pub cancel: CancellationToken,
}
