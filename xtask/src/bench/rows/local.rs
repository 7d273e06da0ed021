//! What one process on one machine does: verdicts, attempts, scripts, start.

use serde_json::Value;

use super::{least, number, word};
use crate::bench::row::{NOTHING, quotient, short, times, with};
use crate::bench::{Row, Told, Verdict};

pub(super) fn rows(told: &Told) -> Vec<Row> {
    let mut rows = vec![lies(told)];
    rows.extend(attempts(told));
    rows.push(typed(told));
    rows.extend(scripts(told));
    rows.extend(start(told));
    rows.extend(hooks(told));
    rows
}

fn lies(told: &Told) -> Row {
    let count = |name: &str| told.number("lie-matrix", &format!("/summary/{name}"));
    let wrong = ["false_accepts", "false_rejects", "health_wrong", "miscounted"].map(count);
    let figure = match (wrong, count("lies"), count("twins")) {
        (
            [Some(accepts), Some(rejects), Some(health), Some(miscounted)],
            Some(lies),
            Some(twins),
        ) => {
            format!(
                "{} of {} lies accepted, {} of {} honest twins rejected, {} of {} broken judges \
                 misread, {} miscounted",
                short(accepts),
                short(lies),
                short(rejects),
                short(twins),
                short(health),
                with(count("health"), "").trim_end(),
                short(miscounted),
            )
        }
        _ => NOTHING.to_owned(),
    };
    let peers = told.at("lie-matrix", "/out/peers").as_object();
    let against = peers.into_iter().flatten().map(|(peer, counts)| {
        let of = |name: &str| number(counts, &format!("/{name}")).unwrap_or_default();
        format!("{peer}: {} of {} lies called done", short(of("lies_done")), short(of("rows")))
    });
    let against: Vec<String> = against.collect();
    Row {
        id: "lie-matrix",
        what: "Lie Matrix".to_owned(),
        figure,
        bar: "0 and 0".to_owned(),
        verdict: Verdict::of(count("lies").map(|_| wrong.iter().all(|it| *it == Some(0.0)))),
        against: or_nothing(against.join("; ")),
        ratio: NOTHING.to_owned(),
        how: "`lie-matrix`: every lie with an honest twin; peers on the rows that can be told to them",
    }
}

fn or_nothing(text: String) -> String {
    if text.is_empty() { NOTHING.to_owned() } else { text }
}

fn name(peer: &Value) -> String {
    format!("{} {}", word(peer, "name"), word(peer, "version"))
}

fn attempts(told: &Told) -> [Row; 2] {
    let figure =
        |place: usize| told.number("figures", &format!("/attempts/{place}/per_attempt_ms"));
    let peer = least(told.list("figures", "/peers"), "per_attempt_ms");
    let of_peer = |ours: Option<f64>| match peer {
        Some((peer, ms)) => {
            (format!("{}, no record: {}", name(peer), with(Some(ms), "ms")), times(Some(ms), ours))
        }
        None => (NOTHING.to_owned(), NOTHING.to_owned()),
    };
    let (memory, durable) = (figure(0), figure(1));
    let fsync = told.number("figures", "/fsync_ms");
    let (against, ratio) = of_peer(memory);
    [
        Row {
            id: "attempt-memory",
            what: "An attempt with a `file` check, in memory".to_owned(),
            figure: with(memory, "ms"),
            bar: "≤ 0.1 ms".to_owned(),
            verdict: Verdict::of(memory.map(|it| it <= 0.1)),
            against,
            ratio,
            how: "`figures`: a run of ten attempts by ten, snapshots of ten files and `prepare` in it",
        },
        Row {
            id: "attempt-durable",
            what: "The same with a durable record, SQLite `synchronous=FULL`".to_owned(),
            figure: with(durable, "ms"),
            bar: "≤ 2 ms".to_owned(),
            verdict: Verdict::of(durable.map(|it| it <= 2.0)),
            against: format!("4 KiB and `fdatasync`: {}", with(fsync, "ms")),
            ratio: times(durable, fsync),
            how: "`figures`: the same; the floor is what one durable write costs on that disk",
        },
    ]
}

fn typed(told: &Told) -> Row {
    let ours = told.number("agents", "/attempts/0/per_attempt_us");
    let peer = least(told.list("agents", "/peers"), "per_attempt_ms");
    let theirs = peer.map(|(_, ms)| ms * 1e3);
    let share = quotient(ours, theirs);
    Row {
        id: "typed-agent",
        what: "A typed agent's attempt, in memory".to_owned(),
        figure: with(ours, "us"),
        bar: "≤ 0.1 of the fastest peer".to_owned(),
        verdict: Verdict::of(share.map(|it| it <= 0.1)),
        against: peer.map_or_else(
            || NOTHING.to_owned(),
            |(peer, _)| format!("{}, no record: {}", name(peer), with(theirs, "us")),
        ),
        ratio: times(theirs, ours),
        how: "`agents`: ten typed answers, nine rejected, by ten; a model that answers at once",
    }
}

