//! Events as they happen.

use std::collections::BTreeSet;

use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::face::{Face, config, done, holds};

/// One frame of a stream.
#[derive(Debug, Clone, PartialEq)]
struct Frame {
    id: u64,
    event: String,
    data: Value,
}

async fn open(face: &Face, run: &str, query: &str, last: Option<&str>) -> Response {
    let request = face.ask(Method::GET, &format!("/v1/runs/{run}/events?{query}"));
    let request = match last {
        Some(last) => request.header("last-event-id", last),
        None => request,
    };
    let response = request.header("accept", "text/event-stream").send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    response
}

/// Everything to the end of a stream, which the host closes.
async fn all(face: &Face, run: &str, query: &str, last: Option<&str>) -> Vec<Frame> {
    frames(&open(face, run, query, last).await.text().await.unwrap())
}

fn frames(text: &str) -> Vec<Frame> {
    let field = |block: &str, name: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned));
        line.unwrap_or_else(|| unreachable!("no {name} in {block}"))
    };
    text.split("\n\n")
        .filter(|block| !block.is_empty() && !block.starts_with(':'))
        .map(|block| Frame {
            id: field(block, "id: ").parse().unwrap(),
            event: field(block, "event: "),
            data: serde_json::from_str(&field(block, "data: ")).unwrap(),
        })
        .collect()
}

fn ids(frames: &[Frame]) -> Vec<u64> {
    frames.iter().map(|frame| frame.id).collect()
}

#[tokio::test]
async fn a_stream_tells_the_run_and_ends_with_it() {
    let face = Face::new().await;
    let body = json!({"workflowId": "conformance-delay", "inputs": {"delayMs": 50}});
    let run = face.begin_with(body).await;
    let told = all(&face, &run, "streamMode=debug", None).await;
    let events = face.to_end(&run).await;
    assert_eq!(told.iter().map(|frame| frame.data.clone()).collect::<Vec<_>>(), events);
    for frame in &told {
        assert_eq!(
            (frame.data["sequence"].as_u64(), &frame.data["type"]),
            (Some(frame.id), &json!(frame.event))
        );
        holds("RunEventDoc", &frame.data);
    }
    assert_eq!(told, all(&face, &run, "streamMode=debug", None).await);
}

#[tokio::test]
async fn updates_are_a_part_of_debug() {
    let face = Face::new().await;
    let run = face.begin("conformance-multi-node").await;
    face.to_end(&run).await;
    let debug: BTreeSet<u64> =
        ids(&all(&face, &run, "streamMode=debug", None).await).into_iter().collect();
    for query in ["", "streamMode=updates", "streamMode=updates,messages"] {
        let updates = all(&face, &run, query, None).await;
        assert!(updates.iter().all(|frame| debug.contains(&frame.id)));
        assert!(updates.iter().all(|frame| frame.event != "node.started"));
        let done = updates.iter().filter(|frame| frame.event == "node.completed").count();
        assert_eq!(done, 3, "{query}");
        assert_eq!(updates.last().unwrap().event, "run.completed");
    }
    assert_eq!(all(&face, &run, "streamMode=messages", None).await, []);
    let values = all(&face, &run, "streamMode=values", None).await;
    assert!(!values.is_empty());
    for frame in &values {
        assert_eq!(frame.event, "state.snapshot");
        holds("RunSnapshot", &frame.data);
    }
}

#[tokio::test]
async fn a_reader_that_comes_again_is_told_what_it_missed_and_nothing_twice() {
    let face = Face::new().await;
    let run = face.begin("conformance-multi-node").await;
    face.to_end(&run).await;
    let whole = all(&face, &run, "streamMode=debug", None).await;
    for (place, frame) in whole.iter().enumerate() {
        let rest = all(&face, &run, "streamMode=debug", Some(&frame.id.to_string())).await;
        assert_eq!(rest, whole[place + 1..]);
    }
    assert_eq!(all(&face, &run, "streamMode=debug", Some("99999")).await, []);
}

