//! A model that follows a script.

use std::time::Duration;

use probity_chat::{FINAL_OUTPUT, Message, Model, ModelError, ModelReply, ToolSpec};
use probity_testkit::{Asked, Choice, ScriptedModel, call, final_output, violation};
use serde_json::json;

fn asked(messages: impl IntoIterator<Item = Message>) -> Asked {
    Asked::new("run-1", messages).unwrap()
}

fn user() -> Message {
    Message::User { content: "hello".to_owned() }
}

fn calls(ids: &[&str]) -> Message {
    let tool_calls = ids.iter().map(|id| call(*id, "f", json!({}))).collect();
    Message::Assistant { content: String::new(), tool_calls }
}

fn result(call_id: &str) -> Message {
    let (call_id, name) = (call_id.to_owned(), "f".to_owned());
    Message::Tool { call_id, name, content: "1".to_owned(), is_error: false }
}

#[tokio::test]
async fn answers_come_in_turn_and_then_no_more() {
    let transient =
        ModelError::Transient { status: Some(503), message: "x".into(), retry_after_ms: None };
    let model = ScriptedModel::new()
        .reply(ModelReply::text("one"))
        .error(transient.clone())
        .with(|request| ModelReply::text(format!("{} messages", request.messages.len())));
    let asked = asked([user()]);
    assert_eq!(model.complete(&asked.request()).await, Ok(ModelReply::text("one")));
    assert_eq!(model.complete(&asked.request()).await, Err(transient));
    assert_eq!(model.complete(&asked.request()).await, Ok(ModelReply::text("1 messages")));
    let refused = model.complete(&asked.request()).await.unwrap_err();
    assert!(matches!(refused, ModelError::Refused { status: None, .. }), "{refused:?}");
    assert_eq!((model.asked().len(), model.violations().len()), (4, 0));
    assert_eq!(model.asked()[3].messages, [user()]);

    let model = ScriptedModel::replies([ModelReply::text("again")]).repeat_last();
    for _ in 0..3 {
        assert_eq!(model.complete(&asked.request()).await, Ok(ModelReply::text("again")));
    }
}

#[tokio::test]
async fn by_number_an_interrupted_call_is_answered_alike() {
    let script = || ScriptedModel::replies([final_output(json!(1)), final_output(json!(2))]);
    let (before, after) = (script().by_number(), script().by_number());
    let asked = Asked { number: 1, ..asked([user()]) };
    let reply = before.complete(&asked.request()).await.unwrap();
    assert_eq!(reply.tool_calls, [call("call_1_0", FINAL_OUTPUT, json!(2))]);
    assert_eq!(after.complete(&asked.request()).await, Ok(reply));
}

#[tokio::test(start_paused = true)]
async fn latency_passes_and_a_cancelled_call_gives_nothing() {
    let model = ScriptedModel::replies([ModelReply::text("late")])
        .repeat_last()
        .latency(Duration::from_secs(5));
    let asked = asked([user()]);
    let started = tokio::time::Instant::now();
    assert_eq!(model.complete(&asked.request()).await, Ok(ModelReply::text("late")));
    assert_eq!(started.elapsed(), Duration::from_secs(5));
    let request = asked.request();
    let cancel = async { asked.cancel.cancel() };
    let (answer, ()) = tokio::join!(model.complete(&request), cancel);
    assert_eq!(answer, Err(ModelError::Cancelled));
    assert_eq!(started.elapsed(), Duration::from_secs(5));
}

#[tokio::test]
async fn what_a_provider_refuses_is_refused() {
    let legal = [user(), calls(&["a", "b"]), result("b"), result("a"), user(), calls(&["c"])];
    let with_end = legal.iter().cloned().chain([result("c")]);
    assert_eq!(violation(&asked(with_end).request()), None);
    let table: [(Vec<Message>, &str); 6] = [
        (legal.to_vec(), "did not have response messages: c"),
        (vec![user(), calls(&["a"]), user(), result("a")], "did not have response messages: a"),
        (vec![user(), calls(&["a", "b"]), result("a"), user()], "response messages: b"),
        (vec![user(), result("a")], "messages[1] answers `a`"),
        (vec![calls(&["a"]), result("a"), result("a")], "messages[2] answers `a`"),
        (vec![calls(&["a"]), result("a"), calls(&["a"]), result("a")], "uses the id `a` again"),
    ];
    for (messages, expected) in table {
        let model = ScriptedModel::replies([ModelReply::text("ok")]);
        let error = model.complete(&asked(messages).request()).await.unwrap_err();
        assert!(matches!(error, ModelError::Refused { status: Some(400), .. }), "{error:?}");
        assert!(error.to_string().contains(expected), "{error}");
        assert!(model.violations()[0].contains(expected));
        // It cost no answer.
        assert!(model.complete(&asked([user()]).request()).await.is_ok());
    }
}

#[test]
fn a_tool_that_must_be_called_must_be_there() {
    let parameters = json!({ "type": "object" });
    let tool = ToolSpec { name: "f".to_owned(), description: "F.".to_owned(), parameters };
    let named = |name: &str| Choice::Named(name.to_owned());
    for (tools, choice, is_legal) in [
        (vec![tool.clone()], named("f"), true),
        (vec![tool.clone()], named("g"), false),
        (vec![tool], Choice::Required, true),
        (vec![], Choice::Required, false),
        (vec![], Choice::None, true),
    ] {
        let asked = Asked { tools, choice: choice.clone(), ..asked([user()]) };
        assert_eq!(violation(&asked.request()).is_none(), is_legal, "{choice:?}");
        assert_eq!(Asked::of(&asked.request()).choice, choice);
    }
}
