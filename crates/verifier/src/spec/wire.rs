//! The wire form of a check: a map, the same from JSON, YAML and TOML, or the `--expect` text.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::{Map, Value, json};

use super::agent::AgentSpec;
use super::effect::{Effect, RESPONSE};
use super::error::excerpt;
use super::keys::{KINDS, Key, Kind, nearest};
use super::value::{format_duration_ms, parse_duration_ms, parse_long_duration_ms};
use super::{CheckSpec, Source, SpecError};
use crate::expect;

/// The word that stands for the empty list of globs.
const NO_GLOBS: &str = "none";

impl<'de> Deserialize<'de> for CheckSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => expect::parse(&text).map_err(de::Error::custom),
            Value::Object(map) => from_map(map).map_err(de::Error::custom),
            _ => {
                Err(de::Error::custom("a check is a map or a text such as `file:out.txt,created`"))
            }
        }
    }
}

impl Serialize for CheckSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (kind, target, mut map) = parts(self).map_err(ser::Error::custom)?;
        map.insert(kind.name.to_owned(), target);
        map.serialize(serializer)
    }
}

fn from_map(mut map: Map<String, Value>) -> Result<CheckSpec, SpecError> {
    let named: Vec<&Kind> = KINDS.iter().filter(|kind| map.contains_key(kind.name)).collect();
    let [kind] = named.as_slice() else {
        let found = match named.as_slice() {
            [] => "none".to_owned(),
            kinds => {
                kinds.iter().map(|kind| format!("`{}`", kind.name)).collect::<Vec<_>>().join(", ")
            }
        };
        return Err(SpecError::KindCount { found });
    };
    let target = map.remove(kind.name).unwrap_or_default();
    from_parts(kind, target, map)
}

/// Builds a check from its kind, its target and its other keys, and validates it.
pub(crate) fn from_parts(
    kind: &'static Kind,
    target: Value,
    mut map: Map<String, Value>,
) -> Result<CheckSpec, SpecError> {
    for (name, value) in &map {
        let key = kind.key(name).ok_or_else(|| unknown_key(kind, name))?;
        if !key.form.admits(value) {
            return Err(bad_value(key, value));
        }
    }
    let id = match map.remove("id") {
        Some(Value::String(text)) => Some(text.parse().map_err(|error| SpecError::Value {
            key: "id",
            legal: format!("{error}"),
            value: excerpt(&text),
        })?),
        _ => None,
    };
    let parse = if kind.name == "human" { parse_long_duration_ms } else { parse_duration_ms };
    let timeout_ms = map.remove("timeout").as_ref().and_then(Value::as_str).and_then(parse);
    map.insert("target".to_owned(), target_value(kind, target)?);
    let check = CheckSpec { id, timeout_ms, effect: effect(kind, Value::Object(map))? };
    check.validate()?;
    Ok(check)
}

/// The inverse of [`from_parts`].
pub(crate) fn parts(
    check: &CheckSpec,
) -> Result<(&'static Kind, Value, Map<String, Value>), serde_json::Error> {
    let value = match &check.effect {
        Effect::File(spec) => serde_json::to_value(spec),
        Effect::Dir(spec) => serde_json::to_value(spec),
        Effect::Text(spec) => serde_json::to_value(spec),
        Effect::Json(spec) => serde_json::to_value(spec),
        Effect::Command(spec) => serde_json::to_value(spec),
        Effect::Http(spec) => serde_json::to_value(spec),
        Effect::Git(spec) => serde_json::to_value(spec),
        Effect::Sqlite(spec) => serde_json::to_value(spec),
        Effect::Port(spec) => serde_json::to_value(spec),
        Effect::Process(spec) => serde_json::to_value(spec),
        Effect::ChangesOnly(spec) => serde_json::to_value(spec),
        Effect::External(spec) => serde_json::to_value(spec),
        Effect::ReadAfterWrite(spec) => serde_json::to_value(spec),
        Effect::InvariantCheck(spec) => serde_json::to_value(spec),
        Effect::Citations(spec) => serde_json::to_value(spec),
        Effect::Agent(spec) => serde_json::to_value(spec).map(|map| json!({ "target": map })),
        Effect::Human(spec) => serde_json::to_value(spec),
    }?;
    let (Some(kind), Value::Object(mut map)) = (Kind::named(check.kind()), value) else {
        return Err(ser::Error::custom("every kind is in the table and serialises as a map"));
    };
    let target = map.remove("target").unwrap_or_default();
    if let Some(id) = &check.id {
        map.insert("id".to_owned(), id.as_str().into());
    }
    if let Some(millis) = check.timeout_ms {
        map.insert("timeout".to_owned(), format_duration_ms(millis).into());
    }
    Ok((kind, target, map))
}

