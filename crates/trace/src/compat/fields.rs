//! Fields of a record, read as laxly as the original's model library reads them.

use super::json::{Object, Value};
use super::number::{Integer, lax_float};
use super::text::Text;

/// The deepest that free JSON may be nested within a field.
const MAX_FREE_DEPTH: usize = 255;

/// A record was refused: the original raises a `ValidationError`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refused;

/// The answer of a field.
pub(super) type Read<T> = Result<T, Refused>;

/// A record whose keys are taken out one by one; a key that nobody asked for is refused.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    object: &'a Object,
    asked: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// Of a value that must be an object.
    pub(super) fn of(value: &'a Value) -> Read<Self> {
        let object = value.as_object().ok_or(Refused)?;
        Ok(Self { object, asked: Vec::new() })
    }

    /// What stands under a key.
    pub(super) fn get(&mut self, key: &'static str) -> Option<&'a Value> {
        self.asked.push(key);
        self.object.get(key)
    }

    /// What stands under a key, or under its other name if the key itself is not there.
    pub(super) fn get_or_alias(
        &mut self,
        key: &'static str,
        alias: &'static str,
    ) -> Option<&'a Value> {
        // With the key there, the other name is one that nobody asked for.
        self.get(key).or_else(|| self.get(alias))
    }

    /// What must stand under a key.
    pub(super) fn needs(&mut self, key: &'static str) -> Read<&'a Value> {
        self.get(key).ok_or(Refused)
    }

    /// A string that must be there.
    pub(super) fn text(&mut self, key: &'static str) -> Read<Text> {
        self.needs(key).and_then(text)
    }

    /// A string, or what counts without it.
    pub(super) fn text_or(&mut self, key: &'static str, default: &str) -> Read<Text> {
        self.get(key).map_or_else(|| Ok(Text::of(default)), text)
    }

    /// A string or null, if it is there.
    pub(super) fn optional_text(&mut self, key: &'static str) -> Read<()> {
        match self.get(key) {
            None | Some(Value::Null) => Ok(()),
            Some(value) => text(value).map(drop),
        }
    }

    /// An integer, or what counts without it.
    pub(super) fn integer_or(&mut self, key: &'static str, default: i64) -> Read<Integer> {
        self.get(key).map_or_else(|| Ok(default.into()), integer)
    }

    /// A list of strings, empty if it is not there.
    pub(super) fn texts(&mut self, key: &'static str) -> Read<Vec<Text>> {
        self.get(key).map_or_else(|| Ok(Vec::new()), texts)
    }

    /// An object of free JSON, empty if it is not there.
    pub(super) fn free_object(&mut self, key: &'static str) -> Read<Value> {
        match self.get(key) {
            None => Ok(Value::Object(Object::default())),
            Some(value) => free_object(value).map(|()| value.clone()),
        }
    }

    /// Says that nothing else may be there.
    pub(super) fn close(self) -> Read<()> {
        let is_known = |(key, _): (&Text, _)| self.asked.iter().any(|name| is(key, name));
        if self.object.iter().all(is_known) { Ok(()) } else { Err(Refused) }
    }
}

/// A string.
pub(super) fn text(value: &Value) -> Read<Text> {
    value.as_text().cloned().ok_or(Refused)
}

/// A list of strings.
pub(super) fn texts(value: &Value) -> Read<Vec<Text>> {
    value.as_list().ok_or(Refused)?.iter().map(text).collect()
}

/// One of a closed set of words.
pub(super) fn word<T: Copy>(value: &Value, words: &[(&str, T)]) -> Read<T> {
    let text = value.as_text().ok_or(Refused)?;
    words.iter().find(|(name, _)| is(text, name)).map(|(_, meaning)| *meaning).ok_or(Refused)
}

/// An integer, or what is taken for one.
pub(super) fn integer(value: &Value) -> Read<Integer> {
    let integer = match value {
        Value::Integer(integer) => Some(integer.clone()),
        Value::Bool(bool) => Some(i64::from(*bool).into()),
        Value::Float(float) => Integer::of_lax_float(*float),
        Value::Text(text) => text.as_str().and_then(Integer::of_lax_text),
        Value::Null | Value::List(_) | Value::Object(_) => None,
    };
    integer.ok_or(Refused)
}

/// A number with a fraction, or what is taken for one.
pub(super) fn float(value: &Value) -> Read<f64> {
    let float = match value {
        Value::Integer(integer) => Some(integer.to_float()).filter(|float| float.is_finite()),
        Value::Bool(bool) => Some(f64::from(u8::from(*bool))),
        Value::Float(float) => Some(*float),
        Value::Text(text) => text.as_str().and_then(lax_float),
        Value::Null | Value::List(_) | Value::Object(_) => None,
    };
    float.ok_or(Refused)
}

/// A truth value, or what is taken for one.
pub(super) fn boolean(value: &Value) -> Read<()> {
    const WORDS: [&str; 12] =
        ["0", "off", "f", "false", "n", "no", "1", "on", "t", "true", "y", "yes"];
    let is_taken = match value {
        Value::Bool(_) => true,
        Value::Integer(integer) => matches!(integer.small(), Some(0 | 1)),
        Value::Float(float) => *float == 0.0 || *float == 1.0,
        Value::Text(text) => text
            .as_str()
            .is_some_and(|text| WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))),
        Value::Null | Value::List(_) | Value::Object(_) => false,
    };
    if is_taken { Ok(()) } else { Err(Refused) }
}

/// An object of free JSON.
pub(super) fn free_object(value: &Value) -> Read<()> {
    let object = value.as_object().ok_or(Refused)?;
    object.iter().try_for_each(|(_, value)| free(value))
}

/// Free JSON.
pub(super) fn free(value: &Value) -> Read<()> {
    if is_within(value, MAX_FREE_DEPTH) { Ok(()) } else { Err(Refused) }
}

/// Whether a string is this word.
pub(super) fn is(text: &Text, word: &str) -> bool {
    text.bytes() == word.as_bytes()
}

fn is_within(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else { return false };
    match value {
        Value::List(list) => list.iter().all(|item| is_within(item, below)),
        Value::Object(object) => object.iter().all(|(_, item)| is_within(item, below)),
        _ => true,
    }
}
