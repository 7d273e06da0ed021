//! The content that the events of a log name.

use std::collections::BTreeSet;

use probity_core::{Digest, Entry, Event, Finding, HookDecision};

/// Every blob that a log points at. What a blob names in turn is no part of it, and neither are hashes of
/// candidates.
pub(super) fn blobs(entries: &[Entry]) -> BTreeSet<Digest> {
    entries.iter().flat_map(|entry| of_event(&entry.event)).flatten().collect()
}

fn of_event(event: &Event) -> Vec<Option<Digest>> {
    match event {
        Event::RunOpened { request, terms, .. } => {
            vec![Some(*request), terms.as_ref().map(|terms| terms.envelope)]
        }
        Event::WorldObserved { manifest, judge, .. } => vec![Some(*manifest), Some(*judge)],
        Event::WorldUnreadable { detail, .. }
        | Event::DelegateFailed { detail, .. }
        | Event::DelegateParked { detail, .. } => vec![Some(*detail)],
        Event::CheckRed { finding, .. } => of_finding(finding),
        Event::HookAnswered { decision, .. } => of_decision(decision),
        Event::DelegateNoted { content, .. } | Event::Steered { content } => vec![Some(*content)],
        Event::DelegateWoken { answer, .. } => vec![*answer],
        Event::ClaimReceived { claim, .. } => vec![Some(*claim)],
        Event::CheckFinished { finding, rewrite, .. } => {
            let mut named = of_finding(finding);
            named.extend(rewrite.iter().flat_map(|it| [Some(it.claim), Some(it.delta)]));
            named
        }
        Event::CheckAnswered { finding, by, .. } => {
            let mut named = of_finding(finding);
            named.push(Some(*by));
            named
        }
        Event::Answered { by, .. } | Event::CancelRequested { by } => vec![Some(*by)],
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

fn of_finding(finding: &Finding) -> Vec<Option<Digest>> {
    match finding {
        Finding::Verdict { reason, evidence, metadata, output, .. } => {
            vec![*reason, *evidence, *metadata, *output]
        }
        Finding::Fault { detail, .. } => vec![Some(*detail)],
        Finding::NotApplicable => Vec::new(),
    }
}

fn of_decision(decision: &HookDecision) -> Vec<Option<Digest>> {
    match decision {
        HookDecision::Allow | HookDecision::NotApplicable => Vec::new(),
        HookDecision::Block { reason } => vec![Some(*reason)],
        HookDecision::Modify { to, delta } => vec![Some(*to), Some(*delta)],
        HookDecision::Inconclusive { detail, .. } | HookDecision::Fault { detail, .. } => {
            vec![Some(*detail)]
        }
    }
}
