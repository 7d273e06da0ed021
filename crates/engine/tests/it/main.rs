//! Whole runs, through the public face: engine, plan, report, on stores that keep, lose or refuse.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that breaks should say so at once"
)]

mod announce;
mod at_hand;
mod bounds;
mod broken;
mod cancel;
mod content_free;
mod counting;
mod critic;
mod decision;
mod escalation;
mod fencing;
mod hand;
mod hook_crash;
mod hooks;
mod humans;
mod judge;
mod ledger;
mod many;
mod notes;
mod outcomes;
mod overtaken;
mod police;
mod resume;
mod retry;
mod revise;
mod rig;
mod shift;
mod store_faults;
mod wall;
