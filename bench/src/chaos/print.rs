//! What came out, as text and as JSON.

use super::times::Resumption;
use super::{OnStore, Outcome};
use crate::machine::mb;

/// One JSON object.
pub(super) fn json(outcome: &Outcome) {
    match serde_json::to_string_pretty(outcome) {
        Ok(text) => println!("{text}"),
        Err(error) => eprintln!("chaos: {error}"),
    }
}

/// For people, and for the results file.
pub(super) fn table(outcome: &Outcome) {
    let machine = &outcome.machine;
    println!(
        "machine: {}, {} cores, load {}; {} build; {} workers of {}, {} runs under way, leases of {} \
         ms, model {} ms, verifier {} ms, seed {}",
        machine.cpu,
        machine.cores,
        machine.load,
        machine.profile,
        outcome.workers,
        outcome.concurrency,
        outcome.under_way,
        outcome.lease_ttl_ms,
        outcome.model_ms,
        outcome.verifier_ms,
        outcome.seed,
    );
    for it in &outcome.stores {
        on_store(it);
    }
    for why in &outcome.skipped {
        println!("skipped: {why}");
    }
}

fn on_store(it: &OnStore) {
    let (proof, wrong) = (&it.proof, it.proof.violations);
    println!(
        "\n{}: {} runs in {:.0} s, {} workers killed, {} servers killed; busy {:.2} to {:.2}",
        it.store.as_str(),
        proof.runs,
        it.wall_s,
        it.worker_kills,
        it.server_kills,
        it.before.wall_by_cpu,
        it.after.wall_by_cpu,
    );
    println!(
        "  verified {}, verdicts {}; lost {}, miscounted {}, repeated recorded calls {}, answers from \
         nowhere {}, epochs that do not rise {}, refused by the auditor {}",
        proof.verified,
        proof.verdicts,
        wrong.lost,
        wrong.miscounted,
        wrong.repeated,
        wrong.invented,
        wrong.epochs,
        wrong.refused,
    );
    println!(
        "  model calls {}, {} of them lost with their worker; verifier calls {}, {} again; leases {}, \
         interruptions {}; {} records of {:.0} bytes, {:.1} MB on disk; workers that ended by \
         themselves {}",
        proof.model_calls,
        proof.unrecorded_calls,
        proof.verifier_calls,
        proof.verifier_again,
        proof.leases,
        proof.interruptions,
        proof.records,
        mb(proof.record_bytes) * 1e6 / mb(proof.records.max(1)) / 1e6,
        mb(it.bytes_on_disk),
        it.ended_by_themselves,
    );
    resumption("resumed", &it.resumption);
    if it.server_kills > 0 {
        resumption("resumed, all servers up", &it.resumption_servers_up);
    }
    let [p50, p99, max] = it.pickup_ms;
    println!("  opened until leased: p50 {p50} ms, p99 {p99}, max {max}");
    for example in &proof.examples {
        println!("  {example}");
    }
}

fn resumption(what: &str, it: &Resumption) {
    println!(
        "  {what}: {} runs, p50 {} ms, p99 {}, max {}; bound {} ms, above it {}; killed at their end {}",
        it.runs, it.p50_ms, it.p99_ms, it.max_ms, it.bound_ms, it.above_bound, it.at_their_end,
    );
}
