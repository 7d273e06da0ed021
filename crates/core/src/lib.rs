//! What a delegation is and what may happen next.
//!
//! One value, [`Delegation`], holds a run. It does no I/O: it reads no clock, draws no randomness,
//! touches no file and awaits nothing. Time and ids come in with the inputs; what should be done
//! comes out as effects; what happened is a list of [`Event`]s, and the state is a fold over them.

mod accounting;
mod charter;
mod check;
mod claim;
mod delegation;
mod digest;
mod effect;
mod event;
mod evidence;
mod feedback;
mod hidden;
mod hook;
mod id;
mod input;
mod ladder;
mod merge;
mod named;
mod note;
mod outcome;
mod policy;
mod rejection;
mod strict;
mod terms;
mod tier;
mod verdict;

pub use charter::{Charter, MAX_CHECKS, OpenError};
pub use check::{CheckDecl, Discrimination, Subject};
pub use claim::{Claim, ToolCall, ToolResult, Usage};
pub use delegation::{
    Degraded, Delegation, Ending, JudgedTurn, Presented, ReplayError, Stage, World,
};
pub use digest::{Digest, DigestParseError};
pub use effect::Effect;
pub use event::{Answer, Entry, Event, Phase};
pub use evidence::Evidence;
pub use feedback::{MAX_FEEDBACK_BYTES, MAX_REASON_BYTES, Told, feedback};
pub use hidden::is_hidden;
pub use hook::{HookDecision, HookDecl, HookPoint, Rewrite};
pub use id::{CheckIndex, Code, HookIndex, NameError, RunId, SubmissionId, Turn, WorkerId};
pub use input::{Handled, Input, MAX_RECORDED, Refusal};
pub use ladder::{MAX_RUNGS, Rung, Step, Trigger, fall_back};
pub use merge::{Judgement, merge};
pub use note::{MAX_NOTES, MAX_STEERS, MAX_WAITS, NoteKind, Noted, Parking, Steered, Woken};
pub use outcome::{Drift, Outcome};
pub use policy::{
    Counting, DEFAULT_MAX_VERIFY_RETRIES, MAX_ATTEMPTS, MAX_CHECK_MS, MAX_WALL_MS, OnFailure,
    Policy, PolicyError, RedFirst,
};
pub use rejection::{MAX_REJECTIONS_BYTES, Rejected, rejections};
pub use terms::{Feature, MAX_FEATURES, StageBudgets, Terms};
pub use tier::{Threshold, Tier};
pub use verdict::{Fault, Finding, Verdict, VerdictKind};
