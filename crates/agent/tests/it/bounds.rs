//! Runs that are cancelled, overtaken, or at the end of their budget.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use probity_agent::chat::{
    FINAL_OUTPUT, FunctionTool, Model, ModelError, ModelReply, ModelRequest, ToolContext, ToolSpec,
};
use probity_agent::{AgentError, ExecutionContext, Reject, RunOptions};
use probity_core::{Judgement, Outcome};
use probity_store::{MemoryStore, Store};
use probity_testkit::{Choice, ScriptedModel, call};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::stage::{
    Output, agent, bounded, edit, editor, hand_in, model, model_for_ever, not_done, only_good,
    run_id,
};

/// Where a run hangs until it is cancelled.
#[derive(Clone, Copy, Debug, PartialEq)]
enum At {
    Model,
    Tool,
    /// A verifier that stops when it is told to.
    Verifier,
    /// One that does not.
    Stubborn,
}

/// How long work that was told to stop may take to clean up.
const GRACE: Duration = Duration::from_secs(10);

/// Says that it is here, and stays.
struct Hangs(Arc<Semaphore>, Vec<ModelReply>);

#[async_trait]
impl Model for Hangs {
    async fn complete(&self, request: &ModelRequest<'_>) -> Result<ModelReply, ModelError> {
        match self.1.get(request.number as usize) {
            Some(reply) => Ok(reply.clone()),
            None => {
                self.0.add_permits(1);
                std::future::pending().await
            }
        }
    }

    fn identity(&self) -> String {
        "scripted".to_owned()
    }
}

fn named(run: &str, cancel: &CancellationToken) -> RunOptions {
    RunOptions { run: Some(run_id(run)), cancel: cancel.clone(), ..RunOptions::default() }
}

#[tokio::test(start_paused = true)]
async fn p14_cancelling_stops_what_is_at_work() {
    for at in [At::Model, At::Tool, At::Verifier, At::Stubborn] {
        let started = tokio::time::Instant::now();
        let here = Arc::new(Semaphore::new(0));
        let (in_tool, in_verifier) = (here.clone(), here.clone());
        let spec = ToolSpec {
            name: "wait".to_owned(),
            description: "Waits.".to_owned(),
            parameters: json!({ "type": "object" }),
        };
        let tool = FunctionTool::raw(spec, move |_: Value, _: ToolContext| {
            in_tool.add_permits(1);
            async { std::future::pending().await }
        });
        let wait = ModelReply::calls([call("c", "wait", json!({}))]);
        let replies = match at {
            At::Model => vec![],
            At::Tool => vec![wait],
            At::Verifier | At::Stubborn => vec![hand_in("a")],
        };
        let agent = probity_agent::Agent::builder("x")
            .model(Hangs(here.clone(), replies))
            .tool(tool)
            .output::<Output>()
            .verifier(move |_: Output, bounds: ExecutionContext| {
                in_verifier.add_permits(1);
                async move {
                    bounds.cancel.cancelled().await;
                    match at {
                        At::Stubborn => std::future::pending().await,
                        _ => Err::<(), _>(Reject::system("stopped")),
                    }
                }
            })
            .build()
            .unwrap();
        let cancel = CancellationToken::new();
        let run = agent.run_with("Fix it.", named("cancelled", &cancel));
        let stop = async {
            here.acquire().await.unwrap().forget();
            cancel.cancel();
        };
        let (ended, ()) = bounded(Box::pin(async { tokio::join!(run, stop) })).await;
        let end = not_done(ended);
        assert_eq!((end.outcome, end.code.as_str()), (Outcome::Cancelled, "cancelled"), "{at:?}");
        let limit = if at == At::Stubborn { GRACE } else { Duration::ZERO };
        assert!(started.elapsed() <= limit + Duration::from_secs(1), "{at:?}");
        let again = not_done(bounded(agent.resume(&end.run)).await);
        assert_eq!(again.outcome, Outcome::Cancelled, "{at:?}: it stays so");
        assert_eq!(here.available_permits(), 0, "{at:?}: nothing was begun again");
    }
}

/// In the system of the seed the stale worker overwrote the newer state: attempts 2 became 1.
#[tokio::test]
async fn p15_the_driver_that_was_overtaken_is_fenced_and_changes_nothing() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let here = Arc::new(Semaphore::new(0));
    let slow = probity_agent::Agent::builder("You fix tests.")
        .model(Hangs(here.clone(), vec![hand_in("a")]))
        .store(store.clone())
        .output::<Output>()
        .verifier(only_good)
        .build()
        .unwrap();
    let script = model([hand_in("b"), hand_in("c")]);
    let fast = agent(&script).store(store).output::<Output>().verifier(only_good).build().unwrap();
    let cancel = CancellationToken::new();
    let first = slow.run_with("Fix it.", named("fenced", &cancel));
    let second = async {
        here.acquire().await.unwrap().forget();
        fast.resume(&run_id("fenced")).await
    };
    let (first, second) = bounded(Box::pin(async { tokio::join!(first, second) })).await;
    match first {
        Err(error @ AgentError::Engine(_)) => assert_eq!(error.code(), "run_fenced"),
        other => panic!("not fenced: {other:?}"),
    }
    let end = not_done(second);
    assert_eq!((end.code.as_str(), end.verification.attempts_used), ("attempts", 3));
    let ledger = fast.ledger(&end.run).await.unwrap();
    assert_eq!(ledger.entries(), end.ledger, "three rejections, none lost and none twice");
}

