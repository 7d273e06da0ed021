//! Who opens a file for one answer: what is written is there for the next one, merged or not.

use std::path::Path;

use probity_core::RunId;
use probity_store::{Batch, Blobs, RunLog, read_run};
use probity_store_sqlite::{Options, SqliteStore, Stay};

fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, Options { stay: Stay::Brief, ..Options::default() }).unwrap()
}

fn run() -> RunId {
    "r".parse().unwrap()
}

#[tokio::test]
async fn what_is_left_beside_the_file_is_there_for_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let log = path.with_extension("db-wal");
    for len in 0..3 {
        let store = open(&path);
        assert_eq!(store.append(&run(), len, Batch::of(vec![b"a".to_vec()])).await, Ok(len + 1));
        drop(store);
        assert!(log.exists(), "the write-ahead log is left");
    }
    // Who stays longer merges it, and so may the file be copied.
    drop(SqliteStore::open(&path, Options::default()).unwrap());
    assert!(!log.exists());
    let copy = folder.path().join("copy.db");
    std::fs::copy(&path, &copy).unwrap();
    assert_eq!(read_run(&open(&copy), &run()).await.unwrap().len(), 3);
}

#[tokio::test]
async fn what_would_take_long_to_read_is_merged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let log = path.with_extension("db-wal");
    let blob = |byte: u8| vec![byte; 400 << 10];
    for byte in 0..2 {
        open(&path).put(blob(byte)).await.unwrap();
        assert!(log.exists(), "{byte}");
    }
    let last = open(&path);
    let digest = last.put(blob(2)).await.unwrap();
    drop(last);
    assert!(!log.exists());
    assert_eq!(open(&path).get(&digest, 1 << 20).await, Ok(Some(blob(2))));
}

/// Some come while others go, and each finds what all before it have written.
#[test]
fn many_come_and_go_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let visit = |name: String| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let run: RunId = name.parse().unwrap();
        for len in 0..10 {
            let batch = Batch::of(vec![name.clone().into_bytes()]);
            let store = open(&path);
            assert_eq!(runtime.block_on(store.append(&run, len, batch)), Ok(len + 1));
        }
    };
    std::thread::scope(|scope| {
        let visits = (0..4).map(|n| scope.spawn(move || visit(format!("r-{n}"))));
        let visits: Vec<_> = visits.collect();
        visits.into_iter().for_each(|visit| visit.join().unwrap());
    });
    let store = open(&path);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for n in 0..4 {
        let run: RunId = format!("r-{n}").parse().unwrap();
        assert_eq!(runtime.block_on(store.state(&run)).unwrap().unwrap().len, 10);
    }
}
