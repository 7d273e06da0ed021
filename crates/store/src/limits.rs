//! What a provider may be asked to hold at most. The same for every provider.

/// Bytes of one record: 256 KiB.
pub const MAX_RECORD_BYTES: usize = probity_record::MAX_RECORD_BYTES;

/// Records of one batch.
pub const MAX_BATCH_RECORDS: usize = 256;

/// Bytes of all records and blobs of one batch together: 128 MiB.
pub const MAX_BATCH_BYTES: usize = 128 * 1024 * 1024;

/// Bytes of one blob: 64 MiB.
pub const MAX_BLOB_BYTES: usize = 64 * 1024 * 1024;

/// Bytes of records that one read gives at most, except that it always gives at least one record: 8
/// MiB.
pub const MAX_READ_BYTES: usize = 8 * 1024 * 1024;

/// Runs that one page of a list holds at most.
pub const MAX_PAGE_RUNS: usize = 1000;

/// The highest epoch that a job may be enqueued above: 2^53, the highest whole number that every
/// reader of JSON holds.
pub const MAX_EPOCH_FLOOR: u64 = 1 << 53;

/// The longest delay of a job: 366 days. A longer one is cut to it.
pub const MAX_DELAY: std::time::Duration = std::time::Duration::from_secs(366 * 24 * 3600);

/// Jobs that one call leases at most.
pub const MAX_LEASES: usize = 1000;
