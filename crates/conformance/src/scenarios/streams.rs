//! Events as they happen.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::http::{Ask, Frame};
use crate::log::Log;
use crate::probe::{Probe, Stop};
use crate::scenario::{Need, Scenario};

const CHAIN: Need = Need::Fixture("conformance-multi-node");

pub(super) const TABLE: &[Scenario] = &[
    scenario!(
        "streams/closes-at-end",
        Streams,
        "a stream of a run gives its events and is closed after the last",
        "openwop v1: stream modes; SSE",
        [Need::Fixture("conformance-delay")],
        closes_at_end
    ),
    scenario!(
        "streams/debug-is-all",
        Streams,
        "the mode `debug` gives the whole log",
        "openwop v1: stream modes, debug",
        [CHAIN],
        debug_is_all
    ),
    scenario!(
        "streams/updates-is-less",
        Streams,
        "the mode `updates` leaves out what is of no news, and is the one that is meant if none is said",
        "openwop v1: stream modes, updates",
        [CHAIN],
        updates_is_less
    ),
    scenario!(
        "streams/values",
        Streams,
        "the mode `values` gives states",
        "openwop v1: stream modes, values",
        [CHAIN],
        values
    ),
    scenario!(
        "streams/mode-refused",
        Streams,
        "a mode that does not exist is refused, and `values` beside another",
        "openwop v1: stream modes, unsupported_stream_mode",
        [CHAIN],
        mode_refused
    ),
    scenario!(
        "streams/modes-mixed",
        Streams,
        "modes may be given together",
        "openwop v1: stream modes, lists",
        [CHAIN],
        modes_mixed
    ),
    scenario!(
        "streams/batches",
        Streams,
        "with a buffer events come in batches, and the last without waiting for it",
        "openwop v1: stream modes, bufferMs",
        [CHAIN],
        batches
    ),
    scenario!(
        "streams/buffer-range",
        Streams,
        "a buffer that is too long is refused, and one of 0 is none",
        "openwop v1: stream modes, bufferMs",
        [CHAIN],
        buffer_range
    ),
    scenario!(
        "streams/resumes",
        Streams,
        "who comes again with the last event's id gets what is behind it",
        "openwop v1: SSE, Last-Event-ID",
        [CHAIN],
        resumes
    ),
    scenario!(
        "streams/from-beginning",
        Streams,
        "who comes late gets a run from its beginning",
        "openwop v1: SSE",
        [Need::Fixture("conformance-approval")],
        from_beginning
    ),
    scenario!(
        "streams/keep-alive",
        Streams,
        "a stream on which nothing happens is kept alive",
        "openwop v1: SSE, keep-alive",
        [Need::Fixture("conformance-approval")],
        keep_alive
    ),
];

/// One event of a stream: its id, its name, its data.
type Told = (Option<String>, String, Value);

async fn closes_at_end(p: &mut Probe) -> Result<(), Stop> {
    p.step("begin a run that waits, and stream it");
    let run = p.create("conformance-delay", json!({"inputs": {"delayMs": 300}})).await?;
    let told = stream(p, &run, "?streamMode=debug", None).await?;
    let log = plain(p, &run, &told)?;
    let last = log.events().last().map(|event| event.kind());
    p.holds(
        last == Some("run.completed"),
        "run.completed last, then the end of the stream",
        format!("{last:?}"),
    )
}

async fn debug_is_all(p: &mut Probe) -> Result<(), Stop> {
    let (run, log) = ended(p).await?;
    let told = stream(p, &run, "?streamMode=debug", None).await?;
    let streamed = plain(p, &run, &told)?;
    let (all, got) = (sequences(&log), sequences(&streamed));
    p.holds(all == got, &format!("the events {all:?}"), format!("{got:?}"))
}

async fn updates_is_less(p: &mut Probe) -> Result<(), Stop> {
    let (run, log) = ended(p).await?;
    let told = stream(p, &run, "?streamMode=updates", None).await?;
    let updates = plain(p, &run, &told)?;
    for kind in ["node.started", "variable.changed", "log.appended"] {
        p.holds(!updates.has(kind), &format!("no {kind}"), format!("{:?}", updates.kinds()))?;
    }
    for kind in ["run.started", "node.completed", "run.completed"] {
        p.holds(updates.has(kind), kind, format!("{:?}", updates.kinds()))?;
    }
    let all = sequences(&log);
    let is_part = sequences(&updates).iter().all(|at| all.contains(at));
    p.holds(is_part, "nothing that is not in the log", format!("{:?}", sequences(&updates)))?;
    p.step("stream it without a mode");
    let told = stream(p, &run, "", None).await?;
    let unnamed = plain(p, &run, &told)?;
    p.holds(
        unnamed.kinds() == updates.kinds(),
        "the same as with `updates`",
        format!("{:?}", unnamed.kinds()),
    )
}

