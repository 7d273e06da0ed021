//! Answers that fail, on the wire.

use std::time::Duration;

use probity_chat::ModelReply;
use probity_testkit::{Answer, StrictServer};
use serde_json::{Value, json};

use crate::{anthropic, openai};

fn hello(stream: bool) -> Value {
    let messages = json!([{ "role": "user", "content": "hello" }]);
    json!({ "model": "m", "stream": stream, "messages": messages, "max_tokens": 9 })
}

async fn serve(answers: impl IntoIterator<Item = Answer>) -> StrictServer {
    StrictServer::answers(answers).start().await.unwrap()
}

#[tokio::test]
async fn a_stream_is_whole_and_a_cut_one_lacks_its_end() {
    let reply = || ModelReply::text("some words to say");
    for (answer, is_whole) in [(Answer::reply(reply()), true), (Answer::cut(reply()), false)] {
        let server = serve([answer]).await;
        for (got, last) in [
            (openai(&server, &hello(true)).await, "[DONE]"),
            (anthropic(&server, &hello(true)).await, "message_stop"),
        ] {
            assert_eq!(got.status, 200);
            assert!(got.head.contains("text/event-stream"), "{}", got.head);
            // Pieces cut events in the middle, so the words are looked for without their frames.
            let body: String = got.body.split("\r\n").skip(1).step_by(2).collect();
            assert!(body.contains("data: {"), "{body}");
            assert_eq!(body.contains(last), is_whole, "{body}");
            assert_eq!(got.body.ends_with("0\r\n\r\n"), is_whole, "{}", got.body);
        }
    }
}

#[tokio::test]
async fn answers_come_in_turn_and_the_last_one_stays() {
    let server = serve([
        Answer::status(429, "slow down").header("retry-after", "2"),
        Answer::raw(200, "text/html", "<h1>"),
        Answer::close(),
        Answer::reply(ModelReply::text("ok")).after(Duration::from_millis(1)),
    ])
    .await;
    let got = openai(&server, &hello(false)).await;
    assert_eq!((got.status, got.message().as_str()), (429, "slow down"));
    assert!(got.head.contains("retry-after: 2"), "{}", got.head);
    let got = openai(&server, &hello(false)).await;
    assert_eq!((got.status, got.body.as_str()), (200, "<h1>"));
    assert_eq!(openai(&server, &hello(false)).await.status, 0);
    for _ in 0..2 {
        let got = anthropic(&server, &hello(false)).await;
        let body: Value = serde_json::from_str(&got.body).unwrap();
        assert_eq!(body["content"][0]["text"], "ok");
    }
    assert_eq!(server.received().len(), 5);
}

#[tokio::test]
async fn an_answer_may_depend_on_the_request() {
    let server = StrictServer::answering(|received| {
        let said = received.body.pointer("/messages/0/content").and_then(Value::as_str);
        Answer::reply(ModelReply::text(said.unwrap_or_default()))
    });
    let server = server.start().await.unwrap();
    let got = openai(&server, &hello(false)).await;
    let body: Value = serde_json::from_str(&got.body).unwrap();
    assert_eq!(body["choices"][0]["message"]["content"], "hello");
}

#[tokio::test]
async fn a_server_that_is_dropped_ends_what_hangs() {
    let server = serve([Answer::hang()]).await;
    let address = server.address();
    let hello = hello(false);
    let arrived = async {
        while server.received().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        got = openai(&server, &hello) => panic!("{got:?}"),
        () = arrived => {}
    }
    drop(server);
    let refused = async {
        while tokio::net::TcpStream::connect(address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), refused).await.unwrap();
}
