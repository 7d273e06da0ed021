//! The keys of one artifact, each read as what it must be.

use std::ops::RangeInclusive;

use probity_core::Code;
use serde_json::{Map, Value};

use super::error::{ArtifactError, Place};
use super::{length, nearest};

/// The longest list, in items.
pub(super) const MAX_ITEMS: usize = 256;
/// The longest item of a list, in bytes.
pub(super) const MAX_ITEM_BYTES: usize = 64 * 1024;
/// The largest number that every reader of a record understands: 2^53 - 1.
pub(super) const MAX_NUMBER: u64 = 9_007_199_254_740_991;

/// One key at the top of an artifact.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    /// The key.
    pub(super) key: String,
    /// Its 1-based line, if it stands in a file.
    pub(super) line: Option<u64>,
    /// Its value.
    pub(super) value: Value,
}

/// The keys of a hook, a profile, or a part of one.
pub(super) struct Keys {
    /// What messages call it: `a hook`, `a profile`.
    what: &'static str,
    at: Place,
    entries: Vec<Entry>,
}

/// The value of a key, with what a message about it needs.
#[derive(Clone)]
pub(super) struct Item<'a> {
    key: String,
    at: Place,
    pub(super) value: &'a Value,
}

impl Keys {
    /// Keys that stand in a file.
    pub(super) fn of_file(what: &'static str, file: &str, entries: Vec<Entry>) -> Self {
        Self { what, at: Place::file(file), entries }
    }

    /// Keys of a map inside something else.
    pub(super) fn of_value(
        what: &'static str,
        at: &Place,
        value: &Value,
    ) -> Result<Self, ArtifactError> {
        let Value::Object(map) = value else {
            return Err(ArtifactError::NotMapping { at: at.clone() });
        };
        let entry = |(key, value): (&String, &Value)| Entry {
            key: key.clone(),
            line: at.line,
            value: value.clone(),
        };
        Ok(Self { what, at: at.clone(), entries: map.iter().map(entry).collect() })
    }

    /// The artifact as a place.
    pub(super) const fn at(&self) -> &Place {
        &self.at
    }

    /// Refuses keys that are not listed. `explain` knows some that deserve their own words.
    pub(super) fn only(
        &self,
        legal: &[&str],
        explain: impl Fn(&str) -> Option<String>,
    ) -> Result<(), ArtifactError> {
        let unknown = self.entries.iter().find(|entry| !legal.contains(&entry.key.as_str()));
        let Some(entry) = unknown else { return Ok(()) };
        Err(ArtifactError::UnknownKey {
            at: self.place(entry),
            key: cut(&entry.key),
            what: self.what,
            hint: explain(&entry.key).unwrap_or_else(|| nearest::hint(&entry.key, legal)),
        })
    }

    /// The value of a key, if it is there.
    pub(super) fn get(&self, key: &str) -> Option<Item<'_>> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        Some(Item { key: key.to_owned(), at: self.place(entry), value: &entry.value })
    }

    /// The value of a key that must be there.
    pub(super) fn need(&self, key: &'static str) -> Result<Item<'_>, ArtifactError> {
        let what = self.what;
        self.get(key).ok_or_else(|| ArtifactError::MissingKey { at: self.at.clone(), key, what })
    }

    /// Whether the key is there.
    pub(super) fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key == key)
    }

    fn place(&self, entry: &Entry) -> Place {
        Place { file: self.at.file.clone(), line: entry.line }
    }
}

impl<'a> Item<'a> {
    /// A value at a place.
    pub(super) fn new(key: impl Into<String>, at: &Place, value: &'a Value) -> Self {
        Self { key: key.into(), at: at.clone(), value }
    }

    /// Its place.
    pub(super) const fn at(&self) -> &Place {
        &self.at
    }

    /// The error that it is not what it must be.
    pub(super) fn wrong(&self, legal: impl Into<String>) -> ArtifactError {
        ArtifactError::Value {
            at: self.at.clone(),
            key: cut(&self.key),
            legal: legal.into(),
            got: described(self.value),
        }
    }

