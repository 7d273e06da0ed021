//! Agents that give tasks to agents. In the system of the seed a parent hung for ever when its child
//! was cancelled, died, or was done too early.

use std::sync::Arc;

use async_trait::async_trait;
use probity_agent::chat::{Model, ModelError, ModelReply, ModelRequest};
use probity_agent::{Agent, DelegateTool, RunOptions, VerificationFailed};
use probity_core::{Outcome, RunId};
use probity_store::{MemoryStore, Store};
use probity_testkit::{CrashPoint, CrashStore, ScriptedModel, call};
use serde_json::json;
use tokio::sync::{Mutex, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::stage::{
    Output, agent, answers, bounded, hand_in, model, model_for_ever, not_done, only_good, run_id,
};

fn ask_child() -> ModelReply {
    ModelReply::calls([call("task-1", "delegate", json!({ "task": "Do a part." }))])
}

fn lead(
    script: &Arc<ScriptedModel>,
    store: &Arc<dyn Store>,
    child: &Agent<Output>,
) -> Agent<Output> {
    let lead = agent(script).name("lead").store(store.clone()).tool(DelegateTool::to(child));
    lead.output::<Output>().verifier(only_good).build().unwrap()
}

fn child(script: &Arc<ScriptedModel>, store: &Arc<dyn Store>) -> Agent<Output> {
    let child = agent(script).name("child").store(store.clone());
    child.output::<Output>().verifier(only_good).build().unwrap()
}

fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new())
}

#[tokio::test]
async fn p08_whatever_becomes_of_a_child_its_parent_is_told_in_data() {
    let refused = || {
        let error = ModelError::Refused { status: Some(401), message: "no".to_owned() };
        Arc::new(ScriptedModel::new().error(error))
    };
    for (script, error, outcome, code, attempts) in [
        (
            model(["a", "b", "c"].map(hand_in)),
            "verification_failed",
            Outcome::Exhausted,
            "attempts",
            3,
        ),
        (
            model_for_ever([hand_in("a")]),
            "verification_failed",
            Outcome::Exhausted,
            "no_progress",
            1,
        ),
        (model([hand_in("fatal")]), "verification_failed", Outcome::Rejected, "hopeless", 0),
        (refused(), "delegate_failed", Outcome::DelegateFailed, "model_refused", 0),
        (
            model_for_ever([ModelReply::text("done!")]),
            "delegate_failed",
            Outcome::DelegateFailed,
            "invalid_output",
            0,
        ),
    ] {
        let store = memory();
        let parent = model([ask_child(), hand_in("good")]);
        let lead = lead(&parent, &store, &child(&script, &store));
        let done = bounded(lead.run("Fix it.")).await.unwrap();
        assert_eq!(done.outcome, Outcome::Verified, "the parent goes on");
        let (text, is_error) = answers(&parent.asked()[1]).pop().unwrap();
        assert!(is_error, "{text}");
        let told: VerificationFailed = serde_json::from_str(&text).unwrap();
        assert_eq!((told.error.as_str(), told.outcome), (error, outcome));
        assert_eq!((told.code.as_str(), told.attempts), (code, attempts));
        assert!(!told.reasons.is_empty(), "{told:?}");
        assert_eq!(told.last_claim.is_some(), outcome != Outcome::DelegateFailed, "{told:?}");
    }
}

/// Hangs when it is asked for the first time, and says so.
struct Hangs {
    here: Arc<Semaphore>,
    run: Mutex<Option<RunId>>,
}

#[async_trait]
impl Model for Hangs {
    async fn complete(&self, request: &ModelRequest<'_>) -> Result<ModelReply, ModelError> {
        *self.run.lock().await = Some(request.run.clone());
        self.here.add_permits(1);
        std::future::pending().await
    }

    fn identity(&self) -> String {
        "scripted".to_owned()
    }
}

fn hanging(store: &Arc<dyn Store>) -> (Arc<Hangs>, Agent<Output>) {
    let hangs = Arc::new(Hangs { here: Arc::new(Semaphore::new(0)), run: Mutex::default() });
    let child = Agent::builder("You fix tests.").name("child").shared_model(hangs.clone());
    let child = child.store(store.clone()).output::<Output>().verifier(only_good);
    (hangs, child.build().unwrap())
}

#[tokio::test]
async fn p08_cancelling_a_parent_stops_its_child() {
    let store = memory();
    let (hangs, child) = hanging(&store);
    let parent = model([ask_child()]);
    let lead = lead(&parent, &store, &child);
    let cancel = CancellationToken::new();
    let options = RunOptions { cancel: cancel.clone(), ..RunOptions::default() };
    let run = lead.run_with("Fix it.", options);
    let stop = async {
        hangs.here.acquire().await.unwrap().forget();
        cancel.cancel();
    };
    let (ended, ()) = bounded(Box::pin(async { tokio::join!(run, stop) })).await;
    assert_eq!(not_done(ended).outcome, Outcome::Cancelled);
    assert_eq!(hangs.here.available_permits(), 0, "the child was not begun again");
}

