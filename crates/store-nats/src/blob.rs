//! Blobs: one message, or pieces and a list of them.

use async_nats::HeaderMap;
use bytes::Bytes;
use probity_core::Digest;
use probity_record::blob_digest;
use probity_store::limits::MAX_BLOB_BYTES;
use probity_store::{BlobError, FaultKind, StoreFault};
use tokio::time::Instant;

use crate::link::Failure;
use crate::space::Part;
use crate::stored::{self, Stored};
use crate::{NatsStore, bounded};

/// The largest piece, where the server takes messages of that size.
const MAX_CHUNK_BYTES: usize = 512 * 1024;
/// The smallest piece, so that no list of pieces is long.
const MIN_CHUNK_BYTES: usize = 1024;
/// What is hashed at once; more would hold up everything else on this thread.
const HASH_AT_ONCE_BYTES: usize = 1024 * 1024;
/// What headers of a message may need of its size.
const HEADROOM_BYTES: usize = 4096;
/// Pieces, or large blobs of a batch, that are on their way at a time.
const AT_ONCE: usize = 4;
/// Blobs of a batch that are on their way at a time, where they are small. Those that reach the leader
/// together are replicated together: eight of them cost it little more than one.
const SMALL_AT_ONCE: usize = 32;
/// The bytes of blobs that are small together.
const MAX_SMALL_BYTES: usize = AT_ONCE * MAX_CHUNK_BYTES;

/// Header of a blob in pieces: its length.
const BYTES: &str = "Probity-Bytes";
/// Header of a blob in pieces: the length of each but the last.
const CHUNK: &str = "Probity-Chunk";

impl NatsStore {
    pub(crate) async fn put_blob(&self, bytes: Vec<u8>) -> Result<Digest, BlobError> {
        if bytes.len() > MAX_BLOB_BYTES {
            let (bytes, max_bytes) = (bytes.len() as u64, MAX_BLOB_BYTES as u64);
            return Err(BlobError::TooLarge { bytes, max_bytes });
        }
        let bytes = Bytes::from(bytes);
        let digest = digest_of(bytes.clone()).await;
        self.store_blob(digest, bytes, self.shared.link.end()).await?;
        Ok(digest)
    }

    pub(crate) async fn put_blobs(
        &self,
        mut blobs: Vec<(Digest, Vec<u8>)>,
        end: Instant,
    ) -> Result<(), StoreFault> {
        blobs.sort_by_key(|(digest, _)| *digest);
        blobs.dedup_by_key(|(digest, _)| *digest);
        let total: usize = blobs.iter().map(|(_, bytes)| bytes.len()).sum();
        let at_once = if total <= MAX_SMALL_BYTES { SMALL_AT_ONCE } else { AT_ONCE };
        let put = |(digest, bytes): (Digest, Vec<u8>)| {
            let store = self.clone();
            async move { store.store_blob(digest, bytes.into(), end).await }
        };
        bounded::all(blobs, at_once, put).await.map(drop)
    }

    /// Keeps bytes under the digest that they have.
    pub(crate) async fn store_blob(
        &self,
        digest: Digest,
        bytes: Bytes,
        end: Instant,
    ) -> Result<(), StoreFault> {
        let connection = self.shared.link.connection();
        if self.shared.kept.has(&connection, &digest) {
            return Ok(());
        }
        let chunk = self.chunk_bytes();
        let mut headers = HeaderMap::new();
        let total = bytes.len();
        let mut body = bytes.clone();
        if total > chunk {
            headers.insert(BYTES, total.to_string());
            headers.insert(CHUNK, chunk.to_string());
            body = Bytes::new();
            let pieces = (0..total.div_ceil(chunk)).map(|index| {
                let piece = bytes.slice(index * chunk..total.min((index + 1) * chunk));
                (self.shared.space.chunk(&digest, chunk, index), piece)
            });
            let put = |(subject, piece): (String, Bytes)| {
                let store = self.clone();
                async move {
                    let headers = HeaderMap::new();
                    store.publish_first(&subject, &subject, headers, piece, end).await
                }
            };
            let pieces: Vec<(String, Bytes)> = pieces.collect();
            bounded::all(pieces, AT_ONCE, put).await.map_err(|failure| failure.fault())?;
        }
        let subject = self.shared.space.blob(&digest);
        let put = self.publish_first(&subject, &subject, headers, body, end).await;
        put.map_err(|failure| failure.fault())?;
        self.shared.kept.learn(&connection, digest, &bytes);
        Ok(())
    }

