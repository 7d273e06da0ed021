//! Files of older and newer schemas.

use std::path::Path;

use probity_core::RunId;
use probity_store::{
    AppendError, Ask, Batch, Blobs, Enqueued, FaultKind, Job, LogState, Pool, Queue, QueueError,
    RunLog, read_run,
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

/// What the second schema added, with a blob and a job, and another run that is sealed.
const SECOND: &str = "
    CREATE TABLE job (
        run TEXT NOT NULL PRIMARY KEY,
        pool TEXT NOT NULL,
        state INTEGER NOT NULL,
        place INTEGER NOT NULL,
        lease INTEGER NOT NULL,
        epoch INTEGER NOT NULL,
        deliveries INTEGER NOT NULL,
        at_ms INTEGER NOT NULL,
        span_ms INTEGER NOT NULL,
        code TEXT,
        message TEXT
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX job_ready ON job (pool, place) WHERE state = 0;
    CREATE INDEX job_time ON job (at_ms) WHERE state IN (1, 2);
    CREATE INDEX job_parked ON job (run) WHERE state = 3;
    CREATE INDEX job_dead ON job (run) WHERE state = 4;
    CREATE TABLE ticket (
        next INTEGER NOT NULL
    ) STRICT;
    INSERT INTO ticket VALUES (2);
    UPDATE schema SET version = 2, readable_from = 1;
    INSERT INTO job VALUES ('old', 'default', 0, 1, 0, 3, 0, 0, 0, NULL, NULL);
    INSERT INTO run VALUES (2, 'over', 1, 1, 1700000000001);
    INSERT INTO record VALUES (2, 0, CAST('c' AS BLOB));
";

fn first(path: &Path) {
    Connection::open(path).unwrap().execute_batch(FIRST).unwrap();
}

/// With a blob as the builds of that schema kept it.
fn second(path: &Path, blob: &[u8]) -> probity_core::Digest {
    first(path);
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(SECOND).unwrap();
    let digest = probity_record::blob_digest(blob);
    let insert = "INSERT INTO blob (digest, bytes) VALUES (?1, ?2)";
    connection.execute(insert, (digest.as_bytes().as_slice(), blob)).unwrap();
    digest
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
        // Builds before this schema would not see what this one writes.
        assert_eq!(schema(&path), (3, 3));
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

#[tokio::test]
async fn a_file_of_the_second_schema_keeps_what_it_has_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let digest = second(&path, b"content");
    let over: RunId = "over".parse().unwrap();
    let mut batch = Batch::of(vec![b"c".to_vec(), b"d".to_vec()]);
    // One that is there already and one that is not.
    assert_eq!(batch.add_blob(b"content".to_vec()), digest);
    let other = batch.add_blob(b"other".to_vec());
    {
        let store = open(&path);
        assert_eq!(schema(&path), (3, 3));
        assert_eq!(store.append(&old(), 2, batch).await, Ok(4));
        let refused = store.append(&over, 1, Batch::of(vec![b"d".to_vec()])).await;
        assert_eq!(refused, Err(AppendError::Sealed { len: 1 }));
        let refused = store.append(&old(), 2, Batch::of(vec![b"e".to_vec()])).await;
        assert_eq!(refused, Err(AppendError::Conflict { expected: 2, actual: 4 }));
    }
    let store = open(&path);
    assert_eq!(read_run(&store, &old()).await.unwrap(), [b"a", b"b", b"c", b"d"]);
    assert_eq!(store.read(&old(), 1, 2).await.unwrap(), [b"b", b"c"]);
    assert_eq!(store.read(&old(), 3, 2).await.unwrap(), [b"d"]);
    assert_eq!(store.get(&digest, 100).await, Ok(Some(b"content".to_vec())));
    assert_eq!(store.get(&other, 100).await, Ok(Some(b"other".to_vec())));
    let kept: i64 = Connection::open(&path)
        .unwrap()
        .query_row(
            "SELECT (SELECT count(*) FROM blob) + (SELECT count(*) FROM place_0)",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(kept, 2, "no blob is kept twice");
    let list = store.list(None, 10).await.unwrap();
    let list: Vec<_> = list.iter().map(|run| (run.run.as_str(), run.state)).collect();
    let state = |len, sealed| LogState { len, sealed };
    assert_eq!(list, [("over", state(1, true)), ("old", state(4, false))]);
    assert_eq!(store.lease(&ask()).await.unwrap().remove(0).epoch, 4);
}

#[tokio::test]
async fn a_process_of_an_older_build_that_has_the_file_open_writes_no_more_after_the_upgrade() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    second(&path, b"content");
    let older = Connection::open(&path).unwrap();
    let find = "SELECT number, len, sealed FROM run WHERE id = ?1";
    older.prepare_cached(find).unwrap().exists(["old"]).unwrap();
    assert_eq!(open(&path).append(&old(), 2, Batch::of(vec![b"c".to_vec()])).await, Ok(3));
    // What an append of those builds begins with.
    older.execute_batch("BEGIN IMMEDIATE").unwrap();
    let found = older.prepare_cached(find).and_then(|mut query| query.exists(["old"]));
    assert!(found.is_err(), "{found:?}");
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
    second(&folder.path().join("less-old.db"), b"content");
    assert_eq!(tables("old.db"), tables("new.db"));
    assert_eq!(tables("less-old.db"), tables("new.db"));
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
        assert_eq!(schema(&path), (3, 3));
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
    edit("UPDATE schema SET version = 4");
    let store = open(&path);
    assert!(store.standing(&old()).await.unwrap().is_some());
    for refused in [store.enqueue(job()).await.map(drop), store.lease(&ask()).await.map(drop)] {
        let Err(QueueError::Unavailable(fault)) = refused else { panic!("{refused:?}") };
        assert_eq!(fault.kind, FaultKind::Newer);
    }
    drop(store);
    edit("UPDATE schema SET readable_from = 4");
    let fault = SqliteStore::open(&path, Options::default()).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Newer);
}
