//! The log of a run, read as JSON.

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::http::Ask;
use crate::probe::{Probe, Stop};
use crate::scenario::{Need, Scenario};
use crate::schema::Schema;

pub(super) const TABLE: &[Scenario] = &[
    scenario!(
        "core/event-order",
        Core,
        "a log is in order, the same each time, and ends with its only end",
        "openwop v1: event ordering",
        [Need::Fixture("conformance-multi-node")],
        order
    ),
    scenario!(
        "core/event-envelope",
        Core,
        "sequence begins with 0, times do not run backwards, names are used once, causes come before",
        "openwop v1: RunEventDoc",
        [Need::Fixture("conformance-multi-node")],
        envelope
    ),
    scenario!(
        "core/event-poll",
        Core,
        "polling from a place gives what is behind it, and the whole is the log",
        "openwop v1: GET /v1/runs/{id}/events/poll",
        [Need::Fixture("conformance-multi-node")],
        poll
    ),
    scenario!(
        "core/event-poll-waits",
        Core,
        "a poll waits for news no longer than it was told, and answers when there are some",
        "openwop v1: GET /v1/runs/{id}/events/poll, timeout",
        [Need::Fixture("conformance-delay")],
        poll_waits
    ),
    scenario!(
        "core/event-poll-cursor",
        Core,
        "a cursor behind the end gives nothing, and one that is none is refused",
        "openwop v1: version negotiation, poll cursor",
        [Need::Fixture("conformance-noop")],
        cursor
    ),
    scenario!(
        "core/end-is-atomic",
        Core,
        "whoever sees that a run has ended finds the end in its log",
        "openwop v1: run status, event ordering",
        [Need::Fixture("conformance-noop")],
        end_is_atomic
    ),
];

async fn order(p: &mut Probe) -> Result<(), Stop> {
    let (snapshot, log) = p.run("conformance-multi-node", json!({}), "completed").await?;
    let ends = log.terminals();
    p.holds(ends.len() == 1, "one end", format!("{:?}", log.kinds()))?;
    let last = log.events().last().map(|event| event.kind());
    p.holds(ends.last().map(|end| end.kind()) == last, "the end to be last", format!("{last:?}"))?;
    p.step("read the log again");
    let run = snapshot.get("runId").and_then(Value::as_str).unwrap_or_default();
    let again = p.log(run).await?;
    let (first, second) = (texts(&log), texts(&again));
    p.holds(first == second, "the same log", second.join(" "))
}

async fn envelope(p: &mut Probe) -> Result<(), Stop> {
    let (_, log) = p.run("conformance-multi-node", json!({}), "completed").await?;
    let first = log.events().first().map(|event| event.sequence());
    p.holds(first == Some(0), "the first sequence to be 0", format!("{first:?}"))?;
    let mut names = std::collections::BTreeSet::new();
    let mut time = String::new();
    for event in log.events() {
        let cause = event.cause();
        p.holds(
            cause.is_empty() || names.contains(cause),
            "a cause that came before",
            event.json(),
        )?;
        p.holds(names.insert(event.id()), "an eventId that is used once", event.json())?;
        let at = event.json().get("timestamp").and_then(Value::as_str).unwrap_or_default();
        let is_utc = at.ends_with('Z') && at.len() == time.len();
        p.holds(!is_utc || at >= time.as_str(), "times that do not run backwards", event.json())?;
        at.clone_into(&mut time);
    }
    Ok(())
}

async fn poll(p: &mut Probe) -> Result<(), Stop> {
    let (snapshot, log) = p.run("conformance-multi-node", json!({}), "completed").await?;
    let run = snapshot.get("runId").and_then(Value::as_str).unwrap_or_default().to_owned();
    p.step("poll from the start");
    let whole = page(p, &run, "").await?;
    p.equal("isComplete", &json!(true), whole.get("isComplete"))?;
    let read = events(&whole);
    let polled = p.checked(&run, read)?;
    let (expected, got) = (texts(&log), texts(&polled));
    p.holds(expected == got, "the events of the log", got.join(" "))?;
    for cut in [0, log.events().len() / 2] {
        let Some(at) = log.events().get(cut).map(|event| event.sequence()) else { continue };
        p.step(format!("poll from behind {at}"));
        let rest = page(p, &run, &format!("?lastSequence={at}")).await?;
        let first =
            events(&rest).first().and_then(|event| event.get("sequence")).and_then(Value::as_u64);
        let next = log.events().get(cut + 1).map(|event| event.sequence());
        p.holds(first == next, "the event behind the cursor first", format!("{first:?}"))?;
        let count = events(&rest).len();
        p.holds(count == log.events().len() - cut - 1, "all that is behind the cursor", count)?;
    }
    Ok(())
}

