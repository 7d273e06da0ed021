//! A pack: what one append stores, its records and its small blobs, in one row.
//!
//! Each page that a commit touches is written to the write-ahead log whole, and again to the file. So
//! what is written together stands together: the records of a batch, and the blobs that fit in beside
//! them, in one row behind the rows of all packs before it.
//!
//! A small blob is found by the first eight bytes of its digest, which are enough to find it and too
//! few to trust; the pack has all of them. Digests come in no order, so an index of all of them would
//! cost a page for each. New ones go to a level of few pages, which many commits share, and from time
//! to time all of a level move to the next one, in order.

use probity_core::Digest;
use rusqlite::ffi;

/// Blobs up to this size are kept in packs.
pub(crate) const SMALL_BLOB_BYTES: usize = 4096;

/// A pack that has this many bytes takes nothing more.
const FULL_PACK_BYTES: usize = 1 << 20;

/// After how many packs a level of places moves to the next one, the higher one first, and how. A table
/// for each, because one that loses all of its rows loses them at once.
pub(crate) const MOVES: [(i64, &str, &str); 2] = [
    (
        8192,
        "INSERT INTO place_2 SELECT prefix, pack FROM place_1 ORDER BY prefix, pack",
        "DELETE FROM place_1",
    ),
    (
        256,
        "INSERT INTO place_1 SELECT prefix, pack FROM place_0 ORDER BY prefix, pack",
        "DELETE FROM place_0",
    ),
];

/// Bytes of a length.
const LEN_BYTES: usize = 4;

/// Bytes of a digest.
const DIGEST_BYTES: usize = 32;

/// What a small blob is found by.
pub(crate) fn prefix(digest: &Digest) -> i64 {
    let first = digest.as_bytes().first_chunk().copied().unwrap_or_default();
    i64::from_be_bytes(first)
}

/// What goes into one row.
#[derive(Debug, Default)]
pub(crate) struct Pack<'b> {
    pub(crate) records: Vec<&'b [u8]>,
    pub(crate) blobs: Vec<(&'b Digest, &'b [u8])>,
    bytes: usize,
}

impl<'b> Pack<'b> {
    pub(crate) fn is_full(&self) -> bool {
        self.bytes >= FULL_PACK_BYTES
    }

    pub(crate) fn add_record(&mut self, record: &'b [u8]) {
        self.bytes += record.len();
        self.records.push(record);
    }

    pub(crate) fn add_blob(&mut self, digest: &'b Digest, bytes: &'b [u8]) {
        self.bytes += bytes.len();
        self.blobs.push((digest, bytes));
    }

    /// How many records, their lengths, how many blobs, their digests and lengths, then the bytes of
    /// all in that order.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let heads =
            (2 + self.records.len()) * LEN_BYTES + self.blobs.len() * (DIGEST_BYTES + LEN_BYTES);
        let mut row = Vec::with_capacity(heads + self.bytes);
        push_len(&mut row, self.records.len());
        self.records.iter().for_each(|record| push_len(&mut row, record.len()));
        push_len(&mut row, self.blobs.len());
        for (digest, bytes) in &self.blobs {
            row.extend_from_slice(digest.as_bytes());
            push_len(&mut row, bytes.len());
        }
        self.records.iter().for_each(|record| row.extend_from_slice(record));
        self.blobs.iter().for_each(|(_, bytes)| row.extend_from_slice(bytes));
        row
    }
}

/// Lengths are below 2^32: a batch holds 128 MiB at most.
fn push_len(row: &mut Vec<u8>, len: usize) {
    row.extend_from_slice(&u32::try_from(len).unwrap_or(u32::MAX).to_le_bytes());
}

/// A row as it was read, taken apart.
#[derive(Debug, Default)]
pub(crate) struct Unpacked<'b> {
    pub(crate) records: Vec<&'b [u8]>,
    blobs: Vec<(&'b [u8], &'b [u8])>,
}

impl<'b> Unpacked<'b> {
    /// An error where the row is not what a pack looks like: the file is damaged.
    pub(crate) fn of(row: &'b [u8]) -> rusqlite::Result<Self> {
        unpack(row).ok_or_else(damaged)
    }

    pub(crate) fn blob(&self, digest: &Digest) -> Option<&'b [u8]> {
        let wanted = digest.as_bytes().as_slice();
        self.blobs.iter().find(|(name, _)| *name == wanted).map(|(_, bytes)| *bytes)
    }
}

/// A pack is not there or not what it should be.
pub(crate) fn damaged() -> rusqlite::Error {
    let error = ffi::Error::new(ffi::SQLITE_CORRUPT);
    rusqlite::Error::SqliteFailure(error, Some("a pack is damaged or missing".to_owned()))
}

fn unpack(row: &[u8]) -> Option<Unpacked<'_>> {
    let mut rest = row;
    // Each head has a length, so no count is believed that the row has no room for.
    let mut lens = Vec::new();
    for _ in 0..take_len(&mut rest)? {
        lens.push(take_len(&mut rest)?);
    }
    let mut heads = Vec::new();
    for _ in 0..take_len(&mut rest)? {
        heads.push((take(&mut rest, DIGEST_BYTES)?, take_len(&mut rest)?));
    }
    let mut unpacked = Unpacked::default();
    for len in lens {
        unpacked.records.push(take(&mut rest, len)?);
    }
    for (digest, len) in heads {
        unpacked.blobs.push((digest, take(&mut rest, len)?));
    }
    rest.is_empty().then_some(unpacked)
}

fn take_len(rest: &mut &[u8]) -> Option<usize> {
    let (len, behind) = rest.split_first_chunk::<LEN_BYTES>()?;
    *rest = behind;
    usize::try_from(u32::from_le_bytes(*len)).ok()
}

fn take<'b>(rest: &mut &'b [u8], len: usize) -> Option<&'b [u8]> {
    let (taken, behind) = rest.split_at_checked(len)?;
    *rest = behind;
    Some(taken)
}
