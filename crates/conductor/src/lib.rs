//! Drives workflow runs on a store.
//!
//! A [`Conductor`] holds one task for every run that it drives. Whatever reaches a run becomes a step of
//! [`probity_workflow`]; the step is appended to the run's log, and only then is anybody told of it and
//! anything done that it asks for. So a run goes on after a crash where its log ends, in this process or
//! in another one.

mod child;
mod conductor;
mod definitions;
mod delegations;
mod driver;
mod errands;
mod error;
mod fleet;
mod follower;
mod fork;
mod house;
mod journal;
mod lineage;
mod models;
mod options;
mod recover;
mod roll;
mod shelf;
mod tale;

pub use conductor::{Begun, Conductor, Page, Recovered};
pub use definitions::{DefinitionDiffers, Definitions};
pub use delegations::{Delegations, DelegationsError, Ended, Job};
pub use error::ConductError;
pub use fleet::FleetDelegations;
pub use follower::Follower;
pub use fork::{Fork, InvalidFork};
pub use models::{ModelAnswer, Models};
pub use options::ConductorOptions;
pub use roll::{Heard, Roll, RollError};
pub use shelf::DefineError;
