//! What came out, as text and as JSON.

use super::{Killed, Outcome, Row, Side};
use crate::machine::mb;

/// One JSON object.
pub(super) fn json(outcome: &Outcome) {
    match serde_json::to_string_pretty(outcome) {
        Ok(text) => println!("{text}"),
        Err(error) => eprintln!("streams: {error}"),
    }
}

/// For people, and for the results file.
pub(super) fn table(outcome: &Outcome) {
    let machine = &outcome.machine;
    println!(
        "machine: {}, {} cores, load {}; {} build; {} streams at a time, loops of {} ms; busy {:.2} to \
         {:.2}",
        machine.cpu,
        machine.cores,
        machine.load,
        machine.profile,
        outcome.readers,
        outcome.length_ms,
        outcome.before.wall_by_cpu,
        outcome.after.wall_by_cpu,
    );
    for row in &outcome.rows {
        one(row);
    }
    if let Some(killed) = &outcome.killed {
        after_kills(killed);
    }
}

fn one(row: &Row) {
    println!(
        "\n{}, {} readers of a run: {} events of {} bytes; {:.2} of the floor",
        row.workflow, row.per_run, row.events_per_run, row.bytes_per_event, row.share
    );
    side("host", &row.host);
    side("floor", &row.floor);
}

fn side(name: &str, side: &Side) {
    println!(
        "  {name:<6} {:>9.0} events/s, {:>6.2} us CPU each; age p50/p99/max {}/{}/{} ms; {} runs, {} events; \
         out of order {}, without end {}; peak {:.0} MB",
        side.events_per_s,
        side.cpu_us_per_event,
        side.age_ms[0],
        side.age_ms[1],
        side.age_ms[2],
        side.runs,
        side.events,
        side.out_of_order,
        side.without_end,
        mb(side.peak_rss_bytes),
    );
}

fn after_kills(killed: &Killed) {
    let seen = &killed.seen;
    println!(
        "\nhost killed {} times: {} runs, {} events; {} streams taken up behind their last event; lost or \
         repeated {}, without a terminal event {}; age p99 {} ms",
        killed.kills,
        seen.runs,
        seen.events,
        seen.taken_up,
        seen.out_of_order,
        seen.without_end,
        seen.age_ms(99),
    );
}
