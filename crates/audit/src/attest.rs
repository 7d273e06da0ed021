//! Who stands behind a run: an in-toto statement about it, in a DSSE envelope, signed with ed25519.
//!
//! - [`SigningKey`], [`PublicKey`]: the key files that `openssl genpkey -algorithm ed25519` and
//!   `openssl pkey -pubout` write.
//! - [`Envelope`]: the envelope, and [`pae`], the bytes that a signature is over.
//! - [`Statement`]: what is said.

mod envelope;
mod key;
mod statement;

pub use envelope::{Envelope, PAYLOAD_TYPE, Signature, pae};
pub use key::{KeyError, MAX_KEY_BYTES, PublicKey, SigningKey};
pub use statement::{PREDICATE_TYPE, Predicate, STATEMENT_TYPE, Statement, Subject};
