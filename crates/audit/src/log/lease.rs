//! In whose hands the run is, and what those beside it ask of whoever drives it.

use probity_core::{Event, MAX_STEERS};

use super::flight::Flight;
use super::rule;
use super::walk::Walk;

/// Who drives the run, and what was asked meanwhile.
#[derive(Default)]
pub(super) struct Hands {
    /// The highest epoch of a lease so far.
    epoch: u64,
    /// Since when nobody drives the run, in milliseconds since the Unix epoch.
    left_ms: Option<u64>,
    is_asked_to_stop: bool,
    steers: usize,
}

impl Hands {
    /// Whoever writes anything but a wish drives the run again.
    pub(super) const fn driven(&mut self, event: &Event) {
        match event {
            Event::RunReleased | Event::CancelRequested { .. } | Event::Steered { .. } => {}
            _ => self.left_ms = None,
        }
    }
}

impl Walk<'_> {
    /// What the first event says of other runs.
    pub(super) fn opened(&mut self) {
        if self.run.parent == Some(self.run.run) {
            self.found(&rule::OWN_PARENT, format!("run `{}` waits for itself", self.run.run));
        }
    }

    /// It is an interruption where somebody was at work: not on a run that was left, and not on one
    /// that waits for somebody else, which counts that time itself.
    pub(super) fn leased(&mut self, epoch: u64, interruptions: u32) {
        if epoch <= self.hands.epoch {
            let above = format!("above {}", self.hands.epoch);
            self.differs(&rule::EPOCH, above, epoch);
        }
        self.hands.epoch = self.hands.epoch.max(epoch);
        let waits =
            matches!(self.flight, Flight::Parked { .. } | Flight::Human(..) | Flight::Operator);
        let left_ms = self.hands.left_ms;
        if left_ms.is_none() && !waits {
            return self.interrupted(interruptions);
        }
        if interruptions != self.interruptions {
            self.differs(&rule::INTERRUPTIONS, self.interruptions, interruptions);
        }
        if let Some(left_ms) = left_ms.filter(|_| !waits) {
            self.clock.queued(self.at_ms.saturating_sub(left_ms));
        }
    }

    pub(super) fn released(&mut self) {
        if self.hands.left_ms.is_some() {
            self.found(&rule::RELEASE_REPEATED, rule::RELEASE_REPEATED.finds);
        } else {
            self.hands.left_ms = Some(self.at_ms);
        }
    }

    pub(super) fn cancel_requested(&mut self) {
        if std::mem::replace(&mut self.hands.is_asked_to_stop, true) {
            self.found(&rule::CANCEL_REPEATED, rule::CANCEL_REPEATED.finds);
        }
    }

    pub(super) fn steered(&mut self) {
        self.hands.steers = self.hands.steers.saturating_add(1);
        // Once is enough: everything behind it is too much as well.
        if self.hands.steers == MAX_STEERS.saturating_add(1) {
            self.found(&rule::STEERS, format!("more than {MAX_STEERS} in one run"));
        }
    }
}
