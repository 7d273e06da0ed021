//! Several workers on one run: each tells what it did itself.

use probity_core::{Entry, Event, RunId};
use probity_engine::read_entries;
use probity_record::Chain;
use probity_store::Batch;
use probity_telemetry::{Telemetry, TelemetryOptions};

use crate::rig::{PATIENCE, Rig, liar, looks, run_id};

fn lease(at_ms: u64, epoch: u64, worker: &str) -> Entry {
    let worker = worker.parse().unwrap();
    Entry { at_ms, event: Event::LeaseTaken { epoch, worker, interruptions: 0 } }
}

/// What stands behind the words of a figure, of both workers together.
fn sum(of: [&Telemetry; 2], words: &str) -> u64 {
    let texts = of.map(Telemetry::render);
    let found = texts.iter().flat_map(|text| text.lines()).filter_map(|it| it.strip_prefix(words));
    found.map(|number| number.trim().parse::<u64>().unwrap()).sum()
}

#[tokio::test]
async fn what_another_worker_did_is_not_counted_again() {
    let rig = Rig::new().await;
    let silent = rig.telemetry_with(TelemetryOptions::default());
    rig.run(&silent, rig.plan(liar(), [looks()])).await.unwrap();
    let mut done = read_entries(rig.store.as_ref(), &run_id()).await.unwrap();
    let run: RunId = "run-2".parse().unwrap();
    if let Event::RunOpened { run: named, .. } = &mut done[0].event {
        named.clone_from(&run);
    }
    let mut judged = (0..).zip(&done).filter_map(|(at, entry)| {
        matches!(entry.event, Event::VerdictMerged { .. }).then_some(at + 1)
    });
    let (first, second): (usize, usize) = (judged.next().unwrap(), judged.next().unwrap());
    let at_ms = done[0].at_ms;
    let opened = [vec![done[0].clone(), lease(at_ms, 1, "one")], done[1..first].to_vec()];
    let parts = [
        ("one", opened.concat()),
        ("two", [vec![lease(at_ms, 2, "two")], done[first..second].to_vec()].concat()),
        ("one", [vec![lease(at_ms, 3, "one")], done[second..].to_vec()].concat()),
    ];

    let (one, two) = (
        rig.telemetry_with(TelemetryOptions::default()),
        rig.telemetry_with(TelemetryOptions::default()),
    );
    let mut chain = Chain::new(run.clone());
    for (worker, part) in parts {
        let from = chain.len();
        let lines = part.iter().map(|entry| chain.append(entry).unwrap().into_bytes()).collect();
        let batch = Batch { seal: chain.is_sealed(), ..Batch::of(lines) };
        rig.store.append(&run, from, batch).await.unwrap();
        let telemetry = if worker == "one" { &one } else { &two };
        part.iter().for_each(|entry| telemetry.entry(&run, entry));
        if worker == "two" {
            // The first one looks when the second is there already.
            assert!(one.flush(PATIENCE).await && two.flush(PATIENCE).await);
        }
    }
    assert!(one.flush(PATIENCE).await && two.flush(PATIENCE).await);
    let both = [&one, &two];
    let verdicts =
        "probity_check_verdicts_total{probity_check_kind=\"world\",probity_verdict=\"revise\"}";
    assert_eq!(sum(both, verdicts), 2, "{}{}", one.render(), two.render());
    let ends = "probity_delegations_total{delegation_kind=\"coder\",probity_outcome=\"exhausted\"}";
    assert_eq!(sum(both, ends), 1, "{}{}", one.render(), two.render());
}
