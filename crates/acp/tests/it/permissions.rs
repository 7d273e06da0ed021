//! What is answered when an agent asks for permission, and what is noted of it.

use probity_core::NoteKind;
use probity_delegate::{Delegate, DelegateError};
use serde_json::{Value, json};

use crate::World;

const ALL: [&str; 4] = ["allow_always", "allow_once", "reject_always", "reject_once"];

fn ask(call: Value, options: &[&str]) -> Value {
    let options: Vec<Value> = options
        .iter()
        .map(|kind| json!({ "optionId": format!("the-{kind}"), "name": kind, "kind": kind }))
        .collect();
    json!({ "ask": { "toolCall": call, "options": options } })
}

fn edit(path: &str) -> Value {
    json!({ "toolCallId": "a", "title": "Edit", "kind": "edit", "locations": [{ "path": path }] })
}

#[tokio::test]
async fn the_policy_answers_and_every_answer_is_noted_before_it_is_told() {
    let run = json!({ "toolCallId": "b", "title": "`cargo test`", "kind": "execute" });
    let cases = [
        (edit("in/x"), &ALL[..], "the-allow_once", "rule 1"),
        (edit("in/x"), &["allow_always", "allow_once"], "the-allow_once", "rule 1"),
        (
            edit("in/x"),
            &["allow_always", "reject_once"],
            "the-reject_once",
            "can only be allowed for good",
        ),
        (edit("in/x"), &["allow_always"], "", "can only be allowed for good"),
        (edit("in/x"), &["reject_once"], "", "rule 1"),
        (edit("/etc/x"), &ALL, "the-reject_once", "outside the workspace"),
        (edit("../x"), &ALL, "the-reject_once", "outside the workspace"),
        (run, &ALL, "the-reject_once", "default"),
        (
            json!({ "toolCallId": "c" }),
            &["allow_once", "reject_always"],
            "the-reject_always",
            "default",
        ),
        (json!({ "toolCallId": "c" }), &["allow_once"], "", "default"),
    ];
    let actions: Vec<Value> =
        cases.iter().map(|(call, options, ..)| ask(call.clone(), options)).collect();
    let world = World::new(json!({ "turns": [actions] }));
    let mut config = world.config();
    config.permissions =
        serde_json::from_value(json!({ "rules": [{ "kind": "edit", "decision": "allow" }] }))
            .unwrap();
    let answered = world.delegate_of(config).attempt(&world.request(1)).await.unwrap();

    let outcomes: Vec<Value> = cases
        .iter()
        .map(|(_, _, option, _)| match *option {
            "" => json!({ "outcome": "cancelled" }),
            option => json!({ "outcome": "selected", "optionId": option }),
        })
        .collect();
    let heard: String = outcomes.iter().map(ToString::to_string).collect();
    let sorted = |text: &str| -> Vec<Value> {
        serde_json::Deserializer::from_str(text).into_iter().map(Result::unwrap).collect()
    };
    assert_eq!(sorted(&answered.claim.response), sorted(&heard));

    let notes = world.notes(NoteKind::Tool);
    assert_eq!(notes.len(), cases.len());
    for (note, (_, _, option, because)) in notes.iter().zip(&cases) {
        let note = &note["permission"];
        assert_eq!(note["because"], *because, "{note}");
        let option = if option.is_empty() { "cancelled" } else { &option[4..] };
        assert_eq!(note["option"], option, "{note}");
        let decision = if *because == "rule 1" { "allow" } else { "reject" };
        assert_eq!(note["decision"], decision, "{note}");
    }
    assert_eq!(
        notes[0]["permission"],
        json!({ "tool_call": "a", "kind": "edit", "title": "Edit", "paths": ["in/x"],
            "decision": "allow", "because": "rule 1", "option": "allow_once" })
    );
}