fn target_value(kind: &Kind, target: Value) -> Result<Value, SpecError> {
    let target = match (kind.name, target) {
        ("text", Value::String(text)) if text.is_empty() || text == RESPONSE => RESPONSE.into(),
        ("text", other) => {
            return Err(SpecError::Target {
                kind: "text",
                legal: "empty or `response`: it looks at the claim's response",
                target: excerpt(&other.to_string()),
            });
        }
        ("changes_only", Value::String(text)) if text == NO_GLOBS => Value::Array(Vec::new()),
        ("changes_only", list @ Value::Array(_)) => list,
        ("agent", map) => return AgentSpec::read(&map),
        (_, other) => other,
    };
    let texts = target.is_string()
        || (kind.name == "changes_only"
            && target.as_array().is_some_and(|list| list.iter().all(Value::is_string)));
    if texts {
        return match target.as_str().filter(|_| kind.target == "SOURCE").map(str::parse::<Source>) {
            Some(Err(_)) => Err(SpecError::Target {
                kind: kind.name,
                legal: Source::LEGAL,
                target: excerpt(target.as_str().unwrap_or_default()),
            }),
            _ => Ok(target),
        };
    }
    Err(SpecError::Target {
        kind: kind.name,
        legal: "a text",
        target: excerpt(&target.to_string()),
    })
}

fn effect(kind: &'static Kind, mut map: Value) -> Result<Effect, SpecError> {
    use serde_json::from_value;
    match kind.name {
        "file" => from_value(map).map(Effect::File),
        "dir" => from_value(map).map(Effect::Dir),
        "text" => from_value(map).map(Effect::Text),
        "json" => from_value(map).map(Effect::Json),
        "command" => from_value(map).map(Effect::Command),
        "http" => from_value(map).map(Effect::Http),
        "git" => from_value(map).map(Effect::Git),
        "sqlite" => from_value(map).map(Effect::Sqlite),
        "port" => from_value(map).map(Effect::Port),
        "process" => from_value(map).map(Effect::Process),
        "changes_only" => from_value(map).map(Effect::ChangesOnly),
        "external" => from_value(map).map(Effect::External),
        "read_after_write" => from_value(map).map(Effect::ReadAfterWrite),
        "invariant_check" => from_value(map).map(Effect::InvariantCheck),
        "citations" => from_value(map).map(Effect::Citations),
        "agent" => from_value(map.get_mut("target").map(Value::take).unwrap_or_default())
            .map(Effect::Agent),
        _ => from_value(map).map(Effect::Human),
    }
    .map_err(|error| SpecError::Value {
        key: kind.name,
        legal: "a check of this kind".to_owned(),
        value: error.to_string(),
    })
}

/// The error for a key that the kind does not have.
pub(crate) fn unknown_key(kind: &'static Kind, name: &str) -> SpecError {
    let legal = || kind.all_keys().map(|key| key.name);
    let hint = match nearest(name, legal()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("it has {}", legal().collect::<Vec<_>>().join(", ")),
    };
    SpecError::UnknownKey { kind: kind.name, key: excerpt(name), hint }
}

/// The error for a kind that does not exist.
pub(crate) fn unknown_kind(name: &str) -> SpecError {
    let legal = || KINDS.iter().map(|kind| kind.name);
    let hint = match nearest(name, legal()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", legal().collect::<Vec<_>>().join(", ")),
    };
    SpecError::UnknownKind { kind: excerpt(name), hint }
}

fn bad_value(key: &Key, value: &Value) -> SpecError {
    let written = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    SpecError::Value { key: key.name, legal: key.form.legal().to_owned(), value: excerpt(&written) }
}
