//! Parsing that refuses what `serde_json::Value` would let through: duplicate keys, and in the
//! records' profile every number that is not a safe integer.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::number::{SPELLED, spelled};
use super::{MAX_DEPTH, MAX_SAFE_INTEGER, Profile};

/// The bytes are not JSON of the profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not strict JSON at line {line} column {column}: {message}")]
pub struct ParseError {
    /// 1-based line.
    pub line: usize,
    /// 1-based column, in bytes.
    pub column: usize,
    /// What was found there.
    pub message: String,
}

/// Parses one value in the records' profile: valid UTF-8, no duplicate keys, nothing after the
/// value, at most [`MAX_DEPTH`] levels, integers within ±(2^53 − 1) and no other numbers (`1.0`,
/// `1e2` and `-0` are refused too). Blanks and escapes are free; [`super::check`] is the one that
/// asks for the one spelling.
///
/// # Errors
/// [`ParseError`] with the place of the first violation.
pub fn parse_strict(bytes: &[u8]) -> Result<Value, ParseError> {
    parse(bytes, Profile::Record)
}

/// Parses one I-JSON value (RFC 7493), the input RFC 8785 is defined on: as [`parse_strict`], but
/// any finite number is legal.
///
/// # Errors
/// [`ParseError`] with the place of the first violation.
pub fn parse_ijson(bytes: &[u8]) -> Result<Value, ParseError> {
    parse(bytes, Profile::Jcs)
}

/// Why [`read_once`] gives no value.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct ReadError<E> {
    /// Whether it is a key that occurs twice.
    pub is_key_twice: bool,
    /// What the reader says, with the place if it knows it.
    pub error: E,
}

/// Reads one value of any reader that describes itself, JSON or not. A key that occurs twice in one
/// map is refused, and more than [`MAX_DEPTH`] levels. Numbers stay as they are written: in builds in
/// which serde_json keeps a number's text, with all its digits. What follows the value is the
/// caller's to judge.
///
/// # Errors
/// [`ReadError`] with the reader's own error.
pub fn read_once<'de, D: Deserializer<'de>>(reader: D) -> Result<Value, ReadError<D::Error>> {
    let twice = Cell::new(false);
    let value = Strict { profile: None, depth: 0, twice: &twice }.deserialize(reader);
    value.map_err(|error| ReadError { is_key_twice: twice.get(), error })
}

fn parse(bytes: &[u8], profile: Profile) -> Result<Value, ParseError> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let twice = Cell::new(false);
    let strict = Strict { profile: Some(profile), depth: 0, twice: &twice };
    let value = strict.deserialize(&mut reader);
    value.and_then(|value| reader.end().map(|()| value)).map_err(|error| ParseError {
        line: error.line(),
        column: error.column(),
        message: plain_message(&error),
    })
}

/// serde_json repeats the place in its text.
fn plain_message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).map_or(text.clone(), str::to_owned)
}

#[derive(Clone, Copy)]
struct Strict<'a> {
    /// `None`: numbers as they are written.
    profile: Option<Profile>,
    depth: usize,
    /// Set when a key occurs twice.
    twice: &'a Cell<bool>,
}

impl Strict<'_> {
    fn inside<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth >= MAX_DEPTH {
            return Err(E::custom(format_args!("nested deeper than {MAX_DEPTH}")));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }

    fn integer<E: serde::de::Error>(self, number: Number, magnitude: u64) -> Result<Value, E> {
        if self.profile == Some(Profile::Record) && magnitude > MAX_SAFE_INTEGER {
            return Err(E::custom(format_args!("integer `{number}` is beyond ±(2^53 − 1)")));
        }
        Ok(Value::Number(number))
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

    fn visit_i64<E: serde::de::Error>(self, v: i64) -> Result<Value, E> {
        self.integer(v.into(), v.unsigned_abs())
    }

    fn visit_u64<E: serde::de::Error>(self, v: u64) -> Result<Value, E> {
        self.integer(v.into(), v)
    }

    fn visit_f64<E: serde::de::Error>(self, v: f64) -> Result<Value, E> {
        if self.profile == Some(Profile::Record) {
            return Err(E::custom(format_args!(
                "number `{v}` is not an integer within ±(2^53 − 1)"
            )));
        }
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
                return Err(A::Error::custom(format_args!("key `{key}` occurs twice")));
            }
            let value = access.next_value_seed(inner)?;
            map.insert(key, value);
        }
        let number = spelled(&map);
        if self.profile.is_none() {
            return Ok(number.map_or(Value::Object(map), Value::Number));
        }
        match number.and_then(|number| number.as_f64()) {
            Some(double) => self.visit_f64(double),
            None if map.contains_key(SPELLED) => Err(A::Error::custom("not a finite number")),
            None => Ok(Value::Object(map)),
        }
    }
}
