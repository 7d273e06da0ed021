//! From JSON to nodes, edges, variables and verifiers.

use std::collections::BTreeMap;

use serde::Deserialize as _;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::graph::{self, Graph};
use super::kind::Kind;
use super::node::Node;
use super::problem::{DefinitionError, Problem, Problems};
use super::{Definition, node, variable};
use crate::verifier::VerifierSpec;

/// Nodes of a definition.
const MAX_NODES: usize = 1_000;
/// The deepest nesting of a definition.
const MAX_DEPTH: usize = 64;
/// Characters of names: of a definition, of a node.
const MAX_ID_CHARS: usize = 128;
/// Checks of a verifier, and of its stated verdicts.
const MAX_CHECKS: usize = 100;
/// How long a verifier may take.
const MAX_VERIFIER_MS: u64 = 3_600_000;
/// Definitions in which decisions and verdicts may be stated beforehand by `mock…` keys.
const CONFORMANCE: &str = "conformance-";

pub(super) fn definition(json: &Value) -> Result<Definition, DefinitionError> {
    let Some(map) = json.as_object().filter(|_| !is_deeper(json, MAX_DEPTH)) else {
        return Err(one("", format!("give an object, nested no deeper than {MAX_DEPTH}")));
    };
    let mut problems = Problems::default();
    let id = id(&mut problems, map, "");
    let is_conformance = id.starts_with(CONFORMANCE);
    let nodes = nodes(&mut problems, map, is_conformance);
    let variables = variable::variables(&mut problems, map.get("variables"));
    let edges = graph::edges(&mut problems, map.get("edges"), &nodes);
    let graph = if problems.is_empty() {
        Graph::new(&mut problems, &nodes, edges)
    } else {
        Graph::default()
    };
    let verifiers = verifiers(&mut problems, json, &nodes, is_conformance);
    problems.into_result()?;
    Ok(Definition { json: json.clone(), id, nodes, variables, verifiers, graph })
}

/// A name at `id`, of legal length.
pub(super) fn id(problems: &mut Problems, map: &Map<String, Value>, path: &str) -> String {
    match map.get("id").and_then(Value::as_str) {
        Some(id) if (1..=MAX_ID_CHARS).contains(&id.chars().count()) => id.to_owned(),
        _ => {
            problems.add(
                format!("{path}/id"),
                format!("give a name of 1 to {MAX_ID_CHARS} characters"),
            );
            String::new()
        }
    }
}

/// A value of a type that says itself what is wrong with it; a null or a missing one is its default.
pub(super) fn typed<T: DeserializeOwned + Default>(
    problems: &mut Problems,
    value: Option<&Value>,
    path: &str,
) -> T {
    let Some(value) = value.filter(|value| !value.is_null()) else { return T::default() };
    T::deserialize(value).unwrap_or_else(|error| {
        problems.add(path, error.to_string());
        T::default()
    })
}

/// The entries of a list that may be missing, no more of them than `max`.
pub(super) fn list<'a>(
    problems: &mut Problems,
    value: Option<&'a Value>,
    path: &str,
    max: usize,
) -> &'a [Value] {
    match value {
        None | Some(Value::Null) => &[],
        Some(Value::Array(entries)) if entries.len() <= max => entries,
        Some(_) => {
            problems.add(path, format!("give a list of no more than {max}"));
            &[]
        }
    }
}

fn nodes(problems: &mut Problems, map: &Map<String, Value>, is_conformance: bool) -> Vec<Node> {
    let entries = list(problems, map.get("nodes"), "/nodes", MAX_NODES);
    if entries.is_empty() {
        problems.add("/nodes", "give at least one node");
    }
    let mut nodes: Vec<Node> = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        let path = format!("/nodes/{at}");
        let Some(map) = entry.as_object() else {
            problems.add(path, "give an object");
            continue;
        };
        let node = node::read(problems, map, &path, is_conformance);
        if nodes.iter().any(|known| known.id == node.id) {
            problems
                .add(format!("{path}/id"), format!("`{}` is taken: give another name", node.id));
        }
        nodes.push(node);
    }
    nodes
}

fn verifiers(
    problems: &mut Problems,
    json: &Value,
    nodes: &[Node],
    is_conformance: bool,
) -> BTreeMap<usize, VerifierSpec> {
    let mut verifiers = BTreeMap::new();
    let is_known =
        |own: &Value| own.as_object().is_some_and(|o| o.keys().all(|key| key == "verifiers"));
    if json.pointer("/metadata/probity").is_some_and(|own| !is_known(own)) {
        problems.add("/metadata/probity", "give an object that holds `verifiers` and nothing else");
        return verifiers;
    }
    let entries = match json.pointer("/metadata/probity/verifiers") {
        None => return verifiers,
        Some(Value::Object(entries)) => entries,
        Some(_) => {
            problems.add("/metadata/probity/verifiers", "give an object: node to verifier");
            return verifiers;
        }
    };
    for (name, entry) in entries {
        let path = format!("/metadata/probity/verifiers/{name}");
        let place = nodes.iter().enumerate().find(|(_, node)| node.id == *name);
        let Some((at, _)) = place.filter(|(_, node)| node.kind.has_children()) else {
            problems.add(path, "name a core.dispatch or core.subWorkflow node of this definition");
            continue;
        };
        match VerifierSpec::deserialize(entry) {
            Ok(spec) => {
                if let Some(what) = fault(&spec, is_conformance) {
                    problems.add(path, what);
                }
                verifiers.insert(at, spec);
            }
            Err(error) => problems.add(path, error.to_string()),
        }
    }
    verifiers
}

/// What is wrong with a verifier.
fn fault(spec: &VerifierSpec, is_conformance: bool) -> Option<String> {
    if !(3..=256).contains(&spec.agent_id.chars().count()) {
        return Some("`agentId` must have 3 to 256 characters".to_owned());
    }
    if !spec.mock_verdicts.is_empty() && !is_conformance {
        return Some(format!(
            "`mockVerdicts` is for definitions named `{CONFORMANCE}*`: give `checks`"
        ));
    }
    if spec.checks.is_empty() && spec.mock_verdicts.is_empty() {
        return Some("give at least one check".to_owned());
    }
    if spec.checks.len().max(spec.mock_verdicts.len()) > MAX_CHECKS {
        return Some(format!("give no more than {MAX_CHECKS} checks"));
    }
    if !(1..=MAX_VERIFIER_MS).contains(&spec.timeout_ms) {
        return Some(format!("`timeoutMs` must be 1 to {MAX_VERIFIER_MS}"));
    }
    None
}

fn one(path: &str, what: String) -> DefinitionError {
    DefinitionError::Invalid { problems: vec![Problem { path: path.to_owned(), what }] }
}

/// Whether values nest deeper than `levels`. Looks no deeper than that itself.
fn is_deeper(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else { return true };
    match value {
        Value::Array(entries) => entries.iter().any(|entry| is_deeper(entry, below)),
        Value::Object(entries) => entries.values().any(|entry| is_deeper(entry, below)),
        _ => false,
    }
}

impl Kind {
    /// Whether nodes of this kind begin child runs.
    pub(super) const fn has_children(&self) -> bool {
        matches!(self, Self::Dispatch(_) | Self::Sub(_))
    }
}
