//! The log as the machine reads it.

use probity_core::{Delegation, Outcome, ReplayError};
use probity_report::{Failures, Rule};

use super::read::Log;
use super::rule;

/// Replays a log. The machine stops at the first event that it would not have written.
pub(super) fn check(log: &Log<'_>, failures: &mut Failures) {
    match Delegation::replay(&log.entries) {
        Ok(machine) => {
            let ended = machine.stage().outcome();
            if let Some(seal) = log.seal.filter(|seal| ended != Some(seal.outcome)) {
                let place = log.lines.record(seal.events);
                let word = ended.map_or("none", Outcome::as_str);
                failures.differs(&rule::REPLAY_OUTCOME, place, word, seal.outcome);
            }
        }
        Err(error) => {
            let (rule, seq) = named(&error);
            failures.add(rule, log.lines.record(seq), error.to_string());
        }
    }
}

const fn named(error: &ReplayError) -> (&'static Rule, u64) {
    match error {
        ReplayError::Open(_) => (&rule::REPLAY_OPEN, 0),
        ReplayError::Impossible { seq, .. } => (&rule::REPLAY_IMPOSSIBLE, *seq),
        ReplayError::Differs { seq, .. } => (&rule::REPLAY_DIFFERS, *seq),
        ReplayError::Time { seq, .. } => (&rule::REPLAY_TIME, *seq),
        ReplayError::Cut { seq, .. } => (&rule::REPLAY_CUT, *seq),
        // A log that does not begin as a run is not whole, so that it does not come here.
        _ => (&rule::REPLAY_REFUSED, 0),
    }
}
