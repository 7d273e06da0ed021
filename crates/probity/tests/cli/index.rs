//! `probity log index`, and the list that reads it.

use rusqlite::Connection;

use crate::fleet::{submit, work_off};
use crate::world::{HONEST, LIAR, World};

fn rows(world: &World, name: &str) -> Vec<String> {
    let database = Connection::open(world.beside(name)).unwrap();
    let mut all = Vec::new();
    for select in [
        "select json_array(id, parent, pool, task, request, stage, outcome, code, attempts,
         interruptions, epoch, worker, opened_at_ms, ended_at_ms, len, sealed) from run order by id",
        "select json_array(run, epoch, turn, judgement, code, counted, at_ms) from verdict
         order by run, epoch, turn",
    ] {
        let mut select = database.prepare(select).unwrap();
        let found = select.query_map([], |row| row.get::<_, String>(0)).unwrap();
        all.extend(found.map(|row| row.unwrap()));
    }
    all
}

#[test]
fn an_index_that_grew_is_the_one_that_was_rebuilt() {
    let world = World::new();
    let steps = world.beside("steps.db").display().to_string();
    let fill = |more: &[&str]| {
        let ran = world.probity(["log", "index", &steps, "--json"].iter().chain(more));
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.json()
    };
    world.gate(&LIAR, &["--id", "liar", "--max-retries", "1"]);
    assert_eq!(fill(&[])["new"], 1);
    submit(&world, "queued", &["--pool", "gpu"], &HONEST);
    assert_eq!(fill(&[]), serde_json::json!({"read": 1, "new": 1, "open": 1}));
    assert_eq!(work_off(&world, &["--pool", "gpu", "--name", "ada"]).code, 0);
    assert_eq!(fill(&[]), serde_json::json!({"read": 1, "new": 0, "open": 0}));
    assert_eq!(fill(&[]), serde_json::json!({"read": 0, "new": 0, "open": 0}));
    let grown = rows(&world, "steps.db");
    assert_eq!(grown.len(), 2 + 3, "two runs, three verdicts: {grown:?}");
    assert_eq!(fill(&["--rebuild"])["read"], 2);
    assert_eq!(rows(&world, "steps.db"), grown);

    let list = |more: &[&str]| {
        let ran = world.probity(["log", "list", "--index", &steps, "--json"].iter().chain(more));
        assert_eq!(ran.code, 0, "{ran:?}");
        let runs = ran.json();
        let runs = runs.as_array().unwrap();
        runs.iter().map(|run| run["run_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(list(&[]), ["queued", "liar"]);
    assert_eq!(list(&["--limit", "1"]), ["queued"]);
    assert_eq!(list(&["--outcome", "verified"]), ["queued"]);
    assert_eq!(list(&["--code", "file_missing"]), ["liar"]);
    assert_eq!(list(&["--since", "1h"]), ["queued", "liar"]);
    let text = world.probity(["log", "list", "--index", &steps]);
    assert_eq!(
        world.redact(&text.stdout).lines().next(),
        Some("queued  TIME  verified         attempts 1  [ok]"),
        "{text:?}"
    );
    let queued = grown.iter().find(|row| row.contains("\"queued\"")).unwrap();
    for held in ["\"gpu\"", "\"ada\"", "\"sealed\""] {
        assert!(queued.contains(held), "{held}: {queued}");
    }
    assert!(!queued.contains("write hello"), "an index holds no content");
}

#[test]
fn an_index_of_something_else_is_refused() {
    let world = World::new();
    let index = world.beside("index.db").display().to_string();
    let missing = world.probity(["log", "list", "--index", &index, "--json"]);
    assert_eq!((missing.code, missing.error_code()), (64, "index_missing".to_owned()));
    world.gate(&HONEST, &[]);
    assert_eq!(world.probity(["log", "index", &index]).code, 0);
    let other = format!("sqlite:{}", world.beside("other.db").display());
    world.gate(&HONEST, &["--store", &other]);
    let ran = world.probity(["log", "index", &index, "--store", &other, "--json"]);
    assert_eq!((ran.code, ran.error_code()), (64, "index_other_store".to_owned()));
    let store = world.beside("other.db").display().to_string();
    let ran = world.probity(["log", "index", &store, "--json"]);
    assert_eq!((ran.code, ran.error_code()), (64, "index_foreign".to_owned()));
    for args in [&["--outcome", "verified"][..], &["--code", "x"], &["--since", "1h"]] {
        assert_eq!(world.probity(["log", "list"].iter().chain(args)).code, 64, "{args:?}");
    }
    let ran = world.probity(["log", "list", "--index", &index, "--outcome", "splendid"]);
    assert_eq!(ran.code, 64);
}

/// One run whose bytes are gone keeps nobody from the others.
#[test]
fn a_run_that_the_store_has_lost_is_damaged_and_the_rest_is_there() {
    let world = World::new();
    world.gate(&LIAR, &["--id", "liar", "--max-retries", "0"]);
    let _ = world.gate(&HONEST, &["--id", "honest"]);
    let store = Connection::open(world.beside("state/probity/probity.db")).unwrap();
    let lose = "UPDATE part SET pack = 999999
                WHERE run = (SELECT number FROM log WHERE id = 'honest')";
    assert!(store.execute(lose, []).unwrap() > 0);
    let index = world.beside("lost.db").display().to_string();
    let ran = world.probity(["log", "index", &index, "--json"]);
    assert_eq!((ran.code, ran.json()["new"].as_u64()), (0, Some(2)), "{ran:?}");
    let rows = rows(&world, "lost.db");
    let has = |run: &str, words: &[&str]| {
        rows.iter().any(|row| row.contains(run) && words.iter().all(|word| row.contains(word)))
    };
    assert!(has("liar", &["sealed", "exhausted"]), "{rows:?}");
    assert!(has("honest", &["damaged", "log_damaged"]), "{rows:?}");
}