fn scripts(told: &Told) -> [Row; 2] {
    let in_process = told.number("figures", "/script/in_process_us");
    let worker = told.number("figures", "/script/worker_us");
    let row = |id, what: &str, figure: Option<f64>, bar_us: f64| Row {
        id,
        what: what.to_owned(),
        figure: with(figure, "us"),
        bar: format!("≤ {bar_us} us"),
        verdict: Verdict::of(figure.map(|it| it <= bar_us)),
        against: NOTHING.to_owned(),
        ratio: NOTHING.to_owned(),
        how: "`figures`: median of 2,000 calls of a small verifier",
    };
    [
        row("script", "A compiled Starlark verifier, in process", in_process, 5.0),
        row("script-worker", "The same through the worker process", worker, 100.0),
    ]
}

fn start(told: &Told) -> [Row; 3] {
    let at = |name: &str| told.number("figures", &format!("/start/{name}"));
    let mb = |name: &str| at(name).map(|bytes| bytes / 1e6);
    let peer = least(told.list("figures", "/peers"), "peak_rss_mb");
    let importing = least(told.list("figures", "/peers"), "import_s");
    let importing = importing.map_or_else(String::new, |(peer, seconds)| {
        format!("; {} to import: {}", name(peer), with(Some(seconds * 1e3), "ms"))
    });
    let (start_ms, rss_mb, binary_mb) =
        (at("probity_ms"), mb("peak_rss_bytes"), mb("binary_bytes"));
    [
        Row {
            id: "start",
            what: "Start: `probity --version`".to_owned(),
            figure: with(start_ms, "ms"),
            bar: "≤ 10 ms".to_owned(),
            verdict: Verdict::of(start_ms.map(|it| it <= 10.0)),
            against: format!(
                "`sh -c :` {}; `python3 -c pass` {}{importing}",
                with(at("shell_ms"), "ms"),
                with(at("python_ms"), "ms"),
            ),
            ratio: format!("{} of `sh`", times(start_ms, at("shell_ms"))),
            how: "`figures`: from spawn to exit, median of 41",
        },
        Row {
            id: "memory",
            what: "Peak memory of `probity run`, durable".to_owned(),
            figure: with(rss_mb, "MB"),
            bar: "≤ 20 MB".to_owned(),
            verdict: Verdict::of(rss_mb.map(|it| it <= 20.0)),
            against: peer.map_or_else(
                || NOTHING.to_owned(),
                |(peer, mb)| format!("{}: {}", name(peer), with(Some(mb), "MB")),
            ),
            ratio: times(peer.map(|(_, mb)| mb), rss_mb),
            how: "`figures`: the highest `VmHWM` of all runs; helpers not included",
        },
        Row {
            id: "binary",
            what: "Size of the binary".to_owned(),
            figure: with(binary_mb, "MB"),
            bar: "≤ 25 MB".to_owned(),
            verdict: Verdict::of(binary_mb.map(|it| it <= 25.0)),
            against: NOTHING.to_owned(),
            ratio: NOTHING.to_owned(),
            how: "`figures`: the release build, symbols stripped",
        },
    ]
}

fn hooks(told: &Told) -> Vec<Row> {
    let events = told.list("hooks", "/events");
    let p50 = |name: &str| {
        let event = events.iter().find(|event| word(event, "event") == name)?;
        number(event, "/p50_ms")
    };
    let start_ms = told.number("figures", "/start/probity_ms");
    let row = |id, what: &str, event: &str| Row {
        id,
        what: format!("A coding agent's hook: {what}"),
        figure: format!("{} at p50", with(p50(event), "ms")),
        bar: "≤ 20 ms".to_owned(),
        verdict: Verdict::of(p50(event).map(|it| it <= 20.0)),
        against: format!("start alone: {}", with(start_ms, "ms")),
        ratio: times(p50(event), start_ms),
        how: "`bench/peers/hooks.py`: as the agent waits for it, process start included, SQLite on disk",
    };
    vec![
        row("hook-prompt", "a prompt begins a run", "prompt"),
        row("hook-refused", "a claim is refused", "refused"),
        row("hook-passed", "a claim passes", "passed"),
        row("hook-guard", "a use of a tool is looked at", "guard"),
    ]
}
