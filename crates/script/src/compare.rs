//! What was read against what was expected, typed: a missing key is not null, a bool is no number.

use std::fmt;

use serde_json::{Map, Number, Value as Json};

use crate::fault::cut;

/// Bytes of a value that are quoted.
const MAX_SHOWN_BYTES: usize = 120;

/// What counts as a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Dicts may hold keys that are not expected, at every depth. Lists match item by item.
    Subset,
    /// Nothing else may be there.
    Exact,
}

/// The first place where the two differ, in the order of what is expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    path: String,
    what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "the value read" } else { &self.path };
        write!(f, "`{path}` {}", self.what)
    }
}

/// Whether there is nothing to compare with: such an expectation would be met by anything.
pub(crate) fn is_empty(expected: &Json) -> bool {
    match expected {
        Json::Null => true,
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.is_empty(),
        Json::Object(fields) => fields.is_empty(),
        Json::Bool(_) | Json::Number(_) => false,
    }
}

/// How the value departs from what is expected; `None` where it does not. Both are at most as deep
/// as [`crate::data::MAX_DEPTH`].
pub(crate) fn difference(expected: &Json, got: &Json, mode: Mode) -> Option<Difference> {
    differ("", expected, got, mode)
}

fn differ(path: &str, expected: &Json, got: &Json, mode: Mode) -> Option<Difference> {
    let is_same = match (expected, got) {
        (Json::Object(expected), Json::Object(got)) => return fields(path, expected, got, mode),
        (Json::Array(expected), Json::Array(got)) => return items(path, expected, got, mode),
        (Json::Number(expected), Json::Number(got)) => same_number(expected, got),
        _ => expected == got,
    };
    let what = || format!("must be {}, got {}", shown(expected), shown(got));
    (!is_same).then(|| Difference { path: path.to_owned(), what: what() })
}

fn fields(
    path: &str,
    expected: &Map<String, Json>,
    got: &Map<String, Json>,
    mode: Mode,
) -> Option<Difference> {
    let at = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    let missing = |(key, expected): (&String, &Json)| match got.get(key) {
        Some(got) => differ(&at(key), expected, got, mode),
        None => {
            Some(Difference { path: at(key), what: format!("is missing, not {}", shown(expected)) })
        }
    };
    let extra = |key: &&String| mode == Mode::Exact && !expected.contains_key(*key);
    expected.iter().find_map(missing).or_else(|| {
        let extra = got.keys().find(extra)?;
        Some(Difference { path: at(extra), what: "must not be there".to_owned() })
    })
}

fn items(path: &str, expected: &[Json], got: &[Json], mode: Mode) -> Option<Difference> {
    if expected.len() != got.len() {
        let what = format!("must have {} items, it has {}", expected.len(), got.len());
        return Some(Difference { path: path.to_owned(), what });
    }
    let mut pairs = expected.iter().zip(got).enumerate();
    pairs.find_map(|(at, (expected, got))| differ(&format!("{path}[{at}]"), expected, got, mode))
}

/// One number however it is spelled: `1` and `1.0`.
fn same_number(one: &Number, other: &Number) -> bool {
    match (one.as_i128(), other.as_i128()) {
        (Some(one), Some(other)) => one == other,
        _ => one == other || (one.as_f64().is_some() && one.as_f64() == other.as_f64()),
    }
}

fn shown(value: &Json) -> String {
    cut(&value.to_string(), MAX_SHOWN_BYTES)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_whole_table() {
        use Mode::{Exact, Subset};
        let rows = [
            (json!({"a": 1}), json!({"a": 1}), Subset, None),
            (json!({"a": 1}), json!({"a": 1, "b": 2}), Subset, None),
            (json!({"a": 1}), json!({"a": 1, "b": 2}), Exact, Some("`b` must not be there")),
            (json!({"a": {"b": 1}}), json!({"a": {"b": 1, "c": 2}}), Subset, None),
            (
                json!({"a": {"b": 1}}),
                json!({"a": {"b": 1, "c": 2}}),
                Exact,
                Some("`a.c` must not be there"),
            ),
            (json!({"a": {}}), json!({"a": {"c": 2}}), Subset, None),
            (json!({"a": {}}), json!({"a": []}), Subset, Some("`a` must be {}, got []")),
            (json!({"a": null}), json!({"a": null}), Subset, None),
            (json!({"a": null}), json!({}), Subset, Some("`a` is missing, not null")),
            (json!({"a": 0}), json!({"a": null}), Subset, Some("`a` must be 0, got null")),
            (json!({"a": true}), json!({"a": 1}), Subset, Some("`a` must be true, got 1")),
            (json!({"a": 1}), json!({"a": true}), Subset, Some("`a` must be 1, got true")),
            (json!({"a": 0}), json!({"a": false}), Subset, Some("`a` must be 0, got false")),
            (json!({"a": "1"}), json!({"a": 1}), Subset, Some("`a` must be \"1\", got 1")),
            (json!({"a": 1}), json!({"a": 1.0}), Subset, None),
            (json!({"a": 1}), json!({"a": 1.5}), Subset, Some("`a` must be 1, got 1.5")),
            (
                json!({"a": 9_007_199_254_740_993_u64}),
                json!({"a": 9_007_199_254_740_992_u64}),
                Subset,
                Some("`a` must be 9007199254740993, got 9007199254740992"),
            ),
            (json!(["x"]), json!(["x"]), Exact, None),
            (json!([{"a": 1}]), json!([{"a": 1, "b": 2}]), Subset, None),
            (json!([{"a": 1}]), json!([{"a": 2}]), Subset, Some("`[0].a` must be 1, got 2")),
            (
                json!(["x"]),
                json!(["x", "y"]),
                Subset,
                Some("`the value read` must have 1 items, it has 2"),
            ),
            (json!("x"), json!("y"), Exact, Some("`the value read` must be \"x\", got \"y\"")),
            (
                json!({"a": 1}),
                json!([]),
                Subset,
                Some("`the value read` must be {\"a\":1}, got []"),
            ),
        ];
        for (expected, got, mode, text) in rows {
            let difference = difference(&expected, &got, mode).map(|at| at.to_string());
            assert_eq!(difference.as_deref(), text, "{expected} {got} {mode:?}");
        }
    }

    #[test]
    fn what_is_empty() {
        for value in [json!(null), json!({}), json!([]), json!("")] {
            assert!(is_empty(&value), "{value}");
        }
        for value in [json!(false), json!(0), json!(" "), json!([null]), json!({"a": null})] {
            assert!(!is_empty(&value), "{value}");
        }
    }
}
