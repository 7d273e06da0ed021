//! Entries into the log, whoever else appends meanwhile.

use probity_core::Effect;

use super::{Driver, shift};
use crate::EngineError;
use crate::found::Found;
use crate::journal::AppendFailure;

/// How often an append may be overtaken by what others have to say about the run.
const MAX_OVERTAKEN: u32 = 64;

/// How entries got into the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    /// As they were.
    AsAsked,
    /// Behind what somebody else appended. What is to be done is asked for anew.
    Anew,
    /// Perhaps not at all: the worker had to let go before the store answered.
    NotKnown,
}

impl Driver<'_> {
    /// Makes what is held durable, and tells whoever watches.
    pub(super) async fn write(&mut self) -> Result<Written, EngineError> {
        let mut written = Written::AsAsked;
        for _ in 0..MAX_OVERTAKEN {
            if self.held.is_empty() {
                return Ok(written);
            }
            let appended = tokio::select! {
                biased;
                appended = self.journal.append(&self.held) => appended,
                () = shift::stopped(self.shift.as_ref()) => return Ok(Written::NotKnown),
            };
            match appended {
                Ok(()) => {
                    self.unwritten.clear();
                    let held = std::mem::take(&mut self.held);
                    held.iter().for_each(|entry| self.watch.entry(entry));
                    return Ok(written);
                }
                Err(AppendFailure::Overtaken) => self.rebase().await?,
                Err(AppendFailure::Engine(error)) => return Err(error),
            }
            written = Written::Anew;
        }
        Err(EngineError::Fenced { run: self.plan.run.clone() })
    }

    /// Goes back to what the log holds by now and hands the machine again what the log does not hold.
    async fn rebase(&mut self) -> Result<(), EngineError> {
        let run = self.plan.run.clone();
        if self.journal.is_new() {
            return Err(EngineError::Exists { run });
        }
        let heard = self.journal.hear().await?;
        if heard.is_empty() || self.unwritten.is_empty() {
            return Err(EngineError::Fenced { run });
        }
        // Not beyond what was heard: what is behind it may be another driver's.
        let len = self.journal.len();
        self.machine = Found::read_to(&self.engine.store, &run, len).await?.machine;
        let mut again = Vec::with_capacity(self.unwritten.len());
        for (at_ms, input) in std::mem::take(&mut self.unwritten) {
            match self.machine.handle(at_ms, input.clone()) {
                Ok(_) => again.push((at_ms, input)),
                // The first of them may have come too late by what was heard: then the run's time is
                // over, and what came behind it is answered by that.
                Err(_) if !again.is_empty() => break,
                Err(refusal) => return Err(refusal.into()),
            }
        }
        self.unwritten = again;
        self.collect();
        heard.iter().for_each(|entry| self.watch.entry(entry));
        self.listen().await
    }

    /// Everything that the machine wants appended; what it wants done before the last of it was done,
    /// for the inputs that came of it were handed in again.
    fn collect(&mut self) {
        self.held.clear();
        self.effects.clear();
        while let Some(effect) = self.machine.poll_effect() {
            match effect {
                Effect::Append(entries) => {
                    self.held.extend(entries);
                    self.effects.clear();
                }
                other => self.effects.push_back(other),
            }
        }
    }
}
