//! NATS provider: the contracts against real servers, what is refused before there are any, and what
//! servers that die or do not answer leave behind.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests; their helpers stand outside of `#[test]` functions"
)]

mod ambiguous;
mod chaos;
mod cluster;
mod conformance;
mod creds;
mod leases;
mod measure;
mod messages;
mod options;
mod outage;
mod proxy;
mod refusals;
mod secured;
