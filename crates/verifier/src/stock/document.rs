//! JSON documents, and values that must be somewhere in them.

use std::cmp::Ordering;
use std::fmt;

use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::first_words;
use super::tally::Tally;

/// Reads one JSON document. A key that stands twice in one object is an error: readers differ in
/// which of the two they take, so what was checked would not be what another program sees.
pub(crate) fn read(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let document = Strict.deserialize(&mut reader)?;
    reader.end()?;
    Ok(document)
}

/// Judges `pointer` and `equals` on a document. `code` is that of a difference.
pub(super) fn judge(
    what: &str,
    code: &'static str,
    document: &Value,
    pointer: Option<&str>,
    equals: Option<&Value>,
    tally: &mut Tally,
) {
    let place = match pointer {
        Some("") | None => what.to_owned(),
        Some(pointer) => format!("{what} at `{pointer}`"),
    };
    let found = document.pointer(pointer.unwrap_or_default());
    if pointer.is_some() {
        tally.key("pointer");
    }
    if equals.is_some() {
        tally.key("equals");
    }
    match (found, equals) {
        (None, _) => tally.miss(code, format!("{place} has no value")),
        (Some(found), Some(expected)) if !same(found, expected) => {
            let (seen, wanted) = (found.to_string(), expected.to_string());
            let reason = format!(
                "{place} is {}, expected {}",
                first_words(&seen, 80),
                first_words(&wanted, 80)
            );
            tally.miss(code, reason);
        }
        _ => {}
    }
}

/// Equality of JSON values; numbers by value, so `1` equals `1.0`.
pub(crate) fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || (whole(one) == whole(other) && one.as_f64() == other.as_f64())
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(key, value)| other.get(key).is_some_and(|found| same(value, found)))
        }
        (one, other) => one == other,
    }
}

/// Which of two numbers is the larger, by value.
pub(super) fn order(one: &Number, other: &Number) -> Option<Ordering> {
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => Some(one.cmp(&other)),
        _ => one.as_f64()?.partial_cmp(&other.as_f64()?),
    }
}

/// The number as an integer, where it has no fraction and a float holds it without loss.
fn whole(number: &serde_json::Number) -> Option<i128> {
    number.as_i128().or_else(|| {
        let float = number.as_f64()?;
        // Beyond 2^53 a float names no single integer.
        let exact = float.fract() == 0.0 && float.abs() <= 9_007_199_254_740_992.0;
        exact.then(|| format!("{float:.0}").parse().ok()).flatten()
    })
}

/// Builds a value as `serde_json` does, but keeps keys apart.
struct Strict;

/// The number that a map of one member spells: so serde_json hands numbers over in every build in
/// which some crate asks for its `arbitrary_precision`, as the script language does.
fn spelled(object: &Map<String, Value>) -> Option<Result<Value, &'static str>> {
    let text = object.get("$serde_json::private::Number").filter(|_| object.len() == 1)?;
    let number: Number = text.as_str()?.parse().ok()?;
    let finite = number.as_f64().and_then(Number::from_f64);
    Some(finite.map(Value::Number).ok_or("number out of range"))
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = seq.next_element_seed(Self)? {
            list.push(value);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            if object.contains_key(&key) {
                let shown = first_words(&key, 80);
                return Err(de::Error::custom(format!(
                    "the key `{shown}` stands twice in one object"
                )));
            }
            object.insert(key, map.next_value_seed(Self)?);
        }
        match spelled(&object) {
            Some(number) => number.map_err(de::Error::custom),
            None => Ok(Value::Object(object)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_reads_as_any_other_reader_would() {
        for text in [
            "null",
            "true",
            "-1",
            "18446744073709551615",
            "1.5e300",
            "\"a\\u00e9\\n\"",
            "[1, [2, {\"a\": []}], null]",
            "{\"b\": {\"a\": 1}, \"a\": {\"a\": 2}}",
            " {} ",
        ] {
            let value: Value = serde_json::from_str(text).unwrap();
            assert_eq!(read(text.as_bytes()).unwrap(), value, "{text}");
        }
        for text in ["", "{", "{} {}", "[1,]", "1e400", "nul", "\"\\ud800\""] {
            assert!(read(text.as_bytes()).is_err(), "{text}");
        }
        let deep = "[".repeat(100_000);
        assert!(read(deep.as_bytes()).is_err());
    }

    #[test]
    fn a_key_that_stands_twice_is_no_document() {
        for text in [
            "{\"state\": 1, \"state\": 2}",
            "{\"state\": 1, \"st\\u0061te\": 1}",
            "[{\"x\": {\"a\": 1, \"b\": 2, \"a\": 1}}]",
        ] {
            let error = read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("stands twice"), "{error}");
        }
    }
}