#[tokio::test]
async fn readers_of_a_live_run_are_told_the_same_wherever_they_begin() {
    let face = Face::new().await;
    let run = face.begin("conformance-approval").await;
    face.to_wait(&run).await;
    let late = open(&face, &run, "streamMode=debug", Some("1")).await;
    let whole = open(&face, &run, "streamMode=debug", None).await;
    let path = format!("/v1/runs/{run}/interrupts/gate");
    let answer = face.post(&path, &json!({"resumeValue": "accept"})).await;
    assert_eq!(answer.status, 200, "{}", answer.json);
    let (late, whole) = (late.text().await.unwrap(), whole.text().await.unwrap());
    let (late, whole) = (frames(&late), frames(&whole));
    assert_eq!(late, whole[2..]);
    assert_eq!(whole.last().unwrap().event, "run.completed");
}

/// Registers a gate, and behind it a row of nodes that do nothing: all their events come in one step.
async fn register_row(face: &Face, name: &str, ids: impl Iterator<Item = String>) {
    let mut definition = face.get("/v1/workflows/conformance-approval").await.json;
    let mut before = "gate".to_owned();
    for (n, id) in ids.enumerate() {
        let mut node = definition["nodes"][0].clone();
        (node["id"], node["typeId"], node["config"]) = (json!(id), json!("core.noop"), json!({}));
        definition["nodes"].as_array_mut().unwrap().push(node);
        let edge = json!({"id": format!("e{n}"), "sourceNodeId": before, "targetNodeId": id});
        definition["edges"].as_array_mut().unwrap().push(edge);
        before = id;
    }
    definition["id"] = json!(name);
    assert_eq!(face.post("/v1/workflows", &definition).await.status, 201);
}

#[tokio::test]
async fn many_readers_of_a_long_run_miss_nothing() {
    let face = Face::new().await;
    register_row(&face, "long", (0..300).map(|n| format!("n{n}"))).await;
    let run = face.begin("long").await;
    face.to_wait(&run).await;
    let mut open_ones = Vec::new();
    for n in 0..30 {
        let from = if n % 2 == 0 { None } else { Some("2") };
        open_ones.push(open(&face, &run, "streamMode=debug", from).await);
    }
    let path = format!("/v1/runs/{run}/interrupts/gate");
    assert_eq!(face.post(&path, &json!({"resumeValue": "accept"})).await.status, 200);
    let whole: Vec<u64> = (0..).take(face.to_end(&run).await.len()).collect();
    assert!(whole.len() > 600);
    for (n, stream) in open_ones.into_iter().enumerate() {
        let told = ids(&frames(&stream.text().await.unwrap()));
        assert_eq!(told, whole[if n % 2 == 0 { 0 } else { 3 }..], "{n}");
    }
}

/// More than the host keeps at hand comes in one step, so that every reader has to read it in the log.
#[tokio::test]
async fn readers_that_are_left_behind_miss_nothing() {
    let face = Face::new().await;
    register_row(&face, "heavy", (0..990).map(|n| format!("{n:0>127}"))).await;
    let run = face.begin("heavy").await;
    face.to_wait(&run).await;
    let mut open_ones = Vec::new();
    for from in [None, Some("1"), None] {
        open_ones.push(open(&face, &run, "streamMode=debug", from).await);
    }
    let path = format!("/v1/runs/{run}/interrupts/gate");
    assert_eq!(face.post(&path, &json!({"resumeValue": "accept"})).await.status, 200);
    let events = face.to_end(&run).await;
    let bytes: usize = events.iter().map(|event| event.to_string().len()).sum();
    assert!(bytes > 1_060_000, "{bytes}");
    let whole: Vec<u64> = (0..).take(events.len()).collect();
    for (stream, first) in open_ones.into_iter().zip([0, 2, 0]) {
        let told = frames(&stream.text().await.unwrap());
        assert_eq!(ids(&told), whole[first..]);
        assert_eq!(told.last().unwrap().event, "run.completed");
    }
}

