//! Variables of a definition.

use serde_json::Value;

use super::problem::Problems;
use super::read::list;

/// Variables of a definition.
const MAX_VARIABLES: usize = 1_000;

/// A variable. Its type is told to people and not enforced, as hosts of this wire have it.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Whether a run begins only with a value for it.
    pub is_required: bool,
    /// What it is where nothing is given.
    pub default: Option<Value>,
}

pub(super) fn variables(problems: &mut Problems, value: Option<&Value>) -> Vec<Variable> {
    let mut variables: Vec<Variable> = Vec::new();
    for (at, entry) in list(problems, value, "/variables", MAX_VARIABLES).iter().enumerate() {
        let name = entry.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        if name.is_empty() || variables.iter().any(|known| known.name == name) {
            problems.add(format!("/variables/{at}/name"), "give a name, used once");
        }
        let is_required = entry.get("required").and_then(Value::as_bool).unwrap_or_default();
        let default = entry.get("defaultValue").or_else(|| entry.get("default")).cloned();
        variables.push(Variable { name, is_required, default });
    }
    variables
}
