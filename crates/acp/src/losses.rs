//! The wait before an agent that was lost is started again.

use std::time::Duration;

/// The wait behind the first loss; it doubles with every further one.
const BASE: Duration = Duration::from_millis(250);
/// The longest wait.
const MAX: Duration = Duration::from_secs(30);

/// How often agents were lost since one came to the end of a turn.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    in_a_row: u32,
}

impl Losses {
    /// An agent was lost.
    pub(crate) const fn lost(&mut self) {
        self.in_a_row = self.in_a_row.saturating_add(1);
    }

    /// An agent came to the end of a turn.
    pub(crate) const fn over(&mut self) {
        self.in_a_row = 0;
    }

    /// How long the next one is not started.
    pub(crate) fn wait(&self) -> Duration {
        match self.in_a_row.checked_sub(1) {
            None => Duration::ZERO,
            Some(doublings) => BASE.saturating_mul(1 << doublings.min(16)).min(MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_up_to_its_bound_and_ends_with_a_turn() {
        let mut losses = Losses::default();
        assert_eq!(losses.wait(), Duration::ZERO);
        for wait_ms in [250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000] {
            losses.lost();
            assert_eq!(losses.wait(), Duration::from_millis(wait_ms));
        }
        losses.over();
        assert_eq!(losses.wait(), Duration::ZERO);
    }
}
