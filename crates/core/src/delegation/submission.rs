//! A claim at work, and what is kept of it once it is judged.

use crate::accounting::WorkMarker;
use crate::{CheckIndex, Code, Digest, Finding, Judgement, Rewrite, SubmissionId, Turn};

/// One reading of the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct World {
    /// Digest of the workspace's manifest.
    pub manifest: Digest,
    /// Digest of the judge's manifest.
    pub judge: Digest,
}

/// The claim at work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Submission {
    pub(crate) turn: Turn,
    pub(crate) id: SubmissionId,
    pub(crate) candidate: Digest,
    pub(crate) claim: Digest,
    pub(crate) steps: u64,
    pub(crate) world: Option<World>,
    /// When the world was read, or the resumption that found the checks unsettled: the start of the
    /// verify stage.
    pub(crate) observed_ms: u64,
    pub(crate) tampered: bool,
    pub(crate) progress: Vec<Progress>,
}

/// A claim as someone sees it: the delegate's, or what hooks made of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Presented {
    /// Hash of its canonical form.
    pub candidate: Digest,
    /// Blob of it.
    pub claim: Digest,
}

/// How far one check of a submission is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) tries: u32,
    /// Start of the first try, or of the resumption that found it unsettled.
    pub(crate) since_ms: u64,
    /// Start of the try in flight, or of the resumption that found it unsettled.
    pub(crate) started_ms: u64,
    pub(crate) finished_ms: u64,
    pub(crate) elapsed_ms: u64,
    pub(crate) finding: Option<Finding>,
    pub(crate) rewrite: Option<Rewrite>,
}

/// A turn with its verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedTurn {
    /// The turn.
    pub turn: Turn,
    /// The submission.
    pub submission: SubmissionId,
    /// Hash of the claim's canonical form.
    pub candidate: Digest,
    /// Blob of the claim.
    pub claim: Digest,
    /// What the rewrites of verification hooks made of the claim: that is what was verified.
    pub verified: Presented,
    /// The merged verdict.
    pub judgement: Judgement,
    /// Why, in one word.
    pub code: Code,
    /// Whether it was charged as an attempt.
    pub counted: bool,
    /// The workspace that the verdict is about.
    pub world: Option<World>,
    /// The findings by check, in order; `None` for a check that was not run.
    pub findings: Vec<Option<Finding>>,
    /// Wall time by check, in milliseconds, in order; of the last try.
    pub elapsed_ms: Vec<u64>,
}

impl Submission {
    /// A claim that was just received, and nothing known of it yet.
    pub(crate) fn new(
        turn: Turn,
        id: SubmissionId,
        Presented { candidate, claim }: Presented,
        steps: u64,
        observed_ms: u64,
        checks: usize,
    ) -> Self {
        Self {
            turn,
            id,
            candidate,
            claim,
            steps,
            world: None,
            observed_ms,
            tampered: false,
            progress: vec![Progress::default(); checks],
        }
    }

    pub(crate) fn work(&self) -> WorkMarker {
        let workspace = self.world.map_or(self.candidate, |world| world.manifest);
        WorkMarker { steps: self.steps, workspace }
    }

    /// The claim as the checks up to one made it: what that check sees.
    pub(crate) fn seen_by(&self, check: CheckIndex) -> Presented {
        let before = self.progress.iter().take(check.as_usize());
        let last = before.filter_map(|progress| progress.rewrite).next_back();
        last.map_or(
            Presented { candidate: self.candidate, claim: self.claim },
            |Rewrite { candidate, claim, .. }| Presented { candidate, claim },
        )
    }

    /// The claim as all checks made it.
    pub(crate) fn presented(&self) -> Presented {
        self.seen_by(CheckIndex::of(self.progress.len()))
    }
}
