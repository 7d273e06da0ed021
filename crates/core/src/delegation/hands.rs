//! In whose hands a run is: at work, left for a worker, taken up.

use crate::delegation::fold::Fold;
use crate::delegation::stage::Stage;

impl Fold {
    /// Whether somebody is at work, as far as the log says: not on a run that was left, and not on one
    /// that waits for somebody else.
    pub(crate) const fn is_attended(&self) -> bool {
        self.released_ms.is_none() && !self.waits_for_others()
    }

    /// A worker took the run up: after whoever was at work, or after its time in a queue.
    pub(crate) fn leased(
        &mut self,
        at_ms: u64,
        epoch: u64,
        interruptions: u32,
        was_attended: bool,
        released_ms: Option<u64>,
    ) {
        self.epoch = epoch;
        self.is_replay = was_attended;
        match released_ms {
            _ if was_attended => self.resumed(at_ms, interruptions),
            Some(released_ms) => self.taken_up(at_ms.saturating_sub(released_ms)),
            None => {}
        }
    }

    /// The time in a queue is neither the run's nor anybody's in it. A run that waits for somebody else
    /// counts that time itself. The pause before the next try of a check passes in a queue too: a worker
    /// that leaves the run for the length of it would never come to its end otherwise.
    fn taken_up(&mut self, queued_ms: u64) {
        if self.waits_for_others() {
            return;
        }
        let later = |ms: &mut u64| *ms = ms.saturating_add(queued_ms);
        later(&mut self.wall_from_ms);
        later(&mut self.dispatched_ms);
        later(&mut self.hooks.called_ms);
        if let Some(current) = &mut self.current {
            later(&mut current.observed_ms);
            for progress in &mut current.progress {
                later(&mut progress.since_ms);
                later(&mut progress.started_ms);
            }
        }
    }

    /// A check that was in flight gets its whole time again: the crash was not its fault.
    pub(crate) fn resumed(&mut self, at_ms: u64, interruptions: u32) {
        self.interruptions = interruptions;
        self.dispatched_ms = at_ms;
        self.hooks.called_ms = at_ms;
        if let Some(current) = &mut self.current {
            current.observed_ms = at_ms;
        }
        for progress in self.current.iter_mut().flat_map(|current| &mut current.progress) {
            progress.since_ms = at_ms;
            progress.started_ms = at_ms;
        }
    }

    const fn waits_for_others(&self) -> bool {
        matches!(
            self.stage,
            Stage::Parked { .. } | Stage::Awaiting { .. } | Stage::Escalated { .. }
        )
    }
}
