//! Workflow runs without I/O: supervisor turns, dispatch to workers, the verifier turn between what a
//! worker left and what is taken over, bounds, interrupts (seed 004; openwop v1, RFCs 0006, 0037, 0039,
//! 0058, 0063, 0090).
//!
//! [`Run::open`] and [`Run::handle`] turn an [`Input`] into a [`Step`]: the input with the events that came
//! of it, one record of the run's log. [`Run::poll_effect`] says what is to be done once that step is in
//! the log, [`Run::poll_timeout`] when to hand in [`Input::Timer`]. [`Run::replay`] folds a log back and
//! refuses one that this machine would not have written.

pub mod bounds;
mod child;
pub mod decision;
pub mod definition;
pub mod effect;
pub mod event;
pub mod input;
pub mod interrupt;
pub mod owner;
mod refusal;
mod run;
pub mod snapshot;
pub mod step;
pub mod verification;
pub mod verifier;

pub use bounds::{Bound, Bounds, Breach};
pub use child::child_id;
pub use decision::{Criterion, Decision};
pub use definition::{Definition, DefinitionError, MOCK_MODEL, Problem};
pub use effect::{Effect, Kin};
pub use event::{Entry, Event, Failure, Held, Phase};
pub use input::{ChildEnd, DelegationEnd, Input, Start, Terms};
pub use interrupt::{Interrupt, InterruptKind};
pub use owner::{Origin, Owner};
pub use refusal::{OpenError, Refusal, ReplayError};
pub use run::Run;
pub use snapshot::{Snapshot, Status, Withheld};
pub use step::Step;
pub use verification::{Judgement, Verification};
pub use verifier::{MockVerdict, OnFail, VerifierSpec};
