//! Behaviour of the machine through its public face.

mod accounting;
mod content_free;
mod escalation;
mod merge_table;
mod outcomes;
mod rig;
mod stage_by_input;
