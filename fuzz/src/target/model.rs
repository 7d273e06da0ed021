//! What a model's endpoint answers, whole and as a stream, over loopback.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use probity_chat::{Message, Model as _, ModelError, ModelReply, ModelRequest, ToolChoice};
use probity_core::{RunId, Turn};
use probity_egress::stub::{Reply, StubServer};
use probity_llm::{Api, Endpoint, EndpointConfig, Secret};
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use super::Target;
use crate::tape::Tape;

pub(super) const TARGETS: [Target; 1] = [Target::new("model", model, models)];

const KEY: &str = "sk-very-secret-key-0123456789";

/// A server that answers whatever is said here, and an endpoint for each language.
struct Exchange {
    runtime: Runtime,
    _server: StubServer,
    next: Arc<Mutex<Vec<u8>>>,
    endpoints: Vec<Endpoint>,
}

static EXCHANGE: LazyLock<Option<Mutex<Exchange>>> = LazyLock::new(|| open().map(Mutex::new));

fn open() -> Option<Exchange> {
    let runtime = Builder::new_current_thread().enable_all().build().ok()?;
    let next = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&next);
    let answer =
        move |_: &_| Reply::Raw(told.lock().unwrap_or_else(PoisonError::into_inner).clone());
    let server = runtime.block_on(StubServer::http(answer)).ok()?;
    let base = format!("http://{}/v1", server.address());
    let endpoints = [Api::OpenAi, Api::Anthropic].into_iter().filter_map(|api| {
        let mut config = EndpointConfig::new(api, base.clone(), "m");
        config.key = Some(Secret::new(KEY));
        Endpoint::new(config).ok()
    });
    let endpoints = endpoints.collect();
    Some(Exchange { runtime, _server: server, next, endpoints })
}

impl Exchange {
    fn ask(&self, api: usize, answer: Vec<u8>) -> Option<Result<ModelReply, ModelError>> {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = answer;
        let (run, cancel) = (RunId::from_uuid(1), CancellationToken::new());
        let messages = [Message::User { content: "hi".to_owned() }];
        let request = ModelRequest {
            run: &run,
            turn: Turn::FIRST,
            number: 1,
            messages: &messages,
            tools: &[],
            tool_choice: ToolChoice::Auto,
            cancel: &cancel,
        };
        Some(self.runtime.block_on(self.endpoints.get(api)?.complete(&request)))
    }
}

/// An answer in one piece and the same in many: both are read alike, no reply is longer than what was
/// sent, and no error shows the key.
fn model(bytes: &[u8]) {
    let mut tape = Tape::new(bytes);
    let (api, piece) = (usize::from(tape.below(2)), 1 + usize::from(tape.byte()));
    let status = if tape.one_in(8) { "429 Slow" } else { "200 OK" };
    let kind = if tape.one_in(2) { "application/json" } else { "text/event-stream" };
    let body = tape.rest();
    let Some(exchange) = &*EXCHANGE else { return };
    let exchange = exchange.lock().unwrap_or_else(PoisonError::into_inner);
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n");
    let mut whole = format!("{head}content-length: {}\r\n\r\n", body.len()).into_bytes();
    whole.extend_from_slice(body);
    let mut pieces = format!("{head}transfer-encoding: chunked\r\n\r\n").into_bytes();
    for chunk in body.chunks(piece) {
        pieces.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
        pieces.extend_from_slice(chunk);
        pieces.extend_from_slice(b"\r\n");
    }
    pieces.extend_from_slice(b"0\r\n\r\n");
    let (one, many) = (exchange.ask(api, whole), exchange.ask(api, pieces));
    assert_eq!(one, many, "cut in pieces of {piece}, it is another answer");
    match one {
        Some(Ok(reply)) => {
            let said: usize = reply.tool_calls.iter().map(|call| call.arguments.len()).sum();
            assert!(
                reply.text.len() <= body.len() && said <= body.len() + 64,
                "more than was sent"
            );
        }
        Some(Err(error)) => {
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains(KEY), "the key is shown");
            assert!(shown.len() < 16_384, "{} bytes of an error", shown.len());
        }
        None => {}
    }
}

fn models() -> Vec<Vec<u8>> {
    let stream = |api: u8, text: &str| [&[api, 6, 1, 1], text.as_bytes()].concat();
    let whole = |api: u8, text: &str| [&[api, 6, 1, 2], text.as_bytes()].concat();
    vec![
        whole(
            0,
            "{\"choices\":[{\"message\":{\"content\":\"hello\",\"tool_calls\":[{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"w\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}",
        ),
        whole(
            1,
            "{\"content\":[{\"type\":\"text\",\"text\":\"hi\"},{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"w\",\"input\":{}}],\"stop_reason\":\"end_turn\",\"usage\":{\"input_tokens\":1,\"output_tokens\":2}}",
        ),
        stream(
            0,
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"he\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"w\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"stop\"}]}\r\n\r\ndata: [DONE]\n\n",
        ),
        stream(
            1,
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":1}}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hi\"}}\n\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
        ),
        whole(
            0,
            "{\"error\":{\"message\":\"bad key sk-very-secret-key-0123456789\",\"type\":\"invalid\"}}",
        ),
    ]
}
