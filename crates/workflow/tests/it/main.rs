//! Behaviour of the machine through its public face.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that breaks should say so at once"
)]

mod answers;
mod bounds;
mod content;
mod definitions;
mod delegation;
mod fixtures;
mod fixtures_agents;
mod gate;
mod hostile;
mod log;
mod pause;
mod property;
mod rig;
mod sub_workflow;
mod supervisor;
mod threshold;
mod verdict_table;
