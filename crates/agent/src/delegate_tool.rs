//! A tool by which an agent gives a part of its task to another agent.

use std::sync::Arc;

use async_trait::async_trait;
use probity_chat::{
    Interrupted, Tool, ToolContext, ToolError, ToolOutput, ToolReply, ToolSpec, Wait,
};
use probity_core::{Claim, Code, Outcome, RunId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::agent::{Agent, How, Inner, RunOptions};
use crate::agents::Crew;
use crate::done::{Done, NotDone};
use crate::errand::Errand;
use crate::error::AgentError;
use crate::lineage::Lineage;

/// The namespace of the names of runs that tools start: UUIDv5 of `probity.delegate` in the nil
/// namespace.
const NAMESPACE: Uuid = Uuid::from_u128(0xe99d_6b40_fff0_56ef_bbfe_08b4_6537_4648);
/// The most reasons that a parent is told, and the longest that one may be, in bytes.
const MAX_REASONS: usize = 10;
const MAX_REASON_BYTES: usize = 1024;
/// The longest last claim that a parent is told, in bytes.
const MAX_CLAIM_BYTES: usize = 4096;
/// Who answers, in a child's log, for an answer that reached it through its parent.
const BY_PARENT: &str = "parent";

/// Gives tasks to other agents, and hands on what their gates let through.
///
/// A child is a run of its own, named by its parent and the call, so that a call that a crash
/// interrupted takes up the same child. It has the parent's operator checks before its own. Its gate
/// decides before the parent sees a result; a child without one is a typed [`VerificationFailed`] for
/// the parent's model. A child that waits for an answer parks its parent.
///
/// On a worker ([`crate::Agents`]) the child is left for whoever is free, in the pool of its parent, and
/// the parent is parked until it has ended; children of one answer of the model are waited for
/// together, and hold up nobody meanwhile. What a child waits for is then answered to the child.
pub struct DelegateTool {
    spec: ToolSpec,
    members: Vec<(String, Arc<Inner>)>,
}

/// What a parent is told of a child that came to no result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VerificationFailed {
    /// `verification_failed` where a gate stayed shut (`exhausted`, `rejected`, `inconclusive`,
    /// `faulted`), `delegate_failed` or `cancelled` where there was nothing to check.
    pub error: String,
    /// How the child ended.
    pub outcome: Outcome,
    /// Why, in one word.
    pub code: Code,
    /// Rejections charged to it.
    pub attempts: u32,
    /// What the verdicts said, oldest first; the last ten, each cut to 1 KiB.
    pub reasons: Vec<String>,
    /// What it claimed last, cut to 4 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_claim: Option<Value>,
    /// The child.
    pub run: RunId,
}

#[derive(Deserialize)]
struct Arguments {
    task: String,
    #[serde(default)]
    agent: Option<String>,
}

impl DelegateTool {
    /// A tool `delegate` that gives tasks to one agent.
    #[must_use]
    pub fn to<R>(agent: &Agent<R>) -> Self {
        Self::nobody().with(agent)
    }

    /// A tool `delegate` without members; add them by [`DelegateTool::with`].
    #[must_use]
    pub fn nobody() -> Self {
        let spec = ToolSpec {
            name: "delegate".to_owned(),
            description:
                "Give a part of the task to another agent. Say everything it must know: it \
                          does not see this conversation. Its work is verified before you get the \
                          result."
                    .to_owned(),
            parameters: parameters(&[]),
        };
        Self { spec, members: Vec::new() }
    }

    /// Adds an agent, under its name; one that has the name is replaced.
    #[must_use]
    pub fn with<R>(mut self, agent: &Agent<R>) -> Self {
        self.members.retain(|(name, _)| name != agent.name());
        self.members.push((agent.name().to_owned(), Arc::clone(agent.inner())));
        self.spec.parameters = parameters(&self.members);
        self
    }

    /// Another name for the tool.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.spec.name = name.into();
        self
    }

    fn member(&self, name: Option<&str>) -> Option<&Arc<Inner>> {
        match name {
            None => self.members.first().filter(|_| self.members.len() == 1).map(|it| &it.1),
            Some(name) => self.members.iter().find(|(of, _)| of == name).map(|it| &it.1),
        }
    }
}

