//! What many runs do: workers, recovery, kills, streams.

use serde_json::Value;

use super::{number, range, word};
use crate::bench::row::{NOTHING, quotient, short, times, with};
use crate::bench::{Row, Told, Verdict};

/// Later turns of a flat run cost no more than this much of the early ones.
const FLAT: f64 = 1.25;
/// Turns of a peer's CPU second that one of ours must be worth.
const TURNS: f64 = 20.0;
/// The share of the floor that a host must tell.
const SHARE: f64 = 0.5;

pub(super) fn rows(told: &Told) -> Vec<Row> {
    let mut rows = turns(told);
    rows.extend(flat(told));
    rows.extend(recovery(told));
    rows.push(kills(told));
    rows.extend(streams(told));
    rows
}

/// The peer with as much made durable; nothing of the peer's is replicated.
const STORES: [(&str, &str, &str, &str); 4] = [
    ("turns-memory", "memory", "memory", "none"),
    ("turns-normal", "sqlite-normal", "SQLite `synchronous=NORMAL`", "everysec"),
    ("turns-full", "sqlite-full", "SQLite `synchronous=FULL`", "always"),
    ("turns-jetstream", "jetstream", "JetStream, three servers, each `fsync`", "always"),
];

fn turns(told: &Told) -> Vec<Row> {
    STORES.iter().map(|(id, store, name, aof)| turns_on(told, id, store, name, aof)).collect()
}

fn turns_on(told: &Told, id: &'static str, store: &str, name: &str, aof: &str) -> Row {
    let ours = told.list("workers", "/throughput").iter().filter(|it| word(it, "store") == store);
    let peers = told.list("workers", "/peers");
    // Of every mode that the peer has too: ours, theirs, and how much theirs is of ours.
    let pairs: Vec<(f64, f64)> = ours
        .filter_map(|it| {
            let same = |peer: &&Value| {
                word(peer, "mode") == word(it, "mode") && word(peer, "durability") == aof
            };
            let theirs = number(peers.iter().find(same)?, "/worker_cpu_ms_per_turn")?;
            Some((number(it, "/cpu_ms_per_turn")?, theirs))
        })
        .collect();
    let alone = told.list("workers", "/throughput").iter();
    let alone = alone.filter(|it| word(it, "store") == store);
    let ours = range(alone.filter_map(|it| number(it, "/cpu_ms_per_turn")));
    let ratio = range(pairs.iter().map(|(ours, theirs)| theirs / ours));
    let theirs = range(pairs.iter().map(|(_, theirs)| *theirs));
    let peer = peers.first().map(|it| format!("{} {}", word(it, "name"), word(it, "version")));
    Row {
        id,
        what: format!("CPU of a turn that workers take from a queue, {name}"),
        figure: span(ours, "ms"),
        bar: format!("≥ {TURNS} × fewer than nfactorial's"),
        verdict: Verdict::of(ratio.map(|(least, _)| least >= TURNS)),
        against: match (peer, theirs) {
            (Some(peer), Some(_)) => format!("{peer}, AOF {aof}: {}", span(theirs, "ms")),
            _ => NOTHING.to_owned(),
        },
        ratio: span(ratio, "×"),
        how: "`workers`: user and system time of the processes that work, without the servers; modes \
              from one turn to four, ratios of those that nfactorial has too",
    }
}

/// From the least to the greatest.
pub(super) fn span(range: Option<(f64, f64)>, unit: &str) -> String {
    match range {
        Some((least, most)) if short(least) == short(most) => format!("{} {unit}", short(least)),
        Some((least, most)) => format!("{} to {} {unit}", short(least), short(most)),
        None => NOTHING.to_owned(),
    }
}

/// Milliseconds per turn in the window that ends with this turn, of ours.
fn window(long: &Value, turn: f64) -> Option<f64> {
    let windows = long.get("ms_per_turn_at")?.as_array()?;
    number(windows.iter().find(|it| number(it, "/0") == Some(turn))?, "/1")
}

