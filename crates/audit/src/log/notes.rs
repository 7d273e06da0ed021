//! What the delegate wrote down in the midst of its work, and what it waited for.

use probity_core::{Digest, Turn, Usage};

use super::dispatch::round;
use super::flight::Flight;
use super::rule;
use super::walk::Walk;

impl Walk<'_> {
    /// What a note tells of is spent, whatever comes of the round.
    pub(super) fn noted(&mut self, turn: Turn, usage: Usage) {
        self.at_work(turn, "a note");
        self.charges.spend(usage);
    }

    pub(super) fn parked(&mut self, turn: Turn, until_ms: Option<u64>) {
        self.at_work(turn, "a wait");
        self.flight = Flight::Parked { turn, since_ms: self.at_ms, until_ms };
    }

    pub(super) fn woken(&mut self, turn: Turn, answer: Option<Digest>) {
        match std::mem::replace(&mut self.flight, Flight::Delegate(turn)) {
            Flight::Parked { turn: parked, since_ms, until_ms } => {
                if parked != turn {
                    let message = format!("round {} waits, not {}", round(parked), round(turn));
                    self.found(&rule::WAKE_UNASKED, message);
                }
                if until_ms.is_none() != answer.is_some() {
                    let word = |is_answer| if is_answer { "an answer" } else { "a time" };
                    let (expected, actual) = (word(until_ms.is_none()), word(answer.is_some()));
                    self.differs(&rule::WAKE_UNFIT, expected, actual);
                } else if let Some(until_ms) = until_ms.filter(|until_ms| self.at_ms < *until_ms) {
                    self.differs(&rule::WAKE_EARLY, format!("{until_ms} ms or later"), self.at_ms);
                }
                self.clock.parked(self.at_ms.saturating_sub(since_ms));
            }
            before => {
                let message = format!("{} is in flight, nothing waits", before.as_str());
                self.found(&rule::WAKE_UNASKED, message);
            }
        }
    }

    /// The delegate is at work on a round, in its time.
    fn at_work(&mut self, turn: Turn, what: &str) {
        if self.flight != Flight::Delegate(turn) {
            let message = format!("{what} of round {}, which is not at work", round(turn));
            self.found(&rule::NOTE_UNFIT, message);
        } else if self.clock.is_claim_late(self.at_ms) {
            self.found(&rule::TIME, format!("{what} after the delegate's time"));
        }
    }
}
