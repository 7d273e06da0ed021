//! Drives runs.
//!
//! The [`Engine`] feeds a [`probity_core::Delegation`] and performs its effects: it appends before
//! it acts, runs one thing at a time, and stops what a newer decision supersedes. All that can wake
//! it is one closed enum in `driver`. What a run came to is a [`Report`], built from the log alone.

mod clock;
mod content;
mod correction;
mod critic;
mod driver;
mod error;
mod found;
mod hook;
mod human;
mod journal;
mod notebook;
mod payload;
mod plan;
mod police;
mod post;
mod report;
mod stored;
mod task;
mod work;

pub use clock::{Clock, SystemClock};
pub use critic::{Critic, CriticConfig, CriticError, DEFAULT_CRITIC_TRIES};
pub use driver::{Ended, Engine, Rest, Shift, Watch};
pub use error::EngineError;
pub use found::{Found, Wait};
pub use hook::{Handler, Hook, Reply, VerifyEvent, VerifyHook};
pub use human::{Approval, Human};
pub use plan::{Check, Correction, Decider, Plan};
pub use post::{Post, Posted};
pub use report::{
    AttemptReport, CheckReport, DegradeReport, HookReport, Report, RewriteReport, SealReport,
};
pub use stored::{read_blob, read_entries, read_json, read_notes, read_request};
