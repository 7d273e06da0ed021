//! Asking a SQLite database of the workspace for all rows of an answer.

use std::path::Path;
use std::time::Instant;

use probity_verifier::stock::ReadOnlyDatabase;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode};

/// Rows of one answer.
const MAX_ROWS: usize = 10_000;
/// Bytes of all texts of one answer.
const MAX_ANSWER_BYTES: usize = 16 << 20;

/// The rows of an answer: column names with their values, in the order of the query.
pub(crate) type Rows = Vec<Vec<(String, Cell)>>;

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    /// Text; a blob is spelled as lower-case hex.
    Text(String),
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum QueryError {
    /// The database is not what the query expects: the world, not the script, is to blame.
    #[error("{0}")]
    Unfit(String),
    /// A writer holds it, or only a writer could mend it.
    #[error("{0}")]
    Locked(String),
    #[error("the query ran longer than the script may")]
    Late,
    #[error("the query would write")]
    Writes,
    #[error("the answer has more than {MAX_ROWS} rows or {MAX_ANSWER_BYTES} bytes")]
    TooLarge,
    #[error("{0}")]
    Sql(String),
}

impl From<rusqlite::Error> for QueryError {
    fn from(error: rusqlite::Error) -> Self {
        let message = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::ReadOnly) => {
                Self::Locked(message)
            }
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt | ErrorCode::CannotOpen) => {
                Self::Unfit(message)
            }
            Some(ErrorCode::OperationInterrupted) => Self::Late,
            _ if message.contains("no such table") || message.contains("no such column") => {
                Self::Unfit(message)
            }
            _ => Self::Sql(message),
        }
    }
}

/// Runs one reading statement on the database at a path without links.
pub(crate) fn query(at: &Path, sql: &str, deadline: Instant) -> Result<Rows, QueryError> {
    let db = ReadOnlyDatabase::open(at, Some(deadline))?;
    read(db.connection(), sql)
}

fn read(db: &Connection, sql: &str) -> Result<Rows, QueryError> {
    let mut statement = db.prepare(sql)?;
    if !statement.readonly() {
        return Err(QueryError::Writes);
    }
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut answer = Vec::new();
    let mut bytes = 0_usize;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let mut cells = Vec::with_capacity(names.len());
        for (index, name) in names.iter().enumerate() {
            let cell = match row.get_ref(index)? {
                ValueRef::Null => Cell::Null,
                ValueRef::Integer(value) => Cell::Integer(value),
                ValueRef::Real(value) => Cell::Real(value),
                ValueRef::Text(text) => Cell::Text(String::from_utf8_lossy(text).into_owned()),
                ValueRef::Blob(blob) => Cell::Text(hex::encode(blob)),
            };
            if let Cell::Text(text) = &cell {
                bytes = bytes.saturating_add(text.len());
            }
            cells.push((name.clone(), cell));
        }
        answer.push(cells);
        if answer.len() > MAX_ROWS || bytes > MAX_ANSWER_BYTES {
            return Err(QueryError::TooLarge);
        }
    }
    Ok(answer)
}
