//! The bounds and choices under which a delegation runs. Every bound has a unit, a default, a range.

use serde::{Deserialize, Serialize};

use crate::strict::no_fields;

/// The hard cap on attempts, whatever a request asks for.
pub const MAX_ATTEMPTS: u32 = 100;
/// Retries when the request names none.
pub const DEFAULT_MAX_VERIFY_RETRIES: u32 = 2;
/// The longest wall time of anything, in milliseconds: 30 days.
pub const MAX_WALL_MS: u64 = 30 * 24 * 3_600_000;
/// The longest wall time of one check, in milliseconds: one hour.
pub const MAX_CHECK_MS: u64 = 3_600_000;

/// What holds for the whole run. Recorded in its first event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Claims that may be checked and found wanting before the run is exhausted: retries + 1.
    /// 1 to [`MAX_ATTEMPTS`].
    pub max_attempts: u32,
    /// How submissions become attempts.
    pub counting: Counting,
    /// Crashes, restarts and lost leases that a run survives. Never mixed with attempts. 0 to 1000.
    pub max_interruptions: u32,
    /// Tries of one check whose ground truth is out of reach, the first included. 1 to 100.
    pub max_verify_tries: u32,
    /// Wait before the second try of a check; doubles per try, capped at [`Policy::MAX_BACKOFF_MS`].
    /// 1 ms to 60 s.
    pub verify_backoff_ms: u64,
    /// Wall time of the run, all attempts and checks included. `None`: unbounded by the run itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
    /// Model tokens across all attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Tool calls across all attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tool_calls: Option<u64>,
    /// What a check that passes before the delegate starts means.
    pub red_first: RedFirst,
    /// What follows a `fail` verdict.
    pub on_fail: OnFailure,
    /// What follows an exhausted budget.
    pub on_exhausted: OnFailure,
}

/// How submissions become attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "snake_case", deny_unknown_fields)]
pub enum Counting {
    /// Every checked submission counts.
    #[serde(deserialize_with = "no_fields")]
    EverySubmission,
    /// Only a new candidate counts (seed 003), with guards so that the run always ends.
    ByCandidate {
        /// An unchanged candidate counts if work was done since its rejection. `false` is the
        /// letter of seed 003; then only the belts bound such a run.
        count_after_work: bool,
        /// Rejections of the same candidate in a row, the counted one not included, that end the
        /// run. 1 to 100.
        max_identical: u32,
        /// Rejections of any kind that end the run. 1 to 1000.
        max_rejections: u32,
        /// Answer an unchanged candidate from the record instead of running the checks again, so
        /// that a flaky verifier gives no free second draw.
        reuse_rejection: bool,
    },
}

/// What a check that passes before the delegate starts means for the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RedFirst {
    /// Report it.
    Warn,
    /// Report it, and take its later pass for no check at all: a run whose only passes are
    /// non-discriminating is unverified.
    Require,
    /// Do not run checks before the delegate.
    Off,
}

/// What follows when the delegate did not get there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// End the run.
    Reject,
    /// Wait for a named human.
    Escalate,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            max_attempts: DEFAULT_MAX_VERIFY_RETRIES + 1,
            counting: Counting::EverySubmission,
            max_interruptions: 10,
            max_verify_tries: 4,
            verify_backoff_ms: 200,
            wall_ms: None,
            max_tokens: None,
            max_tool_calls: None,
            red_first: RedFirst::Warn,
            on_fail: OnFailure::Reject,
            on_exhausted: OnFailure::Reject,
        }
    }
}

impl Policy {
    /// The longest wait between two tries of a check, in milliseconds.
    pub const MAX_BACKOFF_MS: u64 = 10_000;

    /// Attempts for an optional number of retries, as a request states it: absent means
    /// [`DEFAULT_MAX_VERIFY_RETRIES`], 0 means verify once.
    ///
    /// # Errors
    /// [`PolicyError::Retries`] if the number is negative or above [`MAX_ATTEMPTS`] − 1.
    pub fn attempts_for_retries(retries: Option<i64>) -> Result<u32, PolicyError> {
        let Some(retries) = retries else {
            return Ok(DEFAULT_MAX_VERIFY_RETRIES + 1);
        };
        u32::try_from(retries)
            .ok()
            .filter(|retries| *retries < MAX_ATTEMPTS)
            .map(|retries| retries + 1)
            .ok_or(PolicyError::Retries { retries })
    }

    /// Checks every bound.
    ///
    /// # Errors
    /// [`PolicyError::Bound`] naming the first field out of its range.
    pub fn validate(&self) -> Result<(), PolicyError> {
        bound("max_attempts", self.max_attempts.into(), 1, MAX_ATTEMPTS.into())?;
        bound("max_interruptions", self.max_interruptions.into(), 0, 1000)?;
        bound("max_verify_tries", self.max_verify_tries.into(), 1, 100)?;
        bound("verify_backoff_ms", self.verify_backoff_ms, 1, 60_000)?;
        if let Some(wall_ms) = self.wall_ms {
            bound("wall_ms", wall_ms, 1, MAX_WALL_MS)?;
        }
        if let Counting::ByCandidate { max_identical, max_rejections, .. } = self.counting {
            bound("max_identical", max_identical.into(), 1, 100)?;
            bound("max_rejections", max_rejections.into(), 1, 1000)?;
        }
        Ok(())
    }
}

impl Counting {
    /// Seed 003's mode with its guards, sized to a number of attempts.
    #[must_use]
    pub const fn by_candidate(max_attempts: u32) -> Self {
        Self::ByCandidate {
            count_after_work: true,
            max_identical: 2,
            max_rejections: max_attempts.saturating_mul(3),
            reuse_rejection: true,
        }
    }
}

/// A bound of the policy is out of range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// Retries below 0 or above the cap.
    #[error("max_verify_retries must be 0 to 99, got {retries}")]
    Retries {
        /// What was asked for.
        retries: i64,
    },
    /// Another field.
    #[error("{field} must be {min} to {max}, got {value}")]
    Bound {
        /// The field's name.
        field: &'static str,
        /// Its value.
        value: u64,
        /// Smallest legal value.
        min: u64,
        /// Largest legal value.
        max: u64,
    },
}

pub(crate) fn bound(
    field: &'static str,
    value: u64,
    min: u64,
    max: u64,
) -> Result<(), PolicyError> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    Err(PolicyError::Bound { field, value, min, max })
}
