//! What was read against what was expected, typed: a missing key is not null, a bool is no number.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::stock::same_json;

/// Characters of a value that are quoted.
const MAX_SHOWN: usize = 80;

/// What counts as a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Match {
    /// Objects may hold keys that are not expected, at every depth. Lists match item by item.
    #[default]
    Subset,
    /// Nothing else may be there.
    Exact,
}

/// The first place where the two differ, in the order of what is expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    path: String,
    what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "the value read" } else { &self.path };
        write!(f, "`{}` {}", cut(path), self.what)
    }
}

/// Whether there is nothing to compare with: such an expectation would be met by anything, or is
/// one that nobody wrote down.
#[must_use]
pub fn expects_nothing(expected: &Value) -> bool {
    match expected {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// How a value departs from what is expected; `None` where it does not. Numbers compare by value,
/// so `1` matches `1.0`; nothing else matches across types. The text quotes at most 80 characters of
/// each side.
#[must_use]
pub fn difference(expected: &Value, got: &Value, how: Match) -> Option<Difference> {
    differ("", expected, got, how)
}

fn differ(path: &str, expected: &Value, got: &Value, how: Match) -> Option<Difference> {
    let is_same = match (expected, got) {
        (Value::Object(expected), Value::Object(got)) => return fields(path, expected, got, how),
        (Value::Array(expected), Value::Array(got)) => return items(path, expected, got, how),
        _ => same_json(expected, got),
    };
    let what = || format!("must be {}, got {}", shown(expected), shown(got));
    (!is_same).then(|| Difference { path: path.to_owned(), what: what() })
}

fn fields(
    path: &str,
    expected: &Map<String, Value>,
    got: &Map<String, Value>,
    how: Match,
) -> Option<Difference> {
    let at = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    let missing = |(key, expected): (&String, &Value)| match got.get(key) {
        Some(got) => differ(&at(key), expected, got, how),
        None => {
            Some(Difference { path: at(key), what: format!("is missing, not {}", shown(expected)) })
        }
    };
    let extra = |key: &&String| how == Match::Exact && !expected.contains_key(*key);
    expected.iter().find_map(missing).or_else(|| {
        let extra = got.keys().find(extra)?;
        Some(Difference { path: at(extra), what: "must not be there".to_owned() })
    })
}

fn items(path: &str, expected: &[Value], got: &[Value], how: Match) -> Option<Difference> {
    if expected.len() != got.len() {
        let what = format!("must have {} items, it has {}", expected.len(), got.len());
        return Some(Difference { path: path.to_owned(), what });
    }
    let mut pairs = expected.iter().zip(got).enumerate();
    pairs.find_map(|(at, (expected, got))| differ(&format!("{path}[{at}]"), expected, got, how))
}

fn shown(value: &Value) -> String {
    cut(&value.to_string())
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
