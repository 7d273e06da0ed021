//! How much work a schema can make: one that refers to itself from many places, level by level, is
//! short and takes longer than anybody waits.

use std::collections::BTreeMap;

use serde_json::Value;

/// References that lead to references, before they count as too many.
const MAX_DEPTH: usize = 64;

/// Keywords that stand for a schema elsewhere.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// Values of the schema with every reference written out; a reference to what is being written out
/// counts once. `None` where a reference cannot be followed here: to another document, to an anchor,
/// or in a part that has a name of its own.
pub(crate) fn weight(schema: &Value) -> Option<u64> {
    let mut scales = Scales { root: schema, known: BTreeMap::new(), depth: 0 };
    scales.weigh(schema, true)
}

struct Scales<'a> {
    root: &'a Value,
    /// By pointer; `None` while it is being weighed.
    known: BTreeMap<String, Option<u64>>,
    depth: usize,
}

impl<'a> Scales<'a> {
    fn weigh(&mut self, value: &'a Value, is_root: bool) -> Option<u64> {
        let mut sum: u64 = 1;
        match value {
            Value::Array(items) => {
                for item in items {
                    sum = sum.saturating_add(self.weigh(item, false)?);
                }
            }
            Value::Object(entries) => {
                for (key, value) in entries {
                    let more = match value.as_str() {
                        Some(to) if REFERENCES.contains(&key.as_str()) => self.follow(to)?,
                        Some(_) if matches!(key.as_str(), "$id" | "id") && !is_root => return None,
                        _ => self.weigh(value, false)?,
                    };
                    sum = sum.saturating_add(more);
                }
            }
            _ => {}
        }
        Some(sum)
    }

    fn follow(&mut self, to: &str) -> Option<u64> {
        let pointer = decoded(to.strip_prefix('#')?)?;
        if let Some(known) = self.known.get(&pointer) {
            return Some(known.unwrap_or(1));
        }
        let root = self.root;
        let target = root.pointer(&pointer)?;
        if self.depth >= MAX_DEPTH {
            return None;
        }
        self.known.insert(pointer.clone(), None);
        self.depth += 1;
        let weight = self.weigh(target, pointer.is_empty());
        self.depth -= 1;
        self.known.insert(pointer, weight);
        weight
    }
}

/// The text behind percent signs.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut parts = text.split('%');
    bytes.extend_from_slice(parts.next().unwrap_or_default().as_bytes());
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(part.get(2..)?.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    /// Each level twice in the one above.
    fn doubling(levels: usize) -> Value {
        let twice = |n: usize| {
            let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
            (format!("d{n}"), json!({"allOf": [next, next]}))
        };
        let mut defs: Map<String, Value> = (0..levels).map(twice).collect();
        defs.insert(format!("d{levels}"), json!({}));
        json!({"type": "object", "$ref": "#/$defs/d0", "$defs": defs})
    }

    #[test]
    fn what_is_written_out_is_counted() {
        let plain = json!({"type": "object", "properties": {"a": {}}});
        assert_eq!(weight(&plain), Some(4));
        let tree = json!({"properties": {"l": {"$ref": "#"}, "r": {"$ref": "#"}}});
        assert!(weight(&tree).is_some_and(|weight| weight < 20));
        assert!(weight(&doubling(5)).is_some_and(|weight| weight < 1_000));
        assert!(weight(&doubling(40)).is_some_and(|weight| weight > 1 << 40));
        let spaced = json!({"$ref": "#/$defs/a%20b%3Cc%3E", "$defs": {"a b<c>": {}}});
        assert_eq!(weight(&spaced), Some(4));
    }

    #[test]
    fn what_cannot_be_followed_has_no_weight() {
        for schema in [
            json!({"$ref": "https://example.com/schema"}),
            json!({"$ref": "#nowhere"}),
            json!({"$ref": "#/$defs/none"}),
            json!({"$ref": "#/%zz"}),
            json!({"$defs": {"a": {"$id": "other", "$ref": "#/$defs/a"}}}),
            doubling(MAX_DEPTH + 1),
        ] {
            assert_eq!(weight(&schema), None, "{schema}");
        }
        // A property may have any name.
        assert!(weight(&json!({"properties": {"$ref": {}, "id": {"type": "string"}}})).is_some());
    }
}
