//! `sqlite:PATH`, against real databases.

use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::bed::{Bed, PATIENCE};

fn database(bed: &Bed, path: &str, sql: &str) -> Connection {
    let db = Connection::open(bed.path(path)).unwrap();
    db.execute_batch(sql).unwrap();
    db
}

#[test]
fn values_pass_and_fail_each_in_its_own_way() {
    let mut bed = Bed::new();
    database(&bed, "old.db", "CREATE TABLE t(a); INSERT INTO t VALUES (1);");
    bed.start();
    let rows = "CREATE TABLE t(n INTEGER, r REAL, s TEXT, b BLOB, z); \
                INSERT INTO t VALUES (12, 1.5, 'abc', x'00ff', NULL), (3, 2.0, '17', x'', NULL);";
    drop(database(&bed, "a.db", rows));
    bed.write("text.db", "this is no database, and it is long enough to be looked at as one")
        .write("empty.db", "")
        .mkdir("d.db")
        .link("link.db", "old.db")
        .link("out.db", "/etc/hostname");
    bed.table(&[
        ("sqlite:a.db,query=select count(*) from t,equals=2", "pass"),
        ("sqlite:a.db,query=select count(*) from t,equals=3", "revise sqlite_value"),
        ("sqlite:a.db,query=select count(*) from t,at_least=2", "pass"),
        ("sqlite:a.db,query=select count(*) from t,at_least=2.5", "revise sqlite_value"),
        ("sqlite:a.db,query=select n from t,equals=12", "pass"),
        ("sqlite:a.db,query=select n from t,equals=12.0", "pass"),
        ("sqlite:a.db,query=select n from t,equals=true", "revise sqlite_value"),
        ("sqlite:a.db,query=select n > 5 from t,equals=true", "pass"),
        ("sqlite:a.db,query=select r from t,equals=1.5", "pass"),
        ("sqlite:a.db,query=select r from t order by n,equals=2", "pass"),
        ("sqlite:a.db,query=select s from t,equals=abc", "pass"),
        ("sqlite:a.db,query=select s from t,equals=ABC", "revise sqlite_value"),
        ("sqlite:a.db,query=select s from t order by n,equals=17", "pass"),
        ("sqlite:a.db,query=select s from t,at_least=1", "revise sqlite_value"),
        ("sqlite:a.db,query=select b from t,equals=abc", "revise sqlite_value"),
        ("sqlite:a.db,query=select z from t,equals=null", "pass"),
        ("sqlite:a.db,query=select z from t,at_least=0", "revise sqlite_value"),
        (r"sqlite:a.db,query=select s\, n from t where n = 3;,equals=17", "pass"),
        ("sqlite:a.db,query=select n from t where n > 99,equals=1", "revise sqlite_no_row"),
        ("sqlite:a.db,query=select n from missing,equals=1", "revise sqlite_no_such"),
        ("sqlite:a.db,query=select missing from t,equals=1", "revise sqlite_no_such"),
        ("sqlite:empty.db,query=select n from t,equals=1", "revise sqlite_no_such"),
        ("sqlite:gone.db,query=select 1,equals=1", "revise sqlite_missing"),
        ("sqlite:d.db,query=select 1,equals=1", "revise sqlite_kind"),
        ("sqlite:link.db,query=select a from t,equals=1", "revise sqlite_link"),
        ("sqlite:out.db,query=select 1,equals=1", "revise path_escapes"),
        ("sqlite:text.db,query=select * from t,equals=1", "revise sqlite_not_a_database"),
        ("sqlite:a.db,query=selec n from t,equals=1", "fault sqlite_query"),
        ("sqlite:a.db,query=select 1; select 2,equals=1", "fault sqlite_query"),
        ("sqlite:a.db,query=-- nothing,equals=1", "fault sqlite_query"),
        ("sqlite:a.db,query=delete from t returning n,equals=12", "fault sqlite_writes"),
        ("sqlite:a.db,query=drop table t,equals=1", "fault sqlite_writes"),
        ("sqlite:a.db,query=attach '/etc/hostname' as x,equals=1", "fault sqlite_query"),
    ]);
    let reason = bed.reason("sqlite:a.db,query=select count(*) from t,equals=3");
    assert_eq!(reason, "the query on `a.db` gives 2, expected 3");
    assert!(!bed.path("gone.db").exists());
    assert_eq!(bed.red("sqlite:old.db,query=select a from t,equals=1"), "pass");
}

#[test]
fn a_check_writes_nothing_beside_the_database() {
    let mut bed = Bed::new();
    bed.start();
    for (mode, path) in [("DELETE", "delete.db"), ("WAL", "wal.db")] {
        let sql =
            format!("PRAGMA journal_mode = {mode}; CREATE TABLE t(n); INSERT INTO t VALUES (1);");
        drop(database(&bed, path, &sql));
        let before = std::fs::read(bed.path(path)).unwrap();
        assert_eq!(bed.says(&format!("sqlite:{path},query=select n from t,equals=1")), "pass");
        assert_eq!(std::fs::read(bed.path(path)).unwrap(), before, "{mode}");
    }
    let mut names: Vec<_> = std::fs::read_dir(bed.path("."))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["delete.db", "wal.db"]);
}

#[test]
fn rows_that_are_still_in_the_log_are_seen() {
    let mut bed = Bed::new();
    bed.start();
    let sql = "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t(n); INSERT INTO t VALUES (7);";
    let open = database(&bed, "a.db", sql);
    assert_eq!(bed.says("sqlite:a.db,query=select n from t,equals=7"), "pass");
    drop(open);
}

#[test]
fn a_locked_database_is_inconclusive() {
    let mut bed = Bed::new();
    bed.start();
    let writer =
        database(&bed, "a.db", "CREATE TABLE t(n); INSERT INTO t VALUES (1); BEGIN EXCLUSIVE;");
    assert_eq!(
        bed.says("sqlite:a.db,query=select n from t,equals=1"),
        "inconclusive sqlite_locked"
    );
    writer.execute_batch("COMMIT").unwrap();
    assert_eq!(bed.says("sqlite:a.db,query=select n from t,equals=1"), "pass");
}

#[test]
fn a_query_without_end_is_interrupted() {
    let mut bed = Bed::new();
    bed.start();
    // The endless part is in the database, where a delegate can put it.
    let sql = "CREATE VIEW v AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) AS n FROM c;";
    drop(database(&bed, "a.db", sql));
    bed.timeout = Duration::from_millis(300);
    let started = Instant::now();
    assert_eq!(
        bed.says("sqlite:a.db,query=select n from v,equals=1"),
        "inconclusive sqlite_timeout"
    );
    assert!(started.elapsed() < bed.timeout + PATIENCE, "{:?}", started.elapsed());
}
