//! The `--expect` text of a check: `KIND:TARGET[,key=value]...`.
//!
//! The target ends at the first comma. A backslash before a comma or a backslash makes it part of
//! the text; before anything else it stands for itself, so `matches=\d+` needs no second one. A word
//! without `=` is a flag. A value runs to the next comma. For `changes_only` all that follows the
//! colon is globs, and the word `none` is the empty list of them. `text` has no target, so its keys
//! may follow the colon at once.

use serde_json::{Map, Value};

use crate::spec::{CheckSpec, Form, Kind, SpecError, from_parts, parts, unknown_key, unknown_kind};

/// The text is not a check. Points at the column where it goes wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {problem}")]
pub struct ExpectError {
    /// 1-based, in characters.
    pub column: usize,
    /// What is wrong and what is legal.
    pub problem: ExpectProblem,
}

/// What is wrong with an `--expect` text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExpectProblem {
    /// There is no colon.
    #[error("a check is written KIND:TARGET[,key=value]..., such as `file:out.txt,created`")]
    NoColon,
    /// Two commas without a key between them, or a comma at the end.
    #[error("a key is missing after the comma")]
    EmptyKey,
    /// A flag with a value.
    #[error("`{key}` is a flag and takes no value")]
    FlagValue {
        /// The flag.
        key: &'static str,
    },
    /// A key without a value.
    #[error("`{key}` needs a value: `{key}=...`, {legal}")]
    NoValue {
        /// The key.
        key: &'static str,
        /// What is legal.
        legal: &'static str,
    },
    /// The check itself is wrong.
    #[error(transparent)]
    Spec(#[from] SpecError),
}

impl ExpectError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match &self.problem {
            ExpectProblem::Spec(error) => error.code(),
            _ => "expect_syntax",
        }
    }
}

/// Reads the text of one `--expect`.
///
/// # Errors
/// [`ExpectError`] with the column and what is legal there.
pub fn parse(text: &str) -> Result<CheckSpec, ExpectError> {
    let at = |column: usize, problem: ExpectProblem| ExpectError { column, problem };
    let Some((name, rest)) = text.split_once(':') else {
        return Err(at(1, ExpectProblem::NoColon));
    };
    let kind = Kind::named(name).ok_or_else(|| at(1, unknown_kind(name).into()))?;
    let first_column = name.chars().count() + 2;
    let mut segments = segments(rest, first_column);

    if kind.name == "changes_only" {
        let target = match segments.as_slice() {
            [only] if only.text == "none" => Value::from("none"),
            globs => globs.iter().map(|glob| glob.text.clone()).collect(),
        };
        return from_parts(kind, target, Map::new())
            .map_err(|error| at(first_column, error.into()));
    }
    // The keys of a kind without a target may follow the colon at once.
    let target = match segments.first() {
        Some(first) if kind.target.is_empty() && first.text.contains('=') => String::new(),
        Some(_) => segments.remove(0).text,
        None => String::new(),
    };
    let mut map = Map::new();
    let mut columns = Vec::new();
    for segment in &segments {
        let (key, value) =
            pair(kind, &segment.text).map_err(|problem| at(segment.column, problem))?;
        add(&mut map, kind, key, value).map_err(|problem| at(segment.column, problem.into()))?;
        columns.push((key, segment.column));
    }
    from_parts(kind, target.into(), map).map_err(|error| {
        let key_column = columns.iter().rev().find(|(key, _)| Some(*key) == error.key());
        at(key_column.map_or(first_column, |(_, column)| *column), error.into())
    })
}

/// Writes a check as the text that [`parse`] reads back. `None` where there is no such text: an
/// `id` or `timeout` of `changes_only` can only be written in a file.
#[must_use]
pub fn to_expect_string(check: &CheckSpec) -> Option<String> {
    let (kind, target, map) = parts(check).ok()?;
    if kind.name == "changes_only" {
        let globs: Vec<&str> = target.as_array()?.iter().filter_map(Value::as_str).collect();
        return match globs.as_slice() {
            _ if !map.is_empty() => None,
            [] => Some("changes_only:none".to_owned()),
            // The word alone is the empty list; as a glob it is written with a class.
            ["none"] => Some("changes_only:[n]one".to_owned()),
            globs => {
                let escaped: Vec<String> = globs.iter().map(|glob| escape(glob)).collect();
                Some(format!("changes_only:{}", escaped.join(",")))
            }
        };
    }
    let target = match &target {
        _ if kind.target.is_empty() => String::new(),
        Value::Object(_) => target.to_string(),
        target => target.as_str()?.to_owned(),
    };
    let mut text = format!("{}:{}", kind.name, escape(&target));
    for key in kind.all_keys() {
        let values = match map.get(key.name) {
            None => continue,
            Some(Value::Array(list)) if key.form == Form::Texts => list.as_slice(),
            Some(value) => std::slice::from_ref(value),
        };
        for value in values {
            text.push(',');
            text.push_str(key.name);
            if key.form != Form::Flag {
                text.push('=');
                text.push_str(&escape(&key.form.write(value)));
            }
        }
    }
    Some(text)
}

struct Segment {
    text: String,
    column: usize,
}

/// Splits at unescaped commas and takes the escapes out.
fn segments(text: &str, first_column: usize) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut current = Segment { text: String::new(), column: first_column };
    let mut chars = text.chars().zip(first_column..).peekable();
    while let Some((c, column)) = chars.next() {
        match c {
            ',' => {
                segments.push(current);
                current = Segment { text: String::new(), column: column + 1 };
            }
            '\\' => {
                let escaped = chars.next_if(|(next, _)| matches!(next, ',' | '\\'));
                current.text.push(escaped.map_or('\\', |(next, _)| next));
            }
            other => current.text.push(other),
        }
    }
    segments.push(current);
    segments
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace(',', "\\,")
}

fn pair(kind: &'static Kind, segment: &str) -> Result<(&'static str, Value), ExpectProblem> {
    let (name, value) = match segment.split_once('=') {
        Some((name, value)) => (name.trim(), Some(value)),
        None => (segment.trim(), None),
    };
    if name.is_empty() {
        return Err(ExpectProblem::EmptyKey);
    }
    let key = kind.key(name).ok_or_else(|| unknown_key(kind, name))?;
    let legal = key.form.legal();
    match (key.form, value) {
        (Form::Flag, None) => Ok((key.name, true.into())),
        (Form::Flag, Some(_)) => Err(ExpectProblem::FlagValue { key: key.name }),
        (_, None) => Err(ExpectProblem::NoValue { key: key.name, legal }),
        (form, Some(text)) => {
            let value = form.read(text).ok_or_else(|| SpecError::Value {
                key: key.name,
                legal: legal.to_owned(),
                value: text.chars().take(80).collect(),
            })?;
            Ok((key.name, value))
        }
    }
}

fn add(
    map: &mut Map<String, Value>,
    kind: &'static Kind,
    name: &'static str,
    value: Value,
) -> Result<(), SpecError> {
    let repeatable = kind.key(name).is_some_and(|key| key.form == Form::Texts);
    match map.get_mut(name) {
        None if repeatable => {
            map.insert(name.to_owned(), Value::Array(vec![value]));
        }
        None => {
            map.insert(name.to_owned(), value);
        }
        Some(Value::Array(list)) if repeatable => list.push(value),
        Some(_) => return Err(SpecError::Twice { key: name }),
    }
    Ok(())
}
