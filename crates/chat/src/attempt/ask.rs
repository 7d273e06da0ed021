//! Asking the model.

use std::time::Duration;

use probity_core::Usage;
use probity_delegate::{DelegateError, Parked};

use super::Attempt;
use crate::{ChatEvent, ChatNote, ModelError, ModelReply, ModelRequest};

impl Attempt<'_> {
    /// The next answer of the model. Asked again while the failure is transient and tries are left.
    pub(super) async fn ask(&mut self) -> Result<ModelReply, DelegateError> {
        self.check_answers_left()?;
        self.listen().await?;
        self.event(&ChatEvent::ModelStarted);
        let policy = self.delegate.config.retry;
        let (run, number) = (self.request.run.clone(), self.conversation.model_calls());
        let mut tries = 1;
        let mut reply = loop {
            match self.try_once(number).await {
                Ok(reply) => break reply,
                Err(error) if error.is_transient() && tries < policy.max_tries => {
                    let asked_ms = retry_after_ms(&error);
                    if asked_ms.is_some_and(|asked_ms| asked_ms > policy.max_ms)
                        && let Some(parked) = self.sit_out(&error).await?
                    {
                        return Err(DelegateError::Parked(parked));
                    }
                    tokio::time::sleep(policy.wait(&run, number, tries, asked_ms)).await;
                    tries += 1;
                }
                Err(error) => {
                    return Err(match self.sit_out(&error).await? {
                        Some(parked) => DelegateError::Parked(parked),
                        None => self.gave_up(&error, tries),
                    });
                }
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

    /// Lets the run wait for a provider that is out of reach, where it may; `None` where it fails.
    async fn sit_out(&mut self, error: &ModelError) -> Result<Option<Parked>, DelegateError> {
        let ModelError::Transient { retry_after_ms, .. } = error else { return Ok(None) };
        let config = &self.delegate.config;
        let waited = self.conversation.outages();
        let Some(wait_ms) = config.outage.wait_ms(waited, *retry_after_ms) else {
            return Ok(None);
        };
        let until_ms = (config.now_ms)().saturating_add(wait_ms);
        let note = ChatNote::Unavailable { until_ms, message: error.to_string() };
        self.request.notes.keep(note.encode(Usage::default())?).await?;
        // No call has an id that begins like this.
        let key = format!("#model-{}-{waited}", self.conversation.model_calls());
        Ok(Some(Parked {
            key,
            until_ms: Some(until_ms),
            question: String::new(),
            children: Vec::new(),
        }))
    }

    fn gave_up(&self, error: &ModelError, tries: u32) -> DelegateError {
        let message = match error {
            ModelError::Cancelled => return DelegateError::Cancelled,
            error if error.is_transient() => {
                let waits = match self.conversation.outages() {
                    0 => String::new(),
                    waits => format!(", after {waits} waits"),
                };
                format!("{error}; asked {tries} times{waits}. Try again later")
            }
            error => format!("{error}; check the model's name, the key and the request"),
        };
        DelegateError::Model { code: error.code(), message }
    }
}

const fn retry_after_ms(error: &ModelError) -> Option<u64> {
    match error {
        ModelError::Transient { retry_after_ms, .. } => *retry_after_ms,
        _ => None,
    }
}
