//! The steps before a prompt, each with its bound.

use std::time::Duration;

use agent_client_protocol::{Error, ErrorCode, JsonRpcRequest};
use probity_delegate::cut_middle;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::connection::{Connection, is_broken};

/// How much of an agent's own words is quoted.
pub(crate) const MAX_QUOTE_BYTES: usize = 2 * 1024;

/// How long an attempt may go on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits<'a> {
    /// For each step before the prompt.
    pub(crate) step_timeout: Duration,
    /// For all of the attempt.
    pub(crate) timeout: Duration,
    /// When that is over.
    pub(crate) deadline: Instant,
    pub(crate) cancel: &'a CancellationToken,
}

impl<'a> Limits<'a> {
    pub(crate) const fn of(self, connection: &'a Connection) -> Steps<'a> {
        Steps { connection, limits: self }
    }
}

/// Asks an agent for one thing after the other.
#[derive(Debug)]
pub(crate) struct Steps<'a> {
    connection: &'a Connection,
    limits: Limits<'a>,
}

/// A step was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Halt {
    /// The attempt was cancelled.
    Cancelled,
    /// The attempt is out of time.
    OutOfTime,
    /// The agent did not answer in the time of the step.
    Silent {
        /// The method.
        step: &'static str,
    },
    /// The connection broke.
    Broken {
        /// The method.
        step: &'static str,
    },
    /// The agent answered with an error.
    Refused {
        /// The method.
        step: &'static str,
        /// Its words.
        message: String,
        /// It wants to know who asks first.
        wants_login: bool,
    },
    /// The agent is not what the configuration asks for.
    Unfit {
        /// Why, and what to do.
        detail: String,
    },
}

impl Steps<'_> {
    /// Asks for one thing.
    pub(crate) async fn call<R: JsonRpcRequest>(
        &self,
        step: &'static str,
        request: R,
    ) -> Result<R::Response, Halt> {
        let Limits { step_timeout, deadline, cancel, .. } = self.limits;
        let step_end = Instant::now() + step_timeout;
        let end = step_end.min(deadline);
        let answer = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(Halt::Cancelled),
            answer = timeout_at(end, self.connection.call(request)) => answer,
        };
        match answer {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) if is_broken(&error) => Err(Halt::Broken { step }),
            Ok(Err(error)) => Err(Halt::Refused {
                step,
                wants_login: error.code == ErrorCode::AUTH_REQUIRED,
                message: words(&error),
            }),
            Err(_) if deadline < step_end => Err(Halt::OutOfTime),
            Err(_) => Err(Halt::Silent { step }),
        }
    }

    /// Waits until the agent has told nothing for a while, at most for the time of a step: one that
    /// never ends to tell is asked all the same.
    pub(crate) async fn quiet(&self) -> Result<(), Halt> {
        let Limits { step_timeout, deadline, cancel, .. } = self.limits;
        let end = deadline.min(Instant::now() + step_timeout);
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Halt::Cancelled),
            _ = timeout_at(end, self.connection.quiet()) => Ok(()),
        }
    }
}

/// An agent's error in its own words.
pub(crate) fn words(error: &Error) -> String {
    let data = match &error.data {
        Some(serde_json::Value::String(text)) => format!(": {text}"),
        Some(data) => format!(": {data}"),
        None => String::new(),
    };
    cut_middle(&format!("{}{data}", error.message), MAX_QUOTE_BYTES).into_owned()
}
