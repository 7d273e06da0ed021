//! Black-box scenarios against any openwop v1 host.
//!
//! A [`Kit`] is given the address of a host and a key. It knows nothing else of it: what the host can
//! do, its discovery document says; what it does, its answers and the logs of its runs say. Every
//! scenario is written from the specification and names the part that it holds the host to. Beyond the
//! specification's own suite, the logs of real runs are held to what a verdict means: what failed its
//! check is never taken over, whatever came in between.
//!
//! Three things make a green report worth something:
//!
//! 1. **Nothing passes by not being run.** A scenario is skipped only where the host does not advertise
//!    what it is about, the report says so, and a strict run takes it for a failure. A scenario that
//!    asserted nothing is a fault of the kit and counts as failed.
//! 2. **Every event is checked.** Whatever a scenario reads of a log must fit the schemas, whether the
//!    scenario is about it or not.
//! 3. **A host cannot hold it up.** Each answer, line and wait is bounded, and a host that breaks a
//!    bound is told which.

mod error;
mod filter;
mod fixture;
mod http;
mod kit;
mod log;
mod options;
mod probe;
mod progress;
mod report;
mod scenario;
mod scenarios;
mod schema;

pub use error::KitError;
pub use filter::Filter;
pub use fixture::{FIXTURES, fixtures};
pub use kit::Kit;
pub use options::{Key, Options};
pub use progress::{Progress, Silent};
pub use report::{Disposition, Host, Outcome, Report, Totals};
pub use scenario::{Level, Need, Scenario};
pub use schema::Schema;
