//! A SQLite database that is asked one question, without writing.

mod read_only;

use std::cmp::Ordering;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode};
use serde_json::{Map, Number, Value};

pub use read_only::ReadOnlyDatabase;

use super::{document, first_words};

/// The first row that the query gives. `?1` in it is bound to `id`.
///
/// # Errors
/// [`AskError`] when there is no answer, or none in time.
pub(super) fn ask(
    at: &Path,
    query: &str,
    id: Option<&str>,
    limit: Duration,
) -> Result<Option<Row>, AskError> {
    let db = ReadOnlyDatabase::open(at, Instant::now().checked_add(limit))?;
    let answered = read(db.connection(), query, id);
    let late = db.close();
    match answered {
        Err(AskError::Sqlite(error))
            if late && error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) =>
        {
            Err(AskError::Late)
        }
        other => other,
    }
}

/// A row, detached from its statement.
pub(super) struct Row {
    first: Answer,
    others: Vec<Answer>,
    names: Vec<String>,
}

impl Row {
    /// The first column.
    pub(super) const fn first(&self) -> &Answer {
        &self.first
    }

    /// The row by column names; `None` when two columns share one.
    pub(super) fn to_object(&self) -> Option<Value> {
        let cells = std::iter::once(&self.first).chain(&self.others).map(Answer::to_json);
        let object: Map<String, Value> = self.names.iter().cloned().zip(cells).collect();
        (object.len() == self.names.len()).then_some(Value::Object(object))
    }
}

/// Why there is no answer.
pub(super) enum AskError {
    Sqlite(rusqlite::Error),
    /// The query would write.
    Writes,
    /// The query gives no column.
    NoColumn,
    /// `?1` is in the query and nothing to bind to it.
    Unbound,
    /// More parameters than `?1`.
    Parameters,
    /// The query was interrupted at the limit.
    Late,
}

impl From<rusqlite::Error> for AskError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// A value of SQLite, detached from its statement.
pub(super) enum Answer {
    Null,
    Number(Number),
    Text(String),
    Blob(Vec<u8>),
}

impl Answer {
    fn of(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(number) => Self::Number(number.into()),
            // SQLite holds no NaN; an infinity is kept as the text that SQLite prints.
            ValueRef::Real(number) => Number::from_f64(number)
                .map_or_else(|| Self::Text(number.to_string()), Self::Number),
            ValueRef::Text(bytes) => Self::Text(String::from_utf8_lossy(bytes).into_owned()),
            ValueRef::Blob(bytes) => Self::Blob(bytes.to_vec()),
        }
    }

    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Number(_) => "number",
            Self::Text(_) => "text",
            Self::Blob(_) => "blob",
        }
    }

    pub(super) fn shown(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => format!("the text `{}`", first_words(text, 80)),
            Self::Blob(bytes) => format!("a blob of {} bytes", bytes.len()),
        }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Null => Vec::new(),
            Self::Number(number) => number.to_string().into_bytes(),
            Self::Text(text) => text.clone().into_bytes(),
            Self::Blob(bytes) => bytes.clone(),
        }
    }

    /// The value as JSON; a blob as lower-case hex.
    pub(super) fn to_json(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Number(number) => Value::Number(number.clone()),
            Self::Text(text) => Value::String(text.clone()),
            Self::Blob(bytes) => Value::String(hex::encode(bytes)),
        }
    }

    pub(super) fn equals(&self, expected: &Value) -> bool {
        match (self, expected) {
            (Self::Null, Value::Null) => true,
            (Self::Number(number), Value::Bool(flag)) => {
                document::same(&Value::Number(number.clone()), &u8::from(*flag).into())
            }
            (Self::Number(number), Value::Number(_)) => {
                document::same(&Value::Number(number.clone()), expected)
            }
            (Self::Text(text), Value::String(expected)) => text == expected,
            (Self::Text(text), Value::Number(expected)) => *text == expected.to_string(),
            _ => false,
        }
    }

    pub(super) fn is_at_least(&self, least: &Number) -> bool {
        match self {
            Self::Number(number) => document::order(number, least).is_some_and(Ordering::is_ge),
            _ => false,
        }
    }
}

fn read(db: &Connection, query: &str, id: Option<&str>) -> Result<Option<Row>, AskError> {
    let mut statement = db.prepare(query)?;
    if !statement.readonly() {
        return Err(AskError::Writes);
    }
    if statement.column_count() == 0 {
        return Err(AskError::NoColumn);
    }
    match (statement.parameter_count(), id) {
        (0, _) => {}
        (1, Some(id)) => statement.raw_bind_parameter(1, id)?,
        (1, None) => return Err(AskError::Unbound),
        _ => return Err(AskError::Parameters),
    }
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut rows = statement.raw_query();
    let Some(row) = rows.next()? else { return Ok(None) };
    let first = Answer::of(row.get_ref(0)?);
    let mut others = Vec::new();
    for column in 1..names.len() {
        others.push(Answer::of(row.get_ref(column)?));
    }
    Ok(Some(Row { first, others, names }))
}
