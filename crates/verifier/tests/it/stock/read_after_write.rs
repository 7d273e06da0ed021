//! `read_after_write:SOURCE`, against real servers, files, databases and commands.

use std::time::Duration;

use probity_core::Phase;
use rusqlite::Connection;
use serde_json::json;

use super::bed::{Bed, block_on, brief, in_time, until};
use super::server::{Server, closed};

fn bed(timeout_ms: u64) -> Bed {
    let mut bed = Bed::new();
    bed.start();
    bed.timeout = Duration::from_millis(timeout_ms);
    bed
}

/// A bed that may ask the server, and a check of its path `/flags/a`.
fn flags(timeout_ms: u64, server: &Server, keys: &str) -> (Bed, String) {
    let mut bed = bed(timeout_ms);
    bed.allow = vec![server.address.to_string()];
    let check = format!("read_after_write:http:http://{}/flags/a,{keys}", server.address);
    (bed, check)
}

#[test]
fn a_flag_that_becomes_true_on_the_third_read_passes() {
    let server = Server::start(|before, _| {
        let body =
            if before < 2 { r#"{"enabled": false}"# } else { r#"{"enabled": true, "v": 7}"# };
        Some((200, body))
    });
    let (bed, check) = flags(20_000, &server, r#"expected={"enabled":true}"#);
    let verdict = bed.verify(&check).unwrap();
    assert_eq!((brief(&Ok(verdict.clone())).as_str(), verdict.code.as_str()), ("pass", "match"));
    assert_eq!(server.asked(), ["/flags/a"; 3]);
    let seen: Vec<&str> = verdict.evidence.iter().map(|it| it.observed.as_str()).collect();
    assert_eq!(seen, ["status 200, 18 bytes, 2 of 3 reads", "status 200, 25 bytes, 1 of 3 reads"]);
    assert_ne!(verdict.evidence[0].digest, verdict.evidence[1].digest);
    let source = format!("http:http://{}/flags/a", server.address);
    assert!(verdict.evidence.iter().all(|it| it.source == source), "{:?}", verdict.evidence);
}

#[test]
fn a_flag_that_never_becomes_true_is_sent_back_when_time_is_up() {
    let server = Server::start(|_, _| Some((200, r#"{"enabled": false, "secret": "s3cr3t"}"#)));
    let (bed, check) = flags(300, &server, r#"expected={"enabled":true}"#);
    in_time(bed.timeout, || assert_eq!(bed.says(&check), "revise mismatch"));
    let verdict = bed.verify(&check).unwrap();
    assert_eq!(brief(&Ok(verdict.clone())), "revise mismatch");
    let reason =
        format!("`http:http://{}/flags/a`: `enabled` must be true, got false", server.address);
    assert_eq!(verdict.reason, reason);
    assert!(server.asked().len() > 2, "{:?}", server.asked());
    // What it found; and that the last read was cut off, where the time ended within it.
    assert!((1..=2).contains(&verdict.evidence.len()), "{:?}", verdict.evidence);
    assert!(!format!("{verdict:?}").contains("s3cr3t"));
}

#[test]
fn what_a_read_found_decides_the_result() {
    /// The last answer is given for ever; `None` is none.
    type Answers = &'static [Option<(u16, &'static str)>];
    let rows: [(Answers, &str); 12] = [
        (&[Some((200, r#"{"n": 1.0}"#))], "pass"),
        (&[Some((200, r#"{"n": true}"#))], "revise mismatch"),
        (&[Some((200, r#"{"n": "1"}"#))], "revise mismatch"),
        (&[Some((200, "{}"))], "revise mismatch"),
        (&[Some((200, "not JSON"))], "revise mismatch"),
        (&[Some((200, r#"{"n": 1, "n": 1}"#))], "revise mismatch"),
        (&[Some((404, "{}"))], "inconclusive missing_data"),
        (&[Some((500, r#"{"n": 1}"#))], "inconclusive read_error"),
        // What was read once counts, whatever comes after it.
        (&[Some((200, r#"{"n": 2}"#)), Some((503, ""))], "revise mismatch"),
        (&[Some((200, r#"{"n": 2}"#)), None], "revise mismatch"),
        (&[Some((404, "")), Some((503, ""))], "inconclusive missing_data"),
        (&[Some((503, "")), Some((404, "")), Some((200, r#"{"n": 1}"#))], "pass"),
    ];
    for (answers, expected) in rows {
        let server = Server::start(move |before, _| answers[before.min(answers.len() - 1)]);
        let (bed, check) = flags(300, &server, r#"expected={"n":1}"#);
        assert_eq!(bed.says(&check), expected, "{answers:?}");
    }
}

#[test]
fn a_host_that_hangs_is_late_and_one_that_refuses_is_an_error() {
    let server = Server::start(|_, _| None);
    let (bed, check) = flags(400, &server, "expected=1");
    in_time(bed.timeout, || assert_eq!(bed.says(&check), "inconclusive verify_timeout"));

    let mut bed = bed;
    let closed = closed();
    bed.allow = vec![closed.to_string()];
    let check = format!("read_after_write:http:http://{closed}/,expected=1");
    in_time(bed.timeout, || assert_eq!(bed.says(&check), "inconclusive read_error"));

    // Nobody is asked without leave, and nothing is waited for.
    bed.allow.clear();
    bed.timeout = Duration::from_secs(60);
    assert_eq!(bed.says(&check), "fault egress_denied");
}

#[test]
fn files_are_read_as_json_or_as_text() {
    let mut bed = bed(150);
    bed.write("a.json", r#"{"a": {"b": [1, 2], "c": null}}"#)
        .write("word.txt", "active\n")
        .write("empty.txt", "")
        .mkdir("d")
        .link("link.json", "a.json")
        .link("out.json", "/etc/hostname");
    bed.table(&[
        (r#"read_after_write:file:a.json,expected={"a":{"c":null}}"#, "pass"),
        (r#"read_after_write:file:a.json,expected={"a":{"d":null}}"#, "revise mismatch"),
        (r#"read_after_write:file:a.json,expected={"a":{"c":null}},mode=exact"#, "revise mismatch"),
        ("read_after_write:file:a.json,pointer=/a/b/1,expected=2", "pass"),
        ("read_after_write:file:a.json,pointer=/a/b/2,expected=2", "revise mismatch"),
        ("read_after_write:file:word.txt,expected=active", "pass"),
        ("read_after_write:file:word.txt,expected=Active", "revise mismatch"),
        ("read_after_write:file:word.txt,pointer=/a,expected=active", "revise mismatch"),
        ("read_after_write:file:empty.txt,expected=0", "revise mismatch"),
        ("read_after_write:file:gone.json,expected=1", "inconclusive missing_data"),
        ("read_after_write:file:d,expected=1", "revise mismatch"),
        ("read_after_write:file:out.json,expected=1", "revise mismatch"),
        // A link that the delegate made passes one file off as another.
        (r#"read_after_write:file:link.json,expected={"a":{}}"#, "revise mismatch"),
    ]);
    bed.start();
    assert_eq!(bed.says(r#"read_after_write:file:link.json,expected={"a":{"c":null}}"#), "pass");
}

#[test]
fn a_file_that_is_written_while_the_check_waits_is_seen() {
    let bed = bed(20_000);
    bed.write("flag.json", r#"{"on": false}"#);
    let path = bed.path("flag.json");
    let ctx = bed.context(Phase::After);
    let verifier = bed.verifier(r#"read_after_write:file:flag.json,expected={"on":true}"#);
    let writer = std::thread::spawn(move || std::fs::write(path, r#"{"on": true}"#).unwrap());
    assert_eq!(brief(&block_on(verifier.verify(&ctx))), "pass");
    writer.join().unwrap();
}

#[test]
fn queries_give_a_column_or_a_row() {
    let bed = bed(150);
    let sql = "CREATE TABLE t(id TEXT, n INTEGER, r REAL, s TEXT, b BLOB, z); \
               INSERT INTO t VALUES ('a', 1, 2.0, 'on', x'00ff', NULL), ('b', 7, 0.5, 'off', x'', 1);";
    let db = Connection::open(bed.path("a.db")).unwrap();
    db.execute_batch(sql).unwrap();
    drop(db);
    bed.write("text.db", "this is no database, and it is long enough to be looked at as one");
    bed.table(&[
        ("read_after_write:sqlite:a.db,query=select n from t,expected=1.0", "pass"),
        ("read_after_write:sqlite:a.db,query=select n from t,expected=true", "revise mismatch"),
        (r#"read_after_write:sqlite:a.db,query=select n from t,expected="1""#, "revise mismatch"),
        ("read_after_write:sqlite:a.db,query=select b from t,expected=00ff", "pass"),
        (
            r#"read_after_write:sqlite:a.db,query=select * from t,expected={"n":1\,"z":null}"#,
            "pass",
        ),
        (
            r#"read_after_write:sqlite:a.db,query=select * from t,expected={"n":1\,"y":null}"#,
            "revise mismatch",
        ),
        ("read_after_write:sqlite:a.db,query=select * from t,pointer=/s,expected=on", "pass"),
        (
            r#"read_after_write:sqlite:a.db,query=select n\, n from t,expected={"n":1}"#,
            "fault sqlite_query",
        ),
        (
            "read_after_write:sqlite:a.db,query=select n from t where id = 'c',expected=1",
            "inconclusive missing_data",
        ),
        (
            "read_after_write:sqlite:a.db,query=select n from u,expected=1",
            "inconclusive missing_data",
        ),
        ("read_after_write:sqlite:gone.db,query=select 1,expected=1", "inconclusive missing_data"),
        ("read_after_write:sqlite:text.db,query=select 1,expected=1", "revise mismatch"),
        ("read_after_write:sqlite:a.db,query=selec 1,expected=1", "fault sqlite_query"),
        ("read_after_write:sqlite:a.db,query=delete from t,expected=1", "fault sqlite_writes"),
        ("read_after_write:sqlite:a.db,query=select ?1,expected=1", "fault no_decision"),
    ]);
    assert!(!bed.path("gone.db").exists());
}

#[test]
fn a_locked_database_and_a_query_without_end() {
    let bed = bed(300);
    let writer = Connection::open(bed.path("a.db")).unwrap();
    writer
        .execute_batch(
            "CREATE TABLE t(n); INSERT INTO t VALUES (1); \
             CREATE VIEW v AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) \
             SELECT count(*) AS n FROM c; BEGIN EXCLUSIVE;",
        )
        .unwrap();
    let check = "read_after_write:sqlite:a.db,query=select n from t,expected=1";
    assert_eq!(bed.says(check), "inconclusive read_error");
    writer.execute_batch("COMMIT").unwrap();
    assert_eq!(bed.says(check), "pass");
    let check = "read_after_write:sqlite:a.db,query=select n from v,expected=1";
    in_time(bed.timeout, || assert_eq!(bed.says(check), "inconclusive verify_timeout"));
}

#[test]
fn commands_are_run_until_they_print_it() {
    let bed = bed(2_000);
    // Each run adds a line and prints how many there are.
    let counts = "read_after_write:command:echo x >> log; grep -c x log,expected=3";
    assert_eq!(bed.says(counts), "pass");
    assert_eq!(std::fs::read_to_string(bed.path("log")).unwrap(), "x\n".repeat(3));
    let bed = self::bed(250);
    bed.table(&[
        ("read_after_write:command:echo '{\"a\": [1]}',pointer=/a/0,expected=1", "pass"),
        ("read_after_write:command:echo off,expected=on", "revise mismatch"),
        ("read_after_write:command:echo on; exit 1,expected=on", "inconclusive read_error"),
        ("read_after_write:command:no-such-program-here,expected=on", "fault command_not_found"),
    ]);
}

#[test]
fn a_command_that_hangs_is_killed_with_all_it_started() {
    let bed = bed(400);
    let check = "read_after_write:command:sleep 600 & echo $! > pid; trap '' TERM; wait,expected=1";
    in_time(bed.timeout, || assert_eq!(bed.says(check), "inconclusive verify_timeout"));
    let pid = std::fs::read_to_string(bed.path("pid")).unwrap();
    until("the child is dead", || !std::path::Path::new("/proc").join(pid.trim()).exists());
}

#[test]
fn before_the_delegate_there_is_one_read_of_half_a_second() {
    let server = Server::start(|_, path| (path == "/flags/a").then_some((200, "0")));
    let (bed, check) = flags(60_000, &server, "expected=1");
    let verifier = bed.verifier(&check);
    let half = Duration::from_millis(500);
    assert_eq!(verifier.red_timeout(Duration::from_secs(60)), half);
    assert_eq!(verifier.red_timeout(half / 2), half / 2);
    assert_eq!(bed.red(&check), "revise mismatch");
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn a_cancelled_check_ends_at_once() {
    let server = Server::start(|_, _| None);
    let (bed, check) = flags(60_000, &server, "expected=1");
    let ctx = bed.context(Phase::After);
    let (verifier, cancel) = (bed.verifier(&check), ctx.cancel.clone());
    let verdict = block_on(async {
        tokio::join!(verifier.verify(&ctx), async {
            while server.asked().is_empty() {
                tokio::task::yield_now().await;
            }
            cancel.cancel();
        })
        .0
    });
    assert_eq!(brief(&verdict), "inconclusive cancelled");
}

#[test]
fn many_different_observations_are_kept_first_and_last() {
    let bed = bed(4_000);
    let check = "read_after_write:command:echo x >> log; grep -c x log,expected=12";
    let verdict = bed.verify(check).unwrap();
    assert_eq!(verdict.code.as_str(), "match");
    assert_eq!(verdict.evidence.len(), 8);
    let digest = |text: &str| {
        use sha2::Digest as _;
        probity_core::Digest::from_bytes(sha2::Sha256::digest(text.as_bytes()).into())
    };
    assert_eq!(verdict.evidence[0].digest, Some(digest("1\n")));
    assert_eq!(verdict.evidence[7].digest, Some(digest("12\n")));
    assert_eq!(verdict.criteria, ["expected".parse().unwrap()]);
    assert_eq!(json!(verdict.evidence[7].observed), "exit status 0, 3 bytes out, 1 of 12 reads");
}