fn flat(told: &Told) -> Vec<Row> {
    let peer = told.list("long-peer", "/peers").iter().find(|it| word(it, "mode") == "long");
    let at = |turn: u32| peer.and_then(|it| number(it, &format!("/ms_per_turn_at/{turn}")));
    let last = [1000, 400, 100].into_iter().find(|turn| at(*turn).is_some());
    let against = match (peer, last) {
        (Some(peer), Some(last)) => format!(
            "{} {}, no AOF: {} at turn 20, {} at turn {last}",
            word(peer, "name"),
            word(peer, "version"),
            with(at(20), "ms"),
            with(at(last), "ms"),
        ),
        _ => NOTHING.to_owned(),
    };
    let ratio = times(last.and_then(at), at(20));
    let row = |(id, store, name): &(&'static str, &str, &str)| {
        let long = told.list("long", "/long").iter().find(|it| word(it, "store") == *store);
        let at = |turn: f64| long.and_then(|it| window(it, turn));
        let growth = quotient(at(1000.0), at(100.0));
        let growth_text = growth.map_or_else(String::new, |it| format!(", {} ×", short(it)));
        Row {
            id,
            what: format!("Turn 1,000 of one task by turn 100, {name}"),
            figure: format!("{} by {}{growth_text}", with(at(1000.0), "ms"), with(at(100.0), "ms")),
            bar: format!("flat: ≤ {FLAT} ×"),
            verdict: Verdict::of(growth.map(|it| it <= FLAT)),
            against: against.clone(),
            ratio: if peer.is_some() { format!("its own growth {ratio}") } else { ratio.clone() },
            how: "`workers --parts long`: ten turns before the 100th and the 1,000th, each with a \
                  call of a tool",
        }
    };
    [
        ("flat-memory", "memory", "memory"),
        ("flat-full", "sqlite-full", "SQLite `synchronous=FULL`"),
        ("flat-jetstream", "jetstream", "JetStream, three servers"),
    ]
    .iter()
    .map(row)
    .collect()
}

