//! The host of these tests: the wire of openwop v1 over the small engine.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::response::Response;
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::engine::{ENDED, Engine};
use crate::lie::Lie;

pub(crate) const KEY: &str = "kit-test-key-0123456789";
pub(crate) const OTHER_KEY: &str = "kit-test-key-of-another-tenant";
const MAX_BODY_BYTES: usize = 1024 * 1024;

/// What a host does to whoever reads from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prank {
    Garbage,
    EndlessStream,
    EndlessLine,
    HugeSnapshot,
    SlowSnapshot,
    Silence,
}

struct Host {
    engine: Arc<Engine>,
    prank: Option<Prank>,
    keys: Mutex<BTreeMap<String, (Value, String)>>,
}

/// Bytes that come in pieces.
struct Pieces(mpsc::Receiver<String>);

impl futures_core::Stream for Pieces {
    type Item = Result<Bytes, std::convert::Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|piece| piece.map(|text| Ok(Bytes::from(text))))
    }
}

/// Starts a host on a free port of the loopback: its address.
pub(crate) async fn start(lie: Option<Lie>, prank: Option<Prank>) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let host = Arc::new(Host { engine: Engine::new(lie), prank, keys: Mutex::default() });
    let router = Router::new().fallback(answer).with_state(host);
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

async fn answer(State(host): State<Arc<Host>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path().to_owned();
    let pieces: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let engine = &host.engine;
    let is_get = parts.method == "GET";
    match (is_get, pieces.as_slice()) {
        (true, [".well-known", "openwop"]) => return discovery(&host, &parts).await,
        (true, ["v1", "openapi.json"]) => {
            return json(200, &json!({"openapi": "3.1.0", "paths": {"/v1/runs": {}}}));
        }
        (_, ["v1", "interrupts", _]) => return refused(engine, 404, "not_found"),
        _ => {}
    }
    let key = parts
        .headers
        .get("authorization")
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let is_other = key == format!("Bearer {OTHER_KEY}");
    if key != format!("Bearer {KEY}") && !is_other {
        let run = pieces.get(2).copied().unwrap_or_default();
        if engine.lies(Lie::ExistenceBeforeKey) && is_get && !engine.runs().contains_key(run) {
            return refused(engine, 404, "not_found");
        }
        let status = if engine.lies(Lie::ForbiddenForMissingKey) { 403 } else { 401 };
        return refused(engine, status, "unauthenticated");
    }
    let Ok(text) = to_bytes(body, MAX_BODY_BYTES).await else {
        return refused(engine, 413, "validation_error");
    };
    if is_get {
        return read(&host, &parts, &pieces, is_other).await;
    }
    if let ("DELETE", ["v1", "webhooks", id]) = (parts.method.as_str(), pieces.as_slice()) {
        if engine.hooks.remove(id) {
            return Response::builder().status(204).body(Body::empty()).unwrap();
        }
        return refused(engine, 404, "subscription_not_found");
    }
    if parts.method != "POST" {
        return refused(engine, 405, "method_not_allowed");
    }
    let Ok(body) = serde_json::from_slice::<Value>(&text) else {
        return refused(engine, 400, "validation_error");
    };
    write(&host, &parts, &pieces, &body, is_other)
}

