//! The file itself: made, kept, opened again.

use std::path::Path;

use probity_core::RunId;
use probity_store::{Batch, Blobs, LogState, RunLog, read_run};
use probity_store_sqlite::{Durability, Options, SqliteStore};

fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, Options::default()).unwrap()
}

fn run(name: &str) -> RunId {
    name.parse().unwrap()
}

#[tokio::test]
async fn what_was_acknowledged_is_there_after_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    for durability in [Durability::Full, Durability::Normal] {
        let options = Options { durability, ..Options::default() };
        let run = run(durability.as_str());
        let blob = {
            let store = SqliteStore::open(&path, options).unwrap();
            assert_eq!(store.durability(), durability);
            let mut batch = Batch::of(vec![b"a".to_vec(), b"b".to_vec()]);
            let blob = batch.add_blob(b"content".to_vec());
            store.append(&run, 0, batch).await.unwrap();
            let sealed = Batch { seal: true, ..Batch::of(vec![b"c".to_vec()]) };
            store.append(&run, 2, sealed).await.unwrap();
            blob
        };
        let store = open(&path);
        assert_eq!(store.state(&run).await, Ok(Some(LogState { len: 3, sealed: true })));
        assert_eq!(read_run(&store, &run).await.unwrap(), [b"a", b"b", b"c"]);
        assert_eq!(store.get(&blob, 100).await, Ok(Some(b"content".to_vec())));
    }
}

#[tokio::test]
async fn the_last_clone_to_go_finishes_what_was_asked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path);
    let clone = store.clone();
    drop(store);
    clone.append(&run("r"), 0, Batch::of(vec![b"a".to_vec()])).await.unwrap();
    assert_eq!(clone.read(&run("r"), 0, 1).await.unwrap().len(), 1);
    // Asked for and not waited for: it is stored or not, but the file is closed in order either
    // way.
    let asked = clone.put(b"late".to_vec());
    drop(asked);
    drop(clone);
    assert!(!path.with_extension("db-wal").exists(), "the write-ahead log is merged on close");
    assert_eq!(open(&path).state(&run("r")).await.unwrap().unwrap().len, 1);
}

#[cfg(unix)]
#[test]
fn folders_and_files_are_for_their_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("some/new/folder/store.db");
    let _store = open(&path);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder.path().join("some/new")), 0o700);
    for name in ["store.db", "store.db-wal", "store.db-shm"] {
        assert_eq!(mode(&path.with_file_name(name)), 0o600, "{name}");
    }
}

#[cfg(unix)]
#[test]
fn the_mode_of_a_file_that_is_there_is_kept() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    std::fs::write(&path, b"").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let _store = open(&path);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
}
