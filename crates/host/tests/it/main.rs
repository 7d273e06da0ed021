//! Through the public face: the pieces, then a host on loopback.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that does not hold what it states shall stop"
)]

mod agents;
mod board;
mod board_pages;
mod broken;
mod cache_key;
mod courier;
mod delegations;
mod desk;
mod documents;
mod doors;
mod events;
mod face;
mod guard;
mod hooks;
mod hostile;
mod idempotent;
mod keys;
mod leftover;
mod lifecycle;
mod reasons;
mod requests;
mod streams;
mod tenants;
mod tokens;
mod ungated;
mod verdicts;
mod waits;
mod waivers;
