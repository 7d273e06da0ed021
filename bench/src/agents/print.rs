//! The figures as text and as JSON.

use super::{ATTEMPTS, BAR, Figures};
use crate::machine::{gib, mb};

/// One JSON object.
pub(super) fn json(figures: &Figures) {
    match serde_json::to_string_pretty(figures) {
        Ok(text) => println!("{text}"),
        Err(error) => eprintln!("agents: {error}"),
    }
}

/// A table for people, and for the results file.
pub(super) fn table(figures: &Figures) {
    let machine = &figures.machine;
    println!(
        "machine: {}, {} cores, {:.0} GiB, load {}; {} build",
        machine.cpu,
        machine.cores,
        gib(machine.memory_bytes),
        machine.load,
        machine.profile
    );
    println!(
        "input: a model that answers at once, {ATTEMPTS} attempts of which the last is accepted; \
         median of {} loops\n",
        figures.loops
    );
    row("loop", ["attempt us", "one-shot us", "further us", "RSS MB", "of fastest peer"]);
    attempts(figures);
    peers(figures);
    let baseline = format!("{:.1}", figures.fsync_ms * 1e3);
    row("baseline: write 4 KiB and fdatasync", [&baseline, "", "", "", ""]);
    turns(figures);
    verdict(figures);
    for why in &figures.skipped {
        println!("skipped: {why}");
    }
}

fn attempts(figures: &Figures) {
    // One process makes all of them.
    let memory = format!("{:.0}", mb(figures.peak_rss_bytes));
    for attempt in &figures.attempts {
        let ratio = attempt.of_fastest_peer.map_or_else(|| "-".to_owned(), |it| format!("{it:.3}"));
        let times = [attempt.per_attempt_us, attempt.one_shot_us, attempt.further_attempt_us];
        let [each, one_shot, further] = times.map(|time| format!("{time:.1}"));
        let name = format!("{}, {}", attempt.what, attempt.store);
        row(&name, [&each, &one_shot, &further, &memory, &ratio]);
    }
}

fn peers(figures: &Figures) {
    let fastest = figures.peers.iter().map(|peer| peer.per_attempt_ms).fold(f64::NAN, f64::min);
    for peer in &figures.peers {
        let run_ms = peer.per_attempt_ms * f64::from(ATTEMPTS);
        let further_ms = (run_ms - peer.one_shot_ms) / f64::from(ATTEMPTS - 1);
        let times = [peer.per_attempt_ms, peer.one_shot_ms, further_ms];
        let [each, one_shot, further] = times.map(|time| format!("{:.1}", time * 1e3));
        let memory = format!("{:.0}", peer.peak_rss_mb);
        let ratio = format!("{:.3}", peer.per_attempt_ms / fastest);
        let name = format!("{} {}, no record", peer.name, peer.version);
        row(&name, [&each, &one_shot, &further, &memory, &ratio]);
    }
}

fn row(name: &str, columns: [&str; 5]) {
    let [each, one_shot, further, memory, ratio] = columns;
    println!("{name:<40} {each:>10} {one_shot:>11} {further:>10} {memory:>6} {ratio:>15}");
}

fn turns(figures: &Figures) {
    for run in &figures.turns {
        println!(
            "{} turns with a tool call, {}: {:.1} us each of the first {}, {:.1} us of the last, \
             {:.2} x; {:.0} ms in all",
            run.turns,
            run.store,
            run.first_us,
            run.window,
            run.last_us,
            run.last_by_first,
            run.whole_run_ms,
        );
    }
}

/// The bar holds for the attempt of a typed agent in memory.
fn verdict(figures: &Figures) {
    let of_fastest = figures.attempts.first().and_then(|attempt| attempt.of_fastest_peer);
    if let Some(ratio) = of_fastest {
        let word = if ratio <= BAR { "met" } else { "MISSED" };
        println!(
            "bar: at most {BAR} of the fastest peer per attempt in memory: {ratio:.3}, {word}"
        );
    }
}
