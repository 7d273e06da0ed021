//! Blobs that this process has stored or read, so that it neither sends nor asks for them again.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use probity_core::Digest;

use crate::link::Connection;

/// Blobs that are remembered at most.
const MAX_BLOBS: usize = 65_536;
/// The largest blob whose bytes are remembered too.
const MAX_BLOB_BYTES: usize = 64 * 1024;
/// Bytes that are remembered at most.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// What a majority is known to keep. Blobs are never changed or removed, so this cannot grow old; it
/// is forgotten with the connection all the same, because the next one may lead to servers that were
/// set up anew.
#[derive(Debug, Default)]
pub(crate) struct Kept(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    of: Connection,
    blobs: HashMap<Digest, Option<Bytes>>,
    bytes: usize,
}

impl Kept {
    /// Whether the servers have it.
    pub(crate) fn has(&self, connection: &Connection, digest: &Digest) -> bool {
        self.known(connection).blobs.contains_key(digest)
    }

    /// The bytes of a small one.
    pub(crate) fn bytes(&self, connection: &Connection, digest: &Digest) -> Option<Bytes> {
        self.known(connection).blobs.get(digest).cloned().flatten()
    }

    /// Remembers what was acknowledged, or read and found to hash to its name, on that connection.
    pub(crate) fn learn(&self, connection: &Connection, digest: Digest, bytes: &[u8]) {
        let mut known = self.known(connection);
        let is_small = bytes.len() <= MAX_BLOB_BYTES;
        let more = if is_small { bytes.len() } else { 0 };
        if known.blobs.len() >= MAX_BLOBS || known.bytes.saturating_add(more) > MAX_BYTES {
            known.blobs.clear();
            known.bytes = 0;
        }
        // Copied: a slice would hold all that came with it.
        let kept = is_small.then(|| Bytes::copy_from_slice(bytes));
        if known.blobs.insert(digest, kept).flatten().is_none() {
            known.bytes = known.bytes.saturating_add(more);
        }
    }

    /// The lock is held for short stretches that cannot panic.
    fn known(&self, connection: &Connection) -> MutexGuard<'_, Known> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.of != *connection {
            *known = Known { of: connection.clone(), ..Known::default() };
        }
        known
    }
}
