//! Tools that wait: for a time, or for somebody.

use std::sync::Arc;
use std::time::Duration;

use probity_agent::chat::{
    FunctionTool, Message, ModelReply, Tool, ToolContext, ToolOutput, ToolReply, ToolSpec, Wait,
};
use probity_agent::{Agent, AgentContext, AgentError, DelegateTool, Reject};
use probity_core::Outcome;
use probity_store::{MemoryStore, Store};
use probity_testkit::{ScriptedModel, VirtualClock, call};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::stage::{
    Output, agent, answers, bounded, edit, editor, hand_in, model, only_good, question,
    within_an_hour,
};

/// 2023-11-14 22:13:20 UTC.
const NOW_MS: u64 = 1_700_000_000_000;

/// A tool that waits, and then says what it was answered.
fn waits(name: &str, wait: Wait) -> impl Tool + use<> {
    let spec = ToolSpec {
        name: name.to_owned(),
        description: "Waits.".to_owned(),
        parameters: json!({ "type": "object" }),
    };
    FunctionTool::raw(spec, move |_: Value, context: ToolContext| {
        let reply = match &context.answer {
            None => ToolReply::Park(wait.clone()),
            Some(answer) => {
                ToolReply::Done(ToolOutput::text(format!("{answer} at {}", context.now_ms)))
            }
        };
        async move { Ok(reply) }
    })
}

fn wait_for(name: &str) -> ModelReply {
    ModelReply::calls([call("", name, json!({}))])
}

fn shall_i() -> Wait {
    Wait::Answer { question: "Shall I deploy?".to_owned() }
}

#[tokio::test(start_paused = true)]
async fn a_tool_may_wait_for_a_time() {
    let cron = |expression: &str, timezone: Option<&str>| Wait::Cron {
        expression: expression.to_owned(),
        timezone: timezone.map(str::to_owned),
    };
    for (wait, seconds) in [
        (Wait::Sleep(Duration::from_secs(90)), 90),
        (Wait::Until(NOW_MS + 60_000), 60),
        (Wait::Until(1), 0),
        (cron("15 * * * *", None), 100),
        (cron("30 0 * * *", Some("+02:00")), 1000),
    ] {
        let started = Instant::now();
        let script = model([wait_for("wait"), hand_in("good")]);
        let agent = agent(&script)
            .clock(Arc::new(VirtualClock::at(NOW_MS)))
            .timeout(Duration::from_secs(30))
            .tool(waits("wait", wait.clone()))
            .output::<Output>()
            .verifier(only_good)
            .build()
            .unwrap();
        let done = within_an_hour(agent.run("Fix it.")).await.unwrap();
        assert_eq!(done.outcome, Outcome::Verified, "{wait:?}: waiting costs no time of the run");
        assert_eq!(started.elapsed().as_secs(), seconds, "{wait:?}");
        let at_ms = NOW_MS + 1000 * seconds;
        let told = answers(&script.asked()[1]);
        let time: u64 = told[0].0.rsplit(' ').next().unwrap().parse().unwrap();
        assert!((at_ms..at_ms + 100).contains(&time), "{wait:?}: {told:?}");
    }
}

/// The turn: work, a question, an answer in another process, work, an output.
fn waiting(store: &Arc<dyn Store>, script: &Arc<ScriptedModel>) -> Agent<Value> {
    agent(script)
        .store(store.clone())
        .tool(editor())
        .tool(waits("ask", shall_i()))
        .output::<Output>()
        .verifier(async |_: Output, run: AgentContext| {
            let messages = run.messages().await?;
            let roles: Vec<&str> = messages
                .iter()
                .map(|message| match message {
                    Message::System { .. } => "system",
                    Message::User { .. } => "user",
                    Message::Assistant { .. } => "assistant",
                    Message::Tool { .. } => "tool",
                })
                .collect();
            let calls: Vec<_> = run.claim.tool_calls.iter().map(|call| &call.name).collect();
            let results: Vec<_> =
                run.claim.tool_results.iter().map(|it| it.name.as_str()).collect();
            Ok::<_, Reject>(json!({ "roles": roles, "calls": calls, "results": results }))
        })
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_tool_may_wait_for_an_answer_and_the_verifier_sees_the_whole_turn() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let replies = || [edit(), wait_for("ask"), edit(), hand_in("good")];
    let script = || Arc::new(ScriptedModel::replies(replies()).by_number());
    let first = waiting(&store, &script());
    let waits = bounded(first.run("Fix it.")).await;
    let (run, about) = match &waits {
        Err(AgentError::Waits { run, code, about, .. }) => {
            assert_eq!(code.as_str(), "parked");
            (run.clone(), about.clone())
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(question(waits), "Shall I deploy?");
    // Looking again, in another process, changes nothing.
    let idle = script();
    assert_eq!(question(bounded(waiting(&store, &idle).resume(&run)).await), "Shall I deploy?");
    assert_eq!(idle.asked().len(), 0);

    let last = script();
    let fresh = waiting(&store, &last);
    let error = bounded(fresh.wake(&run, "something else", "ana", json!(1))).await.unwrap_err();
    assert_eq!(error.code(), "answer_not_parked");
    let done = bounded(fresh.wake(&run, &about, "ana", json!({ "yes": true }))).await.unwrap();
    let turn = ["assistant", "tool"];
    let roles = [&["system", "user"][..], &turn, &turn, &turn, &["assistant"]].concat();
    let all = ["edit", "ask", "edit"];
    assert_eq!(done.result, json!({ "roles": roles, "calls": all, "results": all }));
    let told = answers(&last.asked()[0]);
    assert!(told[0].0.starts_with("{\"yes\":true} at "), "{told:?}");
    assert_eq!(last.asked().len(), 2, "the two answers of the model behind the wait");

    let error = bounded(fresh.wake(&run, &about, "ana", json!(1))).await.unwrap_err();
    assert!(matches!(error, AgentError::Engine(_)), "{error:?}");
}

/// A child that asks lets its parent wait; the answer goes down to it.
#[tokio::test]
async fn a_child_that_waits_for_an_answer_parks_its_parent() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let build = || {
        let below = [wait_for("ask"), hand_in("good")];
        let below = Arc::new(ScriptedModel::replies(below).by_number());
        let child = agent(&below).name("child").store(store.clone());
        let child = child.tool(waits("ask", shall_i())).output::<Output>().verifier(only_good);
        let delegate = call("task-1", "delegate", json!({ "task": "Deploy." }));
        let above = [ModelReply::calls([delegate]), hand_in("good")];
        let above = Arc::new(ScriptedModel::replies(above).by_number());
        let lead = agent(&above).name("lead").store(store.clone());
        let lead = lead.tool(DelegateTool::to(&child.build().unwrap())).output::<Output>();
        (lead.verifier(only_good).build().unwrap(), above, below)
    };
    let (lead, ..) = build();
    let waits = bounded(lead.run("Fix it.")).await;
    let Err(AgentError::Waits { run, about, .. }) = &waits else { panic!("{waits:?}") };
    let (run, about) = (run.clone(), about.clone());
    assert_eq!(question(waits), "Shall I deploy?", "the child's question");

    let (lead, above, below) = build();
    let done = bounded(lead.wake(&run, &about, "ana", json!("go"))).await.unwrap();
    assert_eq!(done.outcome, Outcome::Verified);
    assert!(answers(&below.asked()[0])[0].0.starts_with("\"go\" at "));
    assert!(answers(&above.asked()[0])[0].0.contains("\"status\":\"verified\""));
    assert_eq!((above.asked().len(), below.asked().len()), (1, 1));
}
