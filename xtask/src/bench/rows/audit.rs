//! What an audit costs: traces and episodes.

use serde_json::Value;

use super::fleet::span;
use super::{number, range, word};
use crate::bench::row::{NOTHING, quotient, short, with};
use crate::bench::{Row, Told, Verdict};

/// The peer's time by ours.
const TRACES: f64 = 100.0;
/// Gigabytes a second of one core.
const GB_PER_S: f64 = 0.7;
/// The memory of an audit of any trace.
const FLAT_MB: f64 = 64.0;
/// The peers' CPU time by ours.
const EPISODES: f64 = 20.0;

pub(super) fn rows(told: &Told) -> Vec<Row> {
    let mut rows = vec![beside_python(told), per_core(told)];
    rows.extend(memory(told));
    rows.extend(episodes(told));
    rows
}

fn beside_python(told: &Told) -> Row {
    let both = || {
        told.list("traces", "/rows").iter().filter_map(|row| {
            let ours = number(row, "/ours/cost/wall_s")? * 1e3;
            Some((ours, number(row, "/python/cost/wall_s")? * 1e3))
        })
    };
    let ratio = range(both().map(|(ours, theirs)| theirs / ours));
    Row {
        id: "trace-python",
        what: "A reasoning trace audited, process start included".to_owned(),
        figure: span(range(both().map(|(ours, _)| ours)), "ms"),
        bar: format!("≥ {TRACES} × the Python verifier"),
        verdict: Verdict::of(ratio.map(|(least, _)| least >= TRACES)),
        against: match range(both().map(|(_, theirs)| theirs)) {
            Some(range) => format!("bijux-canon-reason: {}", span(Some(range), "ms")),
            None => NOTHING.to_owned(),
        },
        ratio: span(ratio, "×"),
        how: "`traces`: wall time of both commands on the same files, from 105 events on",
    }
}

/// Of the big traces, whose size was asked for.
fn big(told: &Told) -> impl Iterator<Item = &Value> {
    let rows = told.list("traces", "/rows").iter();
    rows.filter(|row| word(row, "what").starts_with("evidence of"))
}

fn per_core(told: &Told) -> Row {
    let rate = |row: &Value, pointer: &str| {
        let at = |name: &str| number(row, &format!("{pointer}/cost/{name}"));
        let cpu_s = at("user_s")? + at("system_s")?;
        quotient(number(row, "/size/bytes").map(|bytes| bytes / 1e9), Some(cpu_s))
    };
    let ours = range(big(told).filter_map(|row| rate(row, "/ours_on_one_thread")));
    let floor = range(big(told).filter_map(|row| rate(row, "/floor")));
    let ratio = range(
        big(told).filter_map(|row| quotient(rate(row, "/floor"), rate(row, "/ours_on_one_thread"))),
    );
    Row {
        id: "trace-rate",
        what: "Bytes of a long trace by CPU time, one thread".to_owned(),
        figure: span(ours, "GB/s"),
        bar: format!("≥ {GB_PER_S} GB/s"),
        verdict: Verdict::of(ours.map(|(least, _)| least >= GB_PER_S)),
        against: format!("SHA-256 and parsing alone: {}", span(floor, "GB/s")),
        ratio: match ratio {
            Some(_) => format!("{} the floor", span(ratio, "×")),
            None => NOTHING.to_owned(),
        },
        how: "`traces --big`: once with short evidence, once with long",
    }
}

fn memory(told: &Told) -> Vec<Row> {
    let row = |row: &Value| {
        let rss_mb = number(row, "/ours/cost/peak_rss_bytes").map(|bytes| bytes / 1e6);
        let is_long = word(row, "what").contains("65536");
        Row {
            id: if is_long { "trace-memory-long" } else { "trace-memory-short" },
            what: format!(
                "Memory of an audit of {}, {} events, {}",
                with(number(row, "/size/trace_bytes").map(|bytes| bytes / 1e6), "MB"),
                number(row, "/size/events").map_or_else(|| NOTHING.to_owned(), short),
                word(row, "what"),
            ),
            figure: with(rss_mb, "MB"),
            bar: format!("≤ {FLAT_MB} MB, whatever the size"),
            verdict: Verdict::of(rss_mb.map(|it| it <= FLAT_MB)),
            against: format!(
                "SHA-256 and parsing alone: {}",
                with(number(row, "/floor/cost/peak_rss_bytes").map(|bytes| bytes / 1e6), "MB"),
            ),
            ratio: NOTHING.to_owned(),
            how: "`traces --big`: the highest of all runs, by `wait4`",
        }
    };
    big(told).map(row).collect()
}

fn episodes(told: &Told) -> Vec<Row> {
    let many = told.number("episodes", "/episodes");
    let cpu_s =
        |audit: &Value| Some(number(audit, "/cost/user_s")? + number(audit, "/cost/system_s")?);
    let theirs = told.list("episodes", "/peers").iter().map(cpu_s).sum::<Option<f64>>();
    let theirs = theirs.filter(|sum| *sum > 0.0);
    let ours = || told.list("episodes", "/ours").iter().filter_map(cpu_s);
    let ratio = theirs.and_then(|theirs| range(ours().map(|ours| theirs / ours)));
    let each = |s: f64| many.map(|many| s * 1e6 / many);
    let figure = range(ours().filter_map(each));
    vec![Row {
        id: "episodes",
        what: format!(
            "An episode parsed, shape, seal and envelope held, of {}",
            many.map_or_else(|| NOTHING.to_owned(), short)
        ),
        figure: format!("{} of CPU", span(figure, "us")),
        bar: format!("≥ {EPISODES} × the Python rate"),
        verdict: Verdict::of(ratio.map(|(least, _)| least >= EPISODES)),
        against: match theirs.and_then(each) {
            Some(each) => format!("deepsigma, both commands, no seal: {}", with(Some(each), "us")),
            None => NOTHING.to_owned(),
        },
        ratio: span(ratio, "×"),
        how: "`episodes`: CPU time of the command, as a folder, as lines and as a list",
    }]
}
