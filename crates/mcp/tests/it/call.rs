//! Calls, and what becomes of those that go wrong.

use probity_chat::ToolOutput;
use probity_mcp::McpConfig;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{call, call_with, config, is_alive, start, until};

#[tokio::test]
async fn results_arrive_as_text() {
    let server = start(config("plain")).await;
    assert_eq!(call(&server, "echo", "ü").await, Ok(ToolOutput::text("echo ü")));
    assert_eq!(call(&server, "fail", "").await, Ok(ToolOutput::error("out of paper")));
    assert_eq!(call(&server, "structured", "").await, Ok(ToolOutput::text(r#"{"n":1.5}"#)));
    let picture = call(&server, "picture", "").await.unwrap().content;
    assert!(
        picture.starts_with("[image, image/png, 5 bytes; not shown]\n[hologram, "),
        "{picture}"
    );
}

#[tokio::test]
async fn a_refusal_and_a_strange_answer_fail_that_call_alone() {
    let server = start(config("plain")).await;
    let refused = call(&server, "vanish", "").await.unwrap_err();
    assert!(refused.contains("`fake` refused the call: no such tool (-32602)"), "{refused}");
    let strange = call(&server, "strange", "").await.unwrap_err();
    assert!(strange.contains("its answer has no content"), "{strange}");
    let arguments = call_with(&server, "echo", json!([1]), CancellationToken::new()).await;
    assert_eq!(arguments.unwrap_err(), "the arguments are not an object");
    assert_eq!(call(&server, "echo", "on").await.unwrap().content, "echo on");
}

#[tokio::test]
async fn calls_run_beside_each_other() {
    let server = start(config("plain")).await;
    let calls = (0..20).map(|n| {
        let echo = crate::tool(&server, "echo");
        tokio::spawn(async move {
            let context = crate::context(CancellationToken::new());
            (n, echo.call(&context, json!({"text": n.to_string()})).await.unwrap())
        })
    });
    for task in calls.collect::<Vec<_>>() {
        let (n, reply) = task.await.unwrap();
        let output = ToolOutput::text(format!("echo {n}"));
        assert_eq!(reply, probity_chat::ToolReply::Done(output));
    }
}

#[tokio::test]
async fn a_call_that_takes_too_long_or_is_cancelled_is_told_to_the_server() {
    let dir = tempfile::tempdir().unwrap();
    let told = dir.path().join("told");
    let env = [("FAKE_CANCELLED".to_owned(), told.to_str().unwrap().to_owned())].into();
    let server = start(McpConfig { timeout_ms: 500, env, ..config("plain") }).await;
    let late = dir.path().join("late");
    let failed = call(&server, "stick", late.to_str().unwrap()).await.unwrap_err();
    assert!(failed.contains("within 500 ms; the call may have taken effect"), "{failed}");
    let reason = || std::fs::read_to_string(&told).unwrap_or_default();
    until("the server to be told", || reason() == "timed out").await;

    let cancel = CancellationToken::new();
    let stuck = dir.path().join("stuck");
    let arguments = json!({"text": stuck});
    let (failed, ()) =
        tokio::join!(call_with(&server, "stick", arguments, cancel.clone()), async {
            until("the call to begin", || stuck.with_extension("begun").exists()).await;
            cancel.cancel();
        });
    let failed = failed.unwrap_err();
    // On a machine so slow that the time-out came first, it is told as that.
    if !failed.contains("within 500 ms") {
        assert!(failed.contains("cancelled; the call may have taken effect"), "{failed}");
        until("the server to be told", || reason() == "cancelled").await;
    }
    assert_eq!(call(&server, "echo", "on").await.unwrap().content, "echo on");
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_is_started_again_a_bounded_number_of_times() {
    let server = start(McpConfig { max_restarts: 2, ..config("plain") }).await;
    let mut pids = vec![call(&server, "pid", "").await.unwrap().content];
    for _ in 0..2 {
        let failed = call(&server, "die", "").await.unwrap_err();
        assert!(failed.contains("ended during the call (exit status 9)"), "{failed}");
        assert!(failed.contains("may have taken effect"), "{failed}");
        pids.push(call(&server, "pid", "").await.unwrap().content);
    }
    pids.dedup();
    assert_eq!(pids.len(), 3);
    call(&server, "die", "").await.unwrap_err();
    for _ in 0..2 {
        let failed = call(&server, "pid", "").await.unwrap_err();
        assert!(failed.contains("not started again after 2 restarts"), "{failed}");
    }
}

#[tokio::test]
async fn a_message_beyond_the_bound_ends_the_server_and_not_the_client() {
    let server = start(config("plain")).await;
    let failed = call(&server, "big", "").await.unwrap_err();
    assert!(failed.contains("more than 16777216 bytes"), "{failed}");
    assert!(failed.contains("the call may have"), "{failed}");
    assert_eq!(call(&server, "echo", "on").await.unwrap().content, "echo on");
}

#[tokio::test]
async fn a_server_that_asks_without_end_and_reads_no_answer_is_given_up() {
    let server = start(config("plain")).await;
    let failed = call(&server, "ask", "").await.unwrap_err();
    assert!(failed.contains("more than 10000 requests; the call may"), "{failed}");
    assert_eq!(call(&server, "echo", "on").await.unwrap().content, "echo on");
}

#[tokio::test]
async fn a_server_that_stops_reading_holds_up_no_call_beyond_its_time_and_can_be_stopped() {
    let server = start(McpConfig { timeout_ms: 500, ..config("plain") }).await;
    let pid = call(&server, "deafen", "").await.unwrap().content;
    // More than any socket holds, so that it cannot be written to the end.
    let long = "l".repeat(8 * 1024 * 1024);
    for _ in 0..2 {
        let failed = call(&server, "echo", &long).await.unwrap_err();
        assert!(failed.contains("within 500 ms"), "{failed}");
    }
    server.stop().await;
    assert!(!is_alive(&pid));
}

#[tokio::test]
async fn what_a_server_asks_of_its_client_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("answers");
    let env = [("FAKE_ANSWERS".to_owned(), file.to_str().unwrap().to_owned())].into();
    let server = start(McpConfig { env, ..config("plain") }).await;
    assert_eq!(call(&server, "beg", "").await.unwrap().content, "asked");
    let answers = std::fs::read_to_string(file).unwrap();
    let mut answers: Vec<&str> = answers.lines().collect();
    answers.sort_unstable();
    assert_eq!(
        answers,
        [
            "elicitation/create: -32601",
            "ping: granted",
            "roots/list: -32601",
            "sampling/createMessage: -32601"
        ]
    );
}
