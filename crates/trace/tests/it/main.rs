//! Behaviour of the trace auditor through its public face.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that breaks should say so at once"
)]

mod answer;
mod claim;
mod claim_desk;
mod claim_reference;
mod compat;
mod compat_reference;
mod damage;
mod evidence;
mod hostile;
mod identity;
mod lifecycle;
mod mutation;
mod page;
mod plan;
mod plan_reference;
mod plan_tamper;
mod reading;
mod reading_shapes;
mod reading_stream;
mod reference;
mod sample;
mod size;
mod tool;
mod variant;
