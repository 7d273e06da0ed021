//! Whether a run's work may be merged.

use probity_core::{Digest, Outcome};

use super::Standing;

/// The answer to "may I merge this?".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merge {
    /// Whether.
    pub may: bool,
    /// Why, in one word: `verified` or `waived` where it may; else `not_sealed`, `candidate_differs`,
    /// `candidate_unknown`, `stale`, or the outcome.
    pub why: &'static str,
}

/// Yes only for what a sealed run verified, or what a named human answers for; and only for the candidate
/// that is asked about, and for a world that is not known to have moved.
#[must_use]
pub fn may_merge(standing: &Standing, asked: Option<Digest>, is_stale: Option<bool>) -> Merge {
    let no = |why| Merge { may: false, why };
    let Some(outcome) = standing.outcome.filter(|_| standing.is_sealed) else {
        return no("not_sealed");
    };
    let Some(candidate) = standing.candidate else {
        return no(if outcome == Outcome::Verified || asked.is_some() {
            "candidate_unknown"
        } else {
            outcome.as_str()
        });
    };
    if asked.is_some_and(|asked| asked != candidate) {
        return no("candidate_differs");
    }
    if is_stale == Some(true) {
        return no("stale");
    }
    match outcome {
        Outcome::Verified => Merge { may: true, why: "verified" },
        _ if standing.waiver.is_some() => Merge { may: true, why: "waived" },
        outcome => no(outcome.as_str()),
    }
}
