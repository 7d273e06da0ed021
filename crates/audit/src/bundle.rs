//! The proof bundle: a run, its content and a signed statement about them in one file.
//!
//! `docs/bundle-format.md` is the format's own document. Bytes in, bytes out: no clock, no
//! randomness. Equal input gives equal bytes.
//!
//! - [`write_bundle`] makes one, [`redact_bundle`] takes content out of one without breaking its
//!   signature.
//! - [`audit_bundle`] proves what can be proved of one.

mod audit;
mod container;
mod content;
mod episode;
mod error;
mod manifest;
mod named;
mod open;
mod redact;
mod rule;
mod schema;
mod write;

pub(crate) use open::opened;

pub use audit::{BundlePolicy, audit_bundle};
pub use content::Inclusion;
pub use error::BundleError;
pub use manifest::ContentState;
pub use redact::redact_bundle;
pub use rule::BUNDLE_RULES;
pub use schema::{BUNDLE_SCHEMAS, Schema};
pub use write::{BundleInput, BundleSummary, write_bundle};

/// The version of the format that is written and read here.
pub const BUNDLE_FORMAT: &str = "1.0";

/// The most entries of one bundle, the manifest included.
pub const MAX_ENTRIES: usize = 16_384;

/// The most bytes of one entry: 64 MiB, as much as a store keeps of one blob.
pub const MAX_ENTRY_BYTES: u64 = 64 * 1024 * 1024;

/// The most bytes of the manifest: 8 MiB. [`MAX_ENTRIES`] fit.
pub const MAX_MANIFEST_BYTES: u64 = 8 * 1024 * 1024;

/// The most bytes of the signed statement in its envelope: 64 KiB.
pub const MAX_STATEMENT_BYTES: u64 = 64 * 1024;

/// The most bytes of all entries together: 512 MiB. A reader holds them in memory.
pub const MAX_BUNDLE_BYTES: u64 = 512 * 1024 * 1024;

/// The most bytes of an entry's name: what the plain header of the container holds.
pub const MAX_NAME_BYTES: usize = 100;

/// The most schemas of one bundle.
pub const MAX_SCHEMAS: usize = 64;

const MANIFEST: &str = "manifest.json";
const LOG: &str = "log.jsonl";
const EPISODE: &str = "episode.json";
const RECEIPT: &str = "receipt.json";
const STATEMENT: &str = "statement.dsse.json";
const BLOBS: &str = "blobs/";
const SCHEMAS: &str = "schemas/";