async fn values(p: &mut Probe) -> Result<(), Stop> {
    let (run, _) = ended(p).await?;
    let told = stream(p, &run, "?streamMode=values", None).await?;
    let states = told.iter().filter(|(_, name, _)| name == "state.snapshot").count();
    let names: Vec<&String> = told.iter().map(|(_, name, _)| name).collect();
    p.holds(states > 0, "frames named state.snapshot", format!("{names:?}"))
}

async fn mode_refused(p: &mut Probe) -> Result<(), Stop> {
    let (run, _) = ended(p).await?;
    for mode in ["everything", "updates,everything", "values,updates"] {
        for accepting in [true, false] {
            let ask = Ask::get(format!("/v1/runs/{run}/events?streamMode={mode}"));
            let ask = if accepting { ask.events() } else { ask };
            p.step(ask.told());
            let refused = p.refused(&ask, &[400], &["unsupported_stream_mode"]).await?;
            let supported = refused.pointer("/details/supported").and_then(Value::as_array);
            p.holds(
                supported.is_some_and(|modes| !modes.is_empty()),
                "details.supported",
                &refused,
            )?;
        }
    }
    Ok(())
}

async fn modes_mixed(p: &mut Probe) -> Result<(), Stop> {
    let (run, log) = ended(p).await?;
    let told = stream(p, &run, "?streamMode=updates,debug", None).await?;
    let mixed = plain(p, &run, &told)?;
    p.holds(
        sequences(&mixed) == sequences(&log),
        "each event once",
        format!("{:?}", sequences(&mixed)),
    )?;
    let told = stream(p, &run, "?streamMode=updates,messages", None).await?;
    let mixed = plain(p, &run, &told)?;
    p.holds(mixed.has("run.completed"), "run.completed", format!("{:?}", mixed.kinds()))
}

async fn batches(p: &mut Probe) -> Result<(), Stop> {
    const BUFFER_MS: u128 = 5_000;
    const ROUNDS: usize = 4;
    // Who waits for its buffer waits each time; who is only slow is not slow each time.
    let mut round = 1;
    let (run, told) = loop {
        p.step("begin a run and stream it with a buffer of five seconds");
        let run = p.create("conformance-multi-node", json!({})).await?;
        let started = Instant::now();
        let told = stream(p, &run, "?streamMode=debug&bufferMs=5000", None).await?;
        let waited = started.elapsed().as_millis();
        let is_flushed = waited < BUFFER_MS / 2;
        if is_flushed || round == ROUNDS {
            let limit = "the end before half of the buffer's time";
            p.holds(is_flushed, limit, format!("{waited} ms"))?;
            break (run, told);
        }
        round += 1;
    };
    let names: Vec<&String> = told.iter().map(|(_, name, _)| name).collect();
    p.holds(
        told.iter().all(|(_, name, _)| name == "batch"),
        "frames named batch",
        format!("{names:?}"),
    )?;
    let is_list =
        told.iter().all(|(_, _, data)| data.as_array().is_some_and(|events| !events.is_empty()));
    p.holds(is_list, "each batch to be a list, not empty", format!("{names:?}"))?;
    let events =
        told.iter().filter_map(|(_, _, data)| data.as_array()).flatten().cloned().collect();
    let batched = p.checked(&run, events)?;
    let log = p.log(&run).await?;
    p.holds(
        sequences(&batched) == sequences(&log),
        "each event once",
        format!("{:?}", sequences(&batched)),
    )
}

async fn buffer_range(p: &mut Probe) -> Result<(), Stop> {
    let (run, _) = ended(p).await?;
    for buffer in ["99999", "-1", "soon"] {
        let ask = Ask::get(format!("/v1/runs/{run}/events?bufferMs={buffer}")).events();
        p.step(ask.told());
        p.refused(&ask, &[400], &[]).await?;
    }
    let told = stream(p, &run, "?bufferMs=0", None).await?;
    let unbuffered = plain(p, &run, &told)?;
    p.holds(
        unbuffered.has("run.completed"),
        "events one by one",
        format!("{:?}", unbuffered.kinds()),
    )
}

async fn resumes(p: &mut Probe) -> Result<(), Stop> {
    let (run, log) = ended(p).await?;
    let all = sequences(&log);
    for at in &all {
        p.step(format!("come again with Last-Event-ID {at}"));
        let told = stream(p, &run, "?streamMode=debug", Some(*at)).await?;
        let rest = plain(p, &run, &told)?;
        let expected: Vec<u64> = all.iter().copied().filter(|next| next > at).collect();
        p.holds(
            sequences(&rest) == expected,
            &format!("the events {expected:?}"),
            format!("{:?}", sequences(&rest)),
        )?;
    }
    Ok(())
}