/// A request need not repeat what the agent told of the call before, and cannot take it back.
#[tokio::test]
async fn what_is_known_of_the_call_counts() {
    let diff = json!([{ "type": "diff", "path": "/etc/x", "newText": "" }]);
    let world = World::new(json!({ "turns": [[
        { "update": { "sessionUpdate": "tool_call", "toolCallId": "a", "title": "Edit", "kind": "edit",
            "locations": [{ "path": "/etc/x" }] } },
        ask(json!({ "toolCallId": "a" }), &ALL),
        ask(json!({ "toolCallId": "a", "locations": [{ "path": "x" }] }), &ALL),
        ask(json!({ "toolCallId": "b", "title": "Think", "kind": "think", "content": diff }), &ALL),
        ask(json!({ "toolCallId": "c", "kind": "edit",
            "locations": (0..150).map(|n| json!({ "path": format!("f{n}") })).collect::<Vec<_>>() }), &ALL),
        ask(json!({ "toolCallId": "d", "kind": "edit" }), &ALL),
        ask(json!({ "toolCallId": "e", "kind": "delete", "rawInput": { "filePath": "/etc/x" } }), &ALL),
        ask(json!({ "toolCallId": "f", "kind": "read", "rawInput": { "path": "/etc/x" } }), &ALL),
        { "update": { "sessionUpdate": "tool_call", "toolCallId": "g", "title": "Edit", "kind": "edit",
            "rawInput": { "file_path": "/etc/x" } } },
        ask(json!({ "toolCallId": "g", "kind": "read" }), &ALL),
        ask(json!({ "toolCallId": "h", "kind": "edit", "locations": [{ "path": "x".repeat(5_000) }] }), &ALL),
    ]] }));
    let mut config = world.config();
    config.permissions = serde_json::from_value(json!({ "default": "allow" })).unwrap();
    world.delegate_of(config).attempt(&world.request(1)).await.unwrap();
    let because: Vec<Value> = world
        .notes(NoteKind::Tool)
        .into_iter()
        .map(|note| note["permission"]["because"].clone())
        .collect();
    let outside = "outside the workspace";
    let many = "too many files to check";
    assert_eq!(
        because,
        [outside, outside, outside, many, "default", outside, "default", outside, many]
    );
}

/// Some agents tell of a call for the first time when they ask, and of its end afterwards.
#[tokio::test]
async fn a_call_that_is_first_told_of_when_permission_is_asked_is_in_the_claim() {
    let world = World::new(json!({ "turns": [[
        { "say": "First." },
        { "ask": { "toolCall": { "toolCallId": "a", "title": "Write x", "kind": "edit",
            "rawInput": { "path": "x" } }, "options": [] } },
        { "update": { "sessionUpdate": "tool_call_update", "toolCallId": "a", "status": "failed" } },
    ]] }));
    let answered = world.attempt(1).await.unwrap();
    let [call] = &answered.claim.tool_calls[..] else { panic!("{answered:?}") };
    assert_eq!((call.name.as_str(), &call.arguments), ("edit", &json!({ "path": "x" })));
    assert!(answered.claim.tool_results[0].is_error);
    assert_eq!(answered.usage.tool_calls, 1);
    assert!(answered.claim.response.starts_with("First.\n\n"), "{answered:?}");
}

#[tokio::test]
async fn a_decision_that_cannot_be_noted_is_not_told() {
    let world = World::new(json!({ "turns": [[], [ask(edit("x"), &ALL)]] }));
    let delegate = world.delegate();
    delegate.attempt(&world.request(1)).await.unwrap();
    *world.book.is_closed.lock().unwrap() = true;
    let error = delegate.attempt(&world.request(2)).await.unwrap_err();
    assert!(matches!(error, DelegateError::Notes(_)), "{error}");
}

#[tokio::test]
async fn asking_without_end_ends_the_attempt() {
    let asks = vec![ask(edit("x"), &ALL); 4];
    let world = World::new(json!({ "turns": [asks] }));
    let mut config = world.config();
    config.max_tool_calls = 3;
    let error = world.delegate_of(config).attempt(&world.request(1)).await.unwrap_err();
    assert!(
        matches!(&error, DelegateError::Failed { message } if message.contains("3 times")),
        "{error}"
    );
    assert_eq!(world.notes(NoteKind::Tool).len(), 3);
}

#[tokio::test]
async fn a_request_for_another_session_or_without_sense_is_turned_down() {
    let world = World::new(json!({ "turns": [[
        { "line": json!({ "jsonrpc": "2.0", "id": "o", "method": "session/request_permission", "params": {
            "sessionId": "another", "toolCall": { "toolCallId": "a" }, "options": [] } }).to_string() },
        { "line": json!({ "jsonrpc": "2.0", "id": "p", "method": "session/request_permission",
            "params": { "x": 1 } }).to_string() },
        ask(edit("x"), &ALL),
    ]] }));
    world.attempt(1).await.unwrap();
    assert_eq!(world.notes(NoteKind::Tool).len(), 1);
    let log = std::fs::read_to_string(world.state().join("log")).unwrap();
    let answer = |id: &str| -> Value {
        let mut lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.find(|message| message["id"] == id).unwrap()
    };
    assert_eq!(answer("o")["result"]["outcome"]["outcome"], "cancelled");
    assert_eq!(answer("p")["error"]["code"], -32602);
}
