//! The figures as text and as JSON. Ratios are computed here and nowhere else.

use super::{ATTEMPTS, FILES, Figures};
use crate::machine::{gib, mb};

/// One JSON object.
pub(super) fn json(figures: &Figures) {
    match serde_json::to_string_pretty(figures) {
        Ok(text) => println!("{text}"),
        Err(error) => eprintln!("figures: {error}"),
    }
}

/// A table for people, and for the results file.
pub(super) fn table(figures: &Figures, loops: usize) {
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
        "input: one `file` check, workspace of {FILES} small files, {ATTEMPTS} attempts of which the \
         last is accepted; median of {loops} loops\n"
    );
    row("what", "figure", "bar", "");
    attempts(figures);
    scripts_and_start(figures);
    peers(figures);
}

fn attempts(figures: &Figures) {
    let bars = [0.1, 2.0];
    for (attempt, bar) in figures.attempts.iter().zip(bars) {
        let store = attempt.store;
        bounded(&format!("attempt, {store}"), attempt.per_attempt_ms, bar, "ms", "");
        let further = format!("{:.3} ms", attempt.further_attempt_ms);
        row("  each further attempt", &further, "", "");
        row("  a run of one attempt", &format!("{:.3} ms", attempt.one_shot_ms), "", "");
    }
    let fsync = format!("{:.3} ms", figures.fsync_ms);
    row("baseline: write 4 KiB and fdatasync", &fsync, "", "");
}

fn scripts_and_start(figures: &Figures) {
    let (script, start) = (&figures.script, &figures.start);
    bounded("Starlark call, in process", script.in_process_us, 5.0, "us", "");
    bounded("Starlark call, through the worker", script.worker_us, 100.0, "us", "");
    let beside = match start.python_ms {
        Some(python) => format!("sh {:.1} ms, python3 {python:.1} ms", start.shell_ms),
        None => format!("sh {:.1} ms", start.shell_ms),
    };
    bounded("start: probity --version", start.probity_ms, 10.0, "ms", &beside);
    row("a whole `probity run`, durable", &format!("{:.1} ms", start.run_ms), "", "");
    bounded("peak memory of `probity run`", mb(start.peak_rss_bytes), 20.0, "MB", "");
    bounded("size of the binary", mb(start.binary_bytes), 25.0, "MB", "");
}

fn peers(figures: &Figures) {
    println!();
    println!(
        "{:<28} {:>12} {:>10} {:>10} {:>9} {:>22}",
        "beside", "attempt ms", "one-shot", "import s", "RSS MB", "attempt / ours, memory"
    );
    let ours = figures.attempts.first().map_or(f64::NAN, |attempt| attempt.per_attempt_ms);
    for peer in &figures.peers {
        println!(
            "{:<28} {:>12.3} {:>10.2} {:>10.2} {:>9.0} {:>21.1}x",
            format!("{} {}", peer.name, peer.version),
            peer.per_attempt_ms,
            peer.one_shot_ms,
            peer.import_s,
            peer.peak_rss_mb,
            peer.per_attempt_ms / ours,
        );
    }
    for why in &figures.skipped {
        println!("skipped: {why}");
    }
}

fn bounded(what: &str, figure: f64, bar: f64, unit: &str, note: &str) {
    let verdict = if figure <= bar { "met" } else { "MISSED" };
    let note = if note.is_empty() { verdict.to_owned() } else { format!("{verdict}; {note}") };
    row(what, &format!("{figure:.3} {unit}"), &format!("<= {bar} {unit}"), &note);
}

fn row(what: &str, figure: &str, bar: &str, note: &str) {
    println!("{what:<42} {figure:>14} {bar:>12}  {note}");
}
