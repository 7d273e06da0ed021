//! What a run runs: nodes and what follows what, as JSON that is kept as it came.

mod dispatch;
mod graph;
mod kind;
mod node;
mod problem;
mod read;
mod sub;
mod supervisor;
mod variable;

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::verifier::VerifierSpec;
pub(crate) use dispatch::{DispatchConfig, FanOutPolicy, Mapping, seeded};
use graph::Graph;
pub use kind::MOCK_MODEL;
pub(crate) use kind::{ApprovalConfig, DelegationConfig, Kind, MockConfig, RejectionPolicy};
pub use node::Node;
pub use problem::{DefinitionError, Problem};
pub(crate) use sub::OnChildFailure;
pub(crate) use supervisor::SupervisorConfig;
pub use variable::Variable;

/// A definition. It serializes as the JSON that it was read from.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    json: Value,
    id: String,
    nodes: Vec<Node>,
    variables: Vec<Variable>,
    verifiers: BTreeMap<usize, VerifierSpec>,
    graph: Graph,
}

impl Definition {
    /// Reads a definition.
    ///
    /// # Errors
    /// It is not one; every problem is listed, up to a bound.
    pub fn parse(json: &Value) -> Result<Self, DefinitionError> {
        read::definition(json)
    }

    /// Reads a definition from text.
    ///
    /// # Errors
    /// The text is no JSON, or no definition.
    pub fn from_slice(text: &[u8]) -> Result<Self, DefinitionError> {
        // A key that stands there twice may hide a verifier.
        let json = probity_record::canonical::parse_ijson(text)
            .map_err(|error| DefinitionError::NotJson { why: error.to_string() })?;
        Self::parse(&json)
    }

    /// Its name.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The JSON that it was read from.
    #[must_use]
    pub const fn as_json(&self) -> &Value {
        &self.json
    }

    /// Its nodes, in order.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Its variables, in order.
    #[must_use]
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// Who checks what the children of a node left.
    #[must_use]
    pub fn verifier(&self, node: &str) -> Option<&VerifierSpec> {
        self.index(node).and_then(|at| self.verifiers.get(&at))
    }

    /// The place of a node.
    pub(crate) fn index(&self, node: &str) -> Option<usize> {
        self.nodes.iter().position(|known| known.id == node)
    }

    /// The node at a place that [`Self::index`] or the graph named.
    pub(crate) fn node(&self, at: usize) -> Option<&Node> {
        self.nodes.get(at)
    }

    pub(crate) fn verifier_at(&self, at: usize) -> Option<&VerifierSpec> {
        self.verifiers.get(&at)
    }

    pub(crate) const fn graph(&self) -> &Graph {
        &self.graph
    }
}

impl Serialize for Definition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Definition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Value::deserialize(deserializer)?;
        Self::parse(&json).map_err(serde::de::Error::custom)
    }
}
