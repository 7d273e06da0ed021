//! What comes next, and how it is told.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::Run;
use super::state::{End, Loop, Place, Work};
use crate::effect::{Effect, Kin};
use crate::event::{Entry, Event, Failure};
use crate::input::Start;
use probity_core::RunId;

impl Run {
    /// Begins whatever may begin. A paused run begins nothing.
    pub(super) fn advance(&mut self) {
        while self.end.is_none() && !self.is_paused {
            match std::mem::take(&mut self.work) {
                Work::Idle => match self.next_ready() {
                    Some(at) => self.begin(at),
                    None => self.complete(),
                },
                Work::ToStart(order) => self.start_child(*order),
                Work::ToVerify(delivery) => self.start_check(*delivery),
                busy => {
                    self.work = busy;
                    return;
                }
            }
        }
    }

    /// The first node, in the order of the definition, that everything before it is through for.
    fn next_ready(&self) -> Option<usize> {
        let is_through = |at: usize| self.places.get(at).is_some_and(|place| place.is_through);
        let graph = self.start.definition.graph();
        (0..self.places.len()).find(|at| !is_through(*at) && graph.is_ready(*at, is_through))
    }

    /// An event in its place, which is returned.
    pub(super) fn emit(&mut self, at: Option<usize>, cause: Option<u64>, event: Event) -> u64 {
        let sequence = self.length;
        let node = at.map(|at| self.node_id(at));
        self.entries.push(Entry { sequence, at_ms: self.now_ms, node, cause, event });
        self.length = sequence.saturating_add(1);
        sequence
    }

    pub(super) fn complete_node(&mut self, at: usize, outputs: Map<String, Value>) {
        self.set_through(at, true);
        self.emit(Some(at), None, Event::NodeCompleted { outputs });
    }

    /// A node failed, and its run with it.
    pub(super) fn fail_node(&mut self, at: usize, error: Failure) {
        self.emit(Some(at), None, Event::NodeFailed { error: error.clone() });
        self.fail(error, Some(at));
    }

    pub(super) fn fail(&mut self, error: Failure, at: Option<usize>) {
        self.drop_work();
        let failed_node = at.map(|at| self.node_id(at));
        self.emit(None, None, Event::RunFailed { error: error.clone(), failed_node });
        self.end = Some(End::Failed(error));
    }

    pub(super) fn complete(&mut self) {
        let outputs = self.variables.clone();
        self.emit(None, None, Event::RunCompleted { outputs });
        self.end = Some(End::Completed);
    }

    /// Lets go of whatever is at work: a wait ends without an answer, the rest is stopped.
    pub(super) fn drop_work(&mut self) {
        match std::mem::take(&mut self.work) {
            Work::Waiting(wait) => self.close_wait(&wait, None),
            Work::Child(errand) => self.stop(errand.child, Kin::Child),
            Work::Verifying(check) => self.stop(check.verification, Kin::Verification),
            Work::Delegation { delegation, .. } => self.stop(delegation, Kin::Delegation),
            Work::Idle | Work::Delay { .. } | Work::ToStart(_) | Work::ToVerify(_) => {}
        }
    }

    pub(super) fn stop(&mut self, run: RunId, kind: Kin) {
        self.stopped.push((run.clone(), kind));
        self.effects.push_back(Effect::Stop { run, kind });
    }

    /// Gives a variable a value, and tells it where it is another one.
    pub(super) fn set_variable(&mut self, at: usize, cause: Option<u64>, name: &str, next: Value) {
        let previous = self.variables.insert(name.to_owned(), next.clone());
        self.weigh(previous.as_ref(), &next);
        if previous.as_ref() != Some(&next) {
            let name = name.to_owned();
            self.emit(Some(at), cause, Event::VariableChanged { name, previous, next });
        }
    }

    pub(super) fn start(&self) -> Arc<Start> {
        Arc::clone(&self.start)
    }

    pub(super) fn node_id(&self, at: usize) -> String {
        self.start.definition.node(at).map(|node| node.id.clone()).unwrap_or_default()
    }

    pub(super) fn set_through(&mut self, at: usize, is_through: bool) {
        if let Some(place) = self.places.get_mut(at) {
            place.is_through = is_through;
        }
    }

    /// Counts up, and says how many there were before.
    pub(super) fn count(&mut self, at: usize, number: fn(&mut Place) -> &mut u64) -> u64 {
        let Some(place) = self.places.get_mut(at) else { return 0 };
        let number = number(place);
        let before = *number;
        *number = before.saturating_add(1);
        before
    }

    pub(super) fn supervision(&mut self, supervisor: usize) -> &mut Loop {
        self.loops.entry(supervisor).or_default()
    }
}

impl Failure {
    pub(crate) fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), details: None }
    }
}