#[async_trait]
impl Tool for DelegateTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// The child takes itself up where it was.
    fn interrupted(&self) -> Interrupted {
        Interrupted::Repeat
    }

    async fn call(&self, ctx: &ToolContext, arguments: Value) -> Result<ToolReply, ToolError> {
        let failed = |message: String| ToolError::Failed { message };
        let Arguments { task, agent } =
            serde_json::from_value(arguments).map_err(|error| failed(error.to_string()))?;
        let member = self
            .member(agent.as_deref())
            .ok_or_else(|| failed("name one of the agents of this tool".to_owned()))?;
        let parent = ctx.shared.get::<Lineage>();
        if let Some(above) = &parent
            && above.depth >= above.max_depth
        {
            let depth = above.max_depth;
            return Err(failed(format!("agents may delegate {depth} deep; do this yourself")));
        }
        let child = child_run(&ctx.run, &ctx.call_id);
        if let Some(crew) = ctx.shared.get::<Crew>() {
            let errand = Errand { crew: &crew, ctx, child };
            return match &ctx.answer {
                None => errand.send(member, task.into(), parent.as_deref()).await,
                Some(ends) => errand.come_back(ends).await,
            };
        }
        let options = RunOptions {
            run: Some(child.clone()),
            parent: parent.as_deref().cloned(),
            cancel: ctx.cancel.clone(),
        };
        let member = Arc::clone(member);
        let is_there = member.knows(&child).await.map_err(|error| fatal(&error))?;
        let done = match (is_there, &ctx.answer) {
            (false, _) => member.run(task.into(), options).await,
            (true, None) => member.take_up(&child, options, How::Resume).await,
            (true, Some(value)) => {
                // It has not moved since its parent was parked, so it still waits for the same.
                let about = member.parked_for(&child).await.map_err(|error| fatal(&error))?;
                let how = match about {
                    Some(about) => {
                        How::Wake { about, by: BY_PARENT.to_owned(), value: value.clone() }
                    }
                    None => How::Resume,
                };
                member.take_up(&child, options, how).await
            }
        };
        match done {
            Ok(done) => Ok(result(done)),
            Err(AgentError::NotDone(not_done)) => failure(*not_done),
            Err(AgentError::Waits { question, .. }) => {
                Ok(ToolReply::Park(Wait::Answer { question }))
            }
            Err(error) => Err(fatal(&error)),
        }
    }
}

/// What a parent is told of a child that came to a result.
pub(crate) fn result(done: Done<Value>) -> ToolReply {
    ToolReply::Done(ToolOutput::json(json!({
        "status": done.outcome.as_str(),
        "result": done.result,
        "attempts": done.verification.attempts_used,
        "run": done.run.as_str(),
    })))
}

/// What a parent is told of a child that came to none.
pub(crate) fn failure(not_done: NotDone) -> Result<ToolReply, ToolError> {
    let told = VerificationFailed::of(not_done);
    let content = serde_json::to_string(&told)
        .map_err(|error| ToolError::Fatal { message: error.to_string() })?;
    Ok(ToolReply::Done(ToolOutput::error(content)))
}

impl VerificationFailed {
    fn of(not_done: NotDone) -> Self {
        let NotDone { run, outcome, code, reasons, last_claim, verification, .. } = not_done;
        let error = match outcome {
            Outcome::DelegateFailed | Outcome::Cancelled => outcome.as_str(),
            _ => "verification_failed",
        };
        let skipped = reasons.len().saturating_sub(MAX_REASONS);
        let reasons = reasons.into_iter().skip(skipped);
        Self {
            error: error.to_owned(),
            outcome,
            code,
            attempts: verification.attempts_used,
            reasons: reasons.map(|reason| cut(reason, MAX_REASON_BYTES)).collect(),
            last_claim: last_claim.map(told),
            run,
        }
    }
}

/// A claim as a parent is told it: the output, or the text where there is none or it is too long.
fn told(claim: Claim) -> Value {
    match claim.output {
        Some(output) if output.to_string().len() <= MAX_CLAIM_BYTES => output,
        Some(output) => Value::String(cut(output.to_string(), MAX_CLAIM_BYTES)),
        None => Value::String(cut(claim.response, MAX_CLAIM_BYTES)),
    }
}

fn cut(mut text: String, max_bytes: usize) -> String {
    let end = text.floor_char_boundary(max_bytes);
    if end < text.len() {
        let gone = text.len() - end;
        text.truncate(end);
        text.push_str(&format!(" [{gone} bytes cut]"));
    }
    text
}

/// The log of a child cannot be read or written, so nothing is known of what it did.
fn fatal(error: &AgentError) -> ToolError {
    ToolError::Fatal { message: format!("the agent that was given the task: {error}") }
}

/// The name of the run that a call starts, the same however often it is made.
fn child_run(parent: &RunId, call_id: &str) -> RunId {
    let text = format!("{parent}\n{call_id}");
    RunId::from_uuid(Uuid::new_v5(&NAMESPACE, text.as_bytes()).as_u128())
}

fn parameters(members: &[(String, Arc<Inner>)]) -> Value {
    let task = json!({ "type": "string", "minLength": 1, "description": "What is to be done." });
    let names: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
    if names.len() < 2 {
        return json!({
            "type": "object",
            "properties": { "task": task },
            "required": ["task"],
            "additionalProperties": false,
        });
    }
    json!({
        "type": "object",
        "properties": {
            "task": task,
            "agent": { "type": "string", "enum": names, "description": "Who is to do it." },
        },
        "required": ["task", "agent"],
        "additionalProperties": false,
    })
}