fn recovery(told: &Told) -> Vec<Row> {
    let stores = told.list("chaos", "/stores");
    let row = |(ids, store, name): &([&'static str; 2], &str, &str)| {
        let it = stores.iter().find(|it| word(it, "store") == *store).unwrap_or(&Value::Null);
        [resumed(ids[0], it, name), unharmed(ids[1], it, name)]
    };
    [
        (["resumed-full", "unharmed-full"], "sqlite-full", "SQLite `synchronous=FULL`"),
        (["resumed-jetstream", "unharmed-jetstream"], "jetstream", "JetStream, three servers"),
    ]
    .iter()
    .flat_map(row)
    .collect()
}

fn resumed(id: &'static str, it: &Value, name: &str) -> Row {
    let at = |pointer: &str| number(it, pointer);
    let bound = at("/resumption/bound_ms");
    let is_met = at("/resumption/above_bound").map(|above| above == 0.0);
    let servers_up = match at("/server_kills").filter(|kills| *kills > 0.0) {
        Some(_) => {
            format!("; {} with all servers up", with(at("/resumption_servers_up/max_ms"), "ms"))
        }
        None => String::new(),
    };
    Row {
        id,
        what: format!("From `kill -9` of a worker until another has the run, {name}"),
        figure: format!(
            "{} at p50, {} at most{servers_up}",
            with(at("/resumption/p50_ms"), "ms"),
            with(at("/resumption/max_ms"), "ms"),
        ),
        bar: format!("≤ 2 heartbeats and 1 s: {}", with(bound, "ms")),
        verdict: Verdict::of(is_met),
        against: NOTHING.to_owned(),
        ratio: NOTHING.to_owned(),
        how: "`chaos`: a worker killed every second, of four; heartbeats every 2 s",
    }
}

fn unharmed(id: &'static str, it: &Value, name: &str) -> Row {
    let at = |pointer: &str| number(it, pointer);
    let wrong = ["lost", "miscounted", "repeated", "invented", "epochs", "refused"]
        .map(|name| at(&format!("/proof/violations/{name}")));
    let count = |number: Option<f64>| number.map_or_else(|| NOTHING.to_owned(), short);
    let [lost, miscounted, repeated, ..] = wrong;
    let others = wrong.iter().skip(3).copied().sum::<Option<f64>>();
    let killed = match at("/server_kills").filter(|kills| *kills > 0.0) {
        Some(servers) => {
            format!("{} workers and {} servers killed", count(at("/worker_kills")), short(servers))
        }
        None => format!("{} workers killed", count(at("/worker_kills"))),
    };
    Row {
        id,
        what: format!("{} runs, {killed}, {name}", count(at("/proof/runs"))),
        figure: format!(
            "{} lost, {} counted twice or not, {} recorded calls of a model repeated, {} otherwise \
             wrong",
            count(lost),
            count(miscounted),
            count(repeated),
            count(others),
        ),
        bar: "0, 0, 0".to_owned(),
        verdict: Verdict::of(wrong.iter().copied().sum::<Option<f64>>().map(|sum| sum == 0.0)),
        against: NOTHING.to_owned(),
        ratio: NOTHING.to_owned(),
        how: "`chaos`: every log held against what the models and verifiers noted beside it",
    }
}

fn kills(told: &Told) -> Row {
    let sums = told.list("kill", "/sums");
    let of = |place: usize, name: &str| {
        let sum = sums.get(place).and_then(|it| number(it, &format!("/{name}")));
        sum.map_or_else(|| NOTHING.to_owned(), short)
    };
    // The test of single appends plays each of them as a run of its own, so its seeds are fewer.
    let (all, every) = match sums {
        [one, other] if number(one, "/seeds") < number(other, "/seeds") => (1, 0),
        _ => (0, 1),
    };
    Row {
        id: "kill",
        what: "`kill -9` at every append point: attempts counted = attempts made".to_owned(),
        figure: format!(
            "{} seeds: {} kills at {} places, {} attempts; every append of {} seeds: {} kills of as \
             many runs",
            of(all, "seeds"),
            of(all, "killed"),
            of(all, "places"),
            of(all, "attempts"),
            of(every, "seeds"),
            of(every, "killed"),
        ),
        bar: "equal, always".to_owned(),
        verdict: Verdict::of(told.at("kill", "/out/is_ok").as_bool()),
        against: "nobody".to_owned(),
        ratio: NOTHING.to_owned(),
        how: "the tests `kill` of `sim`: a real process on SQLite, against the model that knows of no \
              crash",
    }
}

fn streams(told: &Told) -> Vec<Row> {
    let row = |it: &Value| {
        let at = |pointer: &str| number(it, pointer);
        let id = match (word(it, "workflow"), at("/per_run")) {
            ("row", Some(10.0)) => "stream-row-few",
            ("row", _) => "stream-row-many",
            (_, Some(10.0)) => "stream-turns-few",
            _ => "stream-turns-many",
        };
        Row {
            id,
            what: format!(
                "Events a second to {} readers, {} of a run, workflow `{}`",
                with(told.number("streams", "/readers"), "").trim_end(),
                with(at("/per_run"), "").trim_end(),
                word(it, "workflow"),
            ),
            figure: with(at("/host/events_per_s"), "/s"),
            bar: "≥ half of the floor".to_owned(),
            verdict: Verdict::of(at("/share").map(|share| share >= SHARE)),
            against: format!("bare axum, from memory: {}", with(at("/floor/events_per_s"), "/s")),
            ratio: with(at("/share"), "of it"),
            how: "`streams`: server-sent events of `probity serve` on SQLite",
        }
    };
    let mut rows: Vec<Row> = told.list("streams", "/rows").iter().map(row).collect();
    let killed = |name: &str| told.number("streams", &format!("/killed/seen/{name}"));
    let wrong = [killed("out_of_order"), killed("without_end")];
    let sum = wrong.iter().copied().sum::<Option<f64>>();
    rows.push(Row {
        id: "stream-killed",
        what: format!(
            "Events to readers of a host that was killed {} times",
            told.number("streams", "/killed/kills").map_or_else(|| NOTHING.to_owned(), short)
        ),
        figure: format!(
            "{} lost or repeated of {}, {} streams without an end",
            with(wrong[0], "").trim_end(),
            with(killed("events"), "").trim_end(),
            with(wrong[1], "").trim_end(),
        ),
        bar: "0 and 0".to_owned(),
        verdict: Verdict::of(sum.map(|sum| sum == 0.0)),
        against: NOTHING.to_owned(),
        ratio: NOTHING.to_owned(),
        how: "`streams`: readers come again with `Last-Event-ID`",
    });
    rows
}