async fn poll_waits(p: &mut Probe) -> Result<(), Stop> {
    // Far above the second, and far below what a poll takes that nothing wakes.
    const MAX_MS: u128 = 12_000;
    p.step("begin a run that waits");
    let run = p.create("conformance-delay", json!({"inputs": {"delayMs": 300_000}})).await?;
    let ready = page(p, &run, "?timeout=1").await?;
    let last = events(&ready)
        .last()
        .and_then(|event| event.get("sequence"))
        .and_then(Value::as_u64)
        .unwrap_or_default();
    p.equal("isComplete", &json!(false), ready.get("isComplete"))?;
    p.step("poll behind its last event for a second");
    let started = Instant::now();
    let mut last = last;
    for _ in 0..3 {
        let rest = page(p, &run, &format!("?lastSequence={last}&timeout=1")).await?;
        let Some(more) =
            events(&rest).last().and_then(|event| event.get("sequence")).and_then(Value::as_u64)
        else {
            break;
        };
        last = more;
    }
    let waited = started.elapsed().as_millis();
    p.holds(waited < MAX_MS, "an answer about when the second is over", format!("{waited} ms"))?;
    p.step("cancel it while a poll waits");
    let ask = Ask::get(format!("/v1/runs/{run}/events/poll?lastSequence={last}&timeout=60"));
    let http = p.shared().http().clone();
    let waiting = tokio::spawn(async move { http.send(&ask).await });
    p.cancel(&run).await?;
    let started = Instant::now();
    let answer = waiting.await.map_err(|error| p.failed("an answer", error))?;
    let answer = answer.map_err(|error| p.failed("an answer to the poll that waits", error))?;
    let told = events(&p.json(&answer)?);
    p.holds(!told.is_empty(), "the news in the answer", answer.excerpt())?;
    let waited = started.elapsed().as_millis();
    p.holds(waited < MAX_MS, "the answer long before the minute is over", format!("{waited} ms"))
}

async fn cursor(p: &mut Probe) -> Result<(), Stop> {
    let (snapshot, _) = p.run("conformance-noop", json!({}), "completed").await?;
    let run = snapshot.get("runId").and_then(Value::as_str).unwrap_or_default().to_owned();
    p.step("poll from behind the end");
    let beyond = page(p, &run, "?lastSequence=99999").await?;
    p.holds(events(&beyond).is_empty(), "no events", &beyond)?;
    p.equal("isComplete", &json!(true), beyond.get("isComplete"))?;
    p.step("poll from a place that is none");
    for query in ["?lastSequence=soon", "?timeout=long"] {
        let ask = Ask::get(format!("/v1/runs/{run}/events/poll{query}"));
        p.refused(&ask, &[400], &["validation_error"]).await?;
    }
    Ok(())
}

async fn end_is_atomic(p: &mut Probe) -> Result<(), Stop> {
    const ROUNDS: usize = 5;
    for round in 1..=ROUNDS {
        p.step(format!(
            "run {round} of {ROUNDS}: look at it until it has ended, then read its log"
        ));
        let run = p.create("conformance-noop", json!({})).await?;
        p.reach(&run, "completed").await?;
        let log = p.log(&run).await?;
        let last = log.events().last().map(|event| event.kind());
        p.holds(last == Some("run.completed"), "run.completed last", format!("{last:?}"))?;
    }
    Ok(())
}

async fn page(p: &mut Probe, run: &str, query: &str) -> Result<Value, Stop> {
    let page = p.get(&Ask::get(format!("/v1/runs/{run}/events/poll{query}")), &[200]).await?;
    p.fits(Schema::Poll, &page)?;
    Ok(page)
}

fn events(page: &Value) -> Vec<Value> {
    page.get("events").and_then(Value::as_array).cloned().unwrap_or_default()
}

fn texts(log: &crate::log::Log) -> Vec<String> {
    log.events().iter().map(|event| event.json().to_string()).collect()
}