/// Somebody else cancels the child while its parent waits for it.
#[tokio::test]
async fn p08_a_child_that_is_cancelled_does_not_hang_its_parent() {
    let store = memory();
    let (hangs, child) = hanging(&store);
    let parent = model([ask_child(), hand_in("good")]);
    let lead = lead(&parent, &store, &child);
    let run = lead.run("Fix it.");
    let stop = async {
        hangs.here.acquire().await.unwrap().forget();
        let run = hangs.run.lock().await.clone().unwrap();
        let cancel = CancellationToken::new();
        cancel.cancel();
        let above = probity_agent::Lineage {
            run: run_id("unknown"),
            parent: None,
            depth: 0,
            max_depth: 5,
            checks: Arc::new([]),
        };
        // The request names the parent, so the one who takes it up has to name it, too.
        let request = probity_engine::read_request(store.as_ref(), &run).await.unwrap();
        let request: serde_json::Value = serde_json::from_slice(&request).unwrap();
        let parent = run_id(request["parent_id"].as_str().unwrap());
        let parent = Some(probity_agent::Lineage { run: parent, ..above });
        let options = RunOptions { parent, cancel, ..RunOptions::default() };
        child.resume_with(&run, options).await
    };
    let (ended, stopped) = bounded(Box::pin(async { tokio::join!(run, stop) })).await;
    assert_eq!(not_done(stopped).outcome, Outcome::Cancelled);
    // The driver of the parent lost its child to another driver: its tool gives up, or was told.
    match ended {
        Ok(done) => assert_eq!(done.outcome, Outcome::Verified),
        other => assert_eq!(not_done(other).outcome, Outcome::DelegateFailed),
    }
}

/// P23, and every other place: the parent, the child, or both are caught by a crash at any append.
#[tokio::test]
async fn p23_a_crash_anywhere_in_parent_or_child_loses_and_repeats_nothing() {
    let scripts = || {
        let parent = [ask_child(), hand_in("bad"), hand_in("good")];
        let child = [hand_in("bad"), hand_in("good")];
        (
            Arc::new(ScriptedModel::replies(parent).by_number()),
            Arc::new(ScriptedModel::replies(child).by_number()),
        )
    };
    let run = run_id("family");
    let options = || RunOptions { run: Some(run_id("family")), ..RunOptions::default() };
    let whole: Arc<CrashStore<MemoryStore>> =
        Arc::new(CrashStore::new(Arc::new(MemoryStore::new()), CrashPoint::Never));
    let (parent, below) = scripts();
    let store: Arc<dyn Store> = whole.clone();
    let expected =
        lead(&parent, &store, &child(&below, &store)).run_with("Fix it.", options()).await.unwrap();
    assert_eq!(expected.verification.attempts_used, 1);
    let mut caught = 0;
    for point in CrashPoint::all(whole.appends()) {
        let behind = Arc::new(MemoryStore::new());
        let (parent, below) = scripts();
        let store: Arc<dyn Store> = Arc::new(CrashStore::new(behind.clone(), point));
        let first = lead(&parent, &store, &child(&below, &store));
        let first = bounded(first.run_with("Fix it.", options())).await;
        let (parent_again, below_again) = scripts();
        let store: Arc<dyn Store> = behind;
        let second = lead(&parent_again, &store, &child(&below_again, &store));
        let done = match bounded(second.resume(&run)).await {
            // Nothing was stored: the run never was.
            Err(error) if error.code() == "run_missing" => {
                assert_eq!(point, CrashPoint::Before(0));
                continue;
            }
            done => done.unwrap_or_else(|error| panic!("{point:?}: {error}, first {first:?}")),
        };
        caught += 1;
        assert_eq!(done.ledger.len(), expected.ledger.len(), "{point:?}");
        assert_eq!(done.verification, expected.verification, "{point:?}");
        assert_eq!(done.result, expected.result, "{point:?}");
        for (before, after) in [(&parent, &parent_again), (&below, &below_again)] {
            let asked = before.asked().len() + after.asked().len();
            let script = if std::ptr::eq(before, &parent) { 3 } else { 2 };
            assert!((script..=script + 1).contains(&asked), "{point:?}: {asked} of {script}");
        }
    }
    assert!(caught > 20, "{caught}");
}

#[tokio::test]
async fn a_child_is_named_by_its_parent_and_its_call() {
    let store = memory();
    let below = model([hand_in("good")]);
    let parent = model([ask_child(), hand_in("good")]);
    let lead = lead(&parent, &store, &child(&below, &store));
    let done = bounded(lead.run("Fix it.")).await.unwrap();
    let asked = below.asked().remove(0);
    let request = probity_engine::read_request(store.as_ref(), &asked.run).await.unwrap();
    let request: serde_json::Value = serde_json::from_slice(&request).unwrap();
    assert_eq!((&request["parent_id"], &request["depth"]), (&json!(done.run.as_str()), &json!(1)));
    assert_eq!((&request["agent"], &request["task"]), (&json!("child"), &json!("Do a part.")));
    let (text, is_error) = answers(&parent.asked()[1]).pop().unwrap();
    let told: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(!is_error);
    assert_eq!(told["result"], json!({ "summary": "good", "profile": "fast" }));
    assert_eq!((&told["status"], &told["run"]), (&json!("verified"), &json!(asked.run.as_str())));
}
