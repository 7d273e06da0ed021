//! A supervisor's turn: what it decides, and what follows from it.

use serde_json::{Map, Value, json};

use super::Run;
use super::state::{Order, Owed, Purpose};
use super::wait::Doubt;
use crate::decision::{Criterion, Decision};
use crate::definition::{Kind, SupervisorConfig};
use crate::event::{Event, Held};

/// The key of the question about a result that was withheld.
pub(super) const NEXT: &str = "next";
/// Its answers that have a meaning of their own. After any other the same step is taken again.
pub(super) const SKIP: &str = "skip";
pub(super) const GIVE_UP: &str = "give-up";

impl Run {
    /// The turns that a supervisor has.
    pub(super) fn turn_limit(&self, at: usize) -> u64 {
        let definition = &self.start.definition;
        let dispatch = definition.graph().dispatch_of(at).and_then(|at| definition.node(at));
        let cap = match dispatch.map(|node| &node.kind) {
            Some(Kind::Dispatch(config)) => config.iteration_cap,
            _ => None,
        };
        let limit = self.start.bounds.max_loop_iterations;
        cap.map_or(limit, |cap| cap.min(limit))
    }

    pub(super) fn take_turn(&mut self, at: usize, config: &SupervisorConfig) {
        self.iterations = self.iterations.saturating_add(1);
        let threshold = self.start.terms.escalation_threshold;
        let state = self.supervision(at);
        if let Some(owed) = state.owed.take() {
            return self.pay(at, owed);
        }
        state.revisions = 0;
        if let Some((decision, confidence)) =
            config.pending.as_ref().filter(|_| !state.is_pending_through)
        {
            state.is_pending_through = true;
            if *confidence < threshold {
                return self.hold(at, decision, threshold, *confidence);
            }
            return self.decide(at, decision.clone());
        }
        let decision = config.plan.get(state.planned).cloned();
        state.planned = state.planned.saturating_add(1);
        self.decide(at, decision.unwrap_or_else(through));
    }

    /// What a result that was withheld asks for comes before the plan.
    fn pay(&mut self, at: usize, owed: Owed) {
        match owed {
            Owed::Again(next_worker_ids) => {
                self.decide(at, Decision::NextWorker { next_worker_ids, confidence: None });
            }
            Owed::Ask(workers) => {
                let prompt = format!(
                    "The work of `{}` was not verified. It is asked for again after any answer but \
                     `{SKIP}`, which goes on without it, and `{GIVE_UP}`, which ends the run.",
                    workers.first().map_or("", String::as_str)
                );
                let decision = Decision::AskUser { prompt };
                let decided = self.tell(at, &decision);
                self.follow(at, decision, decided, Some(workers));
            }
            Owed::GiveUp => {
                let reason = Some("what was left was not verified".to_owned());
                let decision =
                    Decision::Terminate { reason, confidence: None, success_criteria: None };
                self.decide(at, decision);
            }
        }
    }

    /// A decision is on record before anything comes of it. One that is not sure enough waits there.
    pub(super) fn decide(&mut self, at: usize, decision: Decision) {
        let decision = self.tempered(at, decision);
        let decided = self.tell(at, &decision);
        let floor = self.start.terms.confidence_floor;
        let confidence = match &decision {
            Decision::NextWorker { confidence, .. } | Decision::Terminate { confidence, .. } => {
                *confidence
            }
            Decision::AskUser { .. } => None,
        };
        let Some(confidence) = confidence.filter(|sure| *sure < floor) else {
            return self.follow(at, decision, decided, None);
        };
        let worker = match &decision {
            Decision::NextWorker { next_worker_ids, .. } => next_worker_ids.first().cloned(),
            _ => None,
        };
        let doubt = Doubt { confidence, floor, worker, decision: decision.clone(), cause: decided };
        self.escalate(at, doubt, Purpose::Escalated { decision, decided });
    }

    fn tell(&mut self, at: usize, decision: &Decision) -> u64 {
        let agent = self.agent_of(at);
        self.supervisor = Some(agent.clone());
        let iteration = self.iterations;
        let decision = decision.clone();
        self.emit(Some(at), None, Event::SupervisorDecided { agent, decision, iteration })
    }

    pub(super) fn follow(
        &mut self,
        at: usize,
        decision: Decision,
        decided: u64,
        about: Option<Vec<String>>,
    ) {
        match decision {
            Decision::NextWorker { next_worker_ids: workers, .. } => {
                self.complete_node(at, outputs("next-worker", json!({"nextWorkerIds": workers})));
                let dispatch = self.start.definition.graph().dispatch_of(at).unwrap_or(at);
                let order = Order { at: dispatch, workers, cause: decided, done: Vec::new() };
                self.supervision(at).order = Some(order);
            }
            Decision::AskUser { prompt } => {
                let question = match about {
                    Some(_) => {
                        json!({"id": NEXT, "question": prompt, "schema": {"type": "string"}})
                    }
                    None => json!({"id": "answer", "question": prompt}),
                };
                self.ask(at, vec![question], None, Purpose::Asked(about));
            }
            Decision::Terminate { success_criteria, .. } => {
                self.success_criteria = success_criteria;
                self.complete_node(at, outputs("terminate", json!({})));
                self.complete();
            }
        }
    }

    /// CP-1: nothing is decided until somebody lets it.
    fn hold(&mut self, at: usize, decision: &Decision, threshold: f64, observed: f64) {
        let held = Held { agent: self.agent_of(at), threshold, observed };
        let pending = serde_json::to_value(decision).unwrap_or_default();
        self.ask_about_low_confidence(at, held, Some(pending), Purpose::Held(decision.clone()));
    }

    pub(super) fn agent_of(&self, at: usize) -> String {
        self.start.definition.node(at).map(|node| node.supervisor_agent()).unwrap_or_default()
    }

    /// What stands withheld is never met, whatever the plan says; and where anything stands, a plan that
    /// only names its criteria has met none.
    fn tempered(&self, at: usize, decision: Decision) -> Decision {
        let Decision::Terminate { reason, confidence, success_criteria } = decision else {
            return decision;
        };
        let named = match self.start.definition.node(at).map(|node| &node.kind) {
            Some(Kind::Supervisor(config)) => config.success_criteria.as_slice(),
            _ => &[],
        };
        let met = self.standing.is_empty();
        let criterion = |key: &String| Criterion { key: key.clone(), met };
        let stated = success_criteria.filter(|criteria| !criteria.is_empty());
        let mut criteria = stated.unwrap_or_else(|| named.iter().map(criterion).collect());
        for key in self.standing.values().flat_map(|withheld| &withheld.criteria) {
            let mut is_named = false;
            for criterion in criteria.iter_mut().filter(|criterion| criterion.key == key.as_str()) {
                (criterion.met, is_named) = (false, true);
            }
            if !is_named {
                criteria.push(Criterion { key: key.to_string(), met: false });
            }
        }
        let success_criteria = Some(criteria).filter(|criteria| !criteria.is_empty());
        Decision::Terminate { reason, confidence, success_criteria }
    }
}

/// After the last decision of its plan.
fn through() -> Decision {
    let reason = Some("the plan is through".to_owned());
    Decision::Terminate { reason, confidence: None, success_criteria: None }
}

fn outputs(kind: &str, more: Value) -> Map<String, Value> {
    let mut outputs = match more {
        Value::Object(more) => more,
        _ => Map::new(),
    };
    outputs.insert("decision".to_owned(), Value::from(kind));
    outputs
}
