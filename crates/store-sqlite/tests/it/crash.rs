//! `kill -9` of a real process at any moment. Rounds: `PROBITY_CRASH_ROUNDS`, 40 by default.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use probity_core::{Event, RunId};
use probity_record::{Chain, read_records};
use probity_store::limits::MAX_BLOB_BYTES;
use probity_store::{Batch, Blobs, RunLog, read_run};
use probity_store_sqlite::{Options, SqliteStore};

use crate::child::{Other, RUNS, is_boundary};

/// A small fixed generator: the schedule of kills is the same on every machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Lets an odd part of an append go by, so that kills do not all fall right behind an
/// acknowledgement.
fn spin(time: Duration) {
    let started = Instant::now();
    while started.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Starts a writer, kills it after some acknowledgements, and gives the last one of each run.
fn killed_writer(path: &std::path::Path, name: &str, dice: &mut Dice) -> BTreeMap<RunId, u64> {
    let mut other = Other::start("append-for-ever", path, name);
    let mut acknowledged = BTreeMap::new();
    let mut note = |line: String| {
        let (run, len) = line.split_once(' ').unwrap();
        acknowledged.insert(run.parse().unwrap(), len.parse().unwrap());
    };
    for _ in 0..dice.below(60) {
        let Some(line) = other.next() else { panic!("the writer stopped by itself") };
        note(line);
    }
    spin(Duration::from_micros(dice.below(600)));
    other.process.kill().unwrap();
    other.process.wait().unwrap();
    // What was said before the kill counts, read or not; a line cut short does not.
    while let Some(line) = other.next() {
        if line.matches(' ').count() == 1 && line.split(' ').all(|part| !part.is_empty()) {
            note(line);
        }
    }
    acknowledged
}

async fn check(store: &SqliteStore, acknowledged: &BTreeMap<RunId, u64>, name: &str) {
    for number in 0..RUNS {
        let run: RunId = format!("{name}-{number}").parse().unwrap();
        let state = store.state(&run).await.unwrap().unwrap_or_default();
        let acknowledged = acknowledged.get(&run).copied().unwrap_or(0);
        assert!(state.len >= acknowledged, "{run}: {acknowledged} acknowledged, {state:?} kept");
        assert!(state.len <= acknowledged + 8, "{run}: more than was in flight");
        if state.len == 0 {
            continue;
        }
        assert!(is_boundary(state.len), "{run}: torn batch, {} records", state.len);
        let records = read_run(store, &run).await.unwrap();
        assert_eq!(records.len() as u64, state.len, "{run}");
        let log = read_records(&records).unwrap_or_else(|error| panic!("{run}: {error}"));
        for entry in log.entries {
            let blob = match entry.event {
                Event::RunOpened { request, .. } => request,
                Event::ClaimReceived { claim, .. } => claim,
                other => panic!("{other:?}"),
            };
            let blob = store.get(&blob, MAX_BLOB_BYTES as u64).await.unwrap();
            assert!(blob.is_some(), "{run}: a record names a blob that is not there");
        }
        // The next writer goes on behind the last record.
        let mut chain = Chain::resume(records.last().unwrap()).unwrap();
        let event = Event::RunResumed { interruptions: 1 };
        let line = chain.append(&probity_core::Entry { at_ms: 0, event }).unwrap();
        let batch = Batch::of(vec![line.into_bytes()]);
        assert_eq!(store.append(&run, state.len, batch).await, Ok(state.len + 1));
    }
}

#[tokio::test]
async fn a_killed_writer_loses_nothing_it_acknowledged_and_tears_nothing() {
    let rounds = std::env::var("PROBITY_CRASH_ROUNDS").map_or(40, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let mut dice = Dice(20_261_121);
    let mut total = 0;
    for round in 0..rounds {
        let name = format!("round-{round}");
        let acknowledged = killed_writer(&path, &name, &mut dice);
        total += acknowledged.values().sum::<u64>();
        let store = SqliteStore::open(&path, Options::default()).unwrap();
        check(&store, &acknowledged, &name).await;
    }
    assert!(total > rounds, "the writers were killed before they wrote");
    println!("{rounds} kills, {total} acknowledged records, none lost");
}
