//! The figures as text and as JSON. Ratios are computed here and nowhere else.

use super::Figures;
use super::mode::Mode;
use super::one::Throughput;
use super::place::Kind;
use crate::machine::{gib, mb};

/// CPU of nfactorial per turn in the modes that only its unpublished tip has, in milliseconds, as it
/// was measured on another machine of two cores that was idle: the lower end of each range.
const UNPUBLISHED_MS: [(Mode, f64); 2] = [(Mode::Verify1, 2.9), (Mode::Verify4, 2.8)];
/// How many turns of ours a CPU second of nfactorial's must be worth.
const BAR: f64 = 20.0;

/// One JSON object.
pub(super) fn json(figures: &Figures) {
    match serde_json::to_string_pretty(figures) {
        Ok(text) => println!("{text}"),
        Err(error) => eprintln!("workers: {error}"),
    }
}

/// A table for people, and for the results file.
pub(super) fn table(figures: &Figures) {
    let machine = &figures.machine;
    println!(
        "machine: {}, {} cores, {:.0} GiB, load {}; {} build; write 4 KiB and fdatasync {:.3} ms; {}",
        machine.cpu,
        machine.cores,
        gib(machine.memory_bytes),
        machine.load,
        machine.profile,
        figures.fsync_ms,
        figures.nats_server.as_deref().unwrap_or("no NATS server"),
    );
    shapes(figures);
    throughput(figures);
    idle(figures);
    long(figures);
    recovery(figures);
    peers(figures);
    for why in &figures.skipped {
        println!("skipped: {why}");
    }
}

fn shapes(figures: &Figures) {
    println!(
        "\n{:<8} {:>5} {:>8} {:>8} {:>10} {:>7} {:>10} {:>7} {:>7}",
        "a task", "turns", "appends", "records", "bytes", "blobs", "bytes", "queue", "reads"
    );
    for it in &figures.shapes {
        println!(
            "{:<8} {:>5} {:>8.1} {:>8.1} {:>10.0} {:>7.1} {:>10.0} {:>7.1} {:>7.1}",
            it.mode.as_str(),
            it.turns,
            it.appends,
            it.records,
            it.record_bytes,
            it.blobs,
            it.blob_bytes,
            it.queue_writes,
            it.reads,
        );
    }
}

fn throughput(figures: &Figures) {
    if figures.throughput.is_empty() {
        return;
    }
    println!(
        "\n{:<20} {:<8} {:>4} {:>8} {:>8} {:>8} {:>8} {:>9} {:>6} {:>5} {:>10} {:>8} {:>8}",
        "store",
        "mode",
        "proc",
        "tasks/s",
        "turns/s",
        "CPU ms",
        "servers",
        "submit/s",
        "RSS MB",
        "busy",
        "peer CPU",
        "x CPU",
        "x all"
    );
    for it in &figures.throughput {
        let peer = of_peer(figures, it);
        let (cpu, times, all) = peer.as_ref().map_or_else(Default::default, |peer| {
            let ours = it.cpu_ms_per_turn + it.server_cpu_ms_per_turn;
            let met = if peer.worker / it.cpu_ms_per_turn >= BAR { "" } else { "!" };
            (
                format!("{:.2}{}", peer.worker, peer.mark),
                format!("{:.1}{met}", peer.worker / it.cpu_ms_per_turn),
                peer.server.map_or(String::new(), |server| {
                    format!("{:.1}", (peer.worker + server) / ours)
                }),
            )
        });
        println!(
            "{:<20} {:<8} {:>4} {:>8.0} {:>8.0} {:>8.3} {:>8.3} {:>9.0} {:>6.0} {:>5.2} {cpu:>10} {times:>8} {all:>8}",
            it.store.as_str(),
            it.mode.as_str(),
            it.processes,
            it.tasks_per_s,
            it.turns_per_s,
            it.cpu_ms_per_turn,
            it.server_cpu_ms_per_turn,
            it.submits_per_s,
            mb(it.peak_rss_bytes),
            it.before.wall_by_cpu.max(it.after.wall_by_cpu),
        );
    }
    println!(
        "CPU ms: of the workers per turn; servers: of the store's servers per turn; busy: wall by CPU \
         time of a loop before and after, 1.00 on an idle machine;\nx CPU: peer's worker CPU by ours, \
         bar {BAR}, ! below it; x all: the same with servers; *: not published, dossier's figure"
    );
}

