//! What one append stores: all of it or nothing.

use probity_core::Digest;
use probity_record::blob_digest;

use crate::limits::{MAX_BATCH_BYTES, MAX_BATCH_RECORDS, MAX_BLOB_BYTES, MAX_RECORD_BYTES};

/// Records that follow each other, and the blobs they name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// 1 to [`MAX_BATCH_RECORDS`] records, each a line without its newline.
    pub records: Vec<Vec<u8>>,
    /// Blobs under their digests. One that is stored already is left as it is.
    pub blobs: Vec<(Digest, Vec<u8>)>,
    /// Whether the last record is the seal, after which nothing may follow.
    pub seal: bool,
}

impl Batch {
    /// A batch of records alone.
    #[must_use]
    pub const fn of(records: Vec<Vec<u8>>) -> Self {
        Self { records, blobs: Vec::new(), seal: false }
    }

    /// Adds a blob under its digest, and gives the digest.
    pub fn add_blob(&mut self, bytes: Vec<u8>) -> Digest {
        let digest = blob_digest(&bytes);
        self.blobs.push((digest, bytes));
        digest
    }

    /// Checks everything that can be checked without the store. Providers call this first.
    ///
    /// # Errors
    /// [`BatchError`]: the first thing that no provider would take.
    pub fn check(&self) -> Result<(), BatchError> {
        let count = self.records.len();
        if count == 0 {
            return Err(BatchError::Empty);
        }
        if count > MAX_BATCH_RECORDS {
            return Err(BatchError::TooManyRecords { count });
        }
        for (index, record) in self.records.iter().enumerate() {
            check_record(index, record)?;
        }
        for (digest, bytes) in &self.blobs {
            check_blob(*digest, bytes)?;
        }
        let bytes = self.bytes();
        if bytes > MAX_BATCH_BYTES {
            return Err(BatchError::TooLarge { bytes });
        }
        Ok(())
    }

    /// Bytes of all records and blobs together.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let records = self.records.iter().map(Vec::len);
        let blobs = self.blobs.iter().map(|(_, bytes)| bytes.len());
        records.chain(blobs).fold(0, usize::saturating_add)
    }
}

/// The batch itself is refused, whatever the log holds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// No record.
    #[error("a batch holds at least one record")]
    Empty,
    /// Too many records.
    #[error("a batch holds at most {MAX_BATCH_RECORDS} records, got {count}; append in parts")]
    TooManyRecords {
        /// How many.
        count: usize,
    },
    /// Too many bytes.
    #[error(
        "a batch holds at most {MAX_BATCH_BYTES} bytes, got {bytes}; put blobs before the append"
    )]
    TooLarge {
        /// How many.
        bytes: usize,
    },
    /// A record that is not a line of legal length.
    #[error(
        "record {index} of the batch must be one line of 1 to {MAX_RECORD_BYTES} bytes, has \
         {bytes} bytes{}", if *.newline { " and a newline" } else { "" }
    )]
    Record {
        /// 0-based place in the batch.
        index: usize,
        /// Its length.
        bytes: usize,
        /// Whether it holds a newline.
        newline: bool,
    },
    /// A blob above the limit.
    #[error("blob {digest} has {bytes} bytes, the limit is {MAX_BLOB_BYTES}")]
    BlobTooLarge {
        /// Its name.
        digest: Digest,
        /// Its length.
        bytes: usize,
    },
    /// A blob under another blob's name.
    #[error("the blob named {named} hashes to {actual}")]
    BlobDigest {
        /// What it was called.
        named: Digest,
        /// What it is.
        actual: Digest,
    },
}

fn check_record(index: usize, record: &[u8]) -> Result<(), BatchError> {
    let newline = record.contains(&b'\n');
    if record.is_empty() || record.len() > MAX_RECORD_BYTES || newline {
        return Err(BatchError::Record { index, bytes: record.len(), newline });
    }
    Ok(())
}

fn check_blob(named: Digest, bytes: &[u8]) -> Result<(), BatchError> {
    if bytes.len() > MAX_BLOB_BYTES {
        return Err(BatchError::BlobTooLarge { digest: named, bytes: bytes.len() });
    }
    let actual = blob_digest(bytes);
    if actual != named {
        return Err(BatchError::BlobDigest { named, actual });
    }
    Ok(())
}
