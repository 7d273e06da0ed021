//! Work is handed to a child run, and its end comes back (RFC 0037).

use serde_json::{Map, Value, json};

use super::Run;
use super::content::{may_give, too_large};
use super::state::{Delivery, Errand, Order, Work};
use crate::child::child_id;
use crate::definition::{DispatchConfig, FanOutPolicy, Kind, Mapping, OnChildFailure, seeded};
use crate::effect::Kin;
use crate::event::{Event, Failure, Phase};
use crate::input::ChildEnd;
use crate::snapshot::Withheld;
use probity_core::Code;

impl Run {
    pub(super) fn begin_dispatch(&mut self, at: usize, config: &DispatchConfig) {
        let supervisor = self.start.definition.graph().supervisor_of(at);
        let order = supervisor.and_then(|at| self.supervision(at).order.take());
        let Some(order) = order.filter(|order| !order.workers.is_empty()) else {
            return self
                .fail_node(at, Failure::new("dispatch_unasked", "no supervisor decided anything"));
        };
        if config.fan_out_policy == FanOutPolicy::Reject && order.workers.len() > 1 {
            let why = "the decision names several workers, and `fanOutPolicy` is `reject`";
            return self.fail_node(at, Failure::new("fan_out_rejected", why));
        }
        self.work = Work::ToStart(Box::new(order));
    }

    /// The next worker of the order is asked.
    pub(super) fn start_child(&mut self, mut order: Order) {
        let at = order.at;
        let node = self.node_id(at);
        let worker = order.workers.remove(0);
        let n = self.count(at, |place| &mut place.children);
        let child = child_id(&self.id, &node, Kin::Child, n);
        let mapping = self.mapping(at, &worker, true);
        if !may_give(mapping.values().filter_map(|name| self.variables.get(name))) {
            return self.fail_node(at, too_large());
        }
        let inputs = seeded(mapping, &self.variables);
        let began =
            self.hand_off(at, order.cause, Phase::Began, &worker, Some(child.clone()), None);
        let errand = Errand { order, worker, child, inputs, began, succeeded: None };
        self.work = Work::Child(Box::new(errand));
        self.effects.extend(self.outstanding());
    }

    /// The child is known to have begun. Told once.
    pub(super) fn note_started(&mut self, errand: &mut Errand) -> u64 {
        if let Some(succeeded) = errand.succeeded {
            return succeeded;
        }
        let (at, child) = (errand.order.at, errand.child.clone());
        let (phase, worker) = (Phase::Succeeded, &errand.worker);
        let succeeded = self.hand_off(at, errand.began, phase, worker, Some(child.clone()), None);
        let dispatched = Event::NodeDispatched { child, workflow: worker.clone() };
        self.emit(Some(at), Some(succeeded), dispatched);
        errand.succeeded = Some(succeeded);
        succeeded
    }

    pub(super) fn end_child(&mut self, mut errand: Errand, end: &ChildEnd) {
        let at = errand.order.at;
        let child = Some(errand.child.clone());
        if let ChildEnd::Failed { error, was_started: false } = end
            && errand.succeeded.is_none()
        {
            self.hand_off(at, errand.began, Phase::Failed, &errand.worker, child, Some(error));
            return self.go_without_child(errand, "failed", error.clone());
        }
        let cause = self.note_started(&mut errand);
        match end {
            ChildEnd::Completed { outputs, is_goal_satisfied } => {
                let phase = Phase::ChildCompleted;
                let completed = self.hand_off(at, cause, phase, &errand.worker, child, None);
                let digest = super::verdict::digest(outputs);
                self.receive(Delivery {
                    errand,
                    outputs: outputs.clone(),
                    digest,
                    completed,
                    is_goal_satisfied: *is_goal_satisfied,
                    is_verified: false,
                    is_approved: false,
                });
            }
            ChildEnd::Failed { error, .. } => {
                self.hand_off(at, cause, Phase::ChildFailed, &errand.worker, child, Some(error));
                self.go_without_child(errand, "failed", error.clone());
            }
            ChildEnd::Cancelled => {
                self.hand_off(at, cause, Phase::ChildCancelled, &errand.worker, child, None);
                let failure = Failure::new("child_cancelled", "the child run was stopped");
                self.go_without_child(errand, "cancelled", failure);
            }
        }
    }

