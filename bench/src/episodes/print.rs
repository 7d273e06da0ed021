//! The figures as text and as JSON. Ratios are computed by the program.

use super::{Audit, Episodes};
use crate::machine::{gib, mb};

/// One JSON object, every run in it.
pub(super) fn json(episodes: &Episodes) {
    match serde_json::to_string_pretty(episodes) {
        Ok(text) => println!("{text}"),
        Err(error) => eprintln!("episodes: {error}"),
    }
}

/// A table for people, and for the results file.
pub(super) fn table(episodes: &Episodes) {
    let machine = &episodes.machine;
    println!(
        "machine: {}, {} cores, {:.0} GiB, load {}",
        machine.cpu,
        machine.cores,
        gib(machine.memory_bytes),
        machine.load,
    );
    println!(
        "input: {} episodes, {:.1} MB of lines, one envelope; middle of {} runs by CPU time, highest \
         memory\n",
        episodes.episodes,
        mb(episodes.bytes),
        episodes.loops
    );
    println!(
        "{:<28} {:>8} {:>9} {:>7} {:>12} {:>8} {:>16}",
        "what", "CPU s", "sys of it", "wall s", "us/episode", "RSS MB", "peers' CPU / it"
    );
    println!("{}", episodes.probity);
    episodes.ours.iter().for_each(|audit| row(audit, episodes.episodes));
    if let Some(peer) = &episodes.peer {
        println!("deepsigma: {peer}");
        episodes.peers.iter().for_each(|audit| row(audit, episodes.episodes));
    }
    println!();
    for lines in &episodes.lines {
        println!(
            "{:>9} lines, {:>6.1} MB: {:.3} CPU-s, {:.3} s, {:.1} MB at the peak",
            lines.lines,
            mb(lines.bytes),
            lines.cost.cpu_s(),
            lines.cost.wall_s,
            mb(lines.cost.peak_rss_bytes)
        );
    }
    println!("\none of {} episodes changed after it was sealed:", super::FEW);
    for changed in &episodes.changed {
        let exit = changed.exit.map_or_else(|| "a signal".to_owned(), |exit| exit.to_string());
        println!("  {:<26} exit {exit}: {}", changed.what, changed.said);
    }
    for why in &episodes.skipped {
        println!("skipped: {why}");
    }
}

#[expect(clippy::cast_precision_loss, reason = "a number of episodes, to divide by")]
fn row(audit: &Audit, episodes: u64) {
    let cost = &audit.cost;
    let ratio = audit.ratio.map_or_else(String::new, |ratio| format!("{ratio:.1}x"));
    println!(
        "  {:<26} {:>8.3} {:>9.3} {:>7.3} {:>12.1} {:>8.1} {ratio:>16}",
        audit.what,
        cost.cpu_s(),
        cost.system_s,
        cost.wall_s,
        cost.cpu_s() * 1e6 / episodes as f64,
        mb(cost.peak_rss_bytes)
    );
}
