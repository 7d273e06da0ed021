//! A run is stopped, and what is asked for again after a crash.

use serde_json::Value;

use super::Run;
use super::state::{End, Work};
use crate::definition::Kind;
use crate::effect::Effect;
use crate::event::Event;

impl Run {
    /// Stops at once; what it began follows.
    pub(super) fn cancel(&mut self, event: Event) {
        self.drop_work();
        self.emit(None, None, event);
        self.end = Some(End::Cancelled);
    }

    /// What is under way.
    pub(super) fn outstanding(&self) -> Option<Effect> {
        let definition = &self.start.definition;
        let at = self.work.at()?;
        let node = definition.node(at)?;
        match &self.work {
            Work::Child(errand) => Some(Effect::StartChild {
                child: errand.child.clone(),
                workflow: errand.worker.clone(),
                inputs: errand.inputs.clone(),
                node: node.id.clone(),
                is_dispatch: matches!(node.kind, Kind::Dispatch(_)),
            }),
            Work::Delegation { delegation, request, .. } => Some(Effect::Delegate {
                delegation: delegation.clone(),
                node: node.id.clone(),
                request: request.clone(),
            }),
            Work::Verifying(check) => Some(Effect::Verify {
                verification: check.verification.clone(),
                node: node.id.clone(),
                target: check.delivery.errand.child.clone(),
                spec: definition.verifier_at(at)?.clone(),
                candidate: Value::Object(check.delivery.outputs.clone()),
                digest: check.delivery.digest.clone()?,
            }),
            Work::Idle
            | Work::ToStart(_)
            | Work::ToVerify(_)
            | Work::Delay { .. }
            | Work::Waiting(_) => None,
        }
    }
}
