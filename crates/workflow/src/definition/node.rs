//! One node of a definition.

use serde_json::{Map, Value};

use super::kind::{self, Kind};
use super::problem::Problems;
use super::read;

/// A node.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Its name, unique in its definition.
    pub id: String,
    /// Its kind, as the definition names it.
    pub type_id: String,
    pub(crate) kind: Kind,
    /// The agent that stands behind it, where it names one.
    pub(crate) agent: Option<String>,
    inputs: Map<String, Value>,
}

impl Node {
    /// Its inputs with the variables filled in. One that names a variable without a value is left out.
    pub(crate) fn inputs(&self, variables: &Map<String, Value>) -> Map<String, Value> {
        let filled = self
            .inputs
            .iter()
            .filter_map(|(name, input)| Some((name.clone(), value(input, variables)?.clone())));
        filled.collect()
    }

    /// The values of [`Self::inputs`], not copied.
    pub(crate) fn inputs_named<'a>(
        &'a self,
        variables: &'a Map<String, Value>,
    ) -> impl Iterator<Item = &'a Value> {
        self.inputs.values().filter_map(|input| value(input, variables))
    }

    /// Who decides, where this node is a supervisor.
    pub(crate) fn supervisor_agent(&self) -> String {
        self.agent.clone().unwrap_or_else(|| format!("supervisor.{}", self.id))
    }
}

fn value<'a>(input: &'a Value, variables: &'a Map<String, Value>) -> Option<&'a Value> {
    let kind = input.get("type").and_then(Value::as_str);
    match (kind, input.get("variableName").and_then(Value::as_str), input.get("value")) {
        (Some("variable"), Some(name), _) => variables.get(name),
        (Some("literal" | "constant" | "static"), _, Some(value)) => Some(value),
        _ => Some(input),
    }
}

pub(super) fn read(
    problems: &mut Problems,
    map: &Map<String, Value>,
    path: &str,
    is_conformance: bool,
) -> Node {
    let id = read::id(problems, map, path);
    let type_id = map.get("typeId").and_then(Value::as_str).unwrap_or_default().to_owned();
    let agent = map.get("agent").and_then(|agent| agent.get("agentId")).map(|agent| {
        let agent = agent.as_str().unwrap_or_default();
        if !(3..=256).contains(&agent.chars().count()) {
            problems.add(format!("{path}/agent/agentId"), "give 3 to 256 characters");
        }
        agent.to_owned()
    });
    let config = map.get("config").filter(|config| !config.is_null());
    if config.is_some_and(|config| !config.is_object()) {
        problems.add(format!("{path}/config"), "give an object");
    }
    let kind = kind::read(problems, &type_id, config, &format!("{path}/config"), is_conformance);
    let kind = kind.unwrap_or_else(|| {
        problems.unknown_type(&id, &type_id);
        Kind::Noop
    });
    let inputs = read::typed(problems, map.get("inputs"), &format!("{path}/inputs"));
    Node { id, type_id, kind, agent, inputs }
}
