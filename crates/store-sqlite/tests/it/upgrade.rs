//! Files of older and newer schemas.

use std::path::Path;

use probity_core::RunId;
use probity_store::{
    Ask, Batch, Blobs, Enqueued, FaultKind, Job, Pool, Queue, QueueError, RunLog, read_run,
};
use probity_store_sqlite::{Options, SqliteStore};
use rusqlite::Connection;

/// A file as the first schema had it, with one run of two records and a blob.
const FIRST: &str = "
    PRAGMA application_id = 1347571522;
    PRAGMA journal_mode = wal;
    CREATE TABLE schema (
        version INTEGER NOT NULL,
        readable_from INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE run (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        len INTEGER NOT NULL,
        sealed INTEGER NOT NULL,
        created_at_ms INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE record (
        run INTEGER NOT NULL REFERENCES run (number),
        seq INTEGER NOT NULL,
        bytes BLOB NOT NULL,
        PRIMARY KEY (run, seq)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE blob (
        digest BLOB NOT NULL UNIQUE,
        bytes BLOB NOT NULL
    ) STRICT;
    INSERT INTO schema VALUES (1, 1);
    INSERT INTO run VALUES (1, 'old', 2, 0, 1700000000000);
    INSERT INTO record VALUES (1, 0, CAST('a' AS BLOB)), (1, 1, CAST('b' AS BLOB));
";

fn first(path: &Path) {
    Connection::open(path).unwrap().execute_batch(FIRST).unwrap();
}

fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, Options::default()).unwrap()
}

fn old() -> RunId {
    "old".parse().unwrap()
}

fn job() -> Job {
    Job::now(old(), Pool::default(), 3)
}

fn ask() -> Ask {
    let wait = std::time::Duration::from_secs(60);
    Ask { worker: "w".parse().unwrap(), pools: vec![Pool::default()], max: 1, wait }
}

fn schema(path: &Path) -> (i64, i64) {
    Connection::open(path)
        .unwrap()
        .query_row("SELECT version, readable_from FROM schema", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap()
}

#[tokio::test]
async fn a_file_of_the_first_schema_is_upgraded_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    first(&path);
    for _ in 0..2 {
        let store = open(&path);
        // Builds of the first schema read what this one writes, so the file still says 1.
        assert_eq!(schema(&path), (2, 1));
        assert_eq!(read_run(&store, &old()).await.unwrap(), [b"a", b"b"]);
        assert_eq!(store.enqueue(job()).await, Ok(Enqueued::Added));
        let lease = store.lease(&ask()).await.unwrap().remove(0);
        assert_eq!((lease.run.clone(), lease.epoch), (old(), 4));
        store.settle(&lease).await.unwrap();
    }
    let store = open(&path);
    assert_eq!(store.append(&old(), 2, Batch::of(vec![b"c".to_vec()])).await, Ok(3));
    store.put(b"blob".to_vec()).await.unwrap();
}

#[test]
fn an_upgraded_file_and_a_new_one_have_the_same_tables() {
    let folder = tempfile::tempdir().unwrap();
    let tables = |name: &str| -> Vec<(String, String)> {
        let path = folder.path().join(name);
        drop(open(&path));
        let connection = Connection::open(&path).unwrap();
        let mut query = connection
            .prepare("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
            .unwrap();
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.map(|row| row.unwrap()).collect()
    };
    first(&folder.path().join("old.db"));
    assert_eq!(tables("old.db"), tables("new.db"));
}

#[test]
fn many_that_upgrade_one_file_at_once_upgrade_it_once() {
    for _ in 0..5 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        first(&path);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| drop(open(&path)));
            }
        });
        assert_eq!(schema(&path), (2, 1));
        let tickets: i64 = Connection::open(&path)
            .unwrap()
            .query_row("SELECT count(*) FROM ticket", [], |row| row.get(0))
            .unwrap();
        assert_eq!(tickets, 1);
    }
}

#[tokio::test]
async fn a_file_without_room_for_the_upgrade_is_read_still() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    first(&path);
    let options = Options { max_bytes: Some(4096), ..Options::default() };
    let store = SqliteStore::open(&path, options).unwrap();
    assert_eq!(read_run(&store, &old()).await.unwrap(), [b"a", b"b"]);
    for refused in [
        store.enqueue(job()).await.map(drop),
        store.lease(&ask()).await.map(drop),
        store.revive(&old()).await.map(drop),
    ] {
        let Err(QueueError::Unavailable(fault)) = refused else { panic!("{refused:?}") };
        assert_eq!(fault.kind, FaultKind::Full);
    }
    drop(store);
    assert_eq!(schema(&path), (1, 1));
    assert_eq!(open(&path).enqueue(job()).await, Ok(Enqueued::Added));
}

#[tokio::test]
async fn jobs_of_a_newer_schema_are_read_if_it_says_so_and_never_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    assert_eq!(open(&path).enqueue(job()).await, Ok(Enqueued::Added));
    let edit = |sql: &str| Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    edit("UPDATE schema SET version = 3");
    let store = open(&path);
    assert!(store.standing(&old()).await.unwrap().is_some());
    for refused in [store.enqueue(job()).await.map(drop), store.lease(&ask()).await.map(drop)] {
        let Err(QueueError::Unavailable(fault)) = refused else { panic!("{refused:?}") };
        assert_eq!(fault.kind, FaultKind::Newer);
    }
    drop(store);
    edit("UPDATE schema SET readable_from = 3");
    let fault = SqliteStore::open(&path, Options::default()).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Newer);
}
