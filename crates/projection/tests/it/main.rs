//! The index, through its public face.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that breaks should say so at once"
)]

mod asked;
mod files;
mod kept;
mod rows;
mod world;
