//! What happens nowhere but in the log: it needs no announcement of its own, and what comes of it is in one
//! append with what asked for it.

use probity_core::Effect;

use super::Driver;
use crate::EngineError;
use crate::work::Wake;

impl Driver<'_> {
    /// Does what nobody outside can tell from nothing, while entries wait for their append.
    pub(super) async fn act_unannounced(&mut self, effect: Effect) -> Result<(), EngineError> {
        let done = self.act(effect).await;
        if done.is_err() {
            // What was decided is not lost with what could not be read.
            self.write().await?;
        }
        done
    }

    /// Takes what the work in flight has come to, if it has. What has not is waited for behind the append.
    pub(super) async fn take_at_hand(&mut self) -> Result<(), EngineError> {
        let Some(work) = &mut self.work else { return Ok(()) };
        let Some(done) = work.done_by_now().await else { return Ok(()) };
        match (done, self.work.take()) {
            (Some(done), _) => self.take(Wake::Done(Box::new(done))).await,
            (None, Some(lost)) => self.take(Wake::Done(Box::new(lost.lost()))).await,
            (None, None) => Err(EngineError::Stuck),
        }
    }
}