async fn from_beginning(p: &mut Probe) -> Result<(), Stop> {
    p.step("begin a run that waits, and come when it does");
    let run = p.create("conformance-approval", json!({})).await?;
    p.reach(&run, "waiting-approval").await?;
    let ask = Ask::get(format!("/v1/runs/{run}/events?streamMode=debug")).events();
    let (answer, mut stream) = p.open(&ask).await?;
    p.is_status(&ask, &answer, &[200])?;
    let deadline = settle(p);
    let mut told = Vec::new();
    loop {
        let frame = stream
            .next(deadline)
            .await
            .map_err(|error| p.failed("node.suspended in the stream", error))?;
        let Some(event) = read(p, frame)? else { continue };
        let is_there = event.1 == "node.suspended";
        told.push(event);
        if is_there {
            break;
        }
    }
    let first = plain(p, &run, &told)?;
    p.holds(
        sequences(&first).first() == Some(&0),
        "the first event first",
        format!("{:?}", sequences(&first)),
    )?;
    p.step("cancel it and read the rest of the stream");
    p.cancel(&run).await?;
    while let Some(frame) =
        stream.next(deadline).await.map_err(|error| p.failed("the end of the stream", error))?
    {
        told.extend(read(p, Some(frame))?);
    }
    let whole = plain(p, &run, &told)?;
    p.holds(
        whole.kinds().last() == Some(&"run.cancelled"),
        "run.cancelled last",
        format!("{:?}", whole.kinds()),
    )
}

async fn keep_alive(p: &mut Probe) -> Result<(), Stop> {
    p.step("stream a run that waits, and wait for a comment");
    let run = p.create("conformance-approval", json!({})).await?;
    let ask = Ask::get(format!("/v1/runs/{run}/events")).events();
    let (answer, mut stream) = p.open(&ask).await?;
    p.is_status(&ask, &answer, &[200])?;
    let deadline = Instant::now() + Duration::from_secs(31);
    loop {
        let frame = stream.next(deadline).await;
        match frame.map_err(|error| p.failed("a comment within 30 s", error))? {
            Some(Frame::Comment) => break,
            Some(Frame::Event { .. }) => {}
            None => return Err(p.failed("a stream that stays open while the run waits", "its end")),
        }
    }
    p.holds(true, "a comment", "a comment")?;
    p.cancel(&run).await?;
    Ok(())
}

/// When something that is to come has not come.
fn settle(p: &Probe) -> Instant {
    Instant::now() + Duration::from_millis(p.shared().options().settle_timeout_ms)
}

/// A run that has ended, and its log.
async fn ended(p: &mut Probe) -> Result<(String, Log), Stop> {
    let (snapshot, log) = p.run("conformance-multi-node", json!({}), "completed").await?;
    let run = snapshot.get("runId").and_then(Value::as_str).unwrap_or_default();
    Ok((run.to_owned(), log))
}

/// Everything that a stream tells until it is closed.
async fn stream(
    p: &mut Probe,
    run: &str,
    query: &str,
    behind: Option<u64>,
) -> Result<Vec<Told>, Stop> {
    let mut ask = Ask::get(format!("/v1/runs/{run}/events{query}")).events();
    if let Some(behind) = behind {
        ask = ask.header("last-event-id", behind.to_string());
    }
    let (answer, mut stream) = p.open(&ask).await?;
    p.is_status(&ask, &answer, &[200])?;
    let kind = answer.header("content-type").unwrap_or_default().to_owned();
    p.holds(kind.starts_with("text/event-stream"), "Content-Type: text/event-stream", kind)?;
    let deadline = settle(p);
    let mut told = Vec::new();
    while let Some(frame) =
        stream.next(deadline).await.map_err(|error| p.failed("the stream to be closed", error))?
    {
        told.extend(read(p, Some(frame))?);
    }
    Ok(told)
}

/// The event of a frame; a comment is none. The end of a stream that should go on is a failure.
fn read(p: &Probe, frame: Option<Frame>) -> Result<Option<Told>, Stop> {
    match frame {
        None => Err(p.failed("a stream that goes on", "its end")),
        Some(Frame::Comment) => Ok(None),
        Some(Frame::Event { id, event, data }) => {
            let data = serde_json::from_str(&data)
                .map_err(|error| p.failed("`data` as JSON", format!("{error}: {data}")))?;
            Ok(Some((id, event, data)))
        }
    }
}

/// The events of a stream without batches, each with the name and the id that it should have.
fn plain(p: &mut Probe, run: &str, told: &[Told]) -> Result<Log, Stop> {
    for (id, name, data) in told {
        let kind = data.get("type").and_then(Value::as_str).unwrap_or_default();
        p.holds(name == kind, "`event:` to be the type of the event", format!("{name}, {kind}"))?;
        let sequence = data.get("sequence").and_then(Value::as_u64).map(|at| at.to_string());
        p.holds(
            id.is_some() && *id == sequence,
            "`id:` to be the sequence",
            format!("{id:?}, {sequence:?}"),
        )?;
    }
    p.checked(run, told.iter().map(|(_, _, data)| data.clone()).collect())
}

fn sequences(log: &Log) -> Vec<u64> {
    log.events().iter().map(|event| event.sequence()).collect()
}
