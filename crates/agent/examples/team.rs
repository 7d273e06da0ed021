//! A small team: a lead gives work items to two members, whose verifiers decide what counts.
//!
//! The models are scripted. The first item is rejected once and passes then. The second exhausts its
//! member: the lead is told so in data, and gives the item to the other one. Run it with
//! `cargo run -p probity-agent --example team`.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use probity_agent::chat::{FunctionTool, Message, ModelReply, ModelRequest, ToolContext};
use probity_agent::{Agent, BuildError, DelegateTool, Done, Reject, State, VerificationFailed};
use probity_store::Store;
use probity_testkit::{ScriptedModel, call, final_output};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// What becomes of a work item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ItemState {
    Open,
    Done,
    Failed,
}

/// A change of a work item: who made it, and what it came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Step {
    pub(crate) item: String,
    pub(crate) member: String,
    pub(crate) state: ItemState,
}

/// The work items, in the order of what happened to them.
#[derive(Debug, Clone)]
pub(crate) struct Board {
    items: Arc<[&'static str]>,
    steps: Arc<Mutex<Vec<Step>>>,
}

impl Board {
    pub(crate) fn of(items: impl Into<Arc<[&'static str]>>) -> Self {
        Self { items: items.into(), steps: Arc::default() }
    }

    pub(crate) fn steps(&self) -> Vec<Step> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn state(&self, item: &str) -> ItemState {
        let steps = self.steps();
        let last = steps.iter().rev().find(|step| step.item == item);
        last.map_or(ItemState::Open, |step| step.state)
    }

    fn take(&self, step: Step) {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner).push(step);
    }
}

/// What a member hands in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Work {
    pub(crate) text: String,
}

/// What the lead hands in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Summary {
    pub(crate) summary: String,
}

/// Work is done where it has a source.
async fn has_a_source(work: Work) -> Result<Work, Reject> {
    if work.text.contains("[source]") {
        return Ok(work);
    }
    Err(Reject::revise("There is no source.").code("no_source"))
}

/// The team is done where every item is.
async fn all_is_done(summary: Summary, board: State<Board>) -> Result<Vec<Step>, Reject> {
    let is_open = |item: &&&str| board.state(item) != ItemState::Done;
    let open: Vec<_> = board.items.iter().filter(is_open).collect();
    if open.is_empty() {
        return Ok(board.steps());
    }
    let words = format!("`{}`: {} items are not done.", summary.summary, open.len());
    Err(Reject::revise(words).code("items_open").metadata(json!({ "open": open })))
}

/// A member that hands in these texts.
pub(crate) fn member(
    name: &str,
    texts: impl IntoIterator<Item = &'static str>,
    store: &Arc<dyn Store>,
) -> Result<Agent<Work>, BuildError> {
    let replies = texts.into_iter().map(|text| final_output(json!({ "text": text })));
    Agent::builder("You write one item of a report.")
        .name(name)
        .model(ScriptedModel::replies(replies).repeat_last())
        .store(Arc::clone(store))
        .output::<Work>()
        .verifier(has_a_source)
        .build()
}

/// The lead of this team.
pub(crate) fn lead(
    board: &Board,
    team: DelegateTool,
    store: &Arc<dyn Store>,
) -> Result<Agent<Vec<Step>>, BuildError> {
    let kept = board.clone();
    let mark = move |step: Step, _: ToolContext| {
        kept.take(step);
        async { Ok::<_, Infallible>("noted") }
    };
    let mark = FunctionTool::new("mark", "Notes what became of an item.", mark);
    Agent::builder("You lead a team of writers.")
        .name("lead")
        .model(plan())
        .store(Arc::clone(store))
        .state(board.clone())
        .tool(team)
        .tool(mark.idempotent())
        .output::<Summary>()
        .verifier(all_is_done)
        .build()
}

/// What the model of the lead says: it gives each item to somebody, and looks at what came back.
fn plan() -> ScriptedModel {
    ScriptedModel::new()
        .reply(give("ada", "introduction"))
        .with(|request| note(request, "ada", "introduction"))
        .reply(give("ben", "figures"))
        .with(|request| note(request, "ben", "figures"))
        .reply(final_output(json!({ "summary": "Somehow done." })))
        .reply(give("ada", "figures"))
        .with(|request| note(request, "ada", "figures"))
        .reply(final_output(json!({ "summary": "All items are done." })))
}

fn give(member: &str, item: &str) -> ModelReply {
    let task = format!("Write the {item} of the report.");
    ModelReply::calls([call("", "delegate", json!({ "agent": member, "task": task }))])
}

/// Notes what the last call came to: its answer says so.
fn note(request: &ModelRequest<'_>, member: &str, item: &str) -> ModelReply {
    let state = match request.messages.last() {
        Some(Message::Tool { content, is_error: true, .. }) => {
            match serde_json::from_str::<VerificationFailed>(content) {
                Ok(failed) if failed.error == "verification_failed" => ItemState::Failed,
                _ => ItemState::Open,
            }
        }
        _ => ItemState::Done,
    };
    let step = Step { item: item.to_owned(), member: member.to_owned(), state };
    ModelReply::calls([call("", "mark", json!(step))])
}

/// The whole story: what the lead came to, and the board.
pub(crate) async fn story(
    store: Arc<dyn Store>,
) -> Result<(Done<Vec<Step>>, Board), Box<dyn std::error::Error + Send + Sync>> {
    let board = Board::of(["introduction", "figures"]);
    let ada = member("ada", ["A claim.", "A claim [source].", "Figures [source]."], &store)?;
    let ben = member("ben", ["Figures.", "More figures.", "Many figures."], &store)?;
    let team = DelegateTool::nobody().with(&ada).with(&ben);
    let done = lead(&board, team, &store)?.run("Write the report.").await?;
    Ok((done, board))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let (done, _) = story(Arc::new(probity_store::MemoryStore::new())).await?;
    for Step { item, member, state } in &done.result {
        println!("{item}: {state:?} by {member}");
    }
    println!("attempts of the lead: {}", done.verification.attempts_used);
    Ok(())
}
