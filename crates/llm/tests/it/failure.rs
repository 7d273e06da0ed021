//! What fails says whether asking again may help, and never shows the key.

use probity_chat::{Model, ModelError, ModelReply};
use probity_llm::{Api, Endpoint, EndpointConfig, Secret};
use probity_testkit::{Answer, Asked, Choice, call};
use serde_json::json;

use crate::{KEY, MODES, ask, config, endpoint, question, serve, user};

type Headers = &'static [(&'static str, &'static str)];

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Refused(Option<u16>),
    Transient(Option<u16>, Option<u64>),
    Unreadable,
    Cancelled,
}

fn kind(result: Result<ModelReply, ModelError>) -> Kind {
    match result.unwrap_err() {
        ModelError::Refused { status, .. } => Kind::Refused(status),
        ModelError::Transient { status, retry_after_ms, .. } => {
            Kind::Transient(status, retry_after_ms)
        }
        ModelError::Unreadable { .. } => Kind::Unreadable,
        ModelError::Cancelled => Kind::Cancelled,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn every_status_means_one_thing() {
    for mode in MODES {
        for status in [302, 400, 401, 402, 403, 404, 410, 413, 422] {
            let result = ask(mode, Answer::status(status, "no")).await;
            assert_eq!(kind(result), Kind::Refused(Some(status)), "{mode:?}");
        }
        for status in [408, 409, 425, 429, 500, 502, 503, 504, 529] {
            let result = ask(mode, Answer::status(status, "not now")).await;
            let ModelError::Transient { message, .. } = result.clone().unwrap_err() else {
                panic!("{mode:?}: {result:?}");
            };
            assert_eq!(message, "not now");
            assert_eq!(kind(result), Kind::Transient(Some(status), None), "{mode:?}");
        }
    }
}

#[tokio::test]
async fn when_to_ask_again() {
    let table: [(Headers, Option<u64>); 8] = [
        (&[("retry-after", "2")], Some(2000)),
        (&[("retry-after", "0.25")], Some(250)),
        (&[("retry-after-ms", "150")], Some(150)),
        (&[("retry-after", "2"), ("retry-after-ms", "150")], Some(150)),
        (&[("retry-after", "Wed, 21 Oct 2099 07:28:00 GMT")], None),
        (&[("retry-after", "-1")], None),
        (&[("retry-after", "1e300")], None),
        (&[], None),
    ];
    for (headers, expected) in table {
        for mode in MODES {
            let answer =
                headers.iter().fold(Answer::status(429, "slow down"), |it, (name, value)| {
                    it.header(*name, *value)
                });
            assert_eq!(kind(ask(mode, answer).await), Kind::Transient(Some(429), expected));
        }
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_or_is_none() {
    let long = || ModelReply {
        tool_calls: vec![call("a1", "weather", json!({ "city": "Bern ".repeat(50) }))],
        ..ModelReply::text("word ".repeat(50))
    };
    for mode in MODES {
        let kind_of = if mode.1 { "text/event-stream" } else { "application/json" };
        let table = [
            ("cut", Answer::cut(long()), Kind::Transient(None, None)),
            ("closed", Answer::close(), Kind::Transient(None, None)),
            ("html", Answer::raw(200, "text/html", "<h1>hello</h1>"), unread(mode.1)),
            ("empty", Answer::raw(200, kind_of, ""), unread(mode.1)),
            ("an object", Answer::raw(200, kind_of, "data: {}\n\n"), unread(mode.1)),
            ("no JSON", Answer::raw(200, kind_of, "data: {oops\n\n"), Kind::Unreadable),
            ("no text", Answer::raw(200, kind_of, b"data: \xff\n\n".to_vec()), Kind::Unreadable),
        ];
        for (name, answer, expected) in table {
            assert_eq!(kind(ask(mode, answer).await), expected, "{name}, {mode:?}");
        }
    }
}

/// A stream without its end was cut off; a whole answer of that kind is no answer.
fn unread(is_stream: bool) -> Kind {
    if is_stream { Kind::Transient(None, None) } else { Kind::Unreadable }
}

#[tokio::test]
async fn a_call_without_a_name_is_no_answer() {
    for mode in MODES {
        let answer = Answer::reply(ModelReply::calls([call("a1", "", json!({}))]));
        assert_eq!(kind(ask(mode, answer).await), Kind::Unreadable, "{mode:?}");
    }
}

#[tokio::test]
async fn an_answer_without_its_parts_is_none() {
    let table = [
        (Api::OpenAi, "{}"),
        (Api::OpenAi, r#"{"choices":[]}"#),
        (Api::OpenAi, r#"{"choices":[{"finish_reason":"stop"}]}"#),
        (Api::OpenAi, r#"{"choices":{"message":{}}}"#),
        (Api::Anthropic, "{}"),
        (Api::Anthropic, r#"{"content":"hello"}"#),
    ];
    for (api, body) in table {
        let answer = Answer::raw(200, "application/json", body);
        assert_eq!(kind(ask((api, false), answer).await), Kind::Unreadable, "{body}");
    }
}

/// A stream that ends as it should and says nothing is a provider's trouble, not an answer.
#[tokio::test]
async fn an_end_without_an_answer_is_none() {
    let table = [
        (Api::OpenAi, "data: [DONE]\n\n"),
        (Api::OpenAi, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\n\ndata: [DONE]\n\n"),
        (Api::Anthropic, "data: {\"type\":\"message_stop\"}\n\n"),
        (
            Api::Anthropic,
            "data: {\"type\":\"message_start\"}\n\ndata: {\"type\":\"message_stop\"}\n\n",
        ),
    ];
    for (api, body) in table {
        let answer = Answer::raw(200, "text/event-stream", body);
        assert_eq!(kind(ask((api, true), answer).await), Kind::Transient(None, None), "{body}");
    }
}

/// What was said until then is not the answer.
#[tokio::test]
async fn an_answer_that_the_provider_broke_off_is_none() {
    for reason in ["error", "insufficient_system_resource"] {
        let choice = format!(r#"{{"delta":{{"content":"hi"}},"finish_reason":"{reason}"}}"#);
        let stream = format!("data: {{\"choices\":[{choice}]}}\n\ndata: [DONE]\n\n");
        let whole = format!(r#"{{"choices":[{}]}}"#, choice.replace("delta", "message"));
        for (kind_of, body) in [("text/event-stream", stream), ("application/json", whole)] {
            let answer = Answer::raw(200, kind_of, body);
            let result = ask((Api::OpenAi, true), answer).await;
            assert_eq!(kind(result), Kind::Transient(None, None), "{reason}, {kind_of}");
        }
    }
}

/// A server that sends an empty reason to stop with every piece has not said that it stopped.
#[tokio::test]
async fn an_empty_reason_to_stop_is_none() {
    let packet = r#"{"choices":[{"delta":{"content":"hi"},"finish_reason":""}]}"#;
    let answer = Answer::raw(200, "text/event-stream", format!("data: {packet}\n\n"));
    assert_eq!(kind(ask((Api::OpenAi, true), answer).await), Kind::Transient(None, None));
}

#[tokio::test]
async fn an_error_that_is_sent_as_an_answer() {
    let table = [
        (r#"{"message":"Overloaded","type":"overloaded_error"}"#, Kind::Transient(None, None)),
        (r#"{"message":"no","type":"invalid_request_error"}"#, Kind::Refused(None)),
        (r#"{"message":"slow down","code":429}"#, Kind::Transient(Some(429), None)),
        (r#"{"message":"no credit","code":402}"#, Kind::Refused(Some(402))),
        (r#""broken""#, Kind::Transient(None, None)),
    ];
    for (error, expected) in table {
        for mode in MODES {
            let body = format!(r#"{{"type":"error","error":{error}}}"#);
            let answer = if mode.1 {
                Answer::raw(200, "text/event-stream", format!("event: error\ndata: {body}\n\n"))
            } else {
                Answer::raw(200, "application/json", body)
            };
            assert_eq!(kind(ask(mode, answer).await), expected, "{error}, {mode:?}");
        }
    }
}

#[tokio::test]
async fn what_the_server_refuses_by_its_rules() {
    for mode in MODES {
        let server = serve([Answer::reply(ModelReply::text("never"))]).await;
        let unanswered = probity_chat::Message::Assistant {
            content: String::new(),
            tool_calls: vec![call("a1", "weather", json!({}))],
        };
        let mut asked = question();
        asked.messages.extend([unanswered, user("well?")]);
        let model = endpoint(&server, mode);
        assert_eq!(kind(model.complete(&asked.request()).await), Kind::Refused(Some(400)));
        let nobody = Asked { choice: Choice::Named("nobody".to_owned()), ..question() };
        assert_eq!(kind(model.complete(&nobody.request()).await), Kind::Refused(Some(400)));
        assert_eq!(server.violations().len(), 2, "{mode:?}");

        let mut other = config(&server, mode);
        other.model = "no-model".to_owned();
        let result = Endpoint::new(other).unwrap().complete(&question().request()).await;
        assert_eq!(kind(result), Kind::Refused(Some(404)));
        for key in [None, Some(Secret::new("sk-wrong"))] {
            let mut wrong = config(&server, mode);
            wrong.key = key;
            let result = Endpoint::new(wrong).unwrap().complete(&question().request()).await;
            assert_eq!(kind(result), Kind::Refused(Some(401)));
        }
    }
}

#[tokio::test]
async fn the_key_is_in_no_error() {
    let said = format!("Incorrect API key provided: {KEY}. {}", "é".repeat(4000));
    for mode in MODES {
        for answer in [
            Answer::status(401, said.as_str()),
            Answer::status(500, said.as_str()),
            Answer::raw(400, "text/plain", said.as_str()),
        ] {
            let error = ask(mode, answer).await.unwrap_err().to_string();
            assert!(error.contains("Incorrect API key provided: [key]."), "{error}");
            assert!(!error.contains(KEY) && error.len() < 2200, "{error}");
        }
    }
}

#[tokio::test]
async fn a_server_that_is_not_there() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let free = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let model = Endpoint::new(EndpointConfig::new(Api::OpenAi, free, "some-model")).unwrap();
    assert_eq!(kind(model.complete(&question().request()).await), Kind::Transient(None, None));
}
