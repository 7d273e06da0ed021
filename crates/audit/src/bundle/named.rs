//! The content that the events of a log name.

use std::collections::BTreeSet;

use probity_core::{Digest, Entry, Event, Finding, HookDecision};

/// Every blob that a log points at. What a blob names in turn is no part of it.
pub(super) fn blobs(entries: &[Entry]) -> BTreeSet<Digest> {
    entries.iter().flat_map(|entry| of_event(&entry.event)).map(|(_, digest)| digest).collect()
}

/// The blobs that an episode repeats: what was asked for, and which human agreed. Who leaves one of
/// them out leaves the episode out.
pub(super) fn of_episode(entries: &[Entry]) -> BTreeSet<Digest> {
    let repeated = entries.iter().filter_map(|entry| match &entry.event {
        Event::RunOpened { request, .. } => Some(*request),
        Event::Answered { by, .. } => Some(*by),
        _ => None,
    });
    repeated.collect()
}

/// What an event points at, and what it is to it.
pub(crate) fn of_event(event: &Event) -> Vec<(&'static str, Digest)> {
    match event {
        Event::RunOpened { request, terms, .. } => {
            let envelope = terms.iter().map(|terms| ("envelope", terms.envelope));
            std::iter::once(("request", *request)).chain(envelope).collect()
        }
        Event::WorldObserved { manifest, judge, .. } => {
            vec![("manifest", *manifest), ("judge", *judge)]
        }
        Event::WorldUnreadable { detail, .. } | Event::DelegateFailed { detail, .. } => {
            vec![("detail", *detail)]
        }
        Event::CheckRed { finding, .. } => of_finding(finding),
        Event::HookAnswered { decision, .. } => of_decision(decision),
        Event::DelegateNoted { content, .. } => vec![("note", *content)],
        Event::DelegateParked { detail, .. } => vec![("wait", *detail)],
        Event::DelegateWoken { answer, .. } => {
            answer.iter().map(|answer| ("answer", *answer)).collect()
        }
        Event::ClaimReceived { claim, .. } => vec![("claim", *claim)],
        Event::CheckFinished { finding, rewrite, .. } => {
            let rewritten = rewrite
                .iter()
                .flat_map(|rewrite| [("rewritten claim", rewrite.claim), ("delta", rewrite.delta)]);
            of_finding(finding).into_iter().chain(rewritten).collect()
        }
        Event::CheckAnswered { finding, by, .. } => {
            std::iter::once(("by", *by)).chain(of_finding(finding)).collect()
        }
        Event::Answered { by, .. } | Event::CancelRequested { by } => vec![("by", *by)],
        Event::Steered { content } => vec![("steer", *content)],
        Event::CheckStarted { .. }
        | Event::HookCalled { .. }
        | Event::DegradeChosen { .. }
        | Event::DelegateDispatched { .. }
        | Event::CheckAwaits { .. }
        | Event::VerdictMerged { .. }
        | Event::RunResumed { .. }
        | Event::LeaseTaken { .. }
        | Event::RunReleased
        | Event::Escalated { .. }
        | Event::OutcomeDecided { .. }
        | Event::Sealed { .. } => Vec::new(),
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
