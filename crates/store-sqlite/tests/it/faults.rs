//! What an operator meets: full, busy, damaged, foreign and newer files.

use std::path::Path;
use std::time::{Duration, Instant};

use probity_core::RunId;
use probity_store::{AppendError, Batch, BlobError, Blobs, FaultKind, ReadError, RunLog};
use probity_store_sqlite::{Options, SqliteStore};
use rusqlite::Connection;

fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, Options::default()).unwrap()
}

fn run() -> RunId {
    "r".parse().unwrap()
}

fn one() -> Batch {
    Batch::of(vec![b"x".to_vec()])
}

fn unavailable(result: Result<u64, AppendError>) -> FaultKind {
    match result {
        Err(AppendError::Unavailable(fault)) => fault.kind,
        other => panic!("{other:?}"),
    }
}

fn open_fault(path: &Path) -> FaultKind {
    SqliteStore::open(path, Options::default()).unwrap_err().kind
}

#[tokio::test]
async fn a_full_disk_stores_nothing_of_the_batch_and_readers_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { max_bytes: Some(1 << 20), ..Options::default() };
    let store = SqliteStore::open(folder.path().join("store.db"), options).unwrap();
    let mut len = 0;
    let refused = loop {
        let mut batch = one();
        batch.add_blob(len.to_string().repeat(50_000).into_bytes());
        match store.append(&run(), len, batch).await {
            Ok(new_len) => len = new_len,
            refused => break refused,
        }
        assert!(len < 100, "the bound does not hold");
    };
    assert_eq!(unavailable(refused), FaultKind::Full);
    assert!(len > 3);
    assert_eq!(store.state(&run()).await.unwrap().unwrap().len, len);
    assert_eq!(store.read(&run(), 0, 1000).await.unwrap().len() as u64, len);
    let refused = store.put(vec![1; 1 << 20]).await;
    assert!(matches!(refused, Err(BlobError::Unavailable(fault)) if fault.kind == FaultKind::Full));
    // What fits is stored again.
    assert_eq!(store.append(&run(), len, one()).await, Ok(len + 1));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_device_without_room_is_a_full_disk() {
    // Where a full file system can be mounted at all, its error is the operating system's own.
    let folder = tempfile::tempdir().unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=512k", "tmpfs"])
        .arg(folder.path())
        .stderr(std::process::Stdio::null())
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        return;
    }
    let result = tokio::spawn({
        let path = folder.path().join("store.db");
        async move {
            let store = open(&path);
            assert_eq!(store.append(&run(), 0, one()).await, Ok(1));
            let mut large = one();
            large.add_blob(vec![7; 4 << 20]);
            assert_eq!(unavailable(store.append(&run(), 1, large).await), FaultKind::Full);
            assert_eq!(store.state(&run()).await.unwrap().unwrap().len, 1);
            drop(store);
            assert_eq!(open(&path).state(&run()).await.unwrap().unwrap().len, 1);
        }
    })
    .await;
    let unmounted = std::process::Command::new("umount").arg(folder.path()).status().unwrap();
    assert!(unmounted.success());
    result.unwrap();
}

#[tokio::test]
async fn a_writer_waits_for_another_process_as_long_as_it_was_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store =
        SqliteStore::open(&path, Options { busy_timeout_ms: 80, ..Options::default() }).unwrap();
    assert_eq!(store.append(&run(), 0, one()).await, Ok(1));
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let started = Instant::now();
    assert_eq!(unavailable(store.append(&run(), 1, one()).await), FaultKind::Busy);
    assert!(started.elapsed() >= Duration::from_millis(80));
    // Readers are not in anyone's way.
    assert_eq!(store.state(&run()).await.unwrap().unwrap().len, 1);
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(store.append(&run(), 1, one()).await, Ok(2));
}

#[tokio::test]
async fn a_changed_blob_is_an_error_and_never_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path);
    let digest = store.put(b"content".to_vec()).await.unwrap();
    Connection::open(&path).unwrap().execute("UPDATE blob SET bytes = x'00'", []).unwrap();
    let Err(BlobError::Corrupt { digest: named, actual }) = store.get(&digest, 100).await else {
        panic!("served")
    };
    assert_eq!((named, actual), (digest, probity_record::blob_digest(&[0])));
}

#[tokio::test]
async fn a_damaged_page_is_reported_as_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path);
    for len in 0..200 {
        let batch = Batch::of(vec![vec![b'x'; 900]]);
        store.append(&run(), len, batch).await.unwrap();
    }
    drop(store);
    let mut bytes = std::fs::read(&path).unwrap();
    let end = bytes.len();
    bytes[8192..end].fill(0xa5);
    std::fs::write(&path, bytes).unwrap();
    let fault = match SqliteStore::open(&path, Options::default()) {
        Err(fault) => fault,
        Ok(store) => match store.read(&run(), 0, 1000).await {
            Err(ReadError::Unavailable(fault)) => fault,
            other => panic!("{other:?}"),
        },
    };
    assert_eq!(fault.kind, FaultKind::Corrupt, "{fault}");
}

#[test]
fn what_is_not_a_store_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    let content = "a text of some length that is no database ".repeat(100);
    std::fs::write(&text, &content).unwrap();
    assert_eq!(open_fault(&text), FaultKind::CannotOpen);
    assert_eq!(std::fs::read_to_string(&text).unwrap(), content);

    let foreign = folder.path().join("foreign.db");
    Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE theirs (a)").unwrap();
    assert_eq!(open_fault(&foreign), FaultKind::CannotOpen);
    let tables: i64 = Connection::open(&foreign)
        .unwrap()
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .unwrap();
    assert_eq!(tables, 1);
    assert!(!foreign.with_extension("db-wal").exists());
    let mode: String = Connection::open(&foreign)
        .unwrap()
        .pragma_query_value(None, "journal_mode", |row| row.get(0))
        .unwrap();
    assert_eq!(mode, "delete");

    assert_eq!(open_fault(folder.path()), FaultKind::CannotOpen);
    assert_eq!(open_fault(&text.join("below-a-file/store.db")), FaultKind::CannotOpen);
}

#[tokio::test]
async fn a_newer_schema_is_read_if_it_says_so_and_never_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    assert_eq!(open(&path).append(&run(), 0, one()).await, Ok(1));
    let edit = |sql: &str| assert_eq!(Connection::open(&path).unwrap().execute(sql, []), Ok(1));

    edit("UPDATE schema SET version = 7");
    let store = open(&path);
    assert_eq!(store.read(&run(), 0, 10).await, Ok(vec![b"x".to_vec()]));
    assert_eq!(unavailable(store.append(&run(), 1, one()).await), FaultKind::Newer);
    assert!(matches!(store.put(Vec::new()).await, Err(BlobError::Unavailable(_))));
    drop(store);

    edit("UPDATE schema SET readable_from = 7");
    let fault = SqliteStore::open(&path, Options::default()).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Newer);
    assert!(fault.to_string().contains("schema 7"), "{fault}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_that_may_not_be_written_says_so() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    assert_eq!(open(&path).append(&run(), 0, one()).await, Ok(1));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o400)).unwrap();
    // Permissions do not bind the superuser.
    if std::fs::OpenOptions::new().write(true).open(&path).is_ok() {
        return;
    }
    let kind = match SqliteStore::open(&path, Options::default()) {
        Err(fault) => fault.kind,
        Ok(store) => unavailable(store.append(&run(), 1, one()).await),
    };
    assert_eq!(kind, FaultKind::ReadOnly);
}
