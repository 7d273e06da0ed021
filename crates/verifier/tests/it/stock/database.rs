//! A database opened for whoever asks their own questions.

use std::time::{Duration, Instant};

use probity_verifier::stock::ReadOnlyDatabase;
use rusqlite::{Connection, ErrorCode};

use super::bed::{Bed, PATIENCE};

const ENDLESS: &str =
    "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c";

fn bed() -> Bed {
    let bed = Bed::new();
    let db = Connection::open(bed.path("a.db")).unwrap();
    db.execute_batch("CREATE TABLE t(n); INSERT INTO t VALUES (7);").unwrap();
    drop(db);
    bed
}

fn number(db: &ReadOnlyDatabase, query: &str) -> Result<i64, rusqlite::Error> {
    db.connection().query_row(query, [], |row| row.get(0))
}

#[test]
fn it_answers_and_is_not_written_to() {
    let bed = bed();
    let before = std::fs::read(bed.path("a.db")).unwrap();
    let db = ReadOnlyDatabase::open(&bed.path("a.db"), None).unwrap();
    assert_eq!(number(&db, "SELECT n FROM t").unwrap(), 7);
    for statement in ["INSERT INTO t VALUES (1)", "DROP TABLE t", "ATTACH ':memory:' AS other"] {
        assert!(db.connection().execute_batch(statement).is_err(), "{statement}");
    }
    assert!(number(&db, "SELECT length(zeroblob(16777217))").is_err());
    assert!(!db.close());
    assert_eq!(std::fs::read(bed.path("a.db")).unwrap(), before);
}

#[test]
fn a_link_is_not_followed_and_nothing_is_created() {
    let bed = bed();
    bed.link("link.db", "a.db");
    for path in ["link.db", "gone.db"] {
        assert!(ReadOnlyDatabase::open(&bed.path(path), None).is_err(), "{path}");
    }
    assert!(!bed.path("gone.db").exists());
}

#[test]
fn the_deadline_interrupts_and_is_told() {
    let bed = bed();
    let started = Instant::now();
    let deadline = started.checked_add(Duration::from_millis(200));
    let db = ReadOnlyDatabase::open(&bed.path("a.db"), deadline).unwrap();
    let error = number(&db, ENDLESS).unwrap_err();
    assert_eq!(error.sqlite_error_code(), Some(ErrorCode::OperationInterrupted));
    assert!(db.close());
    assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
}

#[test]
fn one_that_is_dropped_does_not_wait_for_its_deadline() {
    let bed = bed();
    let started = Instant::now();
    let deadline = started.checked_add(Duration::from_secs(3600));
    drop(ReadOnlyDatabase::open(&bed.path("a.db"), deadline).unwrap());
    assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
}