    /// A child left nothing. Whoever was to follow it is not asked: they may build on it.
    fn go_without_child(&mut self, errand: Errand, status: &str, failure: Failure) {
        let at = errand.order.at;
        if self.is_dispatch(at) {
            self.note_withheld(&errand, "child_failed", "child-completed");
            let done = child_outputs(&errand, status);
            self.end_dispatch(errand.order, done);
        } else {
            self.absorb_or_fail(&errand, status, failure);
        }
    }

    /// As long as it stands the goal of the run is not met.
    pub(super) fn note_withheld(&mut self, errand: &Errand, code: &str, criterion: &str) {
        let at = errand.order.at;
        let (node, worker) = (self.node_id(at), errand.worker.clone());
        let (code, criteria) = (Code::slug(code), vec![Code::slug(criterion)]);
        let withheld = Withheld { node, worker: worker.clone(), code, criteria };
        self.standing.insert((at, worker), withheld);
    }

    /// A sub-workflow goes on without what its child left, or fails.
    pub(super) fn absorb_or_fail(&mut self, errand: &Errand, status: &str, failure: Failure) {
        let at = errand.order.at;
        let policy = match self.start.definition.node(at).map(|node| &node.kind) {
            Some(Kind::Sub(config)) => config.on_child_failure,
            _ => OnChildFailure::FailParent,
        };
        if policy == OnChildFailure::FailParent {
            return self.fail_node(at, failure);
        }
        if !self.standing.contains_key(&(at, errand.worker.clone())) {
            self.note_withheld(errand, "child_failed", "child-completed");
        }
        let mut outputs = child_outputs(errand, status);
        let error = json!({"code": failure.code, "message": failure.message});
        outputs.insert("error".to_owned(), error);
        self.complete_node(at, outputs);
    }

    /// A dispatch is through, and its supervisor has the next turn.
    pub(super) fn end_dispatch(&mut self, mut order: Order, last: Map<String, Value>) {
        let at = order.at;
        let mut outputs = last.clone();
        order.done.push(Value::Object(last));
        if order.done.len() > 1 {
            outputs.insert("children".to_owned(), Value::Array(order.done));
        }
        self.complete_node(at, outputs);
        self.set_through(at, false);
        if let Some(supervisor) = self.start.definition.graph().supervisor_of(at) {
            self.set_through(supervisor, false);
        }
    }

    pub(super) fn is_dispatch(&self, at: usize) -> bool {
        let kind = self.start.definition.node(at).map(|node| &node.kind);
        matches!(kind, Some(Kind::Dispatch(_)))
    }

    /// What is carried into a worker, or back.
    pub(super) fn mapping(&self, at: usize, worker: &str, is_inward: bool) -> &Mapping {
        static NONE: Mapping = Mapping::new();
        match self.start.definition.node(at).map(|node| &node.kind) {
            Some(Kind::Dispatch(config)) if is_inward => config.input_mapping(worker),
            Some(Kind::Dispatch(config)) => config.output_mapping(worker),
            Some(Kind::Sub(config)) if is_inward => &config.input_mapping,
            Some(Kind::Sub(config)) => &config.output_mapping,
            _ => &NONE,
        }
    }

    fn hand_off(
        &mut self,
        at: usize,
        cause: u64,
        phase: Phase,
        worker: &str,
        child: Option<probity_core::RunId>,
        error: Option<&Failure>,
    ) -> u64 {
        let event = Event::Handoff {
            phase,
            worker: worker.to_owned(),
            child,
            harvested: None,
            checksum: None,
            error: error.cloned(),
        };
        self.emit(Some(at), Some(cause), event)
    }
}

/// What a node leaves of a child.
pub(super) fn child_outputs(errand: &Errand, status: &str) -> Map<String, Value> {
    let mut outputs = Map::new();
    outputs.insert("childRunId".to_owned(), Value::from(errand.child.as_str()));
    outputs.insert("childStatus".to_owned(), Value::from(status));
    outputs.insert("workerId".to_owned(), Value::from(errand.worker.as_str()));
    outputs
}