/// What the peer takes for a turn as durable as this one.
struct OfPeer {
    worker: f64,
    server: Option<f64>,
    mark: &'static str,
}

fn of_peer(figures: &Figures, ours: &Throughput) -> Option<OfPeer> {
    let unpublished = UNPUBLISHED_MS.iter().find(|(mode, _)| *mode == ours.mode);
    if let Some((_, worker)) = unpublished {
        return Some(OfPeer { worker: *worker, server: None, mark: "*" });
    }
    // Nothing of the peer's is replicated: what it takes with one durable server stands beside.
    let durability = ours.store.peer().unwrap_or("always");
    let same = |peer: &&super::peer::Peer| {
        peer.mode == ours.mode.as_str() && peer.durability == durability
    };
    let peer = figures.peers.iter().find(same)?;
    let mark = if ours.store == Kind::Jetstream { "+" } else { "" };
    let worker = peer.worker_cpu_ms_per_turn?;
    Some(OfPeer { worker, server: peer.server_cpu_ms_per_turn, mark })
}

fn idle(figures: &Figures) {
    for it in &figures.idle {
        println!(
            "one task on an idle queue, {}: p50 {:.1} ms, p90 {:.1}, max {:.1} of {}; busy {:.2}",
            it.store.as_str(),
            it.p50_ms,
            it.p90_ms,
            it.max_ms,
            it.tasks,
            it.before.wall_by_cpu,
        );
    }
}

fn long(figures: &Figures) {
    for it in &figures.long {
        let at = |(turn, ms): &(u32, f64)| format!("{ms:.3} ms at {turn}");
        let windows: Vec<String> = it.ms_per_turn_at.iter().map(at).collect();
        println!(
            "one task of {} turns, {}: {}; {:.2} s in all; busy {:.2}",
            it.turns,
            it.store.as_str(),
            windows.join(", "),
            it.whole_s,
            it.before.wall_by_cpu,
        );
    }
}

fn recovery(figures: &Figures) {
    for it in &figures.recovery {
        let seconds: Vec<String> = it.seconds.iter().map(|s| format!("{s:.1}")).collect();
        println!(
            "kill -9 of a worker, {}: taken up by another after {} s; leases of {} s",
            it.store.as_str(),
            seconds.join(", "),
            it.lease_ttl_ms / 1000,
        );
    }
}

fn peers(figures: &Figures) {
    for it in &figures.peers {
        print!("{} {} {}, AOF {}: ", it.name, it.version, it.mode, it.durability);
        if let (Some(turns), Some(cpu), Some(server)) =
            (it.turns_per_s, it.worker_cpu_ms_per_turn, it.server_cpu_ms_per_turn)
        {
            print!("{turns:.0} turns/s, {cpu:.2} ms CPU per turn, Redis {server:.2}");
        }
        if let (Some(p50), Some(p90)) = (it.p50_ms, it.p90_ms) {
            print!("p50 {p50:.0} ms, p90 {p90:.0}");
        }
        if let (Some(at), Some(whole)) = (&it.ms_per_turn_at, it.whole_s) {
            let mut windows: Vec<(u32, f64)> =
                at.iter().filter_map(|(turn, ms)| Some((turn.parse().ok()?, *ms))).collect();
            windows.sort_by_key(|(turn, _)| *turn);
            for (turn, ms) in windows {
                print!("{ms:.0} ms at {turn}, ");
            }
            print!("{whole:.0} s in all");
        }
        println!("; {:.0} MB, load {:.1}", it.peak_rss_mb, it.load_before);
    }
}
