//! Through the public face: the pieces, then a host on loopback.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that does not hold what it states shall stop"
)]

mod cache_key;
mod events;
mod keys;
mod reasons;
mod requests;
mod tenants;
mod tokens;
