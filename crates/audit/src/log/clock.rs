//! When the run and its stages are over.

use probity_core::{Policy, Terms};

use super::read::Opened;

/// The times that bounds are counted from. All in milliseconds since the Unix epoch.
pub(super) struct Clock<'a> {
    policy: &'a Policy,
    terms: Option<&'a Terms>,
    wall_from_ms: u64,
    act_from_ms: u64,
    verify_from_ms: u64,
}

impl<'a> Clock<'a> {
    pub(super) const fn new(run: Opened<'a>, at_ms: u64) -> Self {
        Self {
            policy: run.policy,
            terms: run.terms,
            wall_from_ms: at_ms,
            act_from_ms: at_ms,
            verify_from_ms: at_ms,
        }
    }

    pub(super) const fn dispatched(&mut self, at_ms: u64) {
        self.act_from_ms = at_ms;
    }

    pub(super) const fn observed(&mut self, at_ms: u64) {
        self.verify_from_ms = at_ms;
    }

    /// What was in flight when the run was interrupted gets its whole time again.
    pub(super) const fn resumed(&mut self, at_ms: u64) {
        self.act_from_ms = at_ms;
        self.verify_from_ms = at_ms;
    }

    /// The time that a human took, or that the delegate waited, is not the run's.
    pub(super) const fn waited(&mut self, for_ms: u64) {
        self.wall_from_ms = self.wall_from_ms.saturating_add(for_ms);
    }

    /// The delegate waited at its own wish: neither the run's time nor the round's.
    pub(super) const fn parked(&mut self, for_ms: u64) {
        self.waited(for_ms);
        self.act_from_ms = self.act_from_ms.saturating_add(for_ms);
    }

    /// Nobody drove the run: it is nobody's time, of no stage of it.
    pub(super) const fn queued(&mut self, for_ms: u64) {
        self.parked(for_ms);
        self.verify_from_ms = self.verify_from_ms.saturating_add(for_ms);
    }

    /// A human let the run go on.
    pub(super) const fn granted(&mut self, at_ms: u64) {
        self.wall_from_ms = at_ms;
    }

    /// Whether the run's own time has ended.
    pub(super) fn is_wall_over(&self, now_ms: u64) -> bool {
        self.wall_end_ms().is_some_and(|end_ms| end_ms <= now_ms)
    }

    /// Whether the time of the delegate has ended.
    pub(super) fn is_act_over(&self, now_ms: u64) -> bool {
        self.act_end_ms().is_some_and(|end_ms| end_ms <= now_ms)
    }

    /// Whether the time of the checks has ended.
    pub(super) fn is_verify_over(&self, now_ms: u64) -> bool {
        self.verify_end_ms().is_some_and(|end_ms| end_ms <= now_ms)
    }

    /// Whether a hook's answer came after its time. What comes at its end is in time.
    pub(super) fn is_hook_late(&self, now_ms: u64) -> bool {
        is_behind(now_ms, [self.wall_end_ms(), None])
    }

    /// Whether a claim came after its time.
    pub(super) fn is_claim_late(&self, now_ms: u64) -> bool {
        is_behind(now_ms, [self.wall_end_ms(), self.act_end_ms()])
    }

    /// Whether a finding came after its time.
    pub(super) fn is_finding_late(&self, now_ms: u64) -> bool {
        is_behind(now_ms, [self.wall_end_ms(), self.verify_end_ms()])
    }

    fn wall_end_ms(&self) -> Option<u64> {
        self.policy.wall_ms.map(|wall_ms| self.wall_from_ms.saturating_add(wall_ms))
    }

    fn act_end_ms(&self) -> Option<u64> {
        self.terms.map(|terms| self.act_from_ms.saturating_add(terms.stages.act_ms))
    }

    fn verify_end_ms(&self) -> Option<u64> {
        self.terms.map(|terms| self.verify_from_ms.saturating_add(terms.stages.verify_ms))
    }
}

fn is_behind(now_ms: u64, ends: [Option<u64>; 2]) -> bool {
    ends.into_iter().flatten().any(|end_ms| end_ms < now_ms)
}
