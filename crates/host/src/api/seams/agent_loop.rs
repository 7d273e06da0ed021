//! The door of the supervisor's loop: so many turns, one of them held, one of them writing.

use std::sync::Arc;

use axum::http::{Method, StatusCode};
use axum::response::Response;
use probity_workflow::{Bounds, Definition, Entry, Event, Phase};
use serde_json::{Map, Value, json};

use super::build::looped;
use super::drive::Driven;
use super::has_seams;
use crate::call::{Call, answer};
use crate::error::Failure;
use crate::route::{Access, Route};
use crate::scope::Scope;
use crate::wire::v1::{Fields, render};

/// Turns of one request.
const MAX_TURNS: u64 = 50;
/// The worker that leaves something, and the one that does not.
const WRITER: &str = "conformance-multi-agent-handoff-child";
const IDLER: &str = "conformance-noop";
/// Below every floor that a host may have.
const UNSURE: f64 = 0.1;

pub(in crate::api) const LOOP: Route = Route {
    name: "seamAgentLoop",
    method: Method::POST,
    paths: &["/v1/host/sample/agentloop/run"],
    access: Access::Key(Scope::RunsCreate),
    summary: "Runs a supervisor for some turns.",
    takes: Some("Any"),
    gives: &[(200, None)],
    query: &[],
    is_served: has_seams,
    handler: |call| Box::pin(run(call)),
};

/// What is asked for.
struct Wanted {
    turns: u64,
    max_loop_iterations: Option<u64>,
    suspend_at: Option<u64>,
    is_resumed: bool,
    write_at: Option<u64>,
}

/// One turn of the supervisor.
struct Turn<'a> {
    iteration: u64,
    entry: &'a Arc<Entry>,
}

impl Wanted {
    fn parse(body: &Value) -> Result<Self, Failure> {
        let fields = Fields::of(body)?;
        let turns = fields.whole("turns", 1)?.unwrap_or(1);
        if turns > MAX_TURNS {
            return Err(fields.wrong("turns", format!("must be 1 to {MAX_TURNS}")));
        }
        Ok(Self {
            turns,
            max_loop_iterations: fields.whole("maxLoopIterations", 1)?,
            suspend_at: fields.whole("suspendAtTurn", 1)?,
            is_resumed: fields.value("resume").and_then(Value::as_bool).unwrap_or(false),
            write_at: fields.whole("workspaceWriteAtTurn", 1)?,
        })
    }

    /// A supervisor that decides as many times as it is asked for, the last time to end.
    fn definition(&self) -> Value {
        let decision = |turn: u64| {
            let mut decision = match turn == self.turns {
                true => json!({"kind": "terminate", "reason": "goal-reached"}),
                false => {
                    let worker = if self.write_at == Some(turn) { WRITER } else { IDLER };
                    json!({"kind": "next-worker", "nextWorkerIds": [worker]})
                }
            };
            if let (true, Some(members)) = (self.suspend_at == Some(turn), decision.as_object_mut())
            {
                members.insert("confidence".to_owned(), UNSURE.into());
            }
            decision
        };
        let plan: Vec<Value> = (1..=self.turns).map(decision).collect();
        looped(
            "conformance-probity-loop",
            &json!({"mockDispatchPlan": plan}),
            &json!({"perWorkerOutputMappings": {WRITER: {"written": "childOutcome"}}}),
        )
    }
}

async fn run(call: Call) -> Result<Response, Failure> {
    let wanted = Wanted::parse(&call.json()?)?;
    let ceilings = call.host.config.ceilings;
    let max_loop_iterations = wanted
        .max_loop_iterations
        .map_or(ceilings.max_loop_iterations, |asked| asked.min(ceilings.max_loop_iterations));
    let definition = Definition::parse(&wanted.definition())?;
    let driven =
        Driven::begin(&call, definition, Map::new(), Bounds { max_loop_iterations, ..ceilings })
            .await?;
    let (_, mut entries) = driven.settled(&call, 0).await?;
    let held = u64::try_from(entries.len()).unwrap_or(u64::MAX);
    let is_held = entries.last().is_some_and(|entry| !entry.event.is_terminal());
    if is_held && wanted.is_resumed {
        driven.answer(&call, json!("accept")).await?;
        entries = driven.settled(&call, held).await?.1;
    }
    let turns: Vec<Turn<'_>> = entries.iter().filter_map(turn).collect();
    let decisions: Vec<Value> = turns
        .iter()
        .filter_map(|turn| render(&driven.run, turn.entry).get("payload").cloned())
        .collect();
    let mut body = json!({"decisions": decisions});
    let Some(members) = body.as_object_mut() else { return Ok(answer(StatusCode::OK, &body)) };
    if is_held && wanted.is_resumed {
        let resumed = resumed(&entries, &turns, held);
        members.insert("resumedIteration".to_owned(), json!(resumed));
    }
    if let Some(bound) = bound(&entries) {
        members.insert("bound".to_owned(), bound);
    }
    if let Some(at) = wanted.write_at {
        members.insert("workspaceVisible".to_owned(), visible(&entries, &turns, at));
    }
    Ok(answer(StatusCode::OK, &body))
}

fn turn(entry: &Arc<Entry>) -> Option<Turn<'_>> {
    match entry.event {
        Event::SupervisorDecided { iteration, .. } => Some(Turn { iteration, entry }),
        _ => None,
    }
}

/// The turn that went on once it was answered: the one that the next handoff follows from, or the last.
fn resumed(entries: &[Arc<Entry>], turns: &[Turn<'_>], held: u64) -> Option<u64> {
    let began = entries.iter().find(|entry| {
        entry.sequence >= held && matches!(entry.event, Event::Handoff { phase: Phase::Began, .. })
    });
    let cause = began.and_then(|entry| entry.cause);
    let turn = turns.iter().find(|turn| Some(turn.entry.sequence) == cause);
    turn.or(turns.last()).map(|turn| turn.iteration)
}

fn bound(entries: &[Arc<Entry>]) -> Option<Value> {
    let breach = entries.iter().find_map(|entry| match entry.event {
        Event::CapBreached(breach) => Some(breach),
        _ => None,
    })?;
    Some(json!({
        "kind": breach.kind,
        "limit": breach.limit,
        "observed": breach.observed,
        "errorCode": breach.kind.code(),
    }))
}

/// Whether what a worker wrote in a turn was there when that turn was decided, and the next one.
fn visible(entries: &[Arc<Entry>], turns: &[Turn<'_>], at: u64) -> Value {
    let written = entries.iter().find_map(|entry| match &entry.event {
        Event::VariableChanged { name, .. } if name == "written" => Some(entry.sequence),
        _ => None,
    });
    let is_there = |iteration: u64| {
        let turn = turns.iter().find(|turn| turn.iteration == iteration);
        turn.zip(written).is_some_and(|(turn, written)| written < turn.entry.sequence)
    };
    json!({"atWriteTurn": is_there(at), "atNextTurn": is_there(at + 1)})
}
