//! Agents that lead agents: the story of the example, and what is inherited.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use probity_agent::chat::ModelReply;
use probity_agent::{Agent, DelegateTool, Ledger, MAX_DEPTH, VerificationFailed};
use probity_core::{CheckDecl, Event, Fault, Outcome, RunId, Subject, Verdict};
use probity_engine::{Check, read_entries};
use probity_store::{MemoryStore, RunLog as _, Store};
use probity_testkit::{ScriptedModel, call};
use probity_verifier::{CheckContext, Verifier};
use serde_json::{Value, json};

use crate::stage::{Output, agent, answers, bounded, hand_in, model, not_done, only_good};

#[expect(dead_code, reason = "its `main` is for people")]
#[path = "../../examples/team.rs"]
mod example;

use example::{ItemState, Step};

fn memory() -> (Arc<MemoryStore>, Arc<dyn Store>) {
    let store = Arc::new(MemoryStore::new());
    (store.clone(), store)
}

#[tokio::test]
async fn the_story_of_the_example() {
    let (log, store) = memory();
    let (done, board) = bounded(Box::pin(example::story(store.clone()))).await.unwrap();
    let step = |item: &str, member: &str, state| Step {
        item: item.to_owned(),
        member: member.to_owned(),
        state,
    };
    let steps = [
        step("introduction", "ada", ItemState::Done),
        step("figures", "ben", ItemState::Failed),
        step("figures", "ada", ItemState::Done),
    ];
    assert_eq!((done.outcome, done.result.as_slice()), (Outcome::Verified, steps.as_slice()));
    assert_eq!(board.steps(), steps);
    assert_eq!(done.verification.attempts_used, 1, "it was not done when it said so first");

    let runs = log.list(None, 10).await.unwrap();
    assert_eq!(runs.len(), 4, "the lead, and a run for each task that was given");
    let mut ends = Vec::new();
    for run in runs.iter().filter(|it| it.run != done.run) {
        let request = request_of(&store, &run.run).await;
        assert_eq!(request["parent_id"], done.run.as_str());
        let entries = read_entries(store.as_ref(), &run.run).await.unwrap();
        let charged = Ledger::of(&entries).state().attempts_used;
        let outcome = entries.iter().find_map(|entry| match entry.event {
            Event::OutcomeDecided { outcome, .. } => Some(outcome),
            _ => None,
        });
        ends.push((request["agent"].as_str().unwrap().to_owned(), outcome.unwrap(), charged));
    }
    ends.sort_by(|a, b| (&a.0, a.2).cmp(&(&b.0, b.2)));
    let ends: Vec<_> =
        ends.iter().map(|(name, outcome, n)| (name.as_str(), *outcome, *n)).collect();
    let expected = [
        ("ada", Outcome::Verified, 0),
        ("ada", Outcome::Verified, 1),
        ("ben", Outcome::Exhausted, 3),
    ];
    assert_eq!(ends, expected);
}

async fn request_of(store: &Arc<dyn Store>, run: &RunId) -> Value {
    let request = probity_engine::read_request(store.as_ref(), run).await.unwrap();
    serde_json::from_slice(&request).unwrap()
}

fn give(task: &str) -> ModelReply {
    ModelReply::calls([call("", "delegate", json!({ "task": task }))])
}

/// A chain of agents, each of which gives its task to the next; the last hands in an output.
fn chain(store: &Arc<dyn Store>, length: usize, depth: Option<u32>) -> (Agent<Output>, Scripts) {
    let mut scripts = vec![model([hand_in("good")])];
    let last = agent(&scripts[0]).name("link").store(store.clone());
    let mut link = last.output::<Output>().verifier(only_good).build().unwrap();
    for _ in 1..length {
        let script = model([give("Go on."), hand_in("good")]);
        let mut above = agent(&script).name("link").store(store.clone());
        above = above.tool(DelegateTool::to(&link));
        if let Some(depth) = depth {
            above = above.max_depth(depth);
        }
        link = above.output::<Output>().verifier(only_good).build().unwrap();
        scripts.push(script);
    }
    scripts.reverse();
    (link, scripts)
}

type Scripts = Vec<Arc<ScriptedModel>>;

#[tokio::test]
async fn agents_delegate_so_deep_and_no_deeper() {
    for (depth, runs) in [(None, MAX_DEPTH), (Some(2), 2), (Some(99), MAX_DEPTH), (Some(0), 0)] {
        let (log, store) = memory();
        let (first, scripts) = chain(&store, 8, depth);
        let done = bounded(Box::pin(first.run("Begin."))).await.unwrap();
        assert_eq!(done.outcome, Outcome::Verified);
        let runs = usize::try_from(runs).unwrap() + 1;
        assert_eq!(log.list(None, 20).await.unwrap().len(), runs, "{depth:?}");
        let refused = answers(&scripts[runs - 1].asked()[1]).pop().unwrap();
        assert!(refused.1 && refused.0.contains("do this yourself"), "{refused:?}");
    }
}

/// A child cannot go deeper than its ancestors allow.
#[tokio::test]
async fn the_least_depth_of_a_family_holds() {
    let (log, store) = memory();
    let (link, scripts) = chain(&store, 4, None);
    let above = model([give("Go on."), hand_in("good")]);
    let lead = agent(&above).store(store.clone()).max_depth(2).tool(DelegateTool::to(&link));
    let lead = lead.output::<Output>().verifier(only_good).build().unwrap();
    bounded(Box::pin(lead.run("Begin."))).await.unwrap();
    assert_eq!(log.list(None, 20).await.unwrap().len(), 3);
    assert_eq!(scripts[2].asked().len(), 0);
}

