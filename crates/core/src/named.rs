//! The content that an event names.

use crate::{Digest, Event, Finding, HookDecision};

impl Event {
    /// Every blob that the event points at, and what it is to it. What a blob names in turn is no part of
    /// it, and neither are hashes of candidates.
    #[must_use]
    pub fn named(&self) -> Vec<(&'static str, Digest)> {
        match self {
            Self::RunOpened { request, terms, .. } => {
                let envelope = terms.iter().map(|terms| ("envelope", terms.envelope));
                std::iter::once(("request", *request)).chain(envelope).collect()
            }
            Self::WorldObserved { manifest, judge, .. } => {
                vec![("manifest", *manifest), ("judge", *judge)]
            }
            Self::WorldUnreadable { detail, .. } | Self::DelegateFailed { detail, .. } => {
                vec![("detail", *detail)]
            }
            Self::CheckRed { finding, .. } => of_finding(finding),
            Self::HookAnswered { decision, .. } => of_decision(decision),
            Self::DelegateNoted { content, .. } => vec![("note", *content)],
            Self::DelegateParked { detail, .. } => vec![("wait", *detail)],
            Self::DelegateWoken { answer, .. } => {
                answer.iter().map(|answer| ("answer", *answer)).collect()
            }
            Self::ClaimReceived { claim, .. } => vec![("claim", *claim)],
            Self::CheckFinished { finding, rewrite, .. } => {
                let rewritten = rewrite.iter().flat_map(|rewrite| {
                    [("rewritten claim", rewrite.claim), ("delta", rewrite.delta)]
                });
                of_finding(finding).into_iter().chain(rewritten).collect()
            }
            Self::CheckAnswered { finding, by, .. } => {
                std::iter::once(("by", *by)).chain(of_finding(finding)).collect()
            }
            Self::Answered { by, .. } | Self::CancelRequested { by } => vec![("by", *by)],
            Self::Steered { content } => vec![("steer", *content)],
            Self::CheckStarted { .. }
            | Self::HookCalled { .. }
            | Self::DegradeChosen { .. }
            | Self::DelegateDispatched { .. }
            | Self::CheckAwaits { .. }
            | Self::VerdictMerged { .. }
            | Self::RunResumed { .. }
            | Self::LeaseTaken { .. }
            | Self::RunReleased
            | Self::Escalated { .. }
            | Self::OutcomeDecided { .. }
            | Self::Sealed { .. } => Vec::new(),
        }
    }
}

fn of_finding(finding: &Finding) -> Vec<(&'static str, Digest)> {
    match finding {
        Finding::Verdict { reason, evidence, metadata, output, .. } => {
            let parts = [
                ("reason", reason),
                ("evidence", evidence),
                ("metadata", metadata),
                ("output", output),
            ];
            parts.into_iter().filter_map(|(role, digest)| Some((role, (*digest)?))).collect()
        }
        Finding::Fault { detail, .. } => vec![("detail", *detail)],
        Finding::NotApplicable => Vec::new(),
    }
}

fn of_decision(decision: &HookDecision) -> Vec<(&'static str, Digest)> {
    match decision {
        HookDecision::Allow | HookDecision::NotApplicable => Vec::new(),
        HookDecision::Block { reason } => vec![("reason", *reason)],
        HookDecision::Modify { to, delta } => vec![("instead", *to), ("delta", *delta)],
        HookDecision::Inconclusive { detail, .. } | HookDecision::Fault { detail, .. } => {
            vec![("detail", *detail)]
        }
    }
}