async fn discovery(host: &Host, parts: &Parts) -> Response {
    match host.prank {
        Some(Prank::Garbage) => return Response::new(Body::from("<html>welcome</html>")),
        Some(Prank::Silence) => std::future::pending::<()>().await,
        _ => {}
    }
    if parts.headers.get("if-none-match").is_some_and(|etag| etag == "\"one\"") {
        return Response::builder()
            .status(304)
            .header("etag", "\"one\"")
            .body(Body::empty())
            .unwrap();
    }
    let fixtures: Vec<&str> = probity_conformance::fixtures().iter().map(|(id, _)| *id).collect();
    let document = json!({
        "protocolVersion": "1.0", "implementation": {"name": "test-host", "version": "0"},
        "supportedEnvelopes": ["clarification.request"], "schemaVersions": {"clarification.request": 1},
        "limits": {"clarificationRounds": 3, "schemaRounds": 3, "envelopesPerTurn": 8, "maxRequestBodyBytes": MAX_BODY_BYTES},
        "fixtures": fixtures, "agents": {"supported": true, "orchestrator": true, "dispatch": true, "dispatchMapping": true},
        "subWorkflow": {"inputMapping": true}, "replay": {"supported": true}, "webhooks": {"supported": true, "signatureAlgorithms": ["v1"]},
        "multiAgent": {"executionModel": {
            "supported": true, "version": 6, "confidenceEscalationFloor": 0.5, "confidenceEscalationInterruptKind": "approval",
            "crossHostCausation": {"supported": true, "hostId": "test-host"},
            "replayDeterminism": {"supported": true, "refusalDivergenceEmission": true},
            "verifier": {"supported": true, "gating": true}}},
    });
    let mut response = json(200, &document);
    if !host.engine.lies(Lie::NoCacheControl) {
        response.headers_mut().insert("cache-control", "max-age=60".parse().unwrap());
    }
    response.headers_mut().insert("etag", "\"one\"".parse().unwrap());
    response
}

async fn read(host: &Arc<Host>, parts: &Parts, pieces: &[&str], is_other: bool) -> Response {
    let engine = &host.engine;
    match pieces {
        ["v1", "workflows", id] => engine
            .definition(id)
            .map_or_else(|| refused(engine, 404, "not_found"), |definition| json(200, &definition)),
        ["v1", "runs", run, rest @ ..] if !is_other && engine.runs().contains_key(*run) => {
            match rest {
                [] => snapshot(host, run).await,
                ["events"] => events(host, parts, run).await,
                ["events", "poll"] => poll(host, parts, run).await,
                _ => refused(engine, 404, "not_found"),
            }
        }
        _ => refused(engine, 404, "not_found"),
    }
}

fn write(
    host: &Arc<Host>,
    parts: &Parts,
    pieces: &[&str],
    body: &Value,
    is_other: bool,
) -> Response {
    let engine = &host.engine;
    match pieces {
        ["v1", "runs"] => create(host, parts, body),
        ["v1", "webhooks"] => match engine.hooks.add(body, engine.lie) {
            Ok(id) => json(201, &json!({"webhookId": id})),
            Err(code) => refused(engine, 400, code),
        },
        ["v1", "workflows"] => {
            let is_wrong = body.to_string().contains("noSuchRule");
            if is_wrong { refused(engine, 400, "validation_error") } else { json(201, body) }
        }
        ["v1", "host", "sample", "agents", "verify-run"] => seam(engine, body),
        ["v1", "runs", named] if named.ends_with(":fork") && !is_other => {
            fork(engine, named.trim_end_matches(":fork"), body)
        }
        ["v1", "runs", run, rest @ ..] if !is_other && engine.runs().contains_key(*run) => {
            match rest {
                ["cancel"] => {
                    let is_ended = ENDED.contains(&engine.runs()[*run].status);
                    if is_ended && engine.lies(Lie::CancelEndedConflicts) {
                        return refused(engine, 409, "run_terminal");
                    }
                    engine.cancel(run);
                    json(200, &json!({"runId": run, "status": engine.runs()[*run].status}))
                }
                ["interrupts", node] => {
                    if body.as_object().is_none_or(|body| body.len() != 1)
                        && !engine.lies(Lie::AnyAnswerTaken)
                    {
                        return refused(engine, 400, "validation_error");
                    }
                    match engine.resolve(run, node, &body["resumeValue"]) {
                        200 => {
                            json(200, &json!({"runId": run, "nodeId": node, "status": "running"}))
                        }
                        status => refused(engine, status, "not_waiting"),
                    }
                }
                _ => refused(engine, 404, "not_found"),
            }
        }
        _ => refused(engine, 404, "not_found"),
    }
}

