//! `sqlite:PATH`: a value in a SQLite database, read without writing.
//!
//! | Situation | Result |
//! |---|---|
//! | nothing at the path; not a regular file; a new link | revise `sqlite_missing`, `sqlite_kind`, `sqlite_link` |
//! | the link leads out of the workspace; links in a circle | revise `path_escapes`, `path_loop` |
//! | the file is no database, or a damaged one | revise `sqlite_not_a_database` |
//! | the query names a table or column that does not exist | revise `sqlite_no_such` |
//! | the query gives no row | revise `sqlite_no_row` |
//! | the first column of the first row is not what `equals` or `at_least` asks for | revise `sqlite_value` |
//! | locked by a writer; left by a crash in a state that only a writer can mend; no permission | inconclusive `sqlite_locked`, `sqlite_unreadable`, `path_denied` |
//! | no answer in time; the query is interrupted | inconclusive `sqlite_timeout` |
//! | path outside the workspace | fault `path_outside` |
//! | the query is not SQL, or more than one statement | fault `sqlite_query` |
//! | the query would write | fault `sqlite_writes` |
//!
//! Numbers compare by value. A text equals a number if it spells it the way JSON does, because the
//! types of SQLite columns are loose; `true` and `false` equal 1 and 0. The database is not trusted:
//! its views and triggers may not call functions with side effects, no other database is attached,
//! and a value of more than 16 MiB is an error. A write-ahead log that a crashed writer left is read
//! too; for that SQLite puts its index (`-shm`) beside it.

use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use probity_core::{Evidence, Fault, Verdict};
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use serde_json::{Number, Value};

use super::file::link_reason;
use super::place::locate;
use super::tally::Tally;
use super::{blocking, document, first_words, last_words, late, unanswered};
use crate::hash::digest_of;
use crate::spec::SqliteSpec;
use crate::workspace::{Kind, path_of};
use crate::{CheckContext, Verifier};

/// How long a lock is waited for; the check is tried again after it.
const BUSY_WAIT: Duration = Duration::from_millis(500);
/// Bytes of a value.
const MAX_VALUE_BYTES: i32 = 16 << 20;

/// The effect `sqlite`.
#[derive(Debug, Clone)]
pub struct Sqlite {
    spec: SqliteSpec,
}

impl Sqlite {
    /// The effect of a spec.
    #[must_use]
    pub const fn new(spec: SqliteSpec) -> Self {
        Self { spec }
    }
}

#[async_trait]
impl Verifier for Sqlite {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        let spec = self.spec.clone();
        // The query interrupts itself at the limit; the wait gets a little more, to hear of it.
        let mut roomy = ctx.clone();
        roomy.timeout = ctx.timeout.saturating_add(Duration::from_millis(500));
        let limit = ctx.timeout;
        blocking(&roomy, move |ctx| judge(&spec, ctx, limit)).await
    }
}

fn judge(spec: &SqliteSpec, ctx: &CheckContext, limit: Duration) -> Result<Verdict, Fault> {
    let path = &spec.path;
    let source = format!("sqlite:{path}");
    let mut tally = Tally::default();
    let place = match locate(ctx, path) {
        Ok(place) => place,
        Err(error) => return unanswered(&error),
    };
    let kind = place.stat.map(|stat| stat.kind);
    match (kind, &place.new_link) {
        (None, _) => {
            tally.saw(Evidence::new(&source, "absent"));
            tally.miss("sqlite_missing", format!("database `{path}` does not exist"));
        }
        (Some(kind), _) if kind != Kind::File => {
            tally.saw(Evidence::new(&source, kind.to_string()));
            tally.miss("sqlite_kind", format!("`{path}` is a {kind}, not a database file"));
        }
        (Some(_), Some(link)) => {
            tally.saw(Evidence::new(&source, format!("link to {}", place.key)));
            tally.miss("sqlite_link", link_reason(path, link, &place.key));
        }
        (Some(_), None) => {}
    }
    if !tally.is_clean() {
        return Ok(tally.verdict());
    }
    let at = ctx.workspace.root().join(path_of(&place.key).unwrap_or_else(|| path.into()));
    let answer = match ask(&at, spec.query.as_deref().unwrap_or_default(), limit) {
        Ok(answer) => answer,
        Err(error) => {
            let verdict = failed(&error, path, limit)?;
            let observed = verdict.code.to_string();
            return Ok(verdict.with_evidence(Evidence::new(source, observed)));
        }
    };
    let Some(answer) = answer else {
        tally.saw(Evidence::new(source, "no row"));
        tally.miss("sqlite_no_row", format!("the query on `{path}` gives no row"));
        return Ok(tally.verdict());
    };
    let shown = answer.shown();
    let evidence = Evidence::new(source, answer.kind());
    tally.saw(evidence.with_digest(digest_of(&answer.bytes())));
    if let Some(expected) = &spec.equals {
        tally.key("equals");
        if !answer.equals(expected) {
            let wanted = first_words(&expected.to_string(), 80);
            tally.miss(
                "sqlite_value",
                format!("the query on `{path}` gives {shown}, expected {wanted}"),
            );
        }
    }
    if let Some(least) = &spec.at_least {
        tally.key("at_least");
        if !answer.is_at_least(least) {
            let reason = format!("the query on `{path}` gives {shown}, expected at least {least}");
            tally.miss("sqlite_value", reason);
        }
    }
    Ok(tally.verdict())
}

