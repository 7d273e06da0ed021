//! Content-addressed bytes: what an event points at and never holds.

use probity_core::Digest;
use sha2::{Digest as _, Sha256};

/// The name of a blob: SHA-256 of its bytes, nothing added.
#[must_use]
pub fn blob_digest(bytes: &[u8]) -> Digest {
    Digest::from_bytes(Sha256::digest(bytes).into())
}
