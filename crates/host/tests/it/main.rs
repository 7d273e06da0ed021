//! Through the public face: the pieces, then a host on loopback.

#![expect(clippy::unwrap_used, reason = "a test that does not hold what it states shall stop")]

mod agents;
mod cache_key;
mod documents;
mod events;
mod face;
mod guard;
mod idempotent;
mod keys;
mod lifecycle;
mod reasons;
mod requests;
mod streams;
mod tenants;
mod tokens;
mod waits;
