//! Reading a SQLite database of the workspace, without leaving anything beside it.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, InterruptHandle, OpenFlags};

/// How long a lock is waited for.
const BUSY_WAIT: Duration = Duration::from_millis(500);
/// Bytes of one value.
const MAX_VALUE_BYTES: i32 = 16 << 20;
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
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let db = match idle_log(at) {
        Some(uri) => Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)?,
        None => Connection::open_with_flags(at, flags)?,
    };
    db.busy_timeout(BUSY_WAIT)?;
    db.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    db.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)?;
    db.execute_batch("PRAGMA query_only = ON; PRAGMA trusted_schema = OFF;")?;
    let _watch = Watch::start(db.get_interrupt_handle(), deadline);
    read(&db, sql)
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

/// The address under which a database with a write-ahead log is read as it lies there. Only when
/// nobody has it open and the log is empty: opening it the usual way would leave two files beside
/// it, and the workspace would no longer be as the delegate left it.
fn idle_log(at: &Path) -> Option<String> {
    let beside = |suffix: &str| {
        let mut name = at.as_os_str().to_owned();
        name.push(suffix);
        std::fs::symlink_metadata(PathBuf::from(name)).ok()
    };
    let mut header = [0; 20];
    std::fs::File::open(at).and_then(|mut file| file.read_exact(&mut header)).ok()?;
    let has_log = header.get(18) == Some(&2);
    let is_idle = beside("-shm").is_none() && beside("-wal").is_none_or(|log| log.len() == 0);
    let url = url::Url::from_file_path(at).ok()?;
    (has_log && is_idle).then(|| format!("{url}?immutable=1"))
}

/// Interrupts the query at the deadline, unless it is dropped before.
struct Watch {
    done: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    fn start(handle: InterruptHandle, deadline: Instant) -> Self {
        let (done, is_done) = channel();
        let thread = std::thread::spawn(move || {
            let wait = deadline.saturating_duration_since(Instant::now());
            if is_done.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                handle.interrupt();
            }
        });
        Self { done: Some(done), thread: Some(thread) }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Closing the channel wakes the thread.
        drop(self.done.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
