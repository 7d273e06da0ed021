//! A node begins.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Run;
use super::content::too_large;
use super::state::{Order, Purpose, Work};
use crate::bounds::{Bound, Breach};
use crate::definition::{Kind, Node};
use crate::event::{Event, Failure};

/// How long a delay takes that nobody said anything about.
const DELAY_MS: u64 = 1_000;

impl Run {
    pub(super) fn begin(&mut self, at: usize) {
        let start = self.start();
        let Some(node) = start.definition.node(at) else { return self.complete() };
        if matches!(node.kind, Kind::Supervisor(_)) {
            let limit = self.turn_limit(at);
            let observed = self.iterations.saturating_add(1);
            if observed > limit {
                return self.breach(Some(at), Bound::LoopIterations, limit, observed);
            }
        }
        let limit = start.bounds.max_node_executions;
        let observed = self.executions.saturating_add(1);
        if observed > limit {
            return self.breach(Some(at), Bound::NodeExecutions, limit, observed);
        }
        self.executions = observed;
        let attempt = self.count(at, |place| &mut place.starts);
        let type_id = node.type_id.clone();
        let started = self.emit(Some(at), None, Event::NodeStarted { type_id, attempt });
        self.perform(at, node, started);
    }

    fn perform(&mut self, at: usize, node: &Node, started: u64) {
        match &node.kind {
            Kind::Noop => self.complete_node(at, Map::new()),
            Kind::Fail { code, message } => {
                self.fail_node(at, Failure::new(code, message.clone()));
            }
            Kind::Delay { delay } => self.begin_delay(at, node, delay.as_ref()),
            Kind::Identity => {
                let variables = std::mem::take(&mut self.variables);
                let may_take = self.may_take(node.inputs_named(&variables));
                self.variables = variables;
                if !may_take {
                    return self.fail_node(at, too_large());
                }
                let outputs = node.inputs(&self.variables);
                // A log keeps no order of keys, so what happens has one of its own.
                let sorted: BTreeMap<String, Value> = outputs.clone().into_iter().collect();
                for (name, value) in sorted {
                    self.set_variable(at, None, &name, value);
                }
                self.complete_node(at, outputs);
            }
            Kind::Approval(config) => self.ask_approval(at, config),
            Kind::Questions(config) => {
                let questions = config.questions.clone();
                self.ask(at, questions, config.timeout_ms, Purpose::Questions);
            }
            Kind::Supervisor(config) => self.take_turn(at, config),
            Kind::Dispatch(config) => self.begin_dispatch(at, config),
            Kind::Sub(config) => {
                let workers = vec![config.workflow_id.clone()];
                let order = Order { at, workers, cause: started, done: Vec::new() };
                self.work = Work::ToStart(Box::new(order));
            }
            Kind::Delegation(config) => self.begin_delegation(at, config),
            Kind::Mock(config) => self.play(at, node, config),
        }
    }

    fn begin_delay(&mut self, at: usize, node: &Node, delay: Option<&Value>) {
        let inputs = node.inputs(&self.variables);
        let delay = inputs.get("delayMs").or(delay).or_else(|| self.variables.get("delayMs"));
        let Some(delay_ms) = delay.map_or(Some(DELAY_MS), Value::as_u64) else {
            let why = "`delayMs` must be a whole number of milliseconds, not below nought";
            return self.fail_node(at, Failure::new("validation_error", why));
        };
        if delay_ms == 0 {
            return self.complete_node(at, Map::new());
        }
        self.work = Work::Delay { at, due_ms: self.now_ms.saturating_add(delay_ms) };
    }

    /// A bound was reached: nothing more begins, what is under way is stopped.
    pub(super) fn breach(&mut self, at: Option<usize>, kind: Bound, limit: u64, observed: u64) {
        self.drop_work();
        self.emit(at, None, Event::CapBreached(Breach { kind, limit, observed }));
        let message = match kind {
            Bound::NodeExecutions => format!("no more than {limit} nodes may begin"),
            Bound::RunDuration => format!("the run may take no more than {limit} ms"),
            Bound::LoopIterations => format!("its supervisor has no more than {limit} turns"),
        };
        let error = Failure { code: kind.code().to_owned(), message, details: None };
        self.fail(error, at);
    }

    /// The first moment at which the run took too long.
    pub(super) fn overdue_ms(&self) -> u64 {
        let limit_ms = self.start.bounds.max_run_duration_ms;
        self.started_ms.saturating_add(limit_ms).saturating_add(1)
    }
}
