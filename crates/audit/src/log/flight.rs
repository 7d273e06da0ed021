//! The one effect that was announced and has no result yet.

use probity_core::{CheckIndex, HookIndex, Phase, SubmissionId, Turn};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Flight {
    /// Nothing.
    None,
    /// The workspace is read.
    Reading(Phase),
    /// A check runs before the delegate.
    Red(CheckIndex),
    /// A hook is called.
    Hook(HookIndex, Turn),
    /// The delegate is at work.
    Delegate(Turn),
    /// The delegate of a round waits since a time, until a time or for an answer. Both in milliseconds
    /// since the Unix epoch.
    Parked { turn: Turn, since_ms: u64, until_ms: Option<u64> },
    /// A check runs on a claim.
    Check(CheckIndex),
    /// A check waits for a human, until a time in milliseconds since the Unix epoch.
    Human(CheckIndex, SubmissionId, u64),
    /// The run waits for a human.
    Operator,
    /// The claim is released or refused.
    Release,
}

impl Flight {
    /// What it is, for messages.
    pub(super) const fn as_str(&self) -> &'static str {
        match self {
            Self::None => "nothing",
            Self::Reading(_) => "the reading of the workspace",
            Self::Red(_) => "a check before the delegate",
            Self::Hook(..) => "a hook",
            Self::Delegate(_) => "the delegate",
            Self::Parked { .. } => "the wait of the delegate",
            Self::Check(_) => "a check",
            Self::Human(..) => "a human whom a check asked",
            Self::Operator => "a human",
            Self::Release => "the seal",
        }
    }
}
