//! Group commit: who waits together is stored together, and fails alone.

use probity_core::RunId;
use probity_store::{AppendError, Batch, Blobs, FaultKind, RunLog};
use probity_store_sqlite::{Options, SqliteStore};
use tokio::task::JoinSet;

fn run(number: u32) -> RunId {
    format!("run-{number}").parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_append_does_not_touch_the_others_of_its_group() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("store.db"), Options::default()).unwrap();
    let mut tasks = JoinSet::new();
    for number in 0..600_u32 {
        let store = store.clone();
        // Every third names a wrong length.
        let expected = u64::from(number % 3 == 0);
        tasks.spawn(async move {
            let batch = Batch::of(vec![format!("{number}").into_bytes()]);
            (number, store.append(&run(number), expected, batch).await)
        });
    }
    for (number, result) in tasks.join_all().await {
        if number % 3 == 0 {
            assert_eq!(result, Err(AppendError::Conflict { expected: 1, actual: 0 }), "{number}");
            assert_eq!(store.state(&run(number)).await, Ok(None));
        } else {
            assert_eq!(result, Ok(1), "{number}");
            let stored = store.read(&run(number), 0, 10).await.unwrap();
            assert_eq!(stored, [format!("{number}").into_bytes()]);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_append_too_large_for_the_disk_does_not_fail_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { max_bytes: Some(2 << 20), ..Options::default() };
    let store = SqliteStore::open(folder.path().join("store.db"), options).unwrap();
    let mut tasks = JoinSet::new();
    for number in 0..64_u32 {
        let store = store.clone();
        tasks.spawn(async move {
            let mut batch = Batch::of(vec![b"x".to_vec()]);
            if number % 8 == 0 {
                batch.add_blob(vec![0; 8 << 20]);
            }
            (number, store.append(&run(number), 0, batch).await)
        });
    }
    for (number, result) in tasks.join_all().await {
        if number % 8 == 0 {
            let Err(AppendError::Unavailable(fault)) = result else { panic!("{result:?}") };
            assert_eq!(fault.kind, FaultKind::Full);
        } else {
            assert_eq!(result, Ok(1), "{number}");
        }
    }
    assert_eq!(store.list(None, 1000).await.unwrap().len(), 56);
    store.put(b"small".to_vec()).await.unwrap();
}
