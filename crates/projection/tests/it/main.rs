//! The index, through its public face.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that breaks should say so at once"
)]

mod files;
mod rows;
mod world;
