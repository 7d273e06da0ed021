//! What others append while a run is driven: it is taken in, and the run goes on.

use std::sync::Arc;

use probity_delegate::Said;

use super::Driver;
use crate::EngineError;
use crate::content::StoredAnswer;

impl Driver<'_> {
    /// Whether somebody wants the run to stop, by whatever way, and that would still change anything.
    pub(super) fn is_cancelled(&self) -> bool {
        let is_wanted = self.cancel.is_cancelled() || self.machine.cancel_requested().is_some();
        is_wanted && self.machine.stage().outcome().is_none()
    }

    /// Takes in what others appended while work is in flight, which goes on.
    pub(super) async fn overhear(&mut self) -> Result<(), EngineError> {
        for entry in self.journal.hear().await? {
            self.machine.overhear(&entry)?;
            self.watch.entry(&entry);
        }
        self.listen().await
    }

    /// Lets the delegate hear what was said to it since.
    pub(super) async fn listen(&mut self) -> Result<(), EngineError> {
        let heard = self.said.borrow().len();
        let mut said = Vec::new();
        for steered in self.machine.steers().iter().skip(heard) {
            let StoredAnswer { by, text } = self.journal.json(steered.content, "steering").await?;
            said.push(Said { turn: steered.turn, by: Arc::from(by), text: Arc::from(text) });
        }
        if !said.is_empty() {
            self.said.send_modify(|all| all.extend(said));
        }
        Ok(())
    }
}
