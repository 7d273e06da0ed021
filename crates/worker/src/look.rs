//! What is to be done with a run: a function of its log, of the logs of the runs it waits for, and of
//! the time.

use std::time::Duration;

use probity_core::{Effect, Input, Stage};
use probity_engine::Found;
use serde_json::Value;

use crate::join::join;
use crate::kit::Kit;
use crate::trouble::Trouble;

/// The longest time that a run is not looked at that goes on by itself.
const MAX_WAIT: Duration = Duration::from_secs(30);
/// Who answers a run that waits for others.
const CHILDREN: &str = "children";

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Todo {
    /// Nothing but to say so: the run has ended.
    Ended,
    /// Drive it on, with the answer that it waits for where there is one.
    Drive { answer: Option<(String, Value)> },
    /// Nothing before then.
    Wait { delay: Duration },
    /// Nothing before somebody does something.
    Idle,
}

impl Kit {
    /// Says what is to be done with a run. Nothing is changed.
    pub(crate) async fn look_at(&self, found: &Found) -> Result<Todo, Trouble> {
        let machine = found.machine();
        let drive = Todo::Drive { answer: None };
        if matches!(machine.stage(), Stage::Sealed { .. }) {
            return Ok(Todo::Ended);
        }
        let now_ms = self.clock.now_ms();
        let due_ms = machine.poll_timeout();
        let is_due = due_ms.is_some_and(|due_ms| due_ms <= now_ms);
        if is_due || (machine.cancel_requested().is_some() && machine.stage().outcome().is_none()) {
            return Ok(drive);
        }
        let wait = |until_ms: u64| {
            let delay = Duration::from_millis(until_ms.saturating_sub(now_ms));
            Todo::Wait { delay: delay.min(MAX_WAIT) }
        };
        match machine.stage() {
            Stage::Escalated { .. } | Stage::Awaiting { .. } => Ok(Todo::Idle),
            Stage::Parked { until_ms: Some(until_ms), .. } => Ok(wait(until_ms)),
            Stage::Parked { until_ms: None, .. } => self.look_at_children(found, now_ms).await,
            Stage::Settled => Ok(match due_ms.filter(|_| is_resting(found, now_ms)) {
                Some(due_ms) => wait(due_ms),
                None => drive,
            }),
            _ => Ok(drive),
        }
    }

    async fn look_at_children(&self, found: &Found, now_ms: u64) -> Result<Todo, Trouble> {
        let children = found.wait().await?.map(|wait| wait.children).unwrap_or_default();
        if children.is_empty() {
            return Ok(Todo::Idle);
        }
        let since_ms = found.machine().parking().map_or(now_ms, |parking| parking.since_ms);
        let waited = Duration::from_millis(now_ms.saturating_sub(since_ms));
        let answer = join(self, found.machine().run(), &children, waited).await?;
        Ok(match answer {
            Some(answer) => Todo::Drive { answer: Some((CHILDREN.to_owned(), answer)) },
            None => Todo::Idle,
        })
    }
}

/// Whether somebody who took the run up now would have nothing to do: the machine is asked, on a copy.
fn is_resting(found: &Found, now_ms: u64) -> bool {
    let mut machine = found.machine().clone();
    let epoch = machine.epoch().saturating_add(1);
    let Ok(worker) = "look".parse() else { return false };
    if !machine.is_released() || machine.handle(now_ms, Input::Lease { epoch, worker }).is_err() {
        return false;
    }
    while let Some(effect) = machine.poll_effect() {
        if !matches!(effect, Effect::Append(_)) {
            return false;
        }
    }
    true
}
