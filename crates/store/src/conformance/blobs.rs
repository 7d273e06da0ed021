//! Content-addressed bytes.

use probity_core::Digest;
use probity_record::blob_digest;

use crate::BlobError;
use crate::limits::MAX_BLOB_BYTES;

use super::{Provider, records, run};

/// Bytes of every value and of several sizes come back as they were.
pub async fn a_blob_comes_back_by_its_digest(store: &impl Provider) {
    let every_byte: Vec<u8> = (0..=255).collect();
    for bytes in [Vec::new(), b"one".to_vec(), every_byte, vec![7; 1 << 20]] {
        let digest = store.put(bytes.clone()).await.unwrap();
        assert_eq!(digest, blob_digest(&bytes));
        assert_eq!(store.get(&digest, 1 << 20).await, Ok(Some(bytes)));
    }
    assert_eq!(store.get(&Digest::from_bytes([9; 32]), 100).await, Ok(None));
}

/// Putting again changes nothing, alone, in a batch, and from many tasks at once.
pub async fn putting_a_blob_twice_is_putting_it_once(store: &impl Provider) {
    let bytes = b"again".to_vec();
    let digest = store.put(bytes.clone()).await.unwrap();
    assert_eq!(store.put(bytes.clone()).await, Ok(digest));
    for n in 0..2 {
        let mut batch = records(&["x"]);
        batch.add_blob(bytes.clone());
        batch.add_blob(bytes.clone());
        store.append(&run("twice"), n, batch).await.unwrap();
    }
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let store = store.clone();
        tasks.spawn(async move { store.put(b"race".to_vec()).await.unwrap() });
    }
    let names = tasks.join_all().await;
    assert!(names.iter().all(|name| *name == blob_digest(b"race")));
    assert_eq!(store.get(&digest, 5).await, Ok(Some(bytes)));
}

/// A stored batch has its blobs; a refused one leaves none behind.
pub async fn blobs_come_with_the_batch_that_names_them(store: &impl Provider) {
    let id = run("with-blobs");
    let mut batch = records(&["a"]);
    let kept = batch.add_blob(b"kept".to_vec());
    store.append(&id, 0, batch).await.unwrap();
    assert_eq!(store.get(&kept, 10).await, Ok(Some(b"kept".to_vec())));

    let mut batch = records(&["b"]);
    let lost = batch.add_blob(b"lost".to_vec());
    store.append(&id, 0, batch).await.unwrap_err();
    assert_eq!(store.get(&lost, 10).await, Ok(None));
}

/// The reader's limit and the store's.
pub async fn blobs_have_limits(store: &impl Provider) {
    let digest = store.put(b"12345".to_vec()).await.unwrap();
    assert!(store.get(&digest, 5).await.unwrap().is_some());
    let refused = store.get(&digest, 4).await;
    assert_eq!(refused, Err(BlobError::TooLarge { bytes: 5, max_bytes: 4 }));

    let largest = store.put(vec![0; MAX_BLOB_BYTES]).await.unwrap();
    let got = store.get(&largest, MAX_BLOB_BYTES as u64).await.unwrap();
    assert_eq!(got.map(|bytes| bytes.len()), Some(MAX_BLOB_BYTES));
    let refused = store.put(vec![0; MAX_BLOB_BYTES + 1]).await;
    assert!(matches!(refused, Err(BlobError::TooLarge { .. })), "{refused:?}");
}
