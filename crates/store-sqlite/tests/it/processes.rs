//! Several processes on one file.

use probity_core::RunId;
use probity_store::{RunLog, read_run};
use probity_store_sqlite::{Options, SqliteStore};

use crate::child::{Other, WINS};

#[tokio::test]
async fn processes_on_one_run_store_what_they_won() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    // No file yet: the children also race to create it.
    let mut others: Vec<Other> =
        ["a", "b", "c"].map(|name| Other::start("win", &path, name)).into_iter().collect();
    for other in &mut others {
        assert_eq!(other.next().as_deref(), Some("ready"));
    }
    let mut won = Vec::new();
    for other in &mut others {
        while let Some(line) = other.next() {
            let (place, text) = line.split_once(' ').unwrap();
            won.push((place.parse::<usize>().unwrap(), text.to_owned()));
        }
        assert!(other.process.wait().unwrap().success());
    }
    won.sort();
    let store = SqliteStore::open(&path, Options::default()).unwrap();
    let run: RunId = "contended".parse().unwrap();
    let stored = read_run(&store, &run).await.unwrap();
    let stored: Vec<(usize, String)> =
        stored.into_iter().map(|record| String::from_utf8(record).unwrap()).enumerate().collect();
    assert_eq!(stored.len(), 3 * WINS);
    assert_eq!(won, stored);
}

#[tokio::test]
async fn a_follower_sees_what_another_process_appends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path, Options::default()).unwrap();
    let _other = Other::start("win", &path, "a");
    let run: RunId = "contended".parse().unwrap();
    let mut len = 0;
    while len < WINS as u64 {
        let state = store.wait_beyond(&run, len, std::time::Duration::from_secs(60)).await.unwrap();
        assert!(state.len > len, "nothing came for a minute");
        len = state.len;
    }
}
