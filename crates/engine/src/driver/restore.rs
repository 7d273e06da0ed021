//! What a driver knows beside the machine, read back from what the log names.

use std::sync::Arc;

use probity_core::{CheckIndex, Finding, Step};
use serde_json::Value;

use super::Driver;
use crate::EngineError;

impl Driver<'_> {
    /// What an interrupted driver knew beside its log.
    pub(super) async fn restore(&mut self) -> Result<(), EngineError> {
        if let Some(world) = self.machine.baseline() {
            let sealed = self.journal.judge(world.judge).await?;
            self.plan.judge = Arc::new(self.plan.judge.as_sealed(&sealed));
            self.before = Arc::new(self.journal.manifest(world.manifest).await?);
        }
        if let Some(world) = self.machine.observed() {
            self.after = Arc::new(self.journal.manifest(world.manifest).await?);
        }
        if let Some(digest) = self.machine.claim() {
            let stored = self.journal.claim(digest).await?;
            self.claim = Arc::new(stored.claim);
            self.session = stored.session;
        }
        if let Some(digest) = self.machine.rewritten_task() {
            self.task = self.journal.text(digest).await?.into();
        }
        self.session_step = self.claiming_step();
        self.listen().await?;
        if self.machine.ending().is_some_and(|ending| ending.outcome.delivers()) {
            let edited = self.machine.edited_claim();
            let verified = self.machine.judged().last().map(|judged| judged.verified.claim);
            self.is_edited = edited.is_some();
            if let Some(digest) = edited.or(verified) {
                self.delivered = Some(self.journal.claim(digest).await?.claim);
                self.result = self.replacement().await?;
            }
        }
        Ok(())
    }

    /// What a check of the last verdict put in the place of the claim's output.
    pub(super) async fn replacement(&self) -> Result<Option<Value>, EngineError> {
        let findings = self.machine.judged().last().map(|judged| judged.findings.as_slice());
        let mut outputs = findings.unwrap_or_default().iter().filter_map(|finding| match finding {
            Some(Finding::Verdict { output, .. }) => *output,
            _ => None,
        });
        match outputs.next_back() {
            Some(digest) => Ok(Some(self.journal.json(digest, "result").await?)),
            None => Ok(None),
        }
    }

    /// The step of the ladder whose delegate made the last claim.
    fn claiming_step(&self) -> Option<Step> {
        let is_at_work = self.machine.seen_by(CheckIndex(0)).is_some();
        let turn = match self.machine.judged().last() {
            Some(judged) if !is_at_work => judged.turn,
            _ => self.machine.turn(),
        };
        let steps = self.machine.degraded().iter().filter(|degraded| degraded.turn <= turn);
        let acts = |step: &Step| !step.is_safe();
        steps.map(|degraded| degraded.step).rfind(acts)
    }
}
