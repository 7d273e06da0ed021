//! The tables, and how the file is told from others.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, OptionalExtension as _};

use crate::IndexError;

/// `PRBX`: what tells an index from any other SQLite file.
const APPLICATION_ID: i64 = 0x5052_4258;
/// The tables that this build writes. An index of another number is filled anew.
const SCHEMA: i64 = 3;

const TABLES: &str = "
    CREATE TABLE about (
        -- The store that the rows are of.
        source TEXT NOT NULL,
        -- Whether every run that is older than the newest row has a row.
        complete INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE run (
        id TEXT PRIMARY KEY,
        -- delegation, ledger (a workflow run, a waiver) or damaged.
        kind TEXT NOT NULL,
        -- What a host put in front of the name; empty where none did.
        mark TEXT NOT NULL,
        parent TEXT,
        pool TEXT,
        delegate TEXT,
        task TEXT,
        request TEXT,
        envelope TEXT,
        stage TEXT NOT NULL,
        outcome TEXT,
        code TEXT,
        waived INTEGER NOT NULL,
        attempts INTEGER NOT NULL,
        max_attempts INTEGER NOT NULL,
        interruptions INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        epoch INTEGER NOT NULL,
        worker TEXT,
        candidate TEXT,
        head TEXT,
        opened_at_ms INTEGER NOT NULL,
        ended_at_ms INTEGER,
        changed_at_ms INTEGER NOT NULL,
        len INTEGER NOT NULL,
        sealed INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX run_opened ON run (opened_at_ms, id);
    CREATE INDEX run_of ON run (mark, opened_at_ms, id);
    CREATE INDEX run_open ON run (id) WHERE sealed = 0;
    CREATE TABLE verdict (
        run TEXT NOT NULL REFERENCES run (id),
        epoch INTEGER NOT NULL,
        turn INTEGER NOT NULL,
        judgement TEXT NOT NULL,
        code TEXT NOT NULL,
        counted INTEGER NOT NULL,
        drift TEXT,
        flaky INTEGER NOT NULL,
        at_ms INTEGER NOT NULL,
        PRIMARY KEY (run, epoch, turn)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX verdict_code ON verdict (code, run);
    CREATE TABLE finding (
        run TEXT NOT NULL REFERENCES run (id),
        -- The place of its record in the log.
        seq INTEGER NOT NULL,
        name TEXT NOT NULL,
        -- The name without the number that tells checks of one kind apart.
        kind TEXT NOT NULL,
        subject TEXT NOT NULL,
        -- Before the delegate began.
        red INTEGER NOT NULL,
        result TEXT NOT NULL,
        code TEXT,
        -- Digest of the words.
        reason TEXT,
        discrimination TEXT,
        elapsed_ms INTEGER,
        at_ms INTEGER NOT NULL,
        PRIMARY KEY (run, seq)
    ) STRICT, WITHOUT ROWID;
    -- Who answers for a run stands in a log of its own; it counts for exactly this seal and candidate.
    CREATE TABLE waiver (
        run TEXT NOT NULL,
        log TEXT NOT NULL,
        head TEXT,
        candidate TEXT NOT NULL,
        at_ms INTEGER NOT NULL,
        PRIMARY KEY (run, log)
    ) STRICT, WITHOUT ROWID;
";

const DROP: &str = "
    DROP TABLE IF EXISTS waiver;
    DROP TABLE IF EXISTS finding;
    DROP TABLE IF EXISTS verdict;
    DROP TABLE IF EXISTS run;
    DROP TABLE IF EXISTS about;
";

/// Opens a file to write, creating it where there is none.
pub(crate) fn open(path: &Path) -> Result<Connection, IndexError> {
    create_private(path);
    connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)
}

/// Makes an empty file that nobody else reads, where there is none. Where it cannot be made, whoever opens
/// it is told why.
fn create_private(path: &Path) {
    let mut create = std::fs::OpenOptions::new();
    create.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut create, 0o600);
    let _ = create.open(path);
}

/// Opens a file to read.
pub(crate) fn open_existing(path: &Path) -> Result<Connection, IndexError> {
    if !path.is_file() {
        return Err(IndexError::Missing { path: path.to_path_buf() });
    }
    connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
}

/// An index that nobody else sees and that ends with its connection.
pub(crate) fn open_in_memory() -> Result<Connection, IndexError> {
    Connection::open_in_memory().map_err(|source| file(Path::new(MEMORY), source))
}

/// The name of an index that has no file.
pub(crate) const MEMORY: &str = "memory";

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, IndexError> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX);
    let connection = connection.map_err(|source| file(path, source))?;
    let wait = std::time::Duration::from_secs(5);
    connection.busy_timeout(wait).map_err(|source| file(path, source))?;
    Ok(connection)
}

/// What a file is.
pub(crate) enum Kind {
    /// Empty: it can become an index.
    Empty,
    /// An index of this build, and the store that it is of.
    Ours(String),
    /// An index of another build.
    OtherBuild,
}

/// # Errors
/// [`IndexError::Foreign`] for a file of another program.
pub(crate) fn kind(connection: &Connection, path: &Path) -> Result<Kind, IndexError> {
    let look = || -> rusqlite::Result<Option<Kind>> {
        let id: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
        let table: Option<i64> =
            connection.query_row("SELECT 1 FROM sqlite_schema", [], |row| row.get(0)).optional()?;
        if id != APPLICATION_ID {
            return Ok(table.is_none().then_some(Kind::Empty));
        }
        let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if version != SCHEMA {
            return Ok(Some(Kind::OtherBuild));
        }
        let source = connection.query_row("SELECT source FROM about", [], |row| row.get(0))?;
        Ok(Some(Kind::Ours(source)))
    };
    match look() {
        Ok(Some(kind)) => Ok(kind),
        Ok(None) => Err(IndexError::Foreign { path: path.to_path_buf() }),
        Err(error) if is_no_database(&error) => {
            Err(IndexError::Foreign { path: path.to_path_buf() })
        }
        Err(source) => Err(file(path, source)),
    }
}

/// Makes the file an empty index of that store.
pub(crate) fn reset(connection: &mut Connection, source: &str) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    transaction.execute_batch(DROP)?;
    transaction.execute_batch(TABLES)?;
    transaction.execute("INSERT INTO about VALUES (?1, 0)", [source])?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", SCHEMA)?;
    transaction.commit()
}

/// The fault of a file.
pub(crate) fn file(path: &Path, source: rusqlite::Error) -> IndexError {
    IndexError::File { path: path.to_path_buf(), source }
}

fn is_no_database(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase)
}
