//! Asking the model.

use std::time::Duration;

use probity_delegate::DelegateError;

use super::Attempt;
use crate::{ChatEvent, ModelError, ModelReply, ModelRequest};

impl Attempt<'_> {
    /// The next answer of the model. Asked again while the failure is transient and tries are left.
    pub(super) async fn ask(&mut self) -> Result<ModelReply, DelegateError> {
        self.check_answers_left()?;
        self.event(&ChatEvent::ModelStarted);
        let policy = self.delegate.config.retry;
        let (run, number) = (&self.request.run, self.conversation.model_calls());
        let mut tries = 1;
        let mut reply = loop {
            match self.try_once(number).await {
                Ok(reply) => break reply,
                Err(error) if error.is_transient() && tries < policy.max_tries => {
                    let wait = policy.wait(run, number, tries, retry_after_ms(&error));
                    tokio::time::sleep(wait).await;
                    tries += 1;
                }
                Err(error) => return Err(gave_up(&error, tries)),
            }
        };
        self.event(&ChatEvent::ModelFinished { tokens: reply.usage.total() });
        self.conversation.name_calls(&mut reply.tool_calls);
        Ok(reply)
    }

    async fn try_once(&self, number: u32) -> Result<ModelReply, ModelError> {
        let cancel = self.cancel.child_token();
        let _cancel_at_end = cancel.clone().drop_guard();
        let request = ModelRequest {
            run: &self.request.run,
            turn: self.request.turn,
            number,
            messages: self.conversation.messages(),
            tools: &self.delegate.specs,
            tool_choice: self.tool_choice(),
            cancel: &cancel,
        };
        let timeout_ms = self.delegate.config.call_timeout_ms;
        let answer = self.delegate.model.complete(&request);
        match tokio::time::timeout(Duration::from_millis(timeout_ms), answer).await {
            Ok(answer) => answer,
            Err(_) => Err(ModelError::Transient {
                status: None,
                message: format!("no answer within {timeout_ms} ms"),
                retry_after_ms: None,
            }),
        }
    }
}

const fn retry_after_ms(error: &ModelError) -> Option<u64> {
    match error {
        ModelError::Transient { retry_after_ms, .. } => *retry_after_ms,
        _ => None,
    }
}

fn gave_up(error: &ModelError, tries: u32) -> DelegateError {
    let message = match error {
        ModelError::Cancelled => return DelegateError::Cancelled,
        error if error.is_transient() => {
            format!("{error}; asked {tries} times. Try again later")
        }
        error => format!("{error}; check the model's name, the key and the request"),
    };
    DelegateError::Model { code: error.code(), message }
}
