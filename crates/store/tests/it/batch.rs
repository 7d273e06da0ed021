use probity_store::limits::{MAX_BATCH_BYTES, MAX_BLOB_BYTES};
use probity_store::{Batch, BatchError};

#[test]
fn a_batch_is_bounded_as_a_whole() {
    let mut batch = Batch::of(vec![b"r".to_vec()]);
    batch.add_blob(vec![1; MAX_BLOB_BYTES]);
    batch.add_blob(vec![2; MAX_BATCH_BYTES - MAX_BLOB_BYTES - 1]);
    assert_eq!(batch.bytes(), MAX_BATCH_BYTES);
    assert_eq!(batch.check(), Ok(()));
    batch.records.push(b"r".to_vec());
    assert_eq!(batch.check(), Err(BatchError::TooLarge { bytes: MAX_BATCH_BYTES + 1 }));
}

#[test]
fn a_blob_is_bounded_and_goes_by_its_own_name() {
    let mut batch = Batch::of(vec![b"r".to_vec()]);
    let digest = batch.add_blob(vec![0; MAX_BLOB_BYTES + 1]);
    let refused = BatchError::BlobTooLarge { digest, bytes: MAX_BLOB_BYTES + 1 };
    assert_eq!(batch.check(), Err(refused));
    batch.blobs = vec![(digest, b"something else".to_vec())];
    assert!(matches!(batch.check(), Err(BatchError::BlobDigest { named, .. }) if named == digest));
}
