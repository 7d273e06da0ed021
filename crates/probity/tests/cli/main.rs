//! The `probity` command as its users see it: the built binary in temporary folders.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that breaks should say so at once"
)]

mod world;

mod agents;
mod audit;
mod chat;
mod check;
mod ci;
mod cite;
mod critic;
mod decision;
mod delegates;
mod delegations;
mod dlq;
mod doctor;
mod documents;
mod drains;
mod drift;
mod episode;
mod escape;
mod explain;
mod export;
mod fire;
mod fleet;
mod gate;
mod help;
mod hook_docs;
mod hook_install;
mod hook_run;
mod hooks;
mod http;
mod human;
mod index;
mod init;
mod interrupt;
mod irregular;
mod json;
mod lies;
mod log;
mod mcp;
mod nats;
mod patterns;
mod pipe;
mod pipelines;
mod places;
mod post;
mod profile;
mod quality;
mod recheck;
mod remote;
mod replaced;
mod sandbox;
mod serve;
mod staged;
mod trust;
mod verify;
mod waits;
mod weakening;
