//! Simulated world, reference model and crash schedules. Development only.
//!
//! A [`Script`] says how the world behaves: what the delegate claims, notes and waits for, what each check sees on each
//! try, what each hook decides, who touches the judge, when someone cancels, what a human answers, and
//! the terms of the decision. [`predict`] says from
//! the script alone how the run must end; it is written in another style than the machine and
//! shares only plain enums with it. [`World`] drives the machine over the same script, and can die
//! at any append and after any act, as often as a schedule asks. Both must come to the same.

mod crash;
pub mod fleet;
mod job;
mod model;
mod prediction;
mod report;
mod rng;
mod script;
mod tempo;
mod world;

pub use crash::{Crash, Moment};
pub use model::predict;
pub use prediction::{Order, Prediction, Row};
pub use report::{Report, rows};
pub use rng::Rng;
pub use script::{
    Beat, CancelAt, Does, HookSays, MAX_BEATS, Point, Saw, Says, Script, Sight, Spoke, Touch,
    TurnScript,
};
pub use tempo::Tempo;
pub use world::{Violation, World};
