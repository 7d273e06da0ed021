//! A SQLite database that is asked one question, without writing.

use std::cmp::Ordering;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use serde_json::{Map, Number, Value};

use super::{document, first_words};

/// How long a lock is waited for; the check is tried again after it.
const BUSY_WAIT: Duration = Duration::from_millis(500);
/// Bytes of a row.
const MAX_VALUE_BYTES: i32 = 16 << 20;

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
    let deadline = Instant::now().checked_add(limit);
    // The path has no links left; one that is put there now is refused.
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let db = match idle_log(at) {
        Some(uri) => Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)?,
        None => Connection::open_with_flags(at, flags)?,
    };
    db.busy_timeout(BUSY_WAIT.min(limit))?;
    db.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    db.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)?;
    db.execute_batch("PRAGMA query_only = ON; PRAGMA trusted_schema = OFF;")?;
    let watch = Watch::start(db.get_interrupt_handle(), deadline);
    let answered = read(&db, query, id);
    let late = watch.stop();
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

/// The address under which a database with a write-ahead log is read as it lies there. Only when
/// nobody has it open and the log is empty: opening it the usual way would leave two files beside it.
fn idle_log(at: &Path) -> Option<String> {
    let beside = |suffix: &str| {
        let mut name = at.as_os_str().to_owned();
        name.push(suffix);
        std::fs::symlink_metadata(name).ok()
    };
    let mut header = [0; 20];
    std::fs::File::open(at).and_then(|mut file| file.read_exact(&mut header)).ok()?;
    let has_log = header.get(18) == Some(&2);
    let idle = beside("-shm").is_none() && beside("-wal").is_none_or(|log| log.len() == 0);
    let url = url::Url::from_file_path(at).ok()?;
    (has_log && idle).then(|| format!("{url}?immutable=1"))
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

/// Interrupts a query at its deadline, unless it ended before.
struct Watch {
    done: std::sync::mpsc::Sender<()>,
    thread: std::thread::JoinHandle<bool>,
}

impl Watch {
    fn start(handle: rusqlite::InterruptHandle, deadline: Option<Instant>) -> Self {
        let (done, ended) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let left =
                deadline.map_or(Duration::MAX, |it| it.saturating_duration_since(Instant::now()));
            let late = ended.recv_timeout(left) == Err(std::sync::mpsc::RecvTimeoutError::Timeout);
            if late {
                handle.interrupt();
            }
            late
        });
        Self { done, thread }
    }

    /// Whether the deadline came first.
    fn stop(self) -> bool {
        drop(self.done);
        self.thread.join().unwrap_or(false)
    }
}
