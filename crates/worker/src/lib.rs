//! Runs that are worked on by whoever is free.
//!
//! Two halves on one store. A [`Fleet`] is the control plane: it submits runs, cancels and steers them,
//! answers what they wait for. It only appends and enqueues, so it may live in any process. A
//! [`Worker`] leases runs from the queue, drives them with an [`probity_engine::Engine`] and leaves
//! them: ended, parked for whoever must answer, or put back for later.
//!
//! What is to be done with a run is a function of its log and of the logs of the runs that it waits
//! for. The queue only says that somebody should look; a job that is given out twice or for nothing
//! changes nothing.
//!
//! A worker keeps the lease of a run in hand with a heartbeat every half of its time. So a run whose
//! worker is gone is free for others after two heartbeats at most.

mod drive;
mod event;
mod fleet;
mod heart;
mod hold;
mod join;
mod kin;
mod kit;
mod look;
mod pause;
mod planner;
mod sweep;
mod trouble;
mod worker;

pub use event::{How, Tally, WorkerEvent, WorkerWatch};
pub use fleet::{Fleet, FleetError, Told};
pub use planner::{PlanError, Planner};
pub use worker::{Worker, WorkerOptions};
