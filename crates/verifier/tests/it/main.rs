//! Behaviour of the crate through its public face.

mod stock;
mod world;