    /// Any text without NUL, of at most so many bytes.
    pub(super) fn any_text(&self, max_bytes: usize) -> Result<&'a str, ArtifactError> {
        let text = self.value.as_str().ok_or_else(|| self.wrong("text; quote it if need be"))?;
        if text.len() > max_bytes {
            return Err(self.wrong(format!("at most {max_bytes} bytes long")));
        }
        if text.contains('\0') {
            return Err(self.wrong("text without NUL"));
        }
        Ok(text)
    }

    /// Text that is more than white space.
    pub(super) fn text(&self, max_bytes: usize) -> Result<&'a str, ArtifactError> {
        let text = self.any_text(max_bytes)?;
        if text.trim().is_empty() { Err(self.wrong("text that is not empty")) } else { Ok(text) }
    }

    /// A name that records can hold.
    pub(super) fn name(&self) -> Result<Code, ArtifactError> {
        name(&self.at, self.text(MAX_ITEM_BYTES)?)
    }

    /// One of a few words.
    pub(super) fn word(&self, words: &[&str]) -> Result<&'a str, ArtifactError> {
        let legal = || format!("one of `{}`", words.join("`, `"));
        let word = self.value.as_str().ok_or_else(|| self.wrong(legal()))?;
        if words.contains(&word) { Ok(word) } else { Err(self.wrong(legal())) }
    }

    /// A whole number in a range.
    pub(super) fn integer(&self, range: RangeInclusive<i64>) -> Result<i64, ArtifactError> {
        let legal = || format!("a whole number from {} to {}", range.start(), range.end());
        let number = self.value.as_i64().filter(|number| range.contains(number));
        number.ok_or_else(|| self.wrong(legal()))
    }

    /// A count.
    pub(super) fn count(&self) -> Result<u64, ArtifactError> {
        let number = self.value.as_u64().filter(|number| *number <= MAX_NUMBER);
        number.ok_or_else(|| self.wrong(format!("a whole number from 0 to {MAX_NUMBER}")))
    }

    /// A length of time, at most so many milliseconds.
    pub(super) fn millis(&self, max_ms: u64) -> Result<u64, ArtifactError> {
        let millis = self.value.as_str().and_then(length::parse_ms).filter(|ms| *ms <= max_ms);
        let legal = || {
            let max = length::text(max_ms);
            format!("a length of time from 1ms to {max}, such as `500ms`, `10s`, `5m`")
        };
        millis.ok_or_else(|| self.wrong(legal()))
    }

    /// The items of a list.
    pub(super) fn list(&self, max_items: usize) -> Result<Vec<Self>, ArtifactError> {
        let list = self.value.as_array().ok_or_else(|| self.wrong("a list"))?;
        if list.len() > max_items {
            return Err(self.wrong(format!("a list of at most {max_items} items")));
        }
        let numbered = list.iter().enumerate();
        let item = |(n, value)| Self::new(format!("{}[{n}]", self.key), &self.at, value);
        Ok(numbered.map(item).collect())
    }

    /// A map.
    pub(super) fn map(&self) -> Result<&'a Map<String, Value>, ArtifactError> {
        self.value.as_object().ok_or_else(|| self.wrong("a map"))
    }
}

/// The text as a name that records can hold.
pub(super) fn name(at: &Place, text: &str) -> Result<Code, ArtifactError> {
    text.parse().map_err(|_| ArtifactError::Name { at: at.clone(), name: cut(text) })
}

/// The name that a file gives to what it holds: the last part of its path without `.md`.
pub(super) fn stem(file: &str) -> Result<Code, ArtifactError> {
    let last = file.rsplit(['/', '\\']).next().unwrap_or(file);
    name(&Place::file(file), last.strip_suffix(".md").unwrap_or(last))
}

/// A value as messages show it.
fn described(value: &Value) -> String {
    match value {
        Value::Null => "nothing (remove the key, or give it a value)".to_owned(),
        Value::Bool(_) | Value::Number(_) => format!("`{value}`"),
        Value::String(text) => match text.chars().count() {
            0 => "the empty text".to_owned(),
            1..=80 => format!("`{text}`"),
            _ => format!("the {} bytes that start `{}`", text.len(), cut(text)),
        },
        Value::Array(list) => format!("a list of {}", list.len()),
        Value::Object(map) => format!("a map of {}", map.len()),
    }
}

fn cut(text: &str) -> String {
    text.chars().take(80).collect()
}
