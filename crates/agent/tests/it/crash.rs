//! Runs that go on in another process: what was recorded is there, and nothing of it is done again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use probity_agent::chat::{
    FunctionTool, Message, Model, ModelError, ModelReply, ModelRequest, Tool, ToolContext,
    ToolOutput, ToolReply, ToolSpec,
};
use probity_agent::{Agent, RunOptions, Submission};
use probity_store::{MemoryStore, Store};
use probity_testkit::{CrashPoint, CrashStore, ScriptedModel};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::stage::{Output, agent, bounded, edit, hand_in, model, only_good, run_id};

/// The tool `edit` that counts.
fn counted(calls: &Arc<AtomicU32>) -> impl Tool + use<> {
    let spec = ToolSpec {
        name: "edit".to_owned(),
        description: "Edits.".to_owned(),
        parameters: json!({ "type": "object" }),
    };
    let calls = calls.clone();
    FunctionTool::raw(spec, move |_: Value, _: ToolContext| {
        let call = calls.fetch_add(1, Ordering::SeqCst);
        async move { Ok(ToolReply::Done(ToolOutput::text(format!("edited {call}")))) }
    })
}

fn named() -> RunOptions {
    RunOptions { run: Some(run_id("crash")), ..RunOptions::default() }
}

#[tokio::test(start_paused = true)]
async fn p21_results_of_tools_survive_model_calls_that_fail_behind_them() {
    let transient =
        || ModelError::Transient { status: Some(503), message: "x".into(), retry_after_ms: None };
    let script = ScriptedModel::new().reply(edit()).error(transient()).error(transient());
    let script = Arc::new(script.reply(hand_in("good")));
    let calls = Arc::new(AtomicU32::new(0));
    let agent = agent(&script).tool(counted(&calls)).output::<Output>().verifier(only_good);
    crate::stage::within_an_hour(agent.build().unwrap().run("Fix it.")).await.unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    for asked in &script.asked()[1..] {
        let last = asked.messages.last().unwrap();
        assert!(matches!(last, Message::Tool { content, .. } if content == "edited 0"), "{last:?}");
    }
}

/// Answers what it has, then hangs and says so.
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

/// In the system of the seed a run that was taken up again had its system prompt twice, and results
/// of tools whose calls were gone.
#[tokio::test]
async fn p22_a_run_that_is_taken_up_has_one_system_prompt_and_no_orphans() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let (here, calls) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicU32::new(0)));
    let replies = vec![
        ModelReply { text: "I edit.".into(), ..edit() },
        ModelReply { text: "Look!".into(), ..hand_in("bad") },
        edit(),
    ];
    let first = Agent::builder("You fix tests.")
        .model(Hangs(here.clone(), replies))
        .store(store.clone())
        .tool(counted(&calls))
        .output::<Output>()
        .verifier(only_good)
        .build()
        .unwrap();
    tokio::select! {
        ended = first.run_with("Fix it.", named()) => panic!("{ended:?}"),
        permit = here.acquire() => permit.unwrap().forget(),
    }
    let script = model([hand_in("good")]);
    let second = agent(&script).store(store).tool(counted(&calls)).output::<Output>();
    let second = second.verifier(only_good).build().unwrap();
    let done = bounded(second.resume(&run_id("crash"))).await.unwrap();
    assert_eq!((done.verification.attempts_used, calls.load(Ordering::SeqCst)), (1, 2));
    let asked = script.asked();
    assert_eq!(asked.len(), 1, "what was recorded is not asked for again");
    assert_eq!(asked[0].number, 3, "the number that the interrupted call had");
    assert_eq!(script.violations(), Vec::<String>::new(), "no calls or results are orphans");
    let roles: Vec<&str> = asked[0]
        .messages
        .iter()
        .map(|message| match message {
            Message::System { .. } => "system",
            Message::User { .. } => "user",
            Message::Assistant { .. } => "assistant",
            Message::Tool { .. } => "tool",
        })
        .collect();
    let turn = ["assistant", "tool"];
    assert_eq!(roles, [&["system", "user"][..], &turn, &turn, &turn].concat());
    let text = format!("{:?}", asked[0].messages);
    assert_eq!(text.matches("You fix tests.").count(), 1);
    assert_eq!(text.matches("Fix it.").count(), 1);
    assert!(text.contains("I edit.") && text.contains("Look!"));
}

/// W5 of the dossier: a pass that was about to be recorded was lost, and another sample was rejected.
#[tokio::test]
async fn the_verdict_on_a_recorded_output_is_asked_for_again_under_the_same_name() {
    let seen: Arc<std::sync::Mutex<Vec<Submission>>> = Arc::default();
    let build = |store: Arc<dyn Store>, script: &Arc<ScriptedModel>| {
        let seen = seen.clone();
        let agent = agent(script).store(store).output::<Output>();
        let agent = agent.verifier(move |output: Output, submission: Submission| {
            seen.lock().unwrap().push(submission);
            Ok::<_, probity_agent::Reject>(output)
        });
        agent.build().unwrap()
    };
    let whole = Arc::new(CrashStore::new(Arc::new(MemoryStore::new()), CrashPoint::Never));
    build(whole.clone(), &model([hand_in("good")])).run("Fix it.").await.unwrap();
    let mut repeated = 0;
    for point in CrashPoint::all(whole.appends()) {
        seen.lock().unwrap().clear();
        let behind = Arc::new(MemoryStore::new());
        let store = Arc::new(CrashStore::new(behind.clone(), point));
        let script = Arc::new(ScriptedModel::replies([hand_in("good")]).by_number());
        let first = bounded(build(store, &script).run_with("Fix it.", named())).await;
        assert!(first.is_err(), "{point:?}");
        if point == CrashPoint::Before(0) {
            continue;
        }
        let before = seen.lock().unwrap().len();
        let done = bounded(build(behind, &script).resume(&run_id("crash"))).await.unwrap();
        let seen = seen.lock().unwrap().clone();
        assert!(seen.len() <= before + 1, "{point:?}");
        assert!(seen.iter().all(|it| it.id == done.ledger[0].submission_id), "{point:?}");
        if let (1, Some(again)) = (before, seen.get(1)) {
            assert!(again.is_replay, "{point:?}");
            repeated += 1;
        }
        assert!(seen.first().is_none_or(|it| before == 0 || !it.is_replay), "{point:?}");
    }
    assert!(repeated >= 1, "no crash caught the verifier");
}
