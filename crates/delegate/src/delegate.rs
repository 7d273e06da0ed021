//! The contract between the driver and whoever does the work.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use probity_core::{Claim, RunId, Turn, Usage};
use probity_sandbox::SandboxError;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::notes::{Note, NoteError, Notes};
use crate::steering::Steering;

/// One attempt, as a delegate is asked for it.
#[derive(Debug, Clone)]
pub struct Request {
    /// The run.
    pub run: RunId,
    /// The round of the loop. A delegate sees the same turn again after a crash.
    pub turn: Turn,
    /// 1-based attempt.
    pub attempt: u32,
    /// Attempts allowed in all.
    pub max_attempts: u32,
    /// What to say.
    pub prompt: Prompt,
    /// Session id that an earlier attempt of this run reported, if any.
    pub session: Option<String>,
    /// An earlier dispatch of this turn was interrupted: what was done then may have had effects.
    pub is_replay: bool,
    /// What the run wrote down so far, and where more goes.
    pub notes: Notes,
    /// What the run leaves to spend.
    pub budget: Budget,
    /// The answer to the last wait of the run; what it answers is told by its key.
    pub answer: Option<Answer>,
    /// What people say to the delegate while it works.
    pub steering: Steering,
    /// Wall time for this attempt; `None` leaves it to the run's own bound.
    pub timeout: Option<Duration>,
    /// Cancelled when the attempt must stop; the delegate kills whatever it started.
    pub cancel: CancellationToken,
}

impl Request {
    /// A first attempt of up to `max_attempts`: turn 0, nothing noted, no bound on time or cost.
    #[must_use]
    pub fn first(run: RunId, max_attempts: u32, prompt: Prompt) -> Self {
        Self {
            run,
            turn: Turn::FIRST,
            attempt: 1,
            max_attempts,
            prompt,
            session: None,
            is_replay: false,
            notes: Notes::none(),
            budget: Budget::default(),
            answer: None,
            steering: Steering::none(),
            timeout: None,
            cancel: CancellationToken::new(),
        }
    }
}

/// What a run leaves to spend, before this attempt. `None` is unbounded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Budget {
    /// Model tokens.
    pub tokens: Option<u64>,
    /// Tool calls.
    pub tool_calls: Option<u64>,
}

/// A budget that ended in the midst of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spent {
    /// Model tokens.
    Tokens,
    /// Tool calls.
    ToolCalls,
    /// Calls of the model, the delegate's own bound.
    ModelCalls,
}

impl Spent {
    /// In words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::ToolCalls => "tool calls",
            Self::ModelCalls => "model calls",
        }
    }

    /// The stable machine word; the run is exhausted under it.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Tokens => "budget_tokens",
            Self::ToolCalls => "budget_tool_calls",
            Self::ModelCalls => "budget_model_calls",
        }
    }
}

/// What a delegate waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parked {
    /// The delegate's own name of the wait, at most 256 bytes; comes back with the answer.
    pub key: String,
    /// When it goes on by itself, in milliseconds since the Unix epoch; `None` waits for an answer.
    pub until_ms: Option<u64>,
    /// What is asked, for whoever answers; empty where a time is waited for.
    pub question: String,
    /// The runs whose ends are the answer, at most 256; empty where somebody answers. It comes once
    /// all of them have ended.
    pub children: Vec<RunId>,
}

/// The end of a wait.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The key of the wait.
    pub key: String,
    /// What was answered; null where a time was waited for.
    pub value: Value,
}

/// What to say to the delegate. [`Prompt::render`] makes it one text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompt {
    /// Who the delegate is to be, from its profile. Said once in a conversation.
    pub system: Option<Arc<str>>,
    /// The task as the caller wrote it.
    pub task: Arc<str>,
    /// Why the last claim was not accepted; `None` on the first attempt.
    pub correction: Option<Arc<str>>,
    /// The last claim's response, for delegates that cannot continue a conversation.
    pub last_response: Option<Arc<str>>,
    /// What a hook put in the place of all of the above, as one text.
    pub rewritten: Option<Arc<str>>,
    /// Whoever is asked now did not hear the earlier prompts of the run: another delegate did.
    pub is_handed_over: bool,
}

/// A delegate's answer to one [`Request`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answered {
    /// What it says it did.
    pub claim: Claim,
    /// What the attempt spent, as far as the delegate reports it.
    pub usage: Usage,
    /// Session id to continue with on the next attempt.
    pub session: Option<String>,
    /// Notes that become durable together with the claim, in this order.
    pub notes: Vec<Note>,
}

impl Answered {
    /// An answer that is only a claim: nothing about cost or session.
    #[must_use]
    pub fn of(claim: Claim) -> Self {
        Self { claim, ..Self::default() }
    }
}

/// Whether a retry continues the conversation of the attempt before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conversation {
    /// The delegate sees what it claimed and did before.
    Same,
    /// Every attempt starts anew; the prompt carries the task, the last claim and the correction.
    Fresh,
}

impl Conversation {
    /// The wire word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Fresh => "fresh",
        }
    }
}

