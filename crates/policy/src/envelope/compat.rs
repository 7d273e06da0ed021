//! The ladder as seed 001's system climbs it, for replaying decisions that it made. Nothing of this
//! product decides by it: [`probity_core::fall_back`] does.
//!
//! | Signals, first match | Step |
//! |---|---|
//! | a TTL breach, or a feature older than 500 ms | `abstain`, else the last step |
//! | verification `fail` or `inconclusive` | `hitl`, else the last step |
//! | less than 30 ms left, p99 over the deadline, or jitter over 50 ms | `cache_bundle`, else `rules_only`, else as below |
//! | otherwise | none |

use probity_core::Step;

/// A feature older than this is a breach, in milliseconds.
pub const MAX_FEATURE_AGE_MS: u64 = 500;
/// Less time left than this is pressure, in milliseconds.
pub const MIN_REMAINING_MS: u64 = 30;
/// More jitter than this is pressure, in milliseconds.
pub const MAX_JITTER_MS: u64 = 50;

/// What that system measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signals {
    /// The decision's deadline in milliseconds.
    pub deadline_ms: u64,
    /// Time spent in milliseconds.
    pub elapsed_ms: u64,
    /// 99th percentile of its latency in milliseconds.
    pub p99_ms: u64,
    /// Its jitter in milliseconds.
    pub jitter_ms: u64,
    /// Features beyond their time to live.
    pub ttl_breaches: u64,
    /// Age of the oldest feature in milliseconds.
    pub max_feature_age_ms: u64,
    /// What its verification came to.
    pub verifier: VerifierResult,
}

/// What verification came to. Any other word counted as [`VerifierResult::NotApplicable`] there; a
/// reader of such words decides that for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerifierResult {
    /// `pass`.
    Pass,
    /// `fail`.
    Fail,
    /// `inconclusive`.
    Inconclusive,
    /// `na`.
    NotApplicable,
}

/// Why that system chose a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// `freshness_gate`.
    Freshness,
    /// `verification_gate`.
    Verification,
    /// `time_pressure`.
    Time,
    /// `within_envelope`: no step, whatever the time.
    Within,
}

impl Reason {
    /// Its word there.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Freshness => "freshness_gate",
            Self::Verification => "verification_gate",
            Self::Time => "time_pressure",
            Self::Within => "within_envelope",
        }
    }
}

/// The step that system chooses, `None` where it degrades nothing, and why. On an empty ladder it
/// failed with an exception; here that is `None` with the reason it failed on.
#[must_use]
pub fn choose_degrade_step(ladder: &[Step], signals: &Signals) -> (Option<Step>, Reason) {
    let or_last =
        |step: Step| if ladder.contains(&step) { Some(step) } else { ladder.last().copied() };
    if signals.ttl_breaches > 0 || signals.max_feature_age_ms > MAX_FEATURE_AGE_MS {
        return (or_last(Step::Abstain), Reason::Freshness);
    }
    if matches!(signals.verifier, VerifierResult::Fail | VerifierResult::Inconclusive) {
        return (or_last(Step::Hitl), Reason::Verification);
    }
    let remaining_ms = signals.deadline_ms.saturating_sub(signals.elapsed_ms);
    let is_pressed = remaining_ms < MIN_REMAINING_MS
        || signals.p99_ms > signals.deadline_ms
        || signals.jitter_ms > MAX_JITTER_MS;
    let step = [Step::CacheBundle, Step::RulesOnly].into_iter().find(|step| ladder.contains(step));
    match step {
        Some(step) if is_pressed => (Some(step), Reason::Time),
        _ => (None, Reason::Within),
    }
}
