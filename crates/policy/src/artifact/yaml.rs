//! YAML as plain data: no anchors, no duplicate keys, bounded.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Number, Value};
use serde_saphyr::options::MergeKeyPolicy;
use serde_saphyr::{Error, Options, Spanned};

use super::error::{ArtifactError, Place};
use super::keys::Entry;

/// Maps and lists inside each other.
const MAX_DEPTH: usize = 32;
/// Maps, lists and scalars in all; a key is a scalar too.
const MAX_NODES: usize = 20_000;
/// Marks a message of [`Plain`]: what follows is the line of a key, a space, and the key.
const DUPLICATE: &str = "duplicate key as text: ";

/// The entries of one map, in their order. `text` starts with the line `---`, so that the parser's
/// lines are the file's.
pub(super) fn entries(file: &str, text: &str) -> Result<Vec<Entry>, ArtifactError> {
    let first = Place::line(file, 1);
    match serde_saphyr::from_str_with_options::<Top>(text, options()) {
        Ok(Top::Mapping(entries)) => Ok(entries),
        Ok(Top::Other) => Err(ArtifactError::NotMapping { at: first }),
        Err(error) => Err(refused(file, &error)),
    }
}

fn options() -> Options {
    let limits = serde_saphyr::budget! {
        max_depth: MAX_DEPTH,
        flow_nesting_limit: MAX_DEPTH,
        max_nodes: MAX_NODES,
        max_aliases: 0,
        max_anchors: 0,
        max_documents: 1,
    };
    serde_saphyr::options! {
        budget: limits,
        merge_keys: MergeKeyPolicy::Error,
        // `off` and `no` are words, such as that of `red_first`.
        strict_booleans: true,
        reject_unsupported_tags: true,
        with_snippet: false,
    }
}

fn refused(file: &str, error: &Error) -> ArtifactError {
    use serde_saphyr::budget::BudgetBreach as Breach;

    let error = error.without_snippet();
    let at = Place { file: file.to_owned(), line: error.location().map(|place| place.line()) };
    if let Some((line, key)) = told_duplicate(error) {
        return ArtifactError::DuplicateKey { at: Place { line, ..at }, key };
    }
    let message = error.to_string();
    match error {
        Error::DuplicateMappingKey { key, .. } => {
            let key = key.as_deref().unwrap_or("?").chars().take(80).collect();
            ArtifactError::DuplicateKey { at, key }
        }
        Error::MergeKeyNotAllowed { .. }
        | Error::UnknownAnchor { .. }
        | Error::AliasError { .. }
        | Error::Budget { breach: Breach::Aliases { .. } | Breach::Anchors { .. }, .. } => {
            ArtifactError::Alias { at }
        }
        Error::Budget { breach: Breach::Depth { .. }, .. } => {
            ArtifactError::Budget { at, detail: format!("nested more than {MAX_DEPTH} deep") }
        }
        Error::Budget { breach: Breach::Nodes { .. }, .. } => {
            ArtifactError::Budget { at, detail: format!("more than {MAX_NODES} keys and values") }
        }
        _ => {
            let detail = message.lines().next().unwrap_or_default().chars().take(300).collect();
            ArtifactError::Yaml { at, detail }
        }
    }
}

/// The line and the key, if this is an error of [`duplicate`].
fn told_duplicate(error: &Error) -> Option<(Option<u64>, String)> {
    let Error::Message { msg, .. } = error else { return None };
    let (line, key) = msg.strip_prefix(DUPLICATE)?.split_once(' ')?;
    Some((line.parse().ok(), key.to_owned()))
}

/// What stands at the top.
enum Top {
    Mapping(Vec<Entry>),
    Other,
}

struct TopVisitor;

impl<'de> Deserialize<'de> for Top {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TopVisitor)
    }
}

macro_rules! scalars {
    ($($visit:ident: $type:ty),* => $value:ident => $result:expr) => {
        $(fn $visit<E: serde::de::Error>(self, $value: $type) -> Result<Self::Value, E> {
            $result
        })*
    };
}

impl<'de> Visitor<'de> for TopVisitor {
    type Value = Top;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of keys")
    }

    scalars!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str
        => _value => Ok(Top::Other));

    fn visit_unit<E: serde::de::Error>(self) -> Result<Top, E> {
        Ok(Top::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Top, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Top::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Top, A::Error> {
        let mut entries: Vec<Entry> = Vec::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            if entries.iter().any(|entry| entry.key == key.value) {
                return Err(duplicate(&key));
            }
            let Plain(value) = map.next_value()?;
            let line = Some(key.referenced.line()).filter(|line| *line > 0);
            let key = key.value;
            entries.push(Entry { key, line, value });
        }
        Ok(Top::Mapping(entries))
    }
}

/// A value whose maps hold every key once, also where keys differ in kind only (`1` and `"1"`).
struct Plain(Value);

struct PlainVisitor;

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PlainVisitor).map(Self)
    }
}

impl<'de> Visitor<'de> for PlainVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    scalars!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_str: &str
        => value => Ok(Value::from(value)));

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("no finite number"))
    }

    fn visit_string<E: serde::de::Error>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Plain(value)) = list.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut values = Map::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            if values.contains_key(&key.value) {
                return Err(duplicate(&key));
            }
            let Plain(value) = map.next_value()?;
            values.insert(key.value, value);
        }
        Ok(Value::Object(values))
    }
}

fn duplicate<E: serde::de::Error>(key: &Spanned<String>) -> E {
    let text: String = key.value.chars().take(80).collect();
    E::custom(format!("{DUPLICATE}{} {text}", key.referenced.line()))
}
