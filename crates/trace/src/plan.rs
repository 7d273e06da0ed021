//! The plan of a run, and the rules that bind the trace to it.

use std::collections::HashMap;

use probity_report::Failures;

use crate::model::{Event, StepKind};
use crate::scene::{Family, Scene};

/// A plan. Its shape was checked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plan {
    pub(crate) id: String,
    pub(crate) problem: String,
    pub(crate) spec_id: String,
    pub(crate) nodes: Vec<Node>,
    /// Place in `nodes` by id; of equal ids the first.
    pub(crate) index: HashMap<String, usize>,
}

/// One step of a plan.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) id: String,
    pub(crate) kind: StepKind,
    pub(crate) dependencies: Vec<String>,
    pub(crate) requests: Vec<Request>,
}

/// A tool that a step must call.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) tool_name: String,
    /// Canonical text.
    pub(crate) arguments: String,
}

impl Plan {
    /// Reads `plan.json`. What is wrong with it is told; `None` where nothing can be made of it.
    pub(crate) fn read(_text: &str, _failures: &mut Failures) -> Option<Self> {
        None
    }

    /// A step by its id.
    pub(crate) fn node(&self, id: &str) -> Option<&Node> {
        self.index.get(id).and_then(|at| self.nodes.get(*at))
    }
}

/// The trace held against the plan.
#[derive(Debug, Default)]
pub(crate) struct Binding {}

impl Family for Binding {
    fn event(&mut self, _scene: &Scene, _event: &Event, _failures: &mut Failures) {}

    fn finish(&mut self, _scene: &Scene, _failures: &mut Failures) {}
}
