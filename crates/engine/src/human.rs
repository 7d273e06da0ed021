//! A named human as a check: who is asked, and what an answer comes to.

use probity_core::{Code, Evidence, Verdict};

/// Whom a check asks, and what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Human {
    /// The name that an answer must carry. Names are taken on trust: whoever may write to the store
    /// may answer.
    pub who: String,
    /// The question; empty asks whether the task is done.
    pub question: String,
}

/// What a human says to a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approval {
    /// It is done.
    Approve,
    /// It is not; the delegate is told why and may try again.
    Revise {
        /// Why.
        reason: String,
    },
    /// It is not, and another attempt is not wanted.
    Reject {
        /// Why.
        reason: String,
    },
}

impl Approval {
    pub(crate) fn verdict(self, by: &str) -> Verdict {
        let evidence = Evidence::new(format!("human:{by}"), "answered");
        let verdict = match self {
            Self::Approve => Verdict { code: Code::slug("human_approved"), ..Verdict::pass() },
            Self::Revise { reason } => Verdict::revise("human_revised", reason),
            Self::Reject { reason } => Verdict::fail("human_rejected", reason),
        };
        verdict.with_evidence(evidence)
    }
}
