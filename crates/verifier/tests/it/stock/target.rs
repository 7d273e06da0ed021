//! `{target.id}` and `{target.type}`: the target of the decision, where a check names it.

use std::time::Duration;

use rusqlite::Connection;
use serde_json::{Value, json};

use super::bed::Bed;
use super::server::Server;

fn decision(id: Value) -> Value {
    json!({
        "decisionType": "set_flag",
        "action": {"targetRefs": [{"type": "flag", "id": id}, {"type": "flag", "id": "other"}]},
    })
}

fn bed() -> Bed {
    let mut bed = Bed::new();
    bed.start();
    bed.timeout = Duration::from_millis(250);
    bed
}

#[test]
fn a_url_gets_it_percent_encoded() {
    let server = Server::start(|_, _| Some((200, "1")));
    let mut bed = bed();
    bed.allow = vec![server.address.to_string()];
    let check = format!(
        "read_after_write:http:http://{}/{{target.type}}s/{{target.id}}?at={{target.id}},expected=1",
        server.address
    );
    for (id, path) in [
        ("a-1._~", "/flags/a-1._~?at=a-1._~"),
        ("../admin?x=1#y", "/flags/..%2Fadmin%3Fx%3D1%23y?at=..%2Fadmin%3Fx%3D1%23y"),
        ("ä b%2F", "/flags/%C3%A4%20b%252F?at=%C3%A4%20b%252F"),
        ("{target.type}", "/flags/%7Btarget.type%7D?at=%7Btarget.type%7D"),
    ] {
        bed.decision = decision(id.into());
        assert_eq!(bed.says(&check), "pass", "{id}");
        assert_eq!(server.asked().last().map(String::as_str), Some(path));
    }
    bed.decision = decision(7.into());
    assert_eq!(bed.says(&check), "pass");
    assert_eq!(server.asked().last().map(String::as_str), Some("/flags/7?at=7"));
    // A URL reads these as steps, however they are spelled.
    for id in [".", ".."] {
        bed.decision = decision(id.into());
        assert_eq!(bed.says(&check), "fault target_unusable", "{id}");
    }
}

#[test]
fn a_path_gets_it_without_slashes() {
    let mut bed = bed();
    bed.write("flags/a b.json", "1").write("secret.json", "1");
    let check = "read_after_write:file:flags/{target.id}.json,expected=1";
    for (id, expected) in [
        ("a b", "pass"),
        ("c", "inconclusive missing_data"),
        ("../secret", "fault target_unusable"),
        ("x/a", "fault target_unusable"),
        ("..", "fault target_unusable"),
    ] {
        bed.decision = decision(id.into());
        assert_eq!(bed.says(check), expected, "{id}");
    }
}

#[test]
fn nothing_in_it_is_code_to_a_shell_wherever_it_stands() {
    let mut bed = bed();
    bed.timeout = Duration::from_secs(2);
    let nasty = r#"a'; touch made; $(touch made) `touch made` "$(touch made)" \ * #"#;
    bed.decision = decision(nasty.into());
    let lines = [
        "printf %s {target.id}",
        r#"printf %s "{target.id}""#,
        "printf %s '{target.id}'",
        r#"printf %s "$(printf %s {target.id})""#,
        "printf %s `printf %s {target.id}`",
        r"printf %s \{target.id}",
        "# it's\nprintf %s '{target.id}'",
        "cat <<END\n{target.id}\nEND",
        r#"printf %s "$PROBITY_TARGET_ID" # {target.id}"#,
    ];
    for line in lines {
        let _ = bed.says(&format!("invariant_check:command:{},matches=.", escaped(line)));
        assert!(!bed.path("made").exists(), "{line}");
    }
    for line in &lines[..3] {
        let expected = escaped(&json!(nasty).to_string());
        let check = format!("read_after_write:command:{},expected={expected}", escaped(line));
        assert_eq!(bed.says(&check), "pass", "{line}: {:?}", bed.verify(&check));
    }
}

/// As a part of an `--expect` text.
fn escaped(text: &str) -> String {
    text.replace('\\', r"\\").replace(',', r"\,")
}

#[test]
fn a_query_gets_it_as_a_parameter() {
    let mut bed = bed();
    let db = Connection::open(bed.path("a.db")).unwrap();
    db.execute_batch(
        "CREATE TABLE t(id TEXT, n INTEGER); INSERT INTO t VALUES ('a', 1), ('x'' OR 1=1', 2), ('7', 3);",
    )
    .unwrap();
    let check = |n| {
        format!("read_after_write:sqlite:a.db,query=select n from t where id = ?1,expected={n}")
    };
    for (id, n) in [(json!("a"), 1), (json!("x' OR 1=1"), 2), (json!(7), 3)] {
        bed.decision = decision(id);
        assert_eq!(bed.says(&check(n)), "pass");
    }
    bed.decision = decision("nobody".into());
    assert_eq!(bed.says(&check(1)), "inconclusive missing_data");
    assert_eq!(
        bed.says("read_after_write:sqlite:a.db,query=select ?1 + ?2,expected=1"),
        "fault sqlite_query"
    );
}

#[test]
fn without_a_decision_it_is_a_fault() {
    let mut bed = bed();
    let check = "read_after_write:file:{target.id},expected=1";
    let long = "x".repeat(1_025);
    for (decision, expected) in [
        (Value::Null, "fault no_decision"),
        (json!({}), "fault no_decision"),
        (json!({"action": null}), "fault no_decision"),
        (json!({"action": {"targetRefs": []}}), "fault no_decision"),
        (json!({"action": {"targetRefs": [{"type": "flag"}]}}), "fault no_decision"),
        (json!({"action": {"targetRefs": [{"type": "flag", "id": null}]}}), "fault no_decision"),
        (decision("".into()), "fault target_unusable"),
        (decision("a\nb".into()), "fault target_unusable"),
        (decision("a\0b".into()), "fault target_unusable"),
        (decision(long.into()), "fault target_unusable"),
    ] {
        bed.decision = decision.clone();
        assert_eq!(bed.says(check), expected, "{decision}");
        assert_eq!(bed.red(check), expected, "{decision}");
    }
}
