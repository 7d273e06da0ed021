//! Records and small blobs in packs: what is put in comes out, whatever its size and number.

use std::path::Path;

use probity_core::RunId;
use probity_record::blob_digest;
use probity_store::{Batch, BlobError, Blobs, FaultKind, ReadError, RunLog, read_run};
use probity_store_sqlite::{Options, SqliteStore};
use rusqlite::Connection;

fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, Options::default()).unwrap()
}

fn run() -> RunId {
    "r".parse().unwrap()
}

fn count(path: &Path, table: &str) -> i64 {
    let select = format!("SELECT count(*) FROM {table}");
    Connection::open(path).unwrap().query_row(&select, [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn a_batch_of_many_large_records_fills_several_packs_and_reads_from_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path);
    let records: Vec<Vec<u8>> =
        (0..40_u8).map(|number| vec![b'a' + number % 26; 200_000]).collect();
    let mut batch = Batch::of(records.clone());
    let blobs: Vec<_> = (0..2000).map(|number| batch.add_blob(vec![b'b'; number])).collect();
    assert_eq!(store.append(&run(), 0, batch).await, Ok(40));
    assert_eq!(store.append(&run(), 40, Batch::of(vec![b"z".to_vec()])).await, Ok(41));
    assert!(count(&path, "pack") > 5);
    for from in [0, 1, 5, 6, 7, 39, 40] {
        let read = store.read(&run(), from, 3).await.unwrap();
        let wanted = records.iter().cloned().chain([b"z".to_vec()]);
        let wanted: Vec<_> = wanted.skip(usize::try_from(from).unwrap()).take(3).collect();
        assert!(read == wanted, "from {from}");
    }
    assert_eq!(read_run(&store, &run()).await.unwrap().len(), 41);
    for (len, digest) in blobs.iter().enumerate() {
        assert_eq!(store.get(digest, 4096).await, Ok(Some(vec![b'b'; len])));
    }
}

#[tokio::test]
async fn small_blobs_are_found_on_every_level_and_kept_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let options =
        Options { durability: probity_store_sqlite::Durability::Normal, ..Options::default() };
    let store = SqliteStore::open(&path, options).unwrap();
    // As many packs as move both levels, and some more.
    for number in 0..8500_u64 {
        let mut batch = Batch::of(vec![b"x".to_vec()]);
        batch.add_blob(number.to_be_bytes().to_vec());
        batch.add_blob(b"the same".to_vec());
        batch.add_blob(b"the same".to_vec());
        store.append(&run(), number, batch).await.unwrap();
    }
    for number in (0..8500_u64).step_by(83).chain([8191, 8192, 8499]) {
        let bytes = number.to_be_bytes().to_vec();
        assert_eq!(store.get(&blob_digest(&bytes), 100).await, Ok(Some(bytes)), "{number}");
    }
    let same = store.put(b"the same".to_vec()).await.unwrap();
    assert_eq!(store.get(&same, 100).await, Ok(Some(b"the same".to_vec())));
    assert_eq!(store.get(&same, 7).await, Err(BlobError::TooLarge { bytes: 8, max_bytes: 7 }));
    assert_eq!(count(&path, "blob"), 0);
    let levels = ["place_0", "place_1", "place_2"].map(|table| count(&path, table));
    assert_eq!(levels, [52, 512, 7937]);
}

#[tokio::test]
async fn a_damaged_pack_is_an_error_and_never_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = open(&path);
    let mut batch = Batch::of(vec![b"record".to_vec()]);
    let digest = batch.add_blob(b"content".to_vec());
    store.append(&run(), 0, batch).await.unwrap();
    let edit = |sql: &str| Connection::open(&path).unwrap().execute(sql, []).unwrap();
    // The bytes of the blob are the last ones.
    edit(
        "UPDATE pack SET bytes = CAST(substr(bytes, 1, length(bytes) - 7) || x'63' || substr(bytes, -6) AS BLOB)",
    );
    assert_eq!(store.get(&digest, 100).await, Ok(Some(b"content".to_vec())));
    edit("UPDATE pack SET bytes = CAST(substr(bytes, 1, length(bytes) - 7) || 'changed' AS BLOB)");
    let Err(BlobError::Corrupt { digest: named, .. }) = store.get(&digest, 100).await else {
        panic!("served")
    };
    assert_eq!(named, digest);
    for broken in ["substr(bytes, 1, length(bytes) - 1)", "bytes || x'0000'", "x''", "x'ffffffff'"]
    {
        edit(&format!("UPDATE pack SET bytes = CAST({broken} AS BLOB)"));
        let Err(ReadError::Unavailable(fault)) = store.read(&run(), 0, 10).await else {
            panic!("{broken}: served")
        };
        assert_eq!(fault.kind, FaultKind::Corrupt, "{broken}");
    }
    edit("DELETE FROM pack");
    let Err(BlobError::Unavailable(fault)) = store.get(&digest, 100).await else {
        panic!("served")
    };
    assert_eq!(fault.kind, FaultKind::Corrupt);
}
