//! The contract with a tool.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use probity_core::{RunId, Turn};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Something that a model may ask to be done.
#[async_trait]
pub trait Tool: Send + Sync {
    /// What the model is told of it.
    fn spec(&self) -> &ToolSpec;

    /// Carries out one call. The arguments fit the schema of the spec. Calls of one answer run
    /// beside each other.
    ///
    /// # Errors
    /// [`ToolError`] when there is no result: the model is told, or the attempt ends.
    async fn call(&self, ctx: &ToolContext, arguments: Value) -> Result<ToolReply, ToolError>;

    /// Looks at what a call came to, before the model sees it: a cheap assertion inside the loop.
    /// What it says goes back as the call's failure at once; no verification attempt is spent.
    ///
    /// # Errors
    /// Why the result is not good enough, in words for the model.
    async fn verify(
        &self,
        ctx: &ToolContext,
        arguments: &Value,
        output: &ToolOutput,
    ) -> Result<(), String> {
        let (_, _, _) = (ctx, arguments, output);
        Ok(())
    }

    /// What becomes of a call that a crash interrupted.
    fn interrupted(&self) -> Interrupted {
        Interrupted::Tell
    }
}

/// What a model is told of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolSpec {
    /// Its name: 1 to 64 of `A-Z a-z 0-9 _ -`. `final_output` is taken.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// JSON schema of its arguments: an object.
    pub parameters: Value,
}

impl ToolSpec {
    /// The longest name, in characters.
    pub const MAX_NAME_CHARS: usize = 64;

    /// Whether a name may hold this character: what every provider takes.
    #[must_use]
    pub const fn may_name(c: char) -> bool {
        c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
    }

    /// Whether this is a name that every provider takes.
    #[must_use]
    pub fn is_name(name: &str) -> bool {
        !name.is_empty() && name.len() <= Self::MAX_NAME_CHARS && name.chars().all(Self::may_name)
    }
}

/// What becomes of a call that a crash interrupted: it may have taken effect, or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupted {
    /// The model is told that the call was interrupted and to look before it repeats it.
    Tell,
    /// It is made again, with `is_replay`: it has no effects, or recognises its own.
    Repeat,
}

/// The surroundings of a call.
#[derive(Debug, Clone)]
pub struct ToolContext {
    /// The run.
    pub run: RunId,
    /// The round.
    pub turn: Turn,
    /// 1-based attempt.
    pub attempt: u32,
    /// The id of the call. With the run it names the call, also when it is repeated.
    pub call_id: String,
    /// An earlier run of this call was interrupted.
    pub is_replay: bool,
    /// The answer to the wait that this call parked the run for; `None` on the first run of it.
    pub answer: Option<Value>,
    /// Time of the call, in milliseconds since the Unix epoch.
    pub now_ms: u64,
    /// Values that the agent shares with its tools.
    pub shared: Shared,
    /// Cancelled when the call must stop.
    pub cancel: CancellationToken,
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolReply {
    /// It is done.
    Done(ToolOutput),
    /// The run waits. The call is made again behind the wait, with [`ToolContext::answer`].
    Park(Wait),
}

/// The result of a call, as the model sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolOutput {
    /// The result as text; JSON for anything that is not text.
    pub content: String,
    /// Whether it is a failure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

/// What a run waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wait {
    /// A time to pass.
    Sleep(Duration),
    /// A time to come, in milliseconds since the Unix epoch.
    Until(u64),
    /// The next time that a cron expression of five fields names. One that names none within 40
    /// years, or cannot be read, is the failure of the call.
    Cron {
        /// The expression.
        expression: String,
        /// `UTC`, which is meant where none is given, or an offset such as `+02:00`; names of places
        /// are not known.
        timezone: Option<String>,
    },
    /// The ends of other runs, at least one and at most 256. The answer is a JSON array with one
    /// object for each: `run`, `outcome`, `code`, `response`, `output`. Calls of one answer that wait
    /// for runs wait together, and each is given what is about its own.
    Runs(Vec<RunId>),
    /// Somebody's answer.
    Answer {
        /// What is asked, for whoever answers.
        question: String,
    },
}

/// A call has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// It failed; the model is told.
    #[error("{message}")]
    Failed {
        /// Why, in words for the model.
        message: String,
    },
    /// It could not be reached, and asking again may take it up where it was. The round is asked for
    /// again, which counts as an interruption of the run.
    #[error("the tool was lost: {message}")]
    Lost {
        /// Why, in words for people.
        message: String,
    },
    /// It failed so that going on makes no sense; the attempt ends and the run with it.
    #[error("the tool gave up: {message}")]
    Fatal {
        /// Why, in words for people.
        message: String,
    },
}

impl ToolOutput {
    /// A result in words.
    #[must_use]
    pub fn text(content: impl Into<String>) -> Self {
        Self { content: content.into(), is_error: false }
    }

    /// A result as JSON; a string stays text.
    #[must_use]
    pub fn json(value: Value) -> Self {
        match value {
            Value::String(text) => Self::text(text),
            value => Self::text(value.to_string()),
        }
    }

    /// A failure in words.
    #[must_use]
    pub fn error(content: impl Into<String>) -> Self {
        Self { content: content.into(), is_error: true }
    }
}

/// Values shared by type: what an agent hands to its tools and verifiers.
#[derive(Clone, Default)]
pub struct Shared {
    values: Arc<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

impl Shared {
    /// The same, with one value more; a value of that type is replaced.
    #[must_use]
    pub fn with<T: Send + Sync + 'static>(&self, value: T) -> Self {
        let mut values = (*self.values).clone();
        values.insert(TypeId::of::<T>(), Arc::new(value));
        Self { values: Arc::new(values) }
    }

    /// The value of a type.
    #[must_use]
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let value = Arc::clone(self.values.get(&TypeId::of::<T>())?);
        value.downcast().ok()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("values", &self.values.len()).finish()
    }
}
