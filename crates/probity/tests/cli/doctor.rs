//! `probity doctor`: good, missing, damaged and foreign stores.

use serde_json::Value;

use crate::world::{HONEST, World};

fn finding(diagnosis: &Value, subject: &str) -> Value {
    let findings = diagnosis["findings"].as_array().unwrap();
    findings.iter().find(|it| it["subject"] == subject).cloned().unwrap_or(Value::Null)
}

#[test]
fn a_good_store_is_said_to_be_good() {
    let world = World::new();
    let before = world.probity(["doctor"]);
    assert_eq!(before.code, 0, "{before:?}");
    assert!(before.stdout.contains("ok    file  nothing was run yet"), "{before:?}");
    assert!(!world.beside("state/probity").exists(), "looking makes no store");
    world.gate(&HONEST, &[]);
    let ran = world.probity(["doctor", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let diagnosis = ran.json();
    assert_eq!(diagnosis["ok"], true);
    for subject in
        ["file", "schema", "integrity", "writable", "durability", "runs", "queue", "lease"]
    {
        assert_eq!(finding(&diagnosis, subject)["level"], "ok", "{subject}: {diagnosis}");
    }
    assert_eq!(finding(&diagnosis, "runs")["text"], "1 run");
}

#[test]
fn what_is_wrong_has_a_code_and_a_remedy() {
    let world = World::new();
    let path = |name: &str| world.beside(name);
    std::fs::write(path("text"), "no database at all; ".repeat(99)).unwrap();
    rusqlite::Connection::open(path("theirs"))
        .unwrap()
        .execute_batch("CREATE TABLE it (x)")
        .unwrap();
    let store = format!("sqlite:{}", path("damaged").display());
    world.gate(&HONEST, &["--store", &store]);
    let mut bytes = std::fs::read(path("damaged")).unwrap();
    for page in bytes.chunks_mut(4096).skip(2) {
        page[..64].fill(0xff);
    }
    std::fs::write(path("damaged"), bytes).unwrap();
    for (name, code) in [
        ("missing", "store_missing"),
        ("text", "store_cannot_open"),
        ("theirs", "store_cannot_open"),
        ("damaged", "store_corrupt"),
    ] {
        let before = std::fs::read(path(name)).ok();
        let store = format!("sqlite:{}", path(name).display());
        let ran = world.probity(["doctor", "--json", "--store", &store]);
        assert_eq!(ran.code, 1, "{name}: {ran:?}");
        let diagnosis = ran.json();
        let failed = |it: &&Value| it["level"] == "fail" && it["code"] == code;
        let found = diagnosis["findings"].as_array().unwrap().iter().find(failed);
        assert!(found.is_some(), "{name}: {diagnosis}");
        let explained = world.probity(["explain", code]);
        assert_eq!(explained.code, 0, "{code}");
        assert_eq!(std::fs::read(path(name)).ok(), before, "{name} is left as it is");
    }
}

#[test]
fn other_stores_are_looked_at_in_their_way() {
    let world = World::new();
    let memory = world.probity(["doctor", "--store", "memory", "--json"]);
    assert_eq!((memory.code, &memory.json()["findings"][0]["level"]), (0, &"warn".into()));
    // Nobody listens on the first port.
    let nobody = "nats://127.0.0.1:1/?timeout-ms=1000";
    let ran = world.probity(["doctor", "--store", nobody, "--json"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_eq!(finding(&ran.json(), "connect")["level"], "fail", "{ran:?}");
    assert_eq!(ran.json()["store"], "nats://127.0.0.1:1/PROBITY");
    for (url, code) in [
        ("nats://ada:secret@127.0.0.1:1/?timeout-ms=1000", 1),
        ("nats://127.0.0.1:1/?timeout-ms=1000&monitor=http://ada:secret@h:8222", 64),
        ("nats://127.0.0.1:1/?timeout-ms=1000&monitor=http://h:8222/?key=secret", 64),
        ("nats://ada:secret", 64),
        ("nats://ada:se/secret@127.0.0.1:1", 64),
    ] {
        let ran = world.probity(["doctor", "--store", url]);
        assert_eq!(ran.code, code, "{ran:?}");
        assert!(!format!("{ran:?}").contains("secret"), "{ran:?}");
    }
    let wrong = world.probity(["doctor", "--store", "nonsense", "--json"]);
    assert_eq!((wrong.code, wrong.error_code()), (64, "store_url".to_owned()));
}
