//! Typed agents whose output is verified before it counts.
//!
//! An [`Agent`] is a chat model with tools and a declared output. A verifier is an ordinary function of
//! that output: what it returns is the run's result, what it rejects goes back to the model, in the same
//! conversation and within bounds. Everything is recorded as it happens, so that a run that was
//! interrupted goes on behind its last record: no recorded model call is made again and no attempt is
//! lost or counted twice.
//!
//! The contract is that of seed 003 with the guards that make every run end; `docs/agents.md` states it.

mod agent;
mod agents;
mod builder;
mod calls;
mod delegate_tool;
mod done;
mod ending;
mod errand;
mod error;
mod event;
mod extract;
mod feed;
mod function;
mod history;
mod lineage;
mod reject;
mod request;
mod submitted;
mod transcript;
mod typed;
mod verification;

pub use agent::{Agent, RunOptions};
pub use agents::Agents;
pub use builder::{AgentBuilder, NoOutput, Output};
pub use delegate_tool::{DelegateTool, VerificationFailed};
pub use done::{Done, NotDone};
pub use error::{AgentError, BuildError};
pub use event::{VerdictEvent, VerificationEvent};
pub use extract::{
    AgentContext, Changes, Equipment, ExecutionContext, FromVerification, Requirement, State,
    Submission, Verification,
};
pub use function::{Running, VerifierFn};
pub use lineage::{Lineage, MAX_DEPTH};
pub use probity_chat as chat;
pub use reject::Reject;
pub use submitted::{SubmitOptions, Submitted};
pub use transcript::{Transcript, TranscriptError};
pub use verification::{LastOutcome, Ledger, LedgerEntry, VerificationState};

/// The documentation is run, too.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/agents.md")]
struct Documentation;
