//! `invariant_check:SOURCE`, with the invariants that seed 001 names.

use std::time::Duration;

use rusqlite::Connection;

use super::bed::{Bed, brief, in_time};
use super::server::{Server, closed};

const SOLVENT: &str =
    "invariant_check:sqlite:bank.db,query=select count(*) from accounts where balance < 0,equals=0";

fn bed(timeout_ms: u64) -> Bed {
    let mut bed = Bed::new();
    bed.start();
    bed.timeout = Duration::from_millis(timeout_ms);
    bed
}

#[test]
fn no_account_is_below_zero() {
    let bed = bed(250);
    let db = Connection::open(bed.path("bank.db")).unwrap();
    db.execute_batch(
        "CREATE TABLE accounts(id TEXT, balance INTEGER); \
         INSERT INTO accounts VALUES ('a', 10), ('b', 0);",
    )
    .unwrap();
    let verdict = bed.verify(SOLVENT).unwrap();
    assert_eq!(verdict.code.as_str(), "condition_true");
    assert_eq!(brief(&Ok(verdict)), "pass");
    db.execute_batch("UPDATE accounts SET balance = balance - 5").unwrap();
    assert_eq!(bed.says(SOLVENT), "revise condition_false");
    assert_eq!(bed.reason(SOLVENT), "`sqlite:bank.db`: `the value read` must be 0, got 1");
    db.execute_batch("DROP TABLE accounts").unwrap();
    assert_eq!(bed.says(SOLVENT), "inconclusive missing_data");
}

#[test]
fn the_health_endpoint_answers_200() {
    for (answers, expected) in [
        (&[Some((200, "ok"))][..], "pass"),
        (&[Some((500, "ok"))], "revise condition_false"),
        (&[Some((503, "starting")), Some((503, "starting")), Some((200, "ok"))], "pass"),
        // Every status is an answer when a status is asked for.
        (&[Some((404, ""))], "revise condition_false"),
        (&[Some((500, "")), None], "revise condition_false"),
        (&[None], "inconclusive verify_timeout"),
    ] {
        for keys in [",status=200", ""] {
            let shown = format!("{answers:?}{keys}");
            in_time(Duration::from_millis(300), || {
                let answers: Vec<Option<(u16, &'static str)>> = answers.to_vec();
                let server = Server::start(move |before, _| answers[before.min(answers.len() - 1)]);
                let mut bed = bed(300);
                bed.allow = vec![server.address.to_string()];
                let check = format!("invariant_check:http:http://{}/health{keys}", server.address);
                assert_eq!(bed.says(&check), expected, "{shown}");
            });
        }
    }
    let mut bed = bed(200);
    let closed = closed();
    bed.allow = vec![closed.to_string()];
    let check = format!("invariant_check:http:http://{closed}/health,status=200");
    assert_eq!(bed.says(&check), "inconclusive read_error");
    bed.allow.clear();
    assert_eq!(bed.says(&check), "fault egress_denied");
}

#[test]
fn a_flag_that_is_set_with_delay_is_waited_for() {
    let server = Server::start(|before, _| {
        let body = if before < 2 { r#"{"enabled": false}"# } else { r#"{"enabled": true}"# };
        Some((200, body))
    });
    let mut bed = bed(20_000);
    bed.allow = vec![server.address.to_string()];
    let url = format!("http://{}/flags/a", server.address);
    assert_eq!(bed.says(&format!("invariant_check:{url},pointer=/enabled,equals=true")), "pass");
    assert_eq!(server.asked().len(), 3);
}

#[test]
fn each_condition_holds_or_does_not() {
    let bed = bed(120);
    bed.write("n.json", r#"{"n": 3, "s": "idle", "z": null}"#).write("word.txt", "ready: 4\n");
    bed.table(&[
        ("invariant_check:file:n.json,pointer=/n,equals=3.0", "pass"),
        ("invariant_check:file:n.json,pointer=/n,equals=true", "revise condition_false"),
        ("invariant_check:file:n.json,pointer=/z,equals=null", "pass"),
        ("invariant_check:file:n.json,pointer=/y,equals=null", "revise condition_false"),
        ("invariant_check:file:n.json,pointer=/n,at_least=3", "pass"),
        ("invariant_check:file:n.json,pointer=/n,at_least=3.5", "revise condition_false"),
        ("invariant_check:file:n.json,pointer=/n,at_least=1,at_most=3", "pass"),
        ("invariant_check:file:n.json,pointer=/n,at_least=1,at_most=2.9", "revise condition_false"),
        ("invariant_check:file:n.json,pointer=/s,at_least=0", "revise condition_false"),
        ("invariant_check:file:n.json,pointer=/s,matches=^idle$", "pass"),
        (r#"invariant_check:file:n.json,matches="s": "idle""#, "pass"),
        (r"invariant_check:file:word.txt,matches=\d,matches=^ready", "pass"),
        (r"invariant_check:file:word.txt,matches=\d,matches=^idle", "revise condition_false"),
        // The whole object is compared, nothing beside it may be there.
        (r#"invariant_check:file:n.json,equals={"n":3}"#, "revise condition_false"),
        ("invariant_check:file:gone,equals=1", "inconclusive missing_data"),
        ("invariant_check:command:true", "pass"),
        ("invariant_check:command:exit 3", "revise condition_false"),
        ("invariant_check:command:kill -9 $$", "revise condition_false"),
        ("invariant_check:command:echo 3,at_most=3", "pass"),
        // A command that gives a value must end well to give one.
        ("invariant_check:command:echo 3; exit 1,at_most=3", "inconclusive read_error"),
        ("invariant_check:command:sleep 600", "inconclusive verify_timeout"),
        ("invariant_check:command:no-such-program-here", "fault command_not_found"),
    ]);
    assert_eq!(
        bed.reason("invariant_check:command:exit 3"),
        "`command:exit 3`: it ended with exit status 3, expected exit status 0"
    );
}

#[test]
fn before_the_delegate_there_is_one_read() {
    let server = Server::start(|_, _| Some((500, "")));
    let mut bed = bed(60_000);
    bed.allow = vec![server.address.to_string()];
    let check = format!("invariant_check:http:http://{}/health,status=200", server.address);
    assert_eq!(bed.red(&check), "revise condition_false");
    assert_eq!(server.asked().len(), 1);
    let half = Duration::from_millis(500);
    assert_eq!(bed.verifier(&check).red_timeout(Duration::from_secs(60)), half);
}
