//! The agent as a delegate: it works elsewhere, and its claims come from events of its hooks.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use probity_core::{Claim, NoteKind, Turn, Usage};
use probity_delegate::{
    Answered, Conversation, Delegate, DelegateError, Note, NoteError, Parked, Request,
};
use probity_harness::Tool;
use serde::{Deserialize, Serialize};

/// A claim, and what is kept of the event that brought it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Handed {
    /// What the agent said last.
    pub(super) response: String,
    /// The event.
    pub(super) said: Said,
}

/// What is kept of an event beside its claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Said {
    /// Which event it was: a digest of it.
    pub(super) event: String,
    /// Claims before it, since the user spoke, after which the agent had to go on.
    pub(super) refused: u32,
    /// Claims that there may be since the user spoke.
    pub(super) allowed: u32,
    /// What the judge's files must be: their digest, after a run in which they were changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) judge: Option<String>,
    /// What they were in the runs before this one since the user spoke, none of which was a pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sealed: Option<String>,
}

impl Said {
    /// What the judge's files must be.
    pub(super) fn held(&self) -> Option<&String> {
        self.judge.as_ref().or(self.sealed.as_ref())
    }
}

/// Hands in one claim where it is given one, and waits for the next event otherwise.
pub(super) struct Outside {
    tool: Tool,
    hand: Mutex<Option<Handed>>,
}

impl Outside {
    pub(super) const fn new(tool: Tool, hand: Option<Handed>) -> Self {
        Self { tool, hand: Mutex::new(hand) }
    }
}

/// The name of the wait for the claim of a turn.
pub(super) fn key(turn: Turn) -> String {
    format!("claim-{}-{}", turn.epoch, turn.number)
}

#[async_trait]
impl Delegate for Outside {
    async fn attempt(&self, request: &Request) -> Result<Answered, DelegateError> {
        let key = key(request.turn);
        let woken = request.answer.as_ref().filter(|answer| answer.key == key);
        let mut hand = self.hand.lock().unwrap_or_else(PoisonError::into_inner);
        let handed: Option<Handed> = match woken {
            Some(answer) => {
                let woken: Handed = serde_json::from_value(answer.value.clone())
                    .map_err(|error| DelegateError::Failed { message: error.to_string() })?;
                // The event that was interrupted behind its being kept: it is not a second claim.
                drop(hand.take_if(|handed| handed.said.event == woken.said.event));
                Some(woken)
            }
            None => hand.take(),
        };
        drop(hand);
        let Some(Handed { response, said }) = handed else {
            let prompt = &request.prompt;
            let told = prompt.rewritten.as_ref().or(prompt.correction.as_ref());
            let question =
                told.map_or_else(|| "the claim of the agent".to_owned(), ToString::to_string);
            return Err(DelegateError::Parked(Parked {
                key,
                until_ms: None,
                question,
                children: Vec::new(),
            }));
        };
        let unreadable =
            |error: serde_json::Error| NoteError::Unreadable { message: error.to_string() };
        let content = serde_json::to_vec(&said).map_err(unreadable)?;
        let note = Note { kind: NoteKind::Session, content, usage: Usage::default() };
        Ok(Answered { notes: vec![note], ..Answered::of(Claim::text(response)) })
    }

    fn conversation(&self) -> Conversation {
        Conversation::Same
    }

    fn describe(&self) -> String {
        format!("{}, through its hooks", self.tool)
    }

    fn yields(&self) -> bool {
        true
    }

    fn is_at_hand(&self) -> bool {
        true
    }

    fn identity(&self) -> String {
        self.tool.to_string()
    }
}