/// A check of the operator that counts and remembers in which runs it was asked.
#[derive(Clone, Default)]
struct Operator {
    asked: Arc<Mutex<Vec<String>>>,
    shut: bool,
}

#[async_trait]
impl Verifier for Operator {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        self.asked.lock().unwrap().push(ctx.task.to_string());
        match self.shut {
            true => Ok(Verdict::revise("forbidden", "The operator does not want this.")),
            false => Ok(Verdict::pass()),
        }
    }
}

fn check(id: &str, operator: &Operator) -> Check {
    let decl = CheckDecl { id: id.parse().unwrap(), subject: Subject::Claim, timeout_ms: 10_000 };
    Check::verifier(decl, Arc::new(operator.clone()))
}

/// The checks that a run was opened with, in order.
async fn checks_of(store: &Arc<dyn Store>, run: &RunId) -> Vec<String> {
    let entries = read_entries(store.as_ref(), run).await.unwrap();
    let Event::RunOpened { checks, .. } = &entries[0].event else { panic!("{:?}", entries[0]) };
    checks.iter().map(|check| check.id.to_string()).collect()
}

#[tokio::test]
async fn a_child_has_the_checks_of_its_ancestors_and_can_only_add() {
    let (_, store) = memory();
    let (top, middle, bottom) = (Operator::default(), Operator::default(), Operator::default());
    let scripts = [
        model([hand_in("good")]),
        model([give("Do the last part."), hand_in("good")]),
        model([give("Do a part."), hand_in("good")]),
    ];
    let last = agent(&scripts[0]).name("last").store(store.clone());
    let last = last.check(check("bottom", &bottom)).output::<Output>().verifier(only_good);
    let mid = agent(&scripts[1]).name("mid").store(store.clone());
    let mid = mid.check(check("middle", &middle)).tool(DelegateTool::to(&last.build().unwrap()));
    let mid = mid.output::<Output>().verifier(only_good).build().unwrap();
    let lead = agent(&scripts[2]).name("lead").store(store.clone());
    let lead = lead.check(check("top", &top)).tool(DelegateTool::to(&mid));
    let lead = lead.output::<Output>().verifier(only_good).build().unwrap();
    let done = bounded(Box::pin(lead.run("Do it all."))).await.unwrap();

    let below = |script: &Arc<ScriptedModel>| script.asked()[0].run.clone();
    assert_eq!(checks_of(&store, &done.run).await, ["top", "verifier"]);
    assert_eq!(checks_of(&store, &below(&scripts[1])).await, ["top", "middle", "verifier"]);
    let all = ["top", "middle", "bottom", "verifier"];
    assert_eq!(checks_of(&store, &below(&scripts[0])).await, all);
    let asked = |operator: &Operator| operator.asked.lock().unwrap().clone();
    assert_eq!(asked(&top), ["Do the last part.", "Do a part.", "Do it all."]);
    assert_eq!(asked(&middle), ["Do the last part.", "Do a part."]);
    assert_eq!(asked(&bottom), ["Do the last part."]);
}

/// The same child passes alone. Below a parent whose operator says no, it does not.
#[tokio::test]
async fn a_child_cannot_drop_the_check_of_its_parent() {
    let (_, store) = memory();
    let operator = Operator { shut: true, ..Operator::default() };
    let below = Arc::new(ScriptedModel::replies([hand_in("good")]).repeat_last());
    let child = agent(&below).name("child").store(store.clone());
    let child = child.output::<Output>().verifier(only_good).build().unwrap();
    assert_eq!(bounded(child.run("Alone.")).await.unwrap().outcome, Outcome::Verified);

    let above = Arc::new(ScriptedModel::replies([give("Below."), hand_in("good")]).repeat_last());
    let lead = agent(&above).store(store.clone()).check(check("operator", &operator));
    let lead = lead.tool(DelegateTool::to(&child)).output::<Output>().verifier(only_good);
    let end = not_done(bounded(Box::pin(lead.build().unwrap().run("Lead."))).await);
    assert_eq!(end.outcome, Outcome::Exhausted);
    let (text, is_error) = answers(&above.asked()[1]).pop().unwrap();
    let told: VerificationFailed = serde_json::from_str(&text).unwrap();
    assert!(is_error);
    assert_eq!((told.error.as_str(), told.outcome), ("verification_failed", Outcome::Exhausted));
    assert_eq!(told.reasons[0], "The operator does not want this.");
    assert_eq!(told.last_claim.unwrap()["summary"], "good");
}

#[tokio::test]
async fn of_several_members_one_must_be_named() {
    let (_, store) = memory();
    let member = |name: &str| {
        let script = model([hand_in("good")]);
        let member = agent(&script).name(name).store(store.clone());
        member.output::<Output>().verifier(only_good).build().unwrap()
    };
    let team = DelegateTool::nobody().with(&member("ada")).with(&member("ben"));
    let to_ben = call("", "delegate", json!({ "task": "Do a part.", "agent": "ben" }));
    let to_eve = call("", "delegate", json!({ "task": "Do a part.", "agent": "eve" }));
    let above = model([give("Do a part."), ModelReply::calls([to_eve, to_ben]), hand_in("good")]);
    let lead = agent(&above).store(store.clone()).tool(team).output::<Output>();
    bounded(Box::pin(lead.verifier(only_good).build().unwrap().run("Lead."))).await.unwrap();
    let asked = above.asked();
    assert!(answers(&asked[1])[0].1, "nobody was named");
    let second: Vec<bool> = answers(&asked[2]).iter().map(|(_, is_error)| *is_error).collect();
    assert_eq!(second, [true, false]);
    let spec = &asked[0].tools[0].parameters;
    assert_eq!(spec["properties"]["agent"]["enum"], json!(["ada", "ben"]));
}
