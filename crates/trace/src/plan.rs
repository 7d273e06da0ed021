//! The plan of a run, and the rules that bind the trace to it.

mod binding;
mod graph;
mod rule;
mod shape;

use std::collections::HashMap;
use std::ops::Range;

use probity_report::{Failures, Place};

use crate::model::StepKind;

pub(crate) use binding::Binding;
pub(crate) use rule::RULES;

/// Name of the plan in a run directory.
pub(crate) const PLAN: &str = "plan.json";

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
    pub(crate) fn read(text: &str, failures: &mut Failures) -> Option<Self> {
        let read = shape::read(text, failures)?;
        graph::check(&read.plan, &read.edges, failures);
        Some(read.plan)
    }

    /// A step by its id.
    pub(crate) fn node(&self, id: &str) -> Option<&Node> {
        self.index.get(id).and_then(|at| self.nodes.get(*at))
    }
}

/// A place in the plan: a JSON pointer.
fn place(pointer: impl Into<String>) -> Place {
    Place::file(PLAN).pointer(pointer)
}

/// The same with the bytes it spans.
fn place_of(pointer: impl Into<String>, span: &Range<usize>) -> Place {
    place(pointer).bytes(span.start as u64, span.end as u64)
}

/// The kinds of steps, in the order in which they come.
const KINDS: [StepKind; 5] = [
    StepKind::Understand,
    StepKind::Gather,
    StepKind::Derive,
    StepKind::Verify,
    StepKind::Finalize,
];

/// The word for a kind of step.
const fn word(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Understand => "understand",
        StepKind::Gather => "gather",
        StepKind::Derive => "derive",
        StepKind::Verify => "verify",
        StepKind::Finalize => "finalize",
    }
}
