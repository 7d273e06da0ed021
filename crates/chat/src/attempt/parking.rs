//! Calls that wait.

use probity_core::RunId;
use probity_delegate::{Answer, DelegateError, Parked};
use serde_json::Value;

use super::Attempt;
use super::calls::Parking;
use crate::conversation::{CallState, OpenCall};
use crate::{ChatNote, ToolOutput, Wait, wait};

/// The most runs that a run waits for at a time.
const MAX_CHILDREN: usize = 256;

const ANOTHER_WAITS: &str = "not done: another call of the same answer waits; call it again";

const NO_RUNS: &str = "the tool waits for other runs and names none";

const TOO_MANY_RUNS: &str = "not done: the calls of this answer wait for more than 256 runs; call it \
     again";

/// What the calls of one answer wait for.
#[derive(Default)]
pub(super) struct Waiting {
    /// A time, or somebody's answer: the first one.
    one: Option<Parked>,
    /// The ends of other runs, those of all calls together.
    runs: Option<Parked>,
}

impl Waiting {
    /// Whether a call waits still; then its wait is one of these.
    pub(super) fn holds(&mut self, open: &OpenCall, answer: Option<&Answer>) -> bool {
        let CallState::Parked { key, until_ms, question, children } = &open.state else {
            return false;
        };
        if answer.is_some_and(|answer| answer.key == *key) {
            return false;
        }
        if children.is_empty() {
            let (key, question) = (key.clone(), question.clone());
            let parked = Parked { key, until_ms: *until_ms, question, children: Vec::new() };
            self.one.get_or_insert(parked);
        } else {
            self.join(key.clone(), children);
        }
        true
    }

    fn join(&mut self, key: String, children: &[RunId]) {
        let runs = self.runs.get_or_insert_with(|| Parked {
            key,
            until_ms: None,
            question: String::new(),
            children: Vec::new(),
        });
        for child in children {
            if !runs.children.contains(child) {
                runs.children.push(child.clone());
            }
        }
    }

    fn runs(&self) -> usize {
        self.runs.as_ref().map_or(0, |runs| runs.children.len())
    }
}

impl Attempt<'_> {
    /// Parks the run if a call waits. Calls that wait for runs wait together; of those that wait for
    /// something else the first does, and the others are told to come again. It is waited for first:
    /// the runs go on meanwhile.
    pub(super) async fn park(
        &mut self,
        mut waiting: Waiting,
        parking: Vec<Parking>,
    ) -> Result<(), DelegateError> {
        for (_, open, wait) in parking {
            match wait {
                Wait::Runs(children) => self.park_on_runs(&mut waiting, &open, children).await?,
                wait => self.park_on_one(&mut waiting, &open, &wait).await?,
            }
        }
        match waiting.one.or(waiting.runs) {
            Some(parked) => Err(DelegateError::Parked(parked)),
            None => Ok(()),
        }
    }

    async fn park_on_one(
        &mut self,
        waiting: &mut Waiting,
        open: &OpenCall,
        wait: &Wait,
    ) -> Result<(), DelegateError> {
        if waiting.one.is_some() {
            return self.note_result(open, ToolOutput::error(ANOTHER_WAITS)).await;
        }
        match wait::resolve(wait, (self.delegate.config.now_ms)()) {
            Err(words) => self.note_result(open, ToolOutput::error(words)).await,
            Ok((until_ms, question)) => {
                let key = self.conversation.wait_key(open);
                let parked = Parked { key, until_ms, question, children: Vec::new() };
                self.keep(parked_note(open, &parked), 0).await?;
                waiting.one = Some(parked);
                Ok(())
            }
        }
    }

    async fn park_on_runs(
        &mut self,
        waiting: &mut Waiting,
        open: &OpenCall,
        children: Vec<RunId>,
    ) -> Result<(), DelegateError> {
        let words = match children.len() {
            0 => Some(NO_RUNS),
            more if waiting.runs().saturating_add(more) > MAX_CHILDREN => Some(TOO_MANY_RUNS),
            _ => None,
        };
        if let Some(words) = words {
            return self.note_result(open, ToolOutput::error(words)).await;
        }
        let key = match &waiting.runs {
            Some(runs) => runs.key.clone(),
            None => self.conversation.wait_key(open),
        };
        waiting.join(key.clone(), &children);
        let parked = Parked { key, until_ms: None, question: String::new(), children };
        self.keep(parked_note(open, &parked), 0).await
    }
}

/// What an answer says to a call that waited for these runs: all of it where it waited for none.
pub(super) fn about(children: &[RunId], answer: &Value) -> Value {
    match answer {
        Value::Array(ends) if !children.is_empty() => {
            let is_own = |end: &&Value| {
                let run = end.get("run").and_then(Value::as_str);
                children.iter().any(|child| run == Some(child.as_str()))
            };
            ends.iter().filter(is_own).cloned().collect()
        }
        answer => answer.clone(),
    }
}

fn parked_note(open: &OpenCall, parked: &Parked) -> ChatNote {
    ChatNote::Parked {
        call_id: open.call.id.clone(),
        key: parked.key.clone(),
        until_ms: parked.until_ms,
        question: parked.question.clone(),
        children: parked.children.clone(),
    }
}
