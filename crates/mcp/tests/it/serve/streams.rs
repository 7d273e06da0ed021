//! One client at a pair of streams.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use probity_mcp::serve::{DeskLimits, MAX_MESSAGE_BYTES};
use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest,
    ProgressNotificationParam, ServerResult,
};
use rmcp::service::{
    NotificationContext, PeerRequestOptions, RoleClient, RunningService, ServiceError, serve_client,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex, split};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::{Fake, desk, object};
use crate::PATIENCE;

/// A client that keeps what it is told of progress.
#[derive(Clone, Default)]
struct Listening {
    steps: Arc<Mutex<Vec<String>>>,
}

impl ClientHandler for Listening {
    async fn on_progress(
        &self,
        told: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.steps.lock().unwrap().extend(told.message);
    }
}

struct Pair {
    fake: Arc<Fake>,
    client: RunningService<RoleClient, Listening>,
    served: JoinHandle<std::io::Result<()>>,
}

async fn pair(limits: DeskLimits) -> Pair {
    let (fake, desk, _) = desk(limits);
    let (near, far) = duplex(64 * 1024);
    let (read, write) = split(far);
    let served = tokio::spawn(async move { desk.serve_streams(read, write).await });
    let client = serve_client(Listening::default(), near).await.unwrap();
    Pair { fake, client, served }
}

fn params(tool: &str, arguments: Value) -> CallToolRequestParams {
    CallToolRequestParams::new(tool.to_owned()).with_arguments(object(arguments))
}

async fn call(
    client: &RunningService<RoleClient, Listening>,
    tool: &str,
) -> Result<CallToolResult, ServiceError> {
    let request = CallToolRequest::new(params(tool, json!({"number": 7, "text": "x"})));
    let request = ClientRequest::CallToolRequest(request);
    match client.send_request(request).await? {
        ServerResult::CallToolResult(result) => Ok(result),
        other => panic!("{other:?}"),
    }
}

fn text(result: &CallToolResult) -> String {
    let content = serde_json::to_value(&result.content).unwrap();
    content.pointer("/0/text").and_then(Value::as_str).unwrap().to_owned()
}

#[tokio::test]
async fn tools_are_listed_and_answer_with_what_is_structured() {
    let Pair { client, .. } = pair(DeskLimits::default()).await;
    let info = client.peer_info().unwrap();
    assert_eq!(info.instructions.as_deref(), Some("Read this."));
    let tools = client.list_all_tools().await.unwrap();
    assert!(tools.iter().all(|tool| tool.output_schema.is_some()), "{tools:?}");
    assert_eq!(tools.len(), 4);
    let result = call(&client, "echo").await.unwrap();
    let structured = result.structured_content.clone().unwrap();
    assert_eq!(structured, json!({"verified": false, "said": {"number": 7, "text": "x"}}));
    assert!(structured.to_string().starts_with(r#"{"verified":false"#), "{structured}");
    assert_eq!((text(&result).as_str(), result.is_error), ("NOT VERIFIED", Some(false)));
    let none = call(&client, "nothing").await;
    assert!(matches!(none, Err(ServiceError::McpError(_))), "{none:?}");
}

#[tokio::test]
async fn what_breaks_is_an_error_and_what_does_not_fit_the_schema_is_left_out() {
    let Pair { client, .. } = pair(DeskLimits::default()).await;
    let broken = call(&client, "panic").await.unwrap();
    assert_eq!(broken.is_error, Some(true));
    assert!(text(&broken).contains("mcp_call_failed"), "{broken:?}");
    assert_eq!(broken.structured_content, None);
    assert_eq!(call(&client, "bare").await.unwrap().structured_content, None);
    assert!(call(&client, "echo").await.is_ok(), "the conversation goes on");
}

#[tokio::test]
async fn a_cancelled_call_is_told_so_and_leaves_its_place() {
    let limits = DeskLimits { max_calls: 1, ..DeskLimits::default() };
    let Pair { fake, client, .. } = pair(limits).await;
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params("wait", json!({}))));
    let options = PeerRequestOptions::no_options();
    let handle = client.send_cancellable_request(request, options).await.unwrap();
    timeout(PATIENCE, fake.begun.notified()).await.unwrap();
    let busy = call(&client, "echo").await.unwrap();
    assert!(text(&busy).contains("mcp_busy"), "{busy:?}");
    assert_eq!((busy.is_error, fake.ended.load(Ordering::SeqCst)), (Some(true), 0));
    let steps = Arc::clone(&client.service().steps);
    crate::until("progress", || steps.lock().unwrap().contains(&"waits".to_owned())).await;
    handle.cancel(Some("no longer wanted".to_owned())).await.unwrap();
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while call(&client, "echo").await.unwrap().is_error == Some(true) {
        assert!(tokio::time::Instant::now() < deadline, "its place is never free");
    }
    assert_eq!(fake.ended.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_call_beyond_its_time_is_cancelled() {
    let limits = DeskLimits { call_timeout_ms: 20, ..DeskLimits::default() };
    let Pair { fake, client, .. } = pair(limits).await;
    timeout(PATIENCE, call(&client, "wait")).await.unwrap().unwrap();
    assert_eq!(fake.ended.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn the_end_of_the_client_cancels_what_is_under_way_and_waits_for_it() {
    let Pair { fake, client, served } = pair(DeskLimits::default()).await;
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params("wait", json!({}))));
    let options = PeerRequestOptions::no_options();
    let handle = client.send_cancellable_request(request, options).await.unwrap();
    timeout(PATIENCE, fake.begun.notified()).await.unwrap();
    client.cancel().await.unwrap();
    timeout(PATIENCE, served).await.unwrap().unwrap().unwrap();
    assert_eq!(fake.ended.load(Ordering::SeqCst), 1, "before the desk says that it has ended");
    drop(handle);
}

#[tokio::test]
async fn an_end_before_the_first_message_is_no_error_and_one_that_is_too_long_is() {
    for (bytes, is_fine) in [(0, true), (MAX_MESSAGE_BYTES + 1, false)] {
        let (_, desk, _) = desk(DeskLimits::default());
        let (near, far) = duplex(64 * 1024);
        let (read, write) = split(far);
        let served = tokio::spawn(async move { desk.serve_streams(read, write).await });
        let (mut answers, mut says) = split(near);
        let part = vec![b'x'; 64 * 1024];
        let mut left = bytes;
        while left > 0 {
            let now = left.min(part.len());
            // The desk stops reading in the midst of it.
            if says.write_all(part.get(..now).unwrap()).await.is_err() {
                break;
            }
            left -= now;
        }
        says.shutdown().await.unwrap_or_default();
        let served = timeout(PATIENCE, served).await.unwrap().unwrap();
        assert_eq!(served.is_ok(), is_fine, "{bytes}: {served:?}");
        let mut said = Vec::new();
        timeout(PATIENCE, answers.read_to_end(&mut said)).await.unwrap().unwrap();
        assert!(said.is_empty(), "nothing but the protocol is written: {said:?}");
    }
}

#[tokio::test]
async fn a_stop_ends_a_conversation_that_says_nothing() {
    let (_, desk, stop) = desk(DeskLimits::default());
    let (near, far) = duplex(64 * 1024);
    let (read, write) = split(far);
    let served = tokio::spawn(async move { desk.serve_streams(read, write).await });
    let client = serve_client(Listening::default(), near).await.unwrap();
    stop.cancel();
    timeout(Duration::from_secs(20), served).await.unwrap().unwrap().unwrap();
    drop(client);
}
