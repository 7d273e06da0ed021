//! What follows what.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::kind::Kind;
use super::node::Node;
use super::problem::Problems;
use super::read::list;

/// Edges of a definition.
const MAX_EDGES: usize = 10_000;

/// The edges, by node. A way back from a dispatch to its supervisor is no edge: a dispatch always
/// returns to its supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Graph {
    before: Vec<BTreeSet<usize>>,
    supervisors: BTreeMap<usize, usize>,
}

impl Graph {
    /// Draws it, and says what is wrong with it.
    pub(super) fn new(problems: &mut Problems, nodes: &[Node], edges: Vec<(usize, usize)>) -> Self {
        let is =
            |at: usize, wanted: fn(&Kind) -> bool| nodes.get(at).is_some_and(|n| wanted(&n.kind));
        let supervises = |kind: &Kind| matches!(kind, Kind::Supervisor(_));
        let dispatches = |kind: &Kind| matches!(kind, Kind::Dispatch(_));
        let mut graph = Self { before: vec![BTreeSet::new(); nodes.len()], ..Self::default() };
        for (from, to) in edges {
            if is(from, dispatches) && is(to, supervises) {
                continue;
            }
            if is(from, supervises)
                && is(to, dispatches)
                && graph.supervisors.insert(to, from).is_some_and(|other| other != from)
            {
                problems.add("/edges", "a core.dispatch follows one supervisor only");
            }
            if is(from, dispatches) || (is(from, supervises) && !is(to, dispatches)) {
                problems.add(
                    "/edges",
                    "a supervisor's last decision ends the run: nothing but its dispatch follows it, and \
                     nothing but the supervisor follows that",
                );
            }
            if let Some(before) = graph.before.get_mut(to) {
                before.insert(from);
            }
        }
        graph.check_loops(problems, nodes);
        if !graph.is_acyclic() {
            problems.add("/edges", "only a core.dispatch leads back, and only to its supervisor");
        }
        graph
    }

    /// Whether everything before a node is through.
    pub(crate) fn is_ready(&self, at: usize, is_through: impl Fn(usize) -> bool) -> bool {
        self.before.get(at).is_some_and(|before| before.iter().all(|at| is_through(*at)))
    }

    /// The supervisor of a dispatch.
    pub(crate) fn supervisor_of(&self, dispatch: usize) -> Option<usize> {
        self.supervisors.get(&dispatch).copied()
    }

    /// The dispatch of a supervisor.
    pub(crate) fn dispatch_of(&self, supervisor: usize) -> Option<usize> {
        let mut pairs = self.supervisors.iter();
        pairs.find(|(_, of)| **of == supervisor).map(|(dispatch, _)| *dispatch)
    }

    fn check_loops(&self, problems: &mut Problems, nodes: &[Node]) {
        let mut agents = BTreeSet::new();
        for (at, node) in nodes.iter().enumerate() {
            let path = format!("/nodes/{at}");
            match &node.kind {
                Kind::Dispatch(_) if self.supervisor_of(at).is_none() => {
                    problems.add(path, "put a core.orchestrator.supervisor before the dispatch");
                }
                Kind::Supervisor(config) => {
                    agents.insert(node.supervisor_agent());
                    let dispatches = self.supervisors.values().filter(|of| **of == at).count();
                    if dispatches == 0 && config.is_dispatching() {
                        problems.add(path, "it names workers: put a core.dispatch behind it");
                    } else if dispatches > 1 {
                        problems.add(path, "a supervisor has one core.dispatch behind it");
                    }
                }
                _ => {}
            }
        }
        if agents.len() > 1 {
            problems.add(
                "/nodes",
                "the supervisors of a run are one agent: give all the same `agentId`",
            );
        }
    }

    fn is_acyclic(&self) -> bool {
        let mut through = vec![false; self.before.len()];
        loop {
            let is_through = |at: usize| through.get(at).copied().unwrap_or_default();
            let next: Vec<usize> = (0..self.before.len())
                .filter(|at| !is_through(*at) && self.is_ready(*at, is_through))
                .collect();
            if next.is_empty() {
                return through.into_iter().all(|through| through);
            }
            for at in next {
                if let Some(through) = through.get_mut(at) {
                    *through = true;
                }
            }
        }
    }
}

pub(super) fn edges(
    problems: &mut Problems,
    value: Option<&Value>,
    nodes: &[Node],
) -> Vec<(usize, usize)> {
    let places: BTreeMap<&str, usize> =
        nodes.iter().enumerate().map(|(at, node)| (node.id.as_str(), at)).collect();
    let place = |entry: &Value, keys: [&str; 2]| {
        let name = keys.iter().find_map(|key| entry.get(key)).and_then(Value::as_str)?;
        places.get(name).copied()
    };
    let mut edges = Vec::new();
    for (at, entry) in list(problems, value, "/edges", MAX_EDGES).iter().enumerate() {
        let from = place(entry, ["sourceNodeId", "source"]);
        match from.zip(place(entry, ["targetNodeId", "target"])) {
            Some(edge) => edges.push(edge),
            None => problems.add(
                format!("/edges/{at}"),
                "`sourceNodeId` and `targetNodeId` must name nodes of this definition",
            ),
        }
    }
    edges
}
