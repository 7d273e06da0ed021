//! Files that somebody removes or replaces while the store has them open.
#![cfg(unix)]

use std::path::{Path, PathBuf};

use probity_core::RunId;
use probity_store::{AppendError, Batch, BlobError, Blobs, FaultKind, Queue, QueueError, RunLog};
use probity_store_sqlite::{Options, SqliteStore};

use crate::queue::job;

fn run() -> RunId {
    "r".parse().unwrap()
}

fn one() -> Batch {
    Batch::of(vec![b"x".to_vec()])
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Nothing is acknowledged, and what is wrong is said with the name of the file.
async fn refuses(store: &SqliteStore, path: &Path) {
    let name = path.display().to_string();
    let Err(AppendError::Unavailable(fault)) = store.append(&run(), 1, one()).await else {
        panic!("{name}: an append was acknowledged")
    };
    assert_eq!(fault.kind, FaultKind::Closed);
    assert!(fault.detail.contains(&name), "{fault}");
    let Err(BlobError::Unavailable(fault)) = store.put(b"y".to_vec()).await else {
        panic!("{name}: a blob was acknowledged")
    };
    assert_eq!(fault.kind, FaultKind::Closed);
    let Err(QueueError::Unavailable(fault)) = store.enqueue(job("r")).await else {
        panic!("{name}: a job was acknowledged")
    };
    assert_eq!(fault.kind, FaultKind::Closed);
}

#[tokio::test]
async fn nothing_is_acknowledged_into_a_file_that_was_removed() {
    for end in ["", "-wal", "-shm"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let store = SqliteStore::open(&path, Options::default()).unwrap();
        assert_eq!(store.append(&run(), 0, one()).await, Ok(1));
        std::fs::remove_file(beside(&path, end)).unwrap();
        refuses(&store, &beside(&path, end)).await;
    }
}

#[tokio::test]
async fn nothing_is_acknowledged_into_a_file_that_was_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path, Options::default()).unwrap();
    assert_eq!(store.append(&run(), 0, one()).await, Ok(1));
    for end in ["", "-wal", "-shm"] {
        std::fs::remove_file(beside(&path, end)).unwrap();
    }
    // Another process begins a new file under the name.
    let other = SqliteStore::open(&path, Options::default()).unwrap();
    assert_eq!(other.append(&run(), 0, Batch::of(vec![b"other".to_vec()])).await, Ok(1));
    refuses(&store, &path).await;
    // Neither does the old one spoil the new one when it goes.
    drop(store);
    assert_eq!(other.append(&run(), 1, one()).await, Ok(2));
    drop(other);
    let fresh = SqliteStore::open(&path, Options::default()).unwrap();
    assert_eq!(fresh.read(&run(), 0, 10).await.unwrap(), [b"other".to_vec(), b"x".to_vec()]);
}

#[tokio::test]
async fn a_file_that_comes_back_is_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path, Options::default()).unwrap();
    assert_eq!(store.append(&run(), 0, one()).await, Ok(1));
    let away = folder.path().join("away");
    std::fs::rename(&path, &away).unwrap();
    refuses(&store, &path).await;
    std::fs::rename(&away, &path).unwrap();
    assert_eq!(store.append(&run(), 1, one()).await, Ok(2));
    drop(store);
    let fresh = SqliteStore::open(&path, Options::default()).unwrap();
    assert_eq!(fresh.state(&run()).await.unwrap().unwrap().len, 2);
}
