//! Making the calls of one answer.

use std::collections::HashMap;
use std::sync::Arc;

use probity_delegate::{DelegateError, cut_middle};
use serde_json::Value;
use tokio::task::{Id, JoinError, JoinSet};

use super::parking::{self, Waiting};
use super::{Attempt, opening};
use crate::conversation::{CallState, OpenCall};
use crate::{
    ChatEvent, ChatNote, Interrupted, Tool, ToolContext, ToolError, ToolOutput, ToolReply, Wait,
    cut,
};

/// The most calls of one answer that are looked at.
const MAX_CALLS: usize = 128;

const TOO_MANY: &str = "not executed: too many calls in one answer; call it again";

const CUT: &str = "not executed: the answer was cut in this call; call it again";

/// The longest text of a tool that ends the attempt, in bytes.
const MAX_FATAL_BYTES: usize = 4 * 1024;

const BUDGET_USED_UP: &str = "not executed: budget used up: hand in your output";

/// A call that is about to be made.
struct Planned {
    open: OpenCall,
    tool: Arc<dyn Tool>,
    arguments: Value,
    context: ToolContext,
}

/// A call that wants to wait, with its place in the answer.
pub(super) type Parking = (usize, OpenCall, Wait);

impl Attempt<'_> {
    /// Brings every open call to an answer, or parks the run.
    pub(super) async fn make_calls(&mut self) -> Result<(), DelegateError> {
        let open = self.conversation.open().to_vec();
        let mut left = self.budget().tool_calls;
        let mut waiting = Waiting::default();
        let mut plan = Vec::new();
        for (index, open) in open.into_iter().enumerate() {
            if matches!(open.state, CallState::Ran(_) | CallState::Given(_)) {
                continue;
            }
            if index >= MAX_CALLS {
                self.conversation.give(&open.call.id, ToolOutput::error(TOO_MANY));
            } else if self.is_output(&open.call) && self.is_stump(&open.call) {
                self.conversation.give(&open.call.id, ToolOutput::error(CUT));
            } else if self.is_output(&open.call) {
                let words = self.invalid_output(&open.call.arguments);
                self.conversation.give(&open.call.id, ToolOutput::error(words));
            } else if left == Some(0) {
                self.conversation.give(&open.call.id, ToolOutput::error(BUDGET_USED_UP));
            } else {
                left = left.map(|left| left - 1);
                if !waiting.holds(&open, self.request.answer.as_ref()) {
                    plan.extend(self.plan(open).await?.map(|planned| (index, planned)));
                }
            }
        }
        let parking = self.run_planned(plan).await?;
        self.park(waiting, parking).await
    }

    /// How a call is made; `None` if it was answered instead.
    async fn plan(&mut self, mut open: OpenCall) -> Result<Option<Planned>, DelegateError> {
        if self.is_stump(&open.call) {
            self.count(&open, CUT.to_owned());
            return Ok(None);
        }
        let (tool, arguments) =
            match self.delegate.tools.admit(&open.call.name, &open.call.arguments) {
                Ok(admitted) => admitted,
                Err(words) => {
                    self.count(&open, words);
                    return Ok(None);
                }
            };
        let was_interrupted = match &open.state {
            CallState::Parked { children, .. } => {
                // The wait is over: this is its answer.
                let answer = self.request.answer.as_ref().map(|answer| &answer.value);
                let answer = answer.map(|answer| parking::about(children, answer));
                let answer = answer.unwrap_or_default();
                let call_id = open.call.id.clone();
                let resumed = ChatNote::Resumed { call_id, answer: answer.clone() };
                self.keep(resumed, 0).await?;
                open.state = CallState::Resumed { answer };
                false
            }
            _ => self.is_inherited,
        };
        if was_interrupted && tool.interrupted() == Interrupted::Tell {
            self.count(&open, opening::INTERRUPTED.to_owned());
            return Ok(None);
        }
        let context = self.context(&open, was_interrupted);
        Ok(Some(Planned { open, tool, arguments, context }))
    }

    fn context(&self, open: &OpenCall, is_replay: bool) -> ToolContext {
        let (request, config) = (self.request, &self.delegate.config);
        let answer = match &open.state {
            CallState::Resumed { answer } => Some(answer.clone()),
            _ => None,
        };
        ToolContext {
            run: request.run.clone(),
            turn: request.turn,
            attempt: request.attempt,
            call_id: open.call.id.clone(),
            is_replay,
            answer,
            now_ms: (config.now_ms)(),
            shared: config.shared.clone(),
            cancel: self.cancel.child_token(),
        }
    }

    /// Answers a call that was not made and counts it all the same.
    fn count(&mut self, open: &OpenCall, words: String) {
        self.conversation.give(&open.call.id, ToolOutput::error(words));
        self.uncounted = self.uncounted.saturating_add(1);
        self.spent.tool_calls = self.spent.tool_calls.saturating_add(1);
    }

    /// Makes calls beside each other, and writes each result down as it comes. Which of them want to
    /// wait, in the order of the answer.
    async fn run_planned(
        &mut self,
        plan: Vec<(usize, Planned)>,
    ) -> Result<Vec<Parking>, DelegateError> {
        let max_parallel = self.delegate.config.max_parallel_calls.max(1);
        let mut plan = plan.into_iter();
        let mut at_work: HashMap<Id, (usize, OpenCall)> = HashMap::new();
        let mut tasks = JoinSet::new();
        let mut parking = Vec::new();
        loop {
            while tasks.len() < max_parallel
                && let Some((index, planned)) = plan.next()
            {
                let open = planned.open.clone();
                self.event(&ChatEvent::ToolStarted { name: open.call.name.clone() });
                let task = tasks.spawn(make(planned.tool, planned.context, planned.arguments));
                at_work.insert(task.id(), (index, open));
            }
            let Some(joined) = tasks.join_next_with_id().await else { break };
            let (id, reply) = ended(joined);
            let Some((index, open)) = at_work.remove(&id) else { continue };
            match reply {
                Ok(ToolReply::Done(output)) => self.came_back(&open, output).await?,
                Err(ToolError::Failed { message }) => {
                    self.came_back(&open, ToolOutput::error(message)).await?;
                }
                Err(ToolError::Lost { message }) => {
                    self.finished(&open, true);
                    let message = cut::at_the_end(&message, MAX_FATAL_BYTES);
                    let message = format!("the tool `{}`: {message}", open.call.name);
                    return Err(DelegateError::Lost { message });
                }
                Err(ToolError::Fatal { message }) => {
                    self.finished(&open, true);
                    let message = cut::at_the_end(&message, MAX_FATAL_BYTES);
                    let message = format!("the tool `{}` gave up: {message}", open.call.name);
                    return Err(DelegateError::Failed { message });
                }
                Ok(ToolReply::Park(wait)) => {
                    self.finished(&open, false);
                    parking.push((index, open, wait));
                }
            }
        }
        parking.sort_by_key(|(index, ..)| *index);
        Ok(parking)
    }

    async fn came_back(
        &mut self,
        open: &OpenCall,
        output: ToolOutput,
    ) -> Result<(), DelegateError> {
        self.finished(open, output.is_error);
        self.note_result(open, output).await
    }

    pub(super) async fn note_result(
        &mut self,
        open: &OpenCall,
        output: ToolOutput,
    ) -> Result<(), DelegateError> {
        let max_bytes = self.delegate.config.max_result_bytes;
        let content = cut_middle(&output.content, max_bytes).into_owned();
        let output = ToolOutput { content, is_error: output.is_error };
        self.keep(ChatNote::Tool { call_id: open.call.id.clone(), output }, 1).await
    }

    fn finished(&self, open: &OpenCall, is_error: bool) {
        self.event(&ChatEvent::ToolFinished { name: open.call.name.clone(), is_error });
    }
}

/// One call, and the tool's own look at what came of it.
async fn make(
    tool: Arc<dyn Tool>,
    context: ToolContext,
    arguments: Value,
) -> Result<ToolReply, ToolError> {
    let reply = tool.call(&context, arguments.clone()).await?;
    match &reply {
        ToolReply::Done(output) if !output.is_error => {
            match tool.verify(&context, &arguments, output).await {
                Ok(()) => Ok(reply),
                Err(words) => Ok(ToolReply::Done(ToolOutput::error(words))),
            }
        }
        _ => Ok(reply),
    }
}

/// A panic in a tool is its failure. What it said is for the log of the process, not for the model.
fn ended(
    joined: Result<(Id, Result<ToolReply, ToolError>), JoinError>,
) -> (Id, Result<ToolReply, ToolError>) {
    joined.unwrap_or_else(|error| {
        let message = "the tool broke down; its result is not known".to_owned();
        (error.id(), Err(ToolError::Failed { message }))
    })
}
