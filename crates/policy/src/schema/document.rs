//! Strict reading: text to a value that lost nothing, then the schema, then the type.

use probity_record::canonical::{MAX_DEPTH, MAX_SAFE_INTEGER, read_once, spelled};
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};

use super::{PolicyFinding, PolicyFindings, Schema, under};

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
    let value = match format {
        Format::Json => read_json(text),
        Format::Yaml => read_yaml(text),
    };
    Document::new(value?)
}

fn read_json(text: &str) -> Result<Value, PolicyFinding> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = read_once(&mut reader);
    let value = value.map_err(|why| refusal("JSON", why.is_key_twice, &why.error))?;
    reader.end().map_err(|error| refusal("JSON", false, &error))?;
    Ok(value)
}

fn read_yaml(text: &str) -> Result<Value, PolicyFinding> {
    let mut is_twice = false;
    let value = serde_saphyr::with_deserializer_from_str(text, |reader| {
        read_once(reader).map_err(|why| {
            is_twice = why.is_key_twice;
            why.error
        })
    });
    value.map_err(|error| {
        let error = error.without_snippet();
        // This reader sees most of them itself.
        is_twice |= matches!(error, serde_saphyr::Error::DuplicateMappingKey { .. });
        refusal("YAML", is_twice, error)
    })
}

fn refusal(name: &str, is_twice: bool, error: &dyn std::fmt::Display) -> PolicyFinding {
    if is_twice {
        return PolicyFinding::error("policy_key_twice", "", format!("{error}; keep one of them"));
    }
    PolicyFinding::error("policy_syntax", "", format!("not {name}: {error}; correct it"))
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
