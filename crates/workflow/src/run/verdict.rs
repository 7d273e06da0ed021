//! The verifier turn: what a child left is held until a critic let it through.

use probity_core::Code;
use sha2::{Digest as _, Sha256};

use super::Run;
use super::state::{Check, Delivery, Purpose, Work};
use super::wait::Doubt;
use crate::child::child_id;
use crate::decision::Decision;
use crate::definition::{Kind, Node};
use crate::effect::Kin;
use crate::event::Event;
use crate::verification::{Judgement, Verification};

impl Run {
    /// A child completed: what it left is checked where that is asked for.
    pub(super) fn receive(&mut self, delivery: Delivery) {
        let at = delivery.errand.order.at;
        let start = self.start();
        let Some(spec) = start.definition.verifier_at(at) else { return self.clear(delivery) };
        let is_own = self.acts(at, &delivery.errand.worker, &spec.agent_id);
        if is_own && !spec.allow_self_verification {
            return self.go_without_verdict(delivery, Code::slug("self_verification"));
        }
        if delivery.digest.is_none() {
            return self.go_without_verdict(delivery, Code::slug("candidate_not_canonical"));
        }
        self.work = Work::ToVerify(Box::new(delivery));
    }

    /// Whether an agent has a hand in what a worker leaves: by any spelling of its name.
    fn acts(&self, at: usize, worker: &str, agent: &str) -> bool {
        let plain = |name: &str| name.trim().to_lowercase();
        let nodes = self.start.definition.nodes();
        let deciders = nodes.iter().filter(|node| matches!(node.kind, Kind::Supervisor(_)));
        let own = nodes.get(at).and_then(|node| node.agent.clone());
        let mut actors = deciders.map(Node::supervisor_agent).chain(own).chain([worker.to_owned()]);
        actors.any(|actor| plain(&actor) == plain(agent))
    }

    pub(super) fn start_check(&mut self, delivery: Delivery) {
        let at = delivery.errand.order.at;
        let timeout_ms = self.start.definition.verifier_at(at).map_or(0, |spec| spec.timeout_ms);
        let n = self.count(at, |place| &mut place.checks);
        let verification = child_id(&self.id, &self.node_id(at), Kin::Verification, n);
        let due_ms = self.now_ms.saturating_add(timeout_ms);
        self.work = Work::Verifying(Box::new(Check { delivery, verification, due_ms }));
        self.effects.extend(self.outstanding());
    }

    /// A verdict and what it decides are one step.
    pub(super) fn take_verdict(
        &mut self,
        mut delivery: Delivery,
        verdict: Judgement,
        keys: Vec<Code>,
        confidence: Option<f64>,
    ) {
        let at = delivery.errand.order.at;
        let start = self.start();
        let Some(spec) = start.definition.verifier_at(at) else { return self.clear(delivery) };
        let verified = Event::AgentVerified(Verification {
            agent: spec.agent_id.clone(),
            target: delivery.errand.child.clone(),
            candidate: delivery.digest.clone().unwrap_or_default(),
            verdict,
            criteria: keys.clone(),
            confidence,
        });
        let told = self.emit(Some(at), Some(delivery.completed), verified);
        if !start.terms.is_gating {
            return self.clear(delivery);
        }
        let keys = if keys.is_empty() { vec![Code::slug("verified")] } else { keys };
        match verdict {
            Judgement::Pass => {
                delivery.is_verified = true;
                let floor = start.terms.confidence_floor;
                match confidence.filter(|sure| *sure < floor) {
                    Some(confidence) => self.doubt(delivery, keys, confidence, told),
                    None => self.clear(delivery),
                }
            }
            Judgement::Fail => self.withhold(delivery, false, Code::slug("not_verified"), keys),
            Judgement::Revise => self.withhold(delivery, true, Code::slug("not_verified"), keys),
        }
    }

    /// There is no verdict, and none will come: no critic spoke.
    pub(super) fn go_without_verdict(&mut self, delivery: Delivery, code: Code) {
        if !self.start.terms.is_gating {
            return self.clear(delivery);
        }
        self.withhold(delivery, false, code, vec![Code::slug("verified")]);
    }

    /// A pass that its critic is not sure of waits for somebody.
    fn doubt(&mut self, delivery: Delivery, keys: Vec<Code>, confidence: f64, cause: u64) {
        let at = delivery.errand.order.at;
        let worker = delivery.errand.worker.clone();
        let decision =
            Decision::NextWorker { next_worker_ids: vec![worker.clone()], confidence: None };
        let floor = self.start.terms.confidence_floor;
        let doubt = Doubt { confidence, floor, worker: Some(worker), decision, cause };
        self.escalate(at, doubt, Purpose::Doubted { delivery, keys });
    }
}

/// SHA-256 of the canonical JSON (RFC 8785), 64 hex digits; `None` where there is none.
pub(super) fn digest<T: serde::Serialize>(outputs: &T) -> Option<String> {
    let canonical = probity_record::canonical::jcs(outputs).ok()?;
    Some(hex::encode(Sha256::digest(canonical)))
}