fn create(host: &Host, parts: &Parts, body: &Value) -> Response {
    let engine = &host.engine;
    let number = |name: &str| {
        body["configurable"].get(name).is_none_or(|value| value.as_u64().is_some_and(|n| n > 0))
    };
    let bounds = ["recursionLimit", "runTimeoutMs", "maxLoopIterations"];
    let tags = body.get("tags").map_or(Some(Vec::new()), |tags| tags.as_array().cloned());
    let is_tag = |tag: &Value| tag.as_str().is_some_and(|tag| tag.len() <= 256);
    let is_right = body["workflowId"].is_string()
        && body.get("inputs").is_none_or(Value::is_object)
        && tags.is_some_and(|tags| tags.len() <= 100 && tags.iter().all(is_tag))
        && (bounds.into_iter().all(number) || engine.lies(Lie::BoundsUnchecked));
    if !is_right {
        return refused(engine, 400, "validation_error");
    }
    let workflow = body["workflowId"].as_str().unwrap();
    if engine.definition(workflow).is_none() {
        return refused(engine, 404, "not_found");
    }
    let inputs = body["inputs"].as_object().cloned().unwrap_or_default();
    let begin = || engine.begin(workflow, &inputs, &body["configurable"]);
    let key = parts.headers.get("idempotency-key").map(|key| key.to_str().unwrap().to_owned());
    let Some(key) = key.filter(|_| !engine.lies(Lie::KeyIgnored)) else { return created(&begin()) };
    let mut keys = host.keys.lock().unwrap();
    if let Some((known, run)) = keys.get(&key) {
        if known != body && !engine.lies(Lie::KeyTakesAnyBody) {
            return refused(engine, 409, "idempotency_key_mismatch");
        }
        let mut again = created(run);
        if !engine.lies(Lie::ReplayUnmarked) {
            again.headers_mut().insert("openwop-idempotent-replay", "true".parse().unwrap());
        }
        return again;
    }
    let run = begin();
    keys.insert(key, (body.clone(), run.clone()));
    created(&run)
}

fn created(run: &str) -> Response {
    json(
        201,
        &json!({"runId": run, "status": "running", "eventsUrl": format!("/v1/runs/{run}/events")}),
    )
}

fn fork(engine: &Arc<Engine>, source: &str, body: &Value) -> Response {
    let known: Map<String, Value> = body.as_object().cloned().unwrap_or_default();
    if !engine.runs().contains_key(source) {
        return refused(engine, 404, "not_found");
    }
    let is_closed =
        known.keys().all(|key| ["mode", "fromSeq", "runOptionsOverlay"].contains(&key.as_str()));
    let is_replay = body["mode"] == "replay";
    let from = body.get("fromSeq").map_or(Some(0), Value::as_u64);
    let has_overlay = known.contains_key("runOptionsOverlay");
    let (Some(from), true, true, false) =
        (from, is_closed, is_replay || body["mode"] == "branch", is_replay && has_overlay)
    else {
        return refused(engine, 400, "validation_error");
    };
    if from >= engine.runs()[source].events.len() as u64 {
        return refused(engine, 422, "fork_point_invalid");
    }
    let workflow = engine.runs()[source].workflow.clone();
    let run = if is_replay {
        engine.replay(source)
    } else {
        engine.begin(&workflow, &Map::new(), &json!({}))
    };
    let mode = &body["mode"];
    json(
        201,
        &json!({"runId": run, "sourceRunId": source, "mode": mode, "status": "running", "eventsUrl": "/"}),
    )
}

