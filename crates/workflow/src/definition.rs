//! What a run runs: nodes and what follows what, as JSON that is kept as it came.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A definition. It serializes as the JSON that it was read from.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    json: Value,
    id: String,
}

/// A definition was not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// No JSON, or nested too deep.
    #[error("the definition is not JSON: {why}")]
    NotJson {
        /// Where and why.
        why: String,
    },
    /// A kind of node that is not known here.
    #[error("node `{node}` is of type `{type_id}`, which this host does not run")]
    CapabilityRequired {
        /// The kind.
        type_id: String,
        /// The node.
        node: String,
    },
    /// Something is wrong in it.
    #[error("the definition is not valid: {}", .problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Invalid {
        /// What, in order of the text.
        problems: Vec<Problem>,
    },
}

/// Something that is wrong in a definition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}`: {what}")]
pub struct Problem {
    /// JSON pointer to the place.
    pub path: String,
    /// What is wrong, and what to do.
    pub what: String,
}

impl Definition {
    /// Reads a definition.
    ///
    /// # Errors
    /// It is not one; every problem is listed.
    pub fn parse(json: &Value) -> Result<Self, DefinitionError> {
        let id = json.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(Self { json: json.clone(), id })
    }

    /// Reads a definition from text.
    ///
    /// # Errors
    /// The text is no JSON, or no definition.
    pub fn from_slice(text: &[u8]) -> Result<Self, DefinitionError> {
        let json = serde_json::from_slice(text)
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

impl DefinitionError {
    /// The machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::CapabilityRequired { .. } => "capability_required",
            Self::NotJson { .. } | Self::Invalid { .. } => "validation_error",
        }
    }
}
