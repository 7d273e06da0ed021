//! What is said to a run by somebody who does not drive it: appended, and no more.

use probity_core::{Delegation, Effect, Entry, Input, RunId};
use serde_json::Value;

use crate::content;
use crate::found::Found;
use crate::journal::AppendFailure;
use crate::{Engine, EngineError, Plan};

/// How often somebody who was overtaken by another append reads the log again.
const MAX_POSTS: u32 = 64;

/// Something that anybody may say to a run that has not ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Post {
    /// It should stop. Whoever drives it, or takes it up next, ends it as cancelled.
    Cancel {
        /// Who says so.
        by: String,
        /// Why.
        text: String,
    },
    /// Something for the delegate to heed, in the midst of its work.
    Steer {
        /// Who says so.
        by: String,
        /// What.
        text: String,
    },
    /// The answer that it waits for at its delegate's wish.
    Wake {
        /// The wait, as [`crate::Wait::key`] names it.
        about: String,
        /// Who answers.
        by: String,
        /// The answer.
        value: Value,
    },
}

/// What a post came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posted {
    /// Whether anything was appended: not where the run was asked to stop before.
    pub is_new: bool,
    /// The epoch of the run's last lease, for whoever enqueues the run.
    pub epoch: u64,
}

impl Engine {
    /// Opens a run and leaves it for a worker to take up. Opening it again with the same request
    /// changes nothing.
    ///
    /// # Errors
    /// [`EngineError::Exists`] if there is a run of that name with another request; others as
    /// [`Engine::run`].
    pub async fn submit(&self, plan: &Plan) -> Result<Posted, EngineError> {
        let (mut machine, mut journal) = self.open(plan)?;
        machine.handle(machine.now_ms(), Input::Release)?;
        match journal.append(&entries_of(&mut machine)).await {
            Ok(()) => Ok(Posted { is_new: true, epoch: 0 }),
            Err(AppendFailure::Overtaken) => {
                let found = self.find(&plan.run).await?.machine;
                let epoch = found.epoch();
                match found.request() == machine.request() {
                    true => Ok(Posted { is_new: false, epoch }),
                    false => Err(EngineError::Exists { run: plan.run.clone() }),
                }
            }
            Err(AppendFailure::Engine(error)) => Err(error),
        }
    }

    /// Appends what somebody says to a run.
    ///
    /// # Errors
    /// [`EngineError::Answer`] if the run has ended or holds no more; [`EngineError::NotParked`] if it
    /// does not wait for that answer; others if its log cannot be read or written.
    pub async fn post(&self, run: &RunId, post: &Post) -> Result<Posted, EngineError> {
        for _ in 0..MAX_POSTS {
            let mut found = self.find(run).await?;
            let mut blobs = Vec::new();
            let inputs = inputs(&found, post, &mut blobs).await?;
            found.journal.stage(blobs);
            let now_ms = self.clock.now_ms();
            for input in inputs {
                found.machine.handle(now_ms, input).map_err(EngineError::Answer)?;
            }
            let epoch = found.machine.epoch();
            let entries = entries_of(&mut found.machine);
            if entries.is_empty() {
                return Ok(Posted { is_new: false, epoch });
            }
            match found.journal.append(&entries).await {
                Ok(()) => return Ok(Posted { is_new: true, epoch }),
                Err(AppendFailure::Overtaken) => {}
                Err(AppendFailure::Engine(error)) => return Err(error),
            }
        }
        Err(EngineError::Fenced { run: run.clone() })
    }
}

async fn inputs(
    found: &Found,
    post: &Post,
    blobs: &mut Vec<content::Blob>,
) -> Result<Vec<Input>, EngineError> {
    Ok(match post {
        Post::Cancel { by, text } => {
            vec![Input::RequestCancel { by: content::keep_answer(blobs, by, text)? }]
        }
        Post::Steer { by, text } => {
            vec![Input::Steer { content: content::keep_answer(blobs, by, text)? }]
        }
        Post::Wake { about, by, value } => {
            let answer = content::keep_woken(blobs, by, value)?;
            found.require_wait(about).await?;
            vec![Input::Woken { answer }, Input::Release]
        }
    })
}

impl Found {
    /// Checks that the run waits for an answer to this.
    ///
    /// # Errors
    /// [`EngineError::NotParked`] if it does not.
    pub(crate) async fn require_wait(&self, about: &str) -> Result<(), EngineError> {
        let waits_for = self.wait().await?.filter(|wait| wait.until_ms.is_none());
        let waits_for = waits_for.map(|wait| wait.key);
        if waits_for.as_deref() == Some(about) {
            return Ok(());
        }
        let (run, about) = (self.machine.run().clone(), about.to_owned());
        Err(EngineError::NotParked { run, about, waits_for })
    }
}

/// What a machine wants appended. What else it wants done is for whoever drives the run.
pub(crate) fn entries_of(machine: &mut Delegation) -> Vec<Entry> {
    let mut entries = Vec::new();
    while let Some(effect) = machine.poll_effect() {
        if let Effect::Append(more) = effect {
            entries.extend(more);
        }
    }
    entries
}