fn seam(engine: &Engine, body: &Value) -> Response {
    let verdict = body["simulateVerdict"].as_str().unwrap_or("pass");
    let is_committed = verdict == "pass" || engine.lies(Lie::SeamCommitsAnyway);
    let event = json!({"type": "agent.verified", "agentId": "core.openwop.verifier", "target": "run-0", "verdict": verdict});
    let (status, outcome) =
        if is_committed { ("completed", "committed") } else { ("escalated", "withheld") };
    json(
        200,
        &json!({"status": status, "committed": is_committed, "outcome": outcome, "verdict": verdict, "events": [event]}),
    )
}

async fn snapshot(host: &Host, run: &str) -> Response {
    match host.prank {
        Some(Prank::HugeSnapshot) => {
            return endless("\"filler filler filler filler\",", Duration::ZERO);
        }
        Some(Prank::SlowSnapshot) => return endless(" ", Duration::from_millis(20)),
        _ => {}
    }
    let runs = host.engine.runs();
    let own = &runs[run];
    let mut snapshot = json!({"runId": run, "workflowId": own.workflow, "status": own.status, "variables": own.variables});
    if let Some((parent, node)) = &own.parent {
        snapshot["parentRunId"] = json!(parent);
        snapshot["parentNodeId"] = json!(node);
    }
    if let Some(node) = &own.node {
        snapshot["currentNodeId"] = json!(node);
    }
    if let Some(error) = &own.error {
        snapshot["error"] = error.clone();
    }
    if let Some(agent) = &own.supervisor {
        snapshot["runOrchestrator"] = json!({"agentId": agent});
    }
    json(200, &snapshot)
}

async fn poll(host: &Host, parts: &Parts, run: &str) -> Response {
    let engine = &host.engine;
    let after = query(parts, "lastSequence").map(|text| text.parse::<i64>());
    let timeout = query(parts, "timeout").map(|text| text.parse::<u64>());
    let (Ok(after), Ok(timeout)) = (after.unwrap_or(Ok(-1)), timeout.unwrap_or(Ok(0))) else {
        return refused(engine, 400, "validation_error");
    };
    let mut changed = engine.changed.subscribe();
    let waited = async {
        loop {
            if !behind(engine, run, after).0.is_empty() || behind(engine, run, after).1 {
                return;
            }
            changed.changed().await.unwrap();
        }
    };
    let _ = tokio::time::timeout(Duration::from_secs(timeout), waited).await;
    let (events, is_complete) = behind(engine, run, after);
    json(200, &json!({"events": events, "isComplete": is_complete}))
}

/// The events behind a place, and whether the run has ended.
fn behind(engine: &Engine, run: &str, after: i64) -> (Vec<Value>, bool) {
    let after = if engine.lies(Lie::CursorInclusive) && after > 0 { after - 1 } else { after };
    engine.reads.send_modify(|reads| *reads += 1);
    let runs = engine.runs();
    let own = &runs[run];
    let is_behind = |event: &&Value| event["sequence"].as_i64().unwrap() > after;
    (own.events.iter().filter(is_behind).cloned().collect(), ENDED.contains(&own.status))
}

async fn events(host: &Arc<Host>, parts: &Parts, run: &str) -> Response {
    let engine = &host.engine;
    let modes = query(parts, "streamMode").unwrap_or_else(|| "updates".to_owned());
    let modes: Vec<&str> = modes.split(',').collect();
    let known = ["updates", "values", "messages", "debug"];
    let is_right = modes.iter().all(|mode| known.contains(mode))
        && (modes.len() == 1 || !modes.contains(&"values"));
    if !is_right && !engine.lies(Lie::AnyModeTaken) {
        let body = json!({"error": "unsupported_stream_mode", "message": "no", "details": {"supported": known}});
        return json(400, &body);
    }
    let buffer = query(parts, "bufferMs").map_or(Ok(0), |text| text.parse::<u64>());
    let Some(buffer) = buffer.ok().filter(|buffer| *buffer <= 5_000) else {
        return refused(engine, 400, "validation_error");
    };
    if parts.headers.get("accept").is_none_or(|accept| accept != "text/event-stream") {
        return json(200, &json!({"events": behind(engine, run, -1).0}));
    }
    match host.prank {
        Some(Prank::EndlessStream) => return endless("event: x\ndata: {}\n\n", Duration::ZERO),
        Some(Prank::EndlessLine) => return endless("data: and so on and so on ", Duration::ZERO),
        _ => {}
    }
    let last = parts
        .headers
        .get("last-event-id")
        .map_or(-1, |id| id.to_str().unwrap().parse::<i64>().unwrap());
    let last = if engine.lies(Lie::ResumeRepeats) { last - 1 } else { last };
    let mode = if modes.contains(&"debug") || engine.lies(Lie::UpdatesTellAll) {
        "debug"
    } else {
        modes[0]
    };
    let (pieces, stream) = mpsc::channel(64);
    tokio::spawn(send(Arc::clone(engine), run.to_owned(), last, mode.to_owned(), buffer, pieces));
    stream_of(stream)
}

