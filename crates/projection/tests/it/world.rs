//! A store with the sample runs, and what an index holds.

use std::path::{Path, PathBuf};

use probity_core::{Event, RunId};
use probity_record::Record;
use probity_store::{Batch, MemoryStore, RunLog as _};
use rusqlite::Connection;
use rusqlite::types::Value;

/// One sample: the records of a run.
pub(crate) struct Sample {
    pub(crate) run: RunId,
    pub(crate) records: Vec<Vec<u8>>,
}

/// The samples of the newest format that builds read, by name.
pub(crate) fn samples() -> Vec<Sample> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/records/1.2");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| sample(path)).collect()
}

fn sample(path: &Path) -> Sample {
    let text = std::fs::read_to_string(path).unwrap();
    let records: Vec<Vec<u8>> = text.lines().map(|line| line.as_bytes().to_vec()).collect();
    Sample { run: Record::parse(&records[0]).unwrap().run, records }
}

/// Appends records of a sample, up to a number of them.
pub(crate) async fn append(store: &MemoryStore, sample: &Sample, to: usize) {
    let from = store.state(&sample.run).await.unwrap().unwrap_or_default().len;
    let start = usize::try_from(from).unwrap();
    let records: Vec<Vec<u8>> = sample.records[start..to.max(start)].to_vec();
    if records.is_empty() {
        return;
    }
    let last = Record::parse(records.last().unwrap()).unwrap();
    let seal = matches!(last.entry.event, Event::Sealed { .. });
    store.append(&sample.run, from, Batch { records, seal, ..Batch::default() }).await.unwrap();
}

/// Every row of an index, in order.
pub(crate) fn rows(path: &Path) -> Vec<Vec<Value>> {
    let connection = Connection::open(path).unwrap();
    let mut all = Vec::new();
    for select in [
        "SELECT * FROM run ORDER BY id",
        "SELECT * FROM verdict ORDER BY run, epoch, turn",
        "SELECT * FROM finding ORDER BY run, seq",
        "SELECT * FROM waiver ORDER BY run, log",
    ] {
        let mut select = connection.prepare(select).unwrap();
        let columns = select.column_count();
        let mut found = select.query([]).unwrap();
        while let Some(row) = found.next().unwrap() {
            all.push((0..columns).map(|column| row.get(column).unwrap()).collect());
        }
    }
    all
}

/// The samples in a store, each to its end.
pub(crate) async fn full() -> MemoryStore {
    let store = MemoryStore::new();
    for sample in samples() {
        append(&store, &sample, sample.records.len()).await;
    }
    store
}
