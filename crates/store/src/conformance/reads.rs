//! Ranges and bounds of reads.

use crate::limits::{MAX_READ_BYTES, MAX_RECORD_BYTES};
use crate::{Batch, read_run};

use super::{Provider, records, run, texts};

/// Every start and every length of a short log.
pub async fn reads_give_ranges(store: &impl Provider) {
    let all = ["a", "b", "c", "d", "e"];
    let id = run("ranges");
    store.append(&id, 0, records(&all[..2])).await.unwrap();
    store.append(&id, 2, records(&all[2..])).await.unwrap();
    for from in 0..=all.len() {
        for max in [0, 1, 2, 3, 4, 5, 6, usize::MAX] {
            let wanted: Vec<&str> = all.into_iter().skip(from).take(max).collect();
            let got = store.read(&id, from as u64, max).await.unwrap();
            assert_eq!(texts(&got), wanted, "{from} {max}");
        }
    }
    for from in [6, 1 << 32, u64::MAX] {
        assert_eq!(store.read(&id, from, 1).await, Ok(Vec::new()), "{from}");
    }
}

/// A read stops at its byte limit and goes on where it stopped.
pub async fn a_read_is_bounded_in_bytes(store: &impl Provider) {
    let id = run("large");
    let fitting = MAX_READ_BYTES / MAX_RECORD_BYTES;
    let count = fitting + 5;
    let mut len = 0;
    while len < count {
        let part = (count - len).min(8);
        let lines = (len..len + part).map(|n| {
            let mut line = format!("{n}:").into_bytes();
            line.resize(MAX_RECORD_BYTES, b'.');
            line
        });
        store.append(&id, len as u64, Batch::of(lines.collect())).await.unwrap();
        len += part;
    }
    assert_eq!(store.read(&id, 0, usize::MAX).await.unwrap().len(), fitting);
    let all = read_run(store, &id).await.unwrap();
    assert_eq!(all.len(), count);
    for (n, line) in all.iter().enumerate() {
        assert!(line.starts_with(format!("{n}:").as_bytes()), "{n}");
    }
}

/// A run that nobody appended to has no state and no records.
pub async fn unknown_runs_read_as_empty(store: &impl Provider) {
    let id = run("nobody");
    assert_eq!(store.state(&id).await, Ok(None));
    assert_eq!(store.read(&id, 0, 10).await, Ok(Vec::new()));
    assert_eq!(store.list(None, 10).await, Ok(Vec::new()));
}
