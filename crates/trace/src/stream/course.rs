//! The rules, while the events pass by.

use std::collections::HashMap;

use probity_report::Failures;

use crate::claim::Claims;
use crate::identity::{Identity, Key};
use crate::lifecycle::Lifecycle;
use crate::model::{Body, Event};
use crate::plan::Binding;
use crate::provenance::Provenance;
use crate::scene::{Family, Scene};
use crate::seal::Checksum;
use crate::tool::Tools;

use super::piece::Piece;
use super::trace_id::TraceId;

/// Every family, and what is summed up beside them.
pub(super) struct Course<'s> {
    scene: &'s Scene<'s>,
    lifecycle: Lifecycle,
    binding: Binding,
    tools: Tools,
    identity: Identity,
    claims: Claims,
    provenance: Provenance,
    /// `None` once it cannot be known: a record was not read.
    trace_id: Option<TraceId>,
    checksum: Checksum,
    counts: Counts,
    is_behind_header: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    events: u64,
    steps: u64,
    tool_calls: u64,
    evidence: u64,
    claims: u64,
    supports: u64,
}

/// What the events come to.
#[derive(Debug, Clone)]
pub(super) struct End {
    /// Empty where it cannot be known.
    pub(super) trace_id: String,
    /// The evidence as it was registered.
    pub(super) checksum: Checksum,
    /// SHA-256 of the evidence files, by id.
    pub(super) evidence_sums: HashMap<Key, [u8; 32]>,
    pub(super) counts: [(&'static str, u64); 6],
}

impl<'s> Course<'s> {
    /// The rules over a scene, before the first event.
    pub(super) fn new(scene: &'s Scene<'s>, trace_id: Option<TraceId>) -> Self {
        Self {
            scene,
            lifecycle: Lifecycle::default(),
            binding: Binding::default(),
            tools: Tools::default(),
            identity: Identity::default(),
            claims: Claims::default(),
            provenance: Provenance::default(),
            // Without a header the first record is an event like any other.
            is_behind_header: scene.header.line.is_empty(),
            trace_id,
            checksum: Checksum::default(),
            counts: Counts::default(),
        }
    }

    /// Takes what was found when a piece was read, then holds its events against every rule.
    pub(super) fn piece(&mut self, piece: &mut Piece, failures: &mut Failures) {
        failures.append(piece.take_failures());
        if piece.has_unread() {
            self.trace_id = None;
        }
        for record in piece.records() {
            if !std::mem::replace(&mut self.is_behind_header, true) {
                continue;
            }
            match (&mut self.trace_id, record.value.get("event")) {
                (Some(id), Some(event)) => id.add(event, record.is_canonical),
                (trace_id, _) => *trace_id = None,
            }
            if let Some(event) = record.event(failures) {
                self.event(&event, failures);
            }
        }
    }

    /// Holds the trace as a whole against every rule.
    pub(super) fn finish(mut self, failures: &mut Failures) -> End {
        for family in self.families() {
            family.1.finish(family.0, failures);
        }
        let counts = self.counts;
        End {
            trace_id: self.trace_id.map(TraceId::finish).unwrap_or_default(),
            checksum: self.checksum,
            evidence_sums: self.claims.evidence_sums(),
            counts: [
                ("events", counts.events),
                ("steps", counts.steps),
                ("tool_calls", counts.tool_calls),
                ("evidence", counts.evidence),
                ("claims", counts.claims),
                ("supports", counts.supports),
            ],
        }
    }

    fn event(&mut self, event: &Event, failures: &mut Failures) {
        self.count(event);
        for (scene, family) in self.families() {
            family.event(scene, event, failures);
        }
    }

    /// The families, in the order in which they look.
    fn families(&mut self) -> [(&'s Scene<'s>, &mut dyn Family); 6] {
        let scene = self.scene;
        [
            (scene, &mut self.lifecycle),
            (scene, &mut self.binding),
            (scene, &mut self.tools),
            (scene, &mut self.identity),
            (scene, &mut self.claims),
            (scene, &mut self.provenance),
        ]
    }

    fn count(&mut self, event: &Event) {
        let counts = &mut self.counts;
        counts.events = counts.events.saturating_add(1);
        let (count, by) = match &event.body {
            Body::StepStarted => (&mut counts.steps, 1),
            Body::ToolCalled(_) => (&mut counts.tool_calls, 1),
            Body::EvidenceRegistered(evidence) => {
                self.checksum.add(&evidence.id);
                (&mut counts.evidence, 1)
            }
            Body::ClaimEmitted(claim) => {
                counts.claims = counts.claims.saturating_add(1);
                (&mut counts.supports, claim.supports.len() as u64)
            }
            Body::StepFinished(_) | Body::ToolReturned(_) => return,
        };
        *count = count.saturating_add(by);
    }
}