/// The first column of the first row.
fn ask(at: &Path, query: &str, limit: Duration) -> Result<Option<Answer>, AskError> {
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
    let answered = read(&db, query);
    let late = watch.stop();
    match answered {
        Err(AskError::Sqlite(error))
            if late && code(&error) == Some(ErrorCode::OperationInterrupted) =>
        {
            Err(AskError::Late)
        }
        other => other,
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

fn read(db: &Connection, query: &str) -> Result<Option<Answer>, AskError> {
    let mut statement = db.prepare(query)?;
    if !statement.readonly() {
        return Err(AskError::Writes);
    }
    if statement.column_count() == 0 {
        return Err(AskError::NoColumn);
    }
    let mut rows = statement.query([])?;
    match rows.next()? {
        Some(row) => Ok(Some(Answer::of(row.get_ref(0)?))),
        None => Ok(None),
    }
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

enum AskError {
    Sqlite(rusqlite::Error),
    Writes,
    NoColumn,
    Late,
}

impl From<rusqlite::Error> for AskError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

fn code(error: &rusqlite::Error) -> Option<ErrorCode> {
    error.sqlite_error_code()
}

fn failed(error: &AskError, path: &str, limit: Duration) -> Result<Verdict, Fault> {
    let error = match error {
        AskError::Late => {
            return Ok(Verdict::inconclusive("sqlite_timeout", late(&format!("`{path}`"), limit)));
        }
        AskError::Writes => {
            return Err(Fault::new("sqlite_writes", "the query would write; a check only reads"));
        }
        AskError::NoColumn => {
            return Err(Fault::new("sqlite_query", "the query gives no column; write a SELECT"));
        }
        AskError::Sqlite(error) => error,
    };
    let words = last_words(&error.to_string());
    let missing = ["no such table", "no such column"].iter().any(|text| words.contains(text));
    match code(error) {
        _ if missing => {
            Ok(Verdict::revise("sqlite_no_such", format!("the query on `{path}` fails: {words}")))
        }
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => Ok(Verdict::revise(
            "sqlite_not_a_database",
            format!("`{path}` is not a sound SQLite database: {words}"),
        )),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Ok(Verdict::inconclusive("sqlite_locked", format!("database `{path}` is locked")))
        }
        Some(ErrorCode::Unknown) | None => Err(Fault::new(
            "sqlite_query",
            format!("the query on `{path}` cannot be run: {words}; write one SELECT"),
        )),
        Some(_) => Ok(Verdict::inconclusive(
            "sqlite_unreadable",
            format!("database `{path}` could not be read: {words}"),
        )),
    }
}

/// A value of SQLite, detached from its statement.
enum Answer {
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

    const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Number(_) => "number",
            Self::Text(_) => "text",
            Self::Blob(_) => "blob",
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => format!("the text `{}`", first_words(text, 80)),
            Self::Blob(bytes) => format!("a blob of {} bytes", bytes.len()),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Null => Vec::new(),
            Self::Number(number) => number.to_string().into_bytes(),
            Self::Text(text) => text.clone().into_bytes(),
            Self::Blob(bytes) => bytes.clone(),
        }
    }

    fn equals(&self, expected: &Value) -> bool {
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

    fn is_at_least(&self, least: &Number) -> bool {
        match self {
            Self::Number(number) => match (number.as_i64(), least.as_i64()) {
                (Some(number), Some(least)) => number >= least,
                _ => number.as_f64() >= least.as_f64(),
            },
            _ => false,
        }
    }
}
