//! The figures as text and as JSON. Ratios are computed by the program.

use super::{Audit, Row, Traces};
use crate::machine::{gib, mb};

/// One JSON object, every run in it.
pub(super) fn json(traces: &Traces) {
    match serde_json::to_string_pretty(traces) {
        Ok(text) => println!("{text}"),
        Err(error) => eprintln!("traces: {error}"),
    }
}

/// A table for people, and for the results file.
pub(super) fn table(traces: &Traces) {
    let machine = &traces.machine;
    println!(
        "machine: {}, {} cores, {:.0} GiB, load {}",
        machine.cpu,
        machine.cores,
        gib(machine.memory_bytes),
        machine.load
    );
    println!("probity: {}; of {} runs the middle one", traces.probity, traces.loops);
    if let Some(peer) = &traces.peer {
        println!("beside: {peer}");
    }
    traces.skipped.iter().for_each(|why| println!("left out: {why}"));
    println!(
        "\n| run | events | trace MB | files | wall ms | CPU ms | 1 thread CPU ms | RSS MB | MB/s | \
         floor CPU ms | CPU / floor | Python wall ms | Python RSS MB | Python / ours, wall | CPU |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    traces.rows.iter().for_each(line);
}

fn line(row: &Row) {
    let ours = &row.ours.cost;
    let floor = row.floor.cost.cpu_s();
    let python = row.python.as_ref().map(|audit| audit.cost);
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    println!(
        "| {} | {} | {:.2} | {} | {:.1} | {:.1} | {:.1} | {:.1} | {:.0} | {:.1} | {:.2} | {} | {} | {} | {} |",
        row.what,
        row.size.events,
        mb(row.size.trace_bytes),
        row.size.files,
        ours.wall_s * 1e3,
        ours.cpu_s() * 1e3,
        single(&row.ours_on_one_thread) * 1e3,
        mb(ours.peak_rss_bytes),
        mb(row.size.bytes) / ours.wall_s,
        floor * 1e3,
        single(&row.ours_on_one_thread) / floor,
        or_dash(python.map(|cost| format!("{:.0}", cost.wall_s * 1e3))),
        or_dash(python.map(|cost| format!("{:.0}", mb(cost.peak_rss_bytes)))),
        or_dash(python.map(|cost| format!("{:.0} ×", cost.wall_s / ours.wall_s))),
        or_dash(python.map(|cost| format!("{:.0} ×", cost.cpu_s() / ours.cpu_s()))),
    );
}

fn single(audit: &Audit) -> f64 {
    audit.cost.cpu_s()
}
