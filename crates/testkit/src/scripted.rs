//! A model that says what it was told to say.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use probity_chat::{Model, ModelError, ModelReply, ModelRequest};

use crate::Asked;
use crate::pairing::violation;
use crate::reply::with_ids;

/// A model that says what it was told to say, one answer for each time it is asked, and remembers
/// what it was asked. It is as strict as a provider: a request that breaks the rule of
/// [`violation`] is refused with status 400, costs no answer and is noted.
///
/// Behind the last answer it refuses, so that a loop that asks once too often is seen; with
/// [`ScriptedModel::repeat_last`] it goes on.
pub struct ScriptedModel {
    steps: Vec<Step>,
    name: String,
    repeats_last: bool,
    by_number: bool,
    latency: Duration,
    is_forgetful: bool,
    state: Mutex<State>,
}

type Answering = dyn Fn(&ModelRequest<'_>) -> Result<ModelReply, ModelError> + Send + Sync;

struct Step(Box<Answering>);

#[derive(Default)]
struct State {
    asked: Vec<Asked>,
    violations: Vec<String>,
    answered: usize,
}

impl Default for ScriptedModel {
    fn default() -> Self {
        Self {
            steps: Vec::new(),
            name: "scripted".to_owned(),
            repeats_last: false,
            by_number: false,
            latency: Duration::ZERO,
            is_forgetful: false,
            state: Mutex::default(),
        }
    }
}

impl ScriptedModel {
    /// A model without answers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A model with these answers.
    #[must_use]
    pub fn replies(replies: impl IntoIterator<Item = ModelReply>) -> Self {
        replies.into_iter().fold(Self::new(), Self::reply)
    }

    /// Adds an answer.
    #[must_use]
    pub fn reply(self, reply: ModelReply) -> Self {
        self.step(move |_| Ok(reply.clone()))
    }

    /// Adds an error.
    #[must_use]
    pub fn error(self, error: ModelError) -> Self {
        self.step(move |_| Err(error.clone()))
    }

    /// Adds an answer that depends on what is asked.
    #[must_use]
    pub fn with(
        self,
        answer: impl Fn(&ModelRequest<'_>) -> ModelReply + Send + Sync + 'static,
    ) -> Self {
        self.step(move |request| Ok(answer(request)))
    }

    /// Adds an answer or error that depends on what is asked.
    #[must_use]
    pub fn step(
        mut self,
        answer: impl Fn(&ModelRequest<'_>) -> Result<ModelReply, ModelError> + Send + Sync + 'static,
    ) -> Self {
        self.steps.push(Step(Box::new(answer)));
        self
    }

    /// The last answer is given as often as asked for.
    #[must_use]
    pub fn repeat_last(mut self) -> Self {
        self.repeats_last = true;
        self
    }

    /// Picks answers by [`ModelRequest::number`] instead of one after the other: a call that a crash
    /// interrupted gets the same answer again, also from a new model with the same script.
    #[must_use]
    pub fn by_number(mut self) -> Self {
        self.by_number = true;
        self
    }

    /// Waits that long before each answer, in the time of tokio.
    #[must_use]
    pub fn latency(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// Neither remembers nor checks what it was asked, so that being asked costs the same however long
    /// the conversation is. For measurements.
    #[must_use]
    pub fn forgetful(mut self) -> Self {
        self.is_forgetful = true;
        self
    }

    /// What [`Model::identity`] says; `scripted` where this is not called.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Every request so far, refused and cancelled ones included.
    #[must_use]
    pub fn asked(&self) -> Vec<Asked> {
        self.state().asked.clone()
    }

    /// What was wrong with the requests that were refused.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        self.state().violations.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the request down and picks the answer.
    fn pick(&self, request: &ModelRequest<'_>) -> Result<&Step, ModelError> {
        let mut state = self.state();
        if !self.is_forgetful {
            state.asked.push(Asked::of(request));
            if let Some(message) = violation(request) {
                state.violations.push(message.clone());
                return Err(ModelError::Refused { status: Some(400), message });
            }
        }
        let place = if self.by_number {
            usize::try_from(request.number).unwrap_or(usize::MAX)
        } else {
            state.answered
        };
        state.answered += 1;
        let last = self.steps.last().filter(|_| self.repeats_last);
        self.steps.get(place).or(last).ok_or_else(|| ModelError::Refused {
            status: None,
            message: format!("the script has {} answers, none for call {place}", self.steps.len()),
        })
    }
}

#[async_trait]
impl Model for ScriptedModel {
    async fn complete(&self, request: &ModelRequest<'_>) -> Result<ModelReply, ModelError> {
        let step = self.pick(request)?;
        if !self.latency.is_zero() {
            tokio::select! {
                biased;
                () = request.cancel.cancelled() => {}
                () = tokio::time::sleep(self.latency) => {}
            }
        }
        if request.cancel.is_cancelled() {
            return Err(ModelError::Cancelled);
        }
        (step.0)(request).map(|reply| with_ids(reply, request.number))
    }

    fn identity(&self) -> String {
        self.name.clone()
    }
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedModel")
            .field("name", &self.name)
            .field("steps", &self.steps.len())
            .finish_non_exhaustive()
    }
}