#[tokio::test]
async fn a_long_poll_ends_with_the_host() {
    let mut config = config();
    config.limits.max_streams = 1;
    let face = Face::with(config).await;
    let run = face.begin("conformance-approval").await;
    while face.snapshot(&run).await["status"] != "waiting-approval" {}
    let poll = |timeout_s: u64| {
        let path = format!("/v1/runs/{run}/events/poll?lastSequence=99&timeout={timeout_s}");
        let face = &face;
        async move { face.get(&path).await }
    };
    let long = async {
        loop {
            let answer = poll(60).await;
            if answer.status != 429 {
                return answer;
            }
        }
    };
    let begun = std::time::Instant::now();
    let (answer, ()) = tokio::join!(long, async {
        // Where there is no room for another one, the long one is under way.
        while poll(1).await.status != 429 {}
        face.stop.cancel();
    });
    assert_eq!((answer.status, &answer.json["isComplete"]), (200, &json!(false)));
    assert!(begun.elapsed().as_secs() < 30);
}

#[tokio::test]
async fn gathered_events_come_at_once_when_somebody_is_asked_and_at_the_end() {
    let face = Face::new().await;
    let run = face.begin("conformance-approval").await;
    let mut stream = open(&face, &run, "streamMode=debug&bufferMs=5000", None).await;
    let mut text = String::new();
    while !text.contains("node.suspended") {
        text.push_str(std::str::from_utf8(&stream.chunk().await.unwrap().unwrap()).unwrap());
    }
    let path = format!("/v1/runs/{run}/interrupts/gate");
    face.post(&path, &json!({"resumeValue": "accept"})).await;
    while let Some(chunk) = stream.chunk().await.unwrap() {
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    let told = frames(&text);
    assert!(told.iter().all(|frame| frame.event == "batch"), "{told:?}");
    let events: Vec<Value> =
        told.iter().flat_map(|frame| frame.data.as_array().unwrap().clone()).collect();
    assert_eq!(events, face.to_end(&run).await);
    let last = told.last().unwrap();
    assert_eq!(last.data.as_array().unwrap().last().unwrap()["sequence"], last.id);
}

#[tokio::test]
async fn what_no_stream_can_be_is_refused_whatever_is_accepted() {
    let face = Face::new().await;
    let run = face.begin("conformance-noop").await;
    for accept in ["text/event-stream", "application/json"] {
        let ask = |query: &str| {
            let path = format!("/v1/runs/{run}/events?{query}");
            done(face.ask(Method::GET, &path).header("accept", accept))
        };
        for query in
            ["streamMode=all", "streamMode=values,debug", "streamMode=", "streamMode=updates,x"]
        {
            let answer = ask(query).await;
            answer.is_failure(400, "unsupported_stream_mode");
            assert_eq!(answer.json["details"]["supported"].as_array().unwrap().len(), 4);
        }
        for query in ["bufferMs=99999", "bufferMs=-1", "bufferMs=x"] {
            ask(query).await.is_failure(400, "validation_error");
        }
    }
    let none =
        face.ask(Method::GET, "/v1/runs/nobody/events").header("accept", "text/event-stream");
    done(none).await.is_failure(404, "not_found");
}

#[tokio::test]
async fn a_stream_that_has_nothing_to_say_says_so() {
    let mut config = config();
    config.limits.keep_alive_ms = 20;
    let face = Face::with(config).await;
    let run = face.begin("conformance-approval").await;
    face.to_wait(&run).await;
    let mut stream = open(&face, &run, "", Some("99999")).await;
    let mut text = String::new();
    while text.matches(": alive").count() < 3 {
        text.push_str(std::str::from_utf8(&stream.chunk().await.unwrap().unwrap()).unwrap());
    }
}

#[tokio::test]
async fn streams_have_their_own_bound_and_end_with_the_host() {
    let mut config = config();
    config.limits.max_streams = 1;
    let face = Face::with(config).await;
    let run = face.begin("conformance-approval").await;
    let stream = open(&face, &run, "", None).await;
    let second = face.ask(Method::GET, &format!("/v1/runs/{run}/events"));
    let second = done(second.header("accept", "text/event-stream")).await;
    second.is_failure(429, "rate_limited");
    assert_eq!(second.headers["retry-after"], "1");
    face.stop.cancel();
    let told = frames(&stream.text().await.unwrap());
    assert!(told.iter().all(|frame| frame.event != "run.completed"));
}
