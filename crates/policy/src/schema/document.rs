//! Strict reading: text to a value that lost nothing, then the schema, then the type.

use std::cell::Cell;
use std::fmt;

use probity_record::canonical::{MAX_DEPTH, MAX_SAFE_INTEGER};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Number, Value};

use super::{PolicyFinding, PolicyFindings, Schema, under};
use crate::sorted_json::spelled;

/// The largest document, in bytes.
pub const MAX_DOCUMENT_BYTES: usize = 1 << 20;

/// How a document is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// JSON.
    Json,
    /// YAML 1.2.
    Yaml,
}

/// A value as it was written.
pub(crate) struct Document {
    written: Value,
    /// The same with every whole number as an integer: `120.0` is 120 here.
    plain: Value,
}

/// Reads text. A key that occurs twice is refused, in YAML as in JSON.
pub(crate) fn read(text: &str, format: Format) -> Result<Document, PolicyFindings> {
    if text.len() > MAX_DOCUMENT_BYTES {
        let message = format!(
            "the document has {} bytes, over the limit of {MAX_DOCUMENT_BYTES}; shorten it",
            text.len()
        );
        return Err(PolicyFinding::error("policy_too_large", "", message).into());
    }
    let twice = Cell::new(false);
    let seed = Strict { depth: 0, twice: &twice };
    let value = match format {
        Format::Json => read_json(text, seed),
        Format::Yaml => read_yaml(text, seed),
    };
    let value = value.map_err(|detail| {
        if twice.get() {
            let message = format!("a key occurs twice: {detail}; keep one of them");
            return PolicyFinding::error("policy_key_twice", "", message);
        }
        let name = if format == Format::Json { "JSON" } else { "YAML" };
        PolicyFinding::error("policy_syntax", "", format!("not {name}: {detail}; correct it"))
    })?;
    Document::new(value)
}

fn read_json(text: &str, seed: Strict<'_>) -> Result<Value, String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = seed.deserialize(&mut reader).map_err(|error| error.to_string())?;
    reader.end().map_err(|error| error.to_string())?;
    Ok(value)
}

fn read_yaml(text: &str, seed: Strict<'_>) -> Result<Value, String> {
    let told = |error: serde_saphyr::Error| {
        if matches!(error.without_snippet(), serde_saphyr::Error::DuplicateMappingKey { .. }) {
            seed.twice.set(true);
        }
        error.without_snippet().to_string()
    };
    serde_saphyr::with_deserializer_from_str(text, |reader| seed.deserialize(reader)).map_err(told)
}

impl Document {
    /// Takes a value that was read elsewhere.
    pub(crate) fn of(value: &Value) -> Result<Self, PolicyFindings> {
        // Checked first: a copy of a value without a bottom would not come back.
        let plain = plain(value, "", 0)?;
        Ok(Self { written: value.clone(), plain })
    }

    fn new(written: Value) -> Result<Self, PolicyFindings> {
        let plain = plain(&written, "", 0)?;
        Ok(Self { written, plain })
    }

    /// The value as it was written.
    pub(crate) const fn value(&self) -> &Value {
        &self.written
    }

    /// The value as a type, after its schema.
    pub(crate) fn typed<T: DeserializeOwned>(self, schema: Schema) -> Result<T, PolicyFindings> {
        PolicyFindings::refuse(schema.findings(&self.plain))?;
        serde_json::from_value(self.plain).map_err(|error| {
            let message = format!("{error}; correct it");
            PolicyFinding::error("policy_value", "", message).into()
        })
    }
}

fn plain(value: &Value, place: &str, depth: usize) -> Result<Value, PolicyFinding> {
    let deeper = || {
        if depth >= MAX_DEPTH {
            let message = format!("nested deeper than {MAX_DEPTH}; flatten it");
            return Err(PolicyFinding::error("policy_value", "", message));
        }
        Ok(depth + 1)
    };
    match value {
        Value::Number(number) => plain_number(number, place).map(Value::Number),
        Value::Array(items) => {
            let depth = deeper()?;
            let items = items.iter().enumerate();
            let items = items.map(|(at, item)| plain(item, &format!("{place}/{at}"), depth));
            items.collect::<Result<_, _>>().map(Value::Array)
        }
        Value::Object(map) => {
            if let Some(number) = spelled(map) {
                return plain_number(&number, place).map(Value::Number);
            }
            let depth = deeper()?;
            let members = map.iter().map(|(key, item)| {
                plain(item, &under(place, key), depth).map(|item| (key.clone(), item))
            });
            members.collect::<Result<Map<_, _>, _>>().map(Value::Object)
        }
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(value.clone()),
    }
}

fn plain_number(number: &Number, place: &str) -> Result<Number, PolicyFinding> {
    if number.is_u64() || number.is_i64() {
        return Ok(number.clone());
    }
    let double = number.as_f64().filter(|double| double.is_finite()).ok_or_else(|| {
        let message = "the number is beyond the range of a double; write a smaller one";
        PolicyFinding::error("policy_value", place, message)
    })?;
    let whole = format!("{double:.0}").parse::<i64>().ok();
    let is_whole = double.fract() == 0.0;
    let exact = whole.filter(|whole| is_whole && whole.unsigned_abs() <= MAX_SAFE_INTEGER);
    Ok(exact.map_or_else(|| number.clone(), Number::from))
}

#[derive(Clone, Copy)]
struct Strict<'a> {
    depth: usize,
    twice: &'a Cell<bool>,
}

impl Strict<'_> {
    fn inside<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth >= MAX_DEPTH {
            return Err(E::custom(format_args!("nested deeper than {MAX_DEPTH}")));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, v: bool) -> Result<Value, E> {
        Ok(Value::Bool(v))
    }

    fn visit_i64<E>(self, v: i64) -> Result<Value, E> {
        Ok(Value::Number(v.into()))
    }

    fn visit_u64<E>(self, v: u64) -> Result<Value, E> {
        Ok(Value::Number(v.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, v: f64) -> Result<Value, E> {
        Number::from_f64(v).map(Value::Number).ok_or_else(|| E::custom("not a finite number"))
    }

    fn visit_str<E>(self, v: &str) -> Result<Value, E> {
        Ok(Value::String(v.to_owned()))
    }

    fn visit_string<E>(self, v: String) -> Result<Value, E> {
        Ok(Value::String(v))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let inner = self.inside()?;
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(inner)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let inner = self.inside()?;
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            if map.contains_key(&key) {
                self.twice.set(true);
                return Err(A::Error::custom(format_args!("key `{key}`")));
            }
            let value = access.next_value_seed(inner)?;
            map.insert(key, value);
        }
        // In some builds serde_json hands a number over as a map that spells it.
        Ok(spelled(&map).map_or(Value::Object(map), Value::Number))
    }
}
