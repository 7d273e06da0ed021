//! What the recorded times of a run mean at a given moment.

use crate::CheckIndex;
use crate::delegation::fold::Fold;
use crate::delegation::stage::Stage;

impl Fold {
    /// The time at which the run's own budget ends.
    pub(crate) fn deadline_ms(&self) -> Option<u64> {
        self.policy.wall_ms.map(|wall_ms| self.wall_from_ms.saturating_add(wall_ms))
    }

    /// What is left of the run's own budget.
    pub(crate) fn remaining_ms(&self, now_ms: u64) -> Option<u64> {
        self.deadline_ms().map(|deadline_ms| deadline_ms.saturating_sub(now_ms))
    }

    /// The time at which the stage at work ends of itself, under terms that bound it.
    pub(crate) fn stage_deadline_ms(&self) -> Option<u64> {
        let stages = self.terms.as_ref()?.stages;
        match self.stage {
            Stage::Delegated { .. } => Some(self.dispatched_ms.saturating_add(stages.act_ms)),
            Stage::Settled | Stage::Checking { .. } => {
                let observed_ms = self.current.as_ref()?.observed_ms;
                Some(observed_ms.saturating_add(stages.verify_ms))
            }
            _ => None,
        }
    }

    /// Whether the stage at work has used its budget up.
    pub(crate) fn is_stage_over(&self, now_ms: u64) -> bool {
        self.stage_deadline_ms().is_some_and(|deadline_ms| deadline_ms <= now_ms)
    }

    /// Whether the run's own budget has ended.
    pub(crate) fn is_out_of_time(&self, now_ms: u64) -> bool {
        self.deadline_ms().is_some_and(|deadline_ms| deadline_ms <= now_ms)
    }

    /// How long the try in flight has run, in milliseconds.
    pub(crate) fn in_flight_ms(&self, check: CheckIndex, now_ms: u64) -> u64 {
        let progress = self.current.as_ref().and_then(|it| it.progress.get(check.as_usize()));
        progress.map_or(0, |progress| now_ms.saturating_sub(progress.started_ms))
    }

    /// How long a human has been asked for, in milliseconds.
    pub(crate) fn waited_ms(&self, check: CheckIndex, now_ms: u64) -> u64 {
        let progress = self.current.as_ref().and_then(|it| it.progress.get(check.as_usize()));
        progress.map_or(0, |progress| now_ms.saturating_sub(progress.since_ms))
    }
}
