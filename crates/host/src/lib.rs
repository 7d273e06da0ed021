//! The HTTP face of workflow runs: openwop v1.
//!
//! A [`Host`] stands on whatever drives runs ([`Runs`]: a conductor), tells the time by a clock and draws
//! names from [`Ids`]. [`serve`] takes a listener and ends on a token. Nothing is process-wide.
//!
//! Who asks is known by its key, what it may do by the scopes of the key, and whose a run is by its name: a
//! tenant's runs carry its mark, another tenant's are not there. Whatever goes wrong is one closed envelope.
//! What is served, documented and guarded comes from one table of routes; what is told of runs is held to
//! the shapes under `schemas/`.

mod api;
mod board;
mod cache_key;
mod call;
mod claim;
mod config;
mod courier;
mod delegated;
mod dispatch;
mod error;
mod fixture;
mod host;
mod idempotency;
mod ids;
mod keys;
mod leftover;
mod metrics;
mod paced;
mod question;
mod route;
mod runs;
mod schema;
mod scope;
mod serve;
mod stream;
mod tenant;
mod token;
mod webhook;
pub mod wire;

pub use board::{Board, Declared, IndexedBoard, Step, Story, Text};
pub use cache_key::{RECIPE, cache_key};
pub use config::{HostConfig, Limits};
pub use courier::{Courier, CourierError};
pub use delegated::{
    Delegated, Exporter, FleetDelegated, Glance, Listed, Merge, NewWaiver, Standing, Submission,
    Submitted, Submitter, Waiver, may_merge,
};
pub use error::{Failure, Reason};
pub use host::Host;
pub use ids::{Ids, SystemIds};
pub use keys::{Caller, DEFAULT_TENANT, Keys, KeysError};
pub use metrics::Metrics;
pub use runs::{Conducted, Follow, Runs};
pub use schema::{event_types, schema, shapes};
pub use scope::Scope;
pub use serve::serve;
pub use tenant::{keyed_run_id, owns, run_id};
pub use token::Grant;
