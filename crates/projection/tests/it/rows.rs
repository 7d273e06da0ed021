//! What is in an index, and that it does not matter how it came there.

use probity_core::Outcome;
use probity_projection::{Filter, Index};
use probity_store::MemoryStore;

use crate::world::{append, rows, samples};

fn all() -> Filter {
    Filter { limit: 1000, ..Filter::default() }
}

#[tokio::test]
async fn filling_step_by_step_gives_the_rows_of_filling_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (step_by_step, at_once) = (folder.path().join("steps.db"), folder.path().join("once.db"));
    let store = MemoryStore::new();
    let samples = samples();
    let longest = samples.iter().map(|sample| sample.records.len()).max().unwrap();
    for to in 1..=longest {
        for (number, sample) in samples.iter().enumerate() {
            // Runs begin at different times, so that new and open ones are always mixed.
            append(&store, sample, to.saturating_sub(number).min(sample.records.len())).await;
        }
        let mut index = Index::open(&step_by_step, "memory").unwrap();
        index.update(&store).await.unwrap();
        let mut anew = Index::open_anew(&at_once, "memory").unwrap();
        anew.update(&store).await.unwrap();
        assert_eq!(rows(&step_by_step), rows(&at_once), "after {to} records");
    }
    for sample in &samples {
        append(&store, sample, sample.records.len()).await;
    }
    let mut index = Index::open(&step_by_step, "memory").unwrap();
    index.update(&store).await.unwrap();
    assert_eq!(index.runs(&all()).unwrap().len(), samples.len());
}

#[tokio::test]
async fn only_new_runs_and_open_ones_are_looked_at_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.db");
    let store = MemoryStore::new();
    let samples = samples();
    let (last, first) = samples.split_last().unwrap();
    for sample in first {
        append(&store, sample, sample.records.len()).await;
    }
    let mut index = Index::open(&path, "memory").unwrap();
    let updated = index.update(&store).await.unwrap();
    assert_eq!((updated.read, updated.new), (first.len() as u64, first.len() as u64));
    let open = updated.open;
    assert!(open > 0 && open < first.len() as u64);
    let updated = index.update(&store).await.unwrap();
    assert_eq!((updated.read, updated.new, updated.open), (0, 0, open));
    append(&store, last, last.records.len() - 1).await;
    let updated = index.update(&store).await.unwrap();
    assert_eq!((updated.read, updated.new, updated.open), (1, 1, open + 1));
    append(&store, last, last.records.len()).await;
    let updated = index.update(&store).await.unwrap();
    assert_eq!((updated.read, updated.new, updated.open), (1, 0, open));
}

#[tokio::test]
async fn rows_say_what_the_logs_say() {
    let folder = tempfile::tempdir().unwrap();
    let store = MemoryStore::new();
    for sample in samples() {
        append(&store, &sample, sample.records.len()).await;
    }
    let mut index = Index::open(folder.path().join("index.db"), "memory").unwrap();
    index.update(&store).await.unwrap();
    let runs = index.runs(&all()).unwrap();
    let of = |name: &str| runs.iter().find(|run| run.run_id == format!("run-{name}")).unwrap();
    let verified = of("verified-after-two-attempts");
    assert_eq!(
        (verified.stage.as_str(), verified.outcome.as_deref(), verified.attempts, verified.sealed),
        ("sealed", Some("verified"), 2, true)
    );
    assert!(verified.ended_at_ms.unwrap() >= verified.opened_at_ms);
    // The store has no request of the samples.
    assert_eq!((&verified.task_digest, &verified.pool), (&None, &None));
    let outcomes = [
        ("exhausted", "exhausted"),
        ("faulted", "faulted"),
        ("delegate-failed", "delegate_failed"),
        ("parked", "escalated"),
    ];
    for (name, outcome) in outcomes {
        if let Some(run) = runs.iter().find(|run| run.run_id == format!("run-{name}")) {
            assert!(run.outcome.is_none() || run.outcome.as_deref() == Some(outcome), "{run:?}");
        }
    }
    let verified = Filter { outcome: Some(Outcome::Verified), ..all() };
    let verified = index.runs(&verified).unwrap();
    assert!(!verified.is_empty() && verified.len() < runs.len());
    assert!(verified.iter().all(|run| run.outcome.as_deref() == Some("verified")));
}

