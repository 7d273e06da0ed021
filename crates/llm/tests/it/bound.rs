//! A call ends, whatever the server does.

use probity_chat::{Model, ModelError, ModelReply};
use probity_llm::Endpoint;
use probity_testkit::{Answer, call};
use serde_json::json;

use crate::{MODES, config, endpoint, question, serve};

#[tokio::test]
async fn an_endless_answer_is_read_up_to_the_bound() {
    let pieces: [&[u8]; 3] = [b"x", b"data: {\"choices\":[]}\n\n", b"\n"];
    for mode in MODES {
        for piece in pieces {
            for kind in ["application/json", "text/event-stream"] {
                let server = serve([Answer::endless(kind, piece.repeat(4096))]).await;
                let mut config = config(&server, mode);
                config.max_reply_bytes = 100_000;
                let model = Endpoint::new(config).unwrap();
                let error = model.complete(&question().request()).await.unwrap_err();
                assert!(matches!(error, ModelError::Unreadable { .. }), "{mode:?}: {error:?}");
            }
        }
    }
}

#[tokio::test]
async fn an_answer_of_just_the_bound_is_read() {
    for mode in MODES {
        let reply = ModelReply::text("word ".repeat(200));
        let server = serve([Answer::reply(reply.clone())]).await;
        // Found by halving: the smallest bound under which the answer is read.
        let (mut low, mut high) = (1, 200_000);
        while low < high {
            let mut config = config(&server, mode);
            config.max_reply_bytes = (low + high) / 2;
            let model = Endpoint::new(config.clone()).unwrap();
            match model.complete(&question().request()).await {
                Ok(read) => {
                    assert_eq!(read, reply);
                    high = config.max_reply_bytes;
                }
                Err(ModelError::Unreadable { .. }) => low = config.max_reply_bytes + 1,
                Err(other) => panic!("{other:?}"),
            }
        }
        assert!((1000..200_000).contains(&low), "{mode:?}: {low}");
    }
}

#[tokio::test]
async fn more_calls_than_any_model_makes_are_no_answer() {
    for mode in MODES {
        let calls = (0..300).map(|n| call(format!("c{n}"), "weather", json!({})));
        let server = serve([Answer::reply(ModelReply::calls(calls))]).await;
        let error = endpoint(&server, mode).complete(&question().request()).await.unwrap_err();
        assert!(matches!(error, ModelError::Unreadable { .. }), "{mode:?}: {error:?}");
    }
}

#[tokio::test]
async fn silence_ends_with_the_time_of_the_call() {
    for mode in MODES {
        let server = serve([Answer::hang()]).await;
        let mut config = config(&server, mode);
        config.timeout_ms = 60;
        let model = Endpoint::new(config).unwrap();
        let error = model.complete(&question().request()).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the model's provider did not answer: no answer within 60 ms"
        );
    }
}

#[tokio::test]
async fn a_cancelled_call_ends_at_once_and_is_not_made_when_it_comes_too_late() {
    for mode in MODES {
        let server = serve([Answer::hang()]).await;
        let model = endpoint(&server, mode);
        let asked = question();
        let request = asked.request();
        let arrived = async {
            while server.received().is_empty() {
                tokio::task::yield_now().await;
            }
            asked.cancel.cancel();
        };
        let (result, ()) = tokio::join!(model.complete(&request), arrived);
        assert_eq!(result, Err(ModelError::Cancelled), "{mode:?}");
        assert_eq!(model.complete(&request).await, Err(ModelError::Cancelled));
        assert_eq!(server.received().len(), 1);
    }
}

#[tokio::test]
async fn calls_share_a_connection() {
    for mode in MODES {
        let server = serve([Answer::reply(ModelReply::text("word ".repeat(100)))]).await;
        let model = endpoint(&server, mode);
        for _ in 0..3 {
            model.complete(&question().request()).await.unwrap();
        }
        assert_eq!((server.received().len(), server.connections()), (3, 1), "{mode:?}");
    }
}