    pub(crate) async fn get_blob(
        &self,
        digest: &Digest,
        max_bytes: u64,
    ) -> Result<Option<Vec<u8>>, BlobError> {
        let too_large = |bytes: u64| BlobError::TooLarge { bytes, max_bytes };
        let connection = self.shared.link.connection();
        if let Some(bytes) = self.shared.kept.bytes(&connection, digest) {
            let is_fit = bytes.len() as u64 <= max_bytes;
            return if is_fit {
                Ok(Some(bytes.into()))
            } else {
                Err(too_large(bytes.len() as u64))
            };
        }
        let end = self.shared.link.end();
        let subject = self.shared.space.blob(digest);
        let found = self.blob_message(&subject, end).await.map_err(|failure| failure.fault())?;
        let Some(message) = found else { return Ok(None) };
        let total = message.headers.number(BYTES);
        let bytes = total.unwrap_or(message.body.len() as u64);
        if bytes > max_bytes {
            return Err(too_large(bytes));
        }
        let whole = match total {
            None => message.body,
            Some(total) => self.pieces(digest, &message, total, end).await?.into(),
        };
        let actual = digest_of(whole.clone()).await;
        if actual != *digest {
            return Err(BlobError::Corrupt { digest: *digest, actual });
        }
        self.shared.kept.learn(&connection, *digest, &whole);
        Ok(Some(whole.into()))
    }

    async fn pieces(
        &self,
        digest: &Digest,
        message: &Stored,
        total: u64,
        end: Instant,
    ) -> Result<Vec<u8>, StoreFault> {
        let corrupt =
            |why: &str| StoreFault::new(FaultKind::Corrupt, format!("blob {digest}: {why}"));
        let total = usize::try_from(total).unwrap_or(usize::MAX);
        let chunk = message.headers.number(CHUNK).and_then(|it| usize::try_from(it).ok());
        let chunk = chunk.filter(|chunk| *chunk >= MIN_CHUNK_BYTES && total <= 2 * MAX_BLOB_BYTES);
        let chunk = chunk.ok_or_else(|| corrupt("its list of pieces cannot be read"))?;
        let names =
            (0..total.div_ceil(chunk)).map(|index| self.shared.space.chunk(digest, chunk, index));
        let names: Vec<String> = names.collect();
        let get = |name: String| {
            let store = self.clone();
            async move { store.blob_message(&name, end).await }
        };
        let pieces = bounded::all(names, AT_ONCE, get).await.map_err(|it| it.fault())?;
        let mut whole = Vec::with_capacity(total);
        for piece in pieces {
            let piece = piece.ok_or_else(|| corrupt("a piece of it is gone"))?;
            whole.extend_from_slice(&piece.body);
        }
        Ok(whole)
    }

    /// The message of a subject that never has another one: any replica may give it, and the leader
    /// decides that there is none.
    async fn blob_message(&self, subject: &str, end: Instant) -> Result<Option<Stored>, Failure> {
        let link = &self.shared.link;
        let stream = self.shared.space.stream(Part::Blob);
        let patience = end.min(Instant::now() + std::time::Duration::from_secs(2));
        match stored::direct_last(link, &stream, subject, patience).await {
            Ok(Some(message)) => Ok(Some(message)),
            // A replica that does not have it, or does not answer, may be one that is behind.
            _ => stored::last(link, &stream, subject, end).await,
        }
    }

    fn chunk_bytes(&self) -> usize {
        let payload = self.shared.link.client().max_payload();
        MAX_CHUNK_BYTES.min(payload.saturating_sub(HEADROOM_BYTES)).max(MIN_CHUNK_BYTES)
    }
}

/// The name of a blob.
pub(crate) async fn digest_of(bytes: Bytes) -> Digest {
    if bytes.len() <= HASH_AT_ONCE_BYTES {
        return blob_digest(&bytes);
    }
    let same = bytes.clone();
    let aside = tokio::task::spawn_blocking(move || blob_digest(&bytes)).await;
    // The thread is gone only where the runtime is.
    aside.unwrap_or_else(|_| blob_digest(&same))
}