#[tokio::test]
async fn p15_of_two_that_resume_at_once_one_drives() {
    for _ in 0..20 {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let here = Arc::new(Semaphore::new(0));
        let hangs = probity_agent::Agent::builder("You fix tests.")
            .model(Hangs(here.clone(), vec![]))
            .store(store.clone())
            .output::<Output>()
            .verifier(only_good)
            .build()
            .unwrap();
        tokio::select! {
            _ = hangs.run_with("Fix it.", named("two", &CancellationToken::new())) => {
                panic!("it ended")
            }
            permit = here.acquire() => permit.unwrap().forget(),
        }
        let script = model_for_ever([hand_in("bad"), hand_in("good")]);
        let other = || {
            let agent = agent(&script).store(store.clone());
            agent.output::<Output>().verifier(only_good).build().unwrap()
        };
        let (one, two) = (other(), other());
        let run = run_id("two");
        let ends = bounded(Box::pin(async { tokio::join!(one.resume(&run), two.resume(&run)) }));
        let (first, second) = ends.await;
        let ends =
            [first, second].map(|it| it.map(|done| done.outcome).map_err(|e| e.code().to_owned()));
        assert!(ends.contains(&Ok(Outcome::Verified)), "{ends:?}");
        let is_right = |end: &Result<Outcome, String>| match end {
            Ok(outcome) => *outcome == Outcome::Verified,
            Err(code) => code == "run_fenced",
        };
        assert!(ends.iter().all(is_right), "{ends:?}");
        let ledger = one.ledger(&run).await.unwrap();
        let passes = ledger.entries().iter().filter(|it| it.verdict == Judgement::Pass);
        assert_eq!(passes.count(), 1);
    }
}

/// In the system of the seed a model that ignored the hint ran 147 turns with a maximum of 3.
#[tokio::test]
async fn p19_the_bound_of_model_calls_is_a_hard_stop() {
    let model = model_for_ever([edit()]);
    let agent = agent(&model).tool(editor()).max_model_calls(3).output::<Output>();
    let end = not_done(bounded(agent.verifier(only_good).build().unwrap().run("Fix it.")).await);
    assert_eq!(end.code.as_str(), "budget_model_calls", "{end}");
    assert_eq!(model.asked().len(), 3);
    let choices: Vec<Choice> = model.asked().into_iter().map(|asked| asked.choice).collect();
    assert_eq!(choices, [Choice::Auto, Choice::Auto, Choice::Named(FINAL_OUTPUT.to_owned())]);
}

#[tokio::test]
async fn p19_the_bound_holds_over_all_attempts() {
    let model = ScriptedModel::new().with(|asked| hand_in(&format!("candidate {}", asked.number)));
    let model = Arc::new(model.repeat_last());
    let agent = agent(&model).max_model_calls(4).output::<Output>().verifier(only_good);
    let agent = agent.verifier_max_attempts(100).build().unwrap();
    let end = not_done(bounded(agent.run("Fix it.")).await);
    assert_eq!(end.code.as_str(), "budget_model_calls", "{end}");
    assert_eq!((model.asked().len(), end.verification.attempts_used), (4, 4));
}

#[tokio::test]
async fn the_bound_of_tool_calls_is_a_hard_stop() {
    let model = model_for_ever([edit(), edit(), edit()]);
    let agent = agent(&model).tool(editor()).max_tool_calls(2).output::<Output>();
    let end = not_done(bounded(agent.verifier(only_good).build().unwrap().run("Fix it.")).await);
    assert_eq!(end.code.as_str(), "budget_tool_calls", "{end}");
    let last = model.asked().pop().unwrap();
    let made = last.messages.iter().filter(|it| {
        matches!(it, probity_agent::chat::Message::Tool { content, .. } if content == "edited")
    });
    assert_eq!(made.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_wall_time_of_a_run_is_a_bound() {
    let agent = probity_agent::Agent::builder("x")
        .model(Hangs(Arc::new(Semaphore::new(0)), vec![]))
        .clock(Arc::new(probity_testkit::VirtualClock::at(1_700_000_000_000)))
        .timeout(Duration::from_secs(20))
        .build()
        .unwrap();
    let end = not_done(crate::stage::within_an_hour(agent.run("Fix it.")).await);
    assert!(matches!(end.outcome, Outcome::Exhausted | Outcome::DelegateFailed), "{end}");
}