async fn send(
    engine: Arc<Engine>,
    run: String,
    mut last: i64,
    mode: String,
    buffer: u64,
    pieces: mpsc::Sender<String>,
) {
    let mut changed = engine.changed.subscribe();
    let _ = pieces.send(": hello\n\n".to_owned()).await;
    loop {
        let (events, is_ended) = behind(&engine, &run, last);
        last = events.last().map_or(last, |event| event["sequence"].as_i64().unwrap());
        let told: Vec<&Value> =
            events.iter().filter(|event| mode == "debug" || is_update(event)).collect();
        let mut text = String::new();
        for event in &told {
            let name =
                if mode == "values" { "state.snapshot" } else { event["type"].as_str().unwrap() };
            text += &format!("id: {}\nevent: {name}\ndata: {event}\n\n", event["sequence"]);
        }
        if buffer > 0 && !told.is_empty() {
            text = format!("event: batch\ndata: {}\n\n", json!(told));
        }
        if pieces.send(text).await.is_err() || (is_ended && !engine.lies(Lie::StreamNeverCloses)) {
            return;
        }
        tokio::select! {
            biased;
            () = pieces.closed() => return,
            _ = changed.changed() => {}
        }
    }
}

fn is_update(event: &Value) -> bool {
    let kind = event["type"].as_str().unwrap();
    let nodes = ["node.completed", "node.failed", "node.suspended", "node.dispatched"];
    ["run.", "approval.", "interrupt."].iter().any(|family| kind.starts_with(family))
        || nodes.contains(&kind)
}

fn endless(piece: &'static str, pause: Duration) -> Response {
    let (pieces, stream) = mpsc::channel(4);
    tokio::spawn(async move {
        let text = if pause.is_zero() { piece.repeat(4096) } else { piece.to_owned() };
        while pieces.send(text.clone()).await.is_ok() {
            tokio::time::sleep(pause).await;
        }
    });
    stream_of(stream)
}

fn stream_of(stream: mpsc::Receiver<String>) -> Response {
    Response::builder()
        .header("content-type", "text/event-stream")
        .body(Body::from_stream(Pieces(stream)))
        .unwrap()
}

fn refused(engine: &Engine, status: u16, code: &str) -> Response {
    let message =
        if engine.lies(Lie::KeyInErrors) { format!("no, {KEY}") } else { "no".to_owned() };
    let mut envelope = json!({"error": code, "message": message});
    if engine.lies(Lie::EnvelopeExtra) {
        envelope["correlationId"] = json!("1");
    }
    json(status, &envelope)
}

fn json(status: u16, body: &Value) -> Response {
    let response = Response::builder().status(status).header("content-type", "application/json");
    response.body(Body::from(body.to_string())).unwrap()
}

fn query(parts: &Parts, name: &str) -> Option<String> {
    let pairs = parts.uri.query()?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.filter(|(key, _)| *key == name).map(|(_, value)| value.to_owned()).next()
}