/// The delegate produced no claim.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DelegateError {
    /// The program could not be started.
    #[error(
        "cannot start the delegate `{program}`: {source}; check that it is installed and on PATH"
    )]
    Start {
        /// What was to be run.
        program: String,
        /// Why it could not.
        source: std::io::Error,
    },
    /// The program ended with a failure and `on_error` does not ask to check its claim anyway.
    #[error("the delegate ended with {status}: {stderr_tail}")]
    Exit {
        /// `exit status 2`, `signal 9`.
        status: String,
        /// The end of what it wrote to standard error, or to standard output when that is empty; at
        /// most 2 KiB.
        stderr_tail: String,
    },
    /// It did not answer in time and was killed with everything it had started.
    #[error("the delegate did not answer within {timeout_ms} ms and was killed")]
    TimedOut {
        /// The bound.
        timeout_ms: u64,
    },
    /// The attempt was cancelled.
    #[error("the attempt was cancelled")]
    Cancelled,
    /// What it wrote is not in the format it was declared to speak.
    #[error("cannot read the delegate's output as {format}: {detail}")]
    Output {
        /// The declared format.
        format: &'static str,
        /// What is wrong, with the line number.
        detail: String,
    },
    /// The prompt is too long for the way it is passed.
    #[error(
        "the prompt is {bytes} bytes, more than the {max_bytes} that {way} can carry; {advice}"
    )]
    PromptTooLong {
        /// Its length.
        bytes: usize,
        /// The bound.
        max_bytes: usize,
        /// `an argument` or `standard input`.
        way: &'static str,
        /// What to do instead.
        advice: &'static str,
    },
    /// The program could not be run or watched, for a reason that is not the program's.
    #[error("the delegate could not be run: {source}")]
    Sandbox {
        /// Why.
        #[source]
        source: SandboxError,
    },
    /// It wants to wait. Not a failure: the run is parked, and the same turn is asked for again
    /// behind the wait.
    #[error("the delegate waits")]
    Parked(Parked),
    /// The connection to it was lost, and asking again may take it up where it was. Counts as an
    /// interruption of the run; the same turn is asked for again.
    #[error("the delegate was lost: {message}")]
    Lost {
        /// What was seen of it.
        message: String,
    },
    /// A shared budget ended in the midst of the attempt.
    #[error("the run's budget of {} is used up", .0.as_str())]
    Budget(Spent),
    /// What it handed in does not fit the declared output, and its tries are used up.
    #[error("the output does not fit its schema after {tries} tries: {detail}")]
    InvalidOutput {
        /// How often it tried.
        tries: u32,
        /// What is wrong with the last one.
        detail: String,
    },
    /// The model behind it gave no answer.
    #[error("{message}")]
    Model {
        /// `model_refused`, `model_unavailable`, `model_unreadable`, `model_length` or `model_filtered`.
        code: &'static str,
        /// What the provider said, and what to do.
        message: String,
    },
    /// What it did could not be written down.
    #[error("the delegate stopped: {0}")]
    Notes(#[from] NoteError),
    /// The delegate says itself that it failed: a function returned an error, a command reported one
    /// in its output, a scripted delegate was asked what it did not expect.
    #[error("the delegate failed: {message}")]
    Failed {
        /// Its own words.
        message: String,
    },
}

impl DelegateError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Start { .. } => "delegate_start",
            Self::Exit { .. } => "delegate_exit",
            Self::TimedOut { .. } => "delegate_timeout",
            Self::Cancelled => "delegate_cancelled",
            Self::Output { .. } => "delegate_output",
            Self::PromptTooLong { .. } => "delegate_prompt",
            Self::Sandbox { .. } => "delegate_sandbox",
            Self::Parked(_) => "delegate_parked",
            Self::Lost { .. } => "delegate_lost",
            Self::Budget(spent) => spent.code(),
            Self::InvalidOutput { .. } => "invalid_output",
            Self::Model { code, .. } => code,
            Self::Notes(_) => "delegate_notes",
            Self::Failed { .. } => "delegate_error",
        }
    }
}

/// Who does the work.
#[async_trait]
pub trait Delegate: Send + Sync {
    /// Does one attempt.
    ///
    /// # Errors
    /// [`DelegateError`] when there is no claim to check.
    async fn attempt(&self, request: &Request) -> Result<Answered, DelegateError>;

    /// Whether attempts share a conversation. Stated in the run's report.
    fn conversation(&self) -> Conversation;

    /// A few words for people: the command line, the function's name.
    fn describe(&self) -> String;

    /// Whether an attempt never blocks its thread: it is then polled in place, which is cheaper. One that
    /// says so and blocks holds up its own run.
    fn yields(&self) -> bool {
        false
    }

    /// Whether an attempt does nothing but hand over what is at hand already, or ask to wait, and is never
    /// pending. There is nothing to announce then: its dispatch and what comes of it are one append.
    fn is_at_hand(&self) -> bool {
        false
    }

    /// Who it is, to tell a critic from the actor that it judges: two delegates of the same identity
    /// share their judgement. By default what [`Delegate::describe`] says.
    fn identity(&self) -> String {
        self.describe()
    }
}
