//! The contract of content-addressed bytes.

use async_trait::async_trait;
use probity_core::Digest;

use crate::BlobError;

/// Bytes under their SHA-256. See the crate's documentation for the contract.
#[async_trait]
pub trait Blobs: Send + Sync {
    /// Keeps the bytes and gives their name. Acknowledged means kept, as for an append. Putting the
    /// same bytes again is no error and stores nothing.
    ///
    /// # Errors
    /// [`BlobError::TooLarge`] above [`crate::limits::MAX_BLOB_BYTES`], [`BlobError::Unavailable`]
    /// if the storage failed. After an error the blob may or may not be there; putting it again is
    /// safe.
    async fn put(&self, bytes: Vec<u8>) -> Result<Digest, BlobError>;

    /// The bytes of that name; `None` if there is no such blob. Their digest is checked on every
    /// read.
    ///
    /// # Errors
    /// [`BlobError::TooLarge`] above `max_bytes`, without reading the bytes; [`BlobError::Corrupt`]
    /// if they do not hash to their name; [`BlobError::Unavailable`] if the storage failed.
    async fn get(&self, digest: &Digest, max_bytes: u64) -> Result<Option<Vec<u8>>, BlobError>;
}
