//! One run of a definition.

use probity_core::RunId;

use crate::effect::Effect;
use crate::input::{Input, Start};
use crate::refusal::{OpenError, Refusal, ReplayError};
use crate::snapshot::Snapshot;
use crate::step::Step;

/// A run. Pure: the same inputs at the same times give the same steps.
#[derive(Debug, Clone)]
pub struct Run {
    id: RunId,
}

impl Run {
    /// Begins a run.
    ///
    /// # Errors
    /// What it would begin with does not fit the definition.
    pub fn open(now_ms: u64, run: RunId, start: Start) -> Result<(Self, Step), OpenError> {
        let _ = (now_ms, run, start);
        Err(OpenError::BoundZero { name: "not built yet" })
    }

    /// Takes an input in. Once the step is in the log, [`Self::poll_effect`] says what is to be done.
    ///
    /// # Errors
    /// The input is refused; the run is as it was.
    pub fn handle(&mut self, now_ms: u64, input: Input) -> Result<Step, Refusal> {
        let _ = (now_ms, input);
        Err(Refusal::Ended)
    }

    /// Folds a log back. Nothing is left to be done by it: see [`Self::pending`].
    ///
    /// # Errors
    /// This machine would not have written the log.
    pub fn replay<'a>(
        run: RunId,
        steps: impl IntoIterator<Item = &'a Step>,
    ) -> Result<Self, ReplayError> {
        let _ = (run, steps.into_iter().count());
        Err(ReplayError::NoStart)
    }

    /// Asks again for everything whose answer is outstanding, by the same names.
    pub fn pending(&mut self) {}

    /// What is to be done next.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        None
    }

    /// When [`Input::Timer`] is due, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<u64> {
        None
    }

    /// Where it is.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        unreachable!()
    }

    /// Its name.
    #[must_use]
    pub const fn run(&self) -> &RunId {
        &self.id
    }

    /// Whether it came to its end.
    #[must_use]
    pub const fn is_ended(&self) -> bool {
        false
    }

    /// How many events there are.
    #[must_use]
    pub const fn len(&self) -> u64 {
        0
    }

    /// Whether there are none: never, once it began.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