#[tokio::test]
async fn a_filter_lets_through_what_it_names() {
    let folder = tempfile::tempdir().unwrap();
    let store = MemoryStore::new();
    for sample in samples() {
        append(&store, &sample, sample.records.len()).await;
    }
    let mut index = Index::open(folder.path().join("index.db"), "memory").unwrap();
    index.update(&store).await.unwrap();
    let runs = index.runs(&all()).unwrap();
    let exhausted = runs.iter().find(|run| run.outcome.as_deref() == Some("exhausted")).unwrap();
    let code = exhausted.code.as_ref().unwrap();
    let by_code = index.runs(&Filter { code: code.parse().ok(), ..all() }).unwrap();
    assert!(by_code.iter().any(|run| run.run_id == exhausted.run_id));
    let newest = runs.iter().map(|run| run.opened_at_ms).max().unwrap();
    let since = Filter { since_ms: Some(newest + 1), ..all() };
    assert_eq!(index.runs(&since).unwrap(), []);
    let since = Filter { since_ms: Some(newest), ..all() };
    assert!(!index.runs(&since).unwrap().is_empty());
    assert_eq!(index.runs(&Filter { limit: 2, ..all() }).unwrap(), runs[..2]);
}

#[tokio::test]
async fn a_damaged_log_is_a_row_that_says_so() {
    use probity_store::{Batch, RunLog as _};
    let folder = tempfile::tempdir().unwrap();
    let store = MemoryStore::new();
    let run = "it".parse().unwrap();
    store.append(&run, 0, Batch::of(vec![b"{}".to_vec()])).await.unwrap();
    let mut index = Index::open(folder.path().join("index.db"), "memory").unwrap();
    index.update(&store).await.unwrap();
    let runs = index.runs(&all()).unwrap();
    assert_eq!((runs[0].stage.as_str(), runs[0].code.as_deref()), ("damaged", Some("log_damaged")));
}

/// The decision and the seal are two records: between them whoever drove the run may have died.
#[tokio::test]
async fn what_was_decided_is_open_until_it_is_sealed() {
    let store = MemoryStore::new();
    let samples = samples();
    let is_sealed = |line: &[u8]| String::from_utf8_lossy(line).contains("run.sealed");
    let sealed: Vec<_> = samples
        .iter()
        .filter(|sample| sample.records.last().is_some_and(|line| is_sealed(line)))
        .collect();
    assert!(!sealed.is_empty());
    for sample in &sealed {
        append(&store, sample, sample.records.len() - 1).await;
    }
    let mut index = Index::in_memory("memory").unwrap();
    index.update(&store).await.unwrap();
    let runs = index.runs(&all()).unwrap();
    assert!(runs.iter().any(|run| run.stage == "decided"));
    for run in runs.iter().filter(|run| run.stage == "decided") {
        assert_eq!((run.outcome.as_deref(), run.sealed), (None, false), "{run:?}");
    }
    for sample in &sealed {
        append(&store, sample, sample.records.len()).await;
    }
    index.update(&store).await.unwrap();
    let verified = Filter { outcome: Some(Outcome::Verified), ..all() };
    assert!(!index.runs(&verified).unwrap().is_empty());
}

#[cfg(unix)]
#[test]
fn an_index_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    for name in ["opened.db", "anew.db"] {
        let path = folder.path().join(name);
        let made = if name == "anew.db" { Index::open_anew } else { Index::open };
        made(&path, "memory").map(drop).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}
