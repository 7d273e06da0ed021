//! Opening connections: the writer's and the readers'.

use std::fs::{DirBuilder, OpenOptions};
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

use probity_store::{FaultKind, StoreFault};
use rusqlite::{Connection, OpenFlags};

use crate::fault::fault;
use crate::{Options, schema};

/// Bytes of a database page; SQLite's default, stated because sizes are computed from it.
const PAGE_BYTES: u64 = 4096;

/// The write-ahead log is cut back to this size after a checkpoint: 64 MiB.
const WAL_LIMIT_BYTES: i64 = 64 * 1024 * 1024;

/// How often a switch to WAL is tried again while another process does the same.
const RETRY_EVERY: Duration = Duration::from_millis(5);

/// The connection that writes. Creates folder and file where they are missing, for this user alone.
/// Leaves a file that is there as it is, because it may be another program's.
pub(crate) fn writer(path: &Path, options: &Options) -> Result<Connection, StoreFault> {
    create_file(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|error| fault(&error))?;
    configure_writer(&connection, options)?;
    Ok(connection)
}

/// A connection that reads.
pub(crate) fn reader(path: &Path, options: &Options) -> Result<Connection, StoreFault> {
    // Read-write, because a reader of a WAL file takes part in its shared memory; `query_only`
    // holds it to reading.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(options.busy_timeout())?;
        schema::read_old(&connection)?;
        connection.pragma_update(None, "query_only", true)?;
        Ok(connection)
    };
    open().map_err(|error| fault(&error))
}

fn create_file(path: &Path) -> Result<(), StoreFault> {
    let cannot = |error: std::io::Error| {
        let kind = match error.kind() {
            ErrorKind::StorageFull => FaultKind::Full,
            ErrorKind::ReadOnlyFilesystem => FaultKind::ReadOnly,
            _ => FaultKind::CannotOpen,
        };
        StoreFault::new(kind, format!("`{}`: {error}", path.display()))
    };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder).map_err(cannot)?;
    }
    let mut create = OpenOptions::new();
    create.write(true).create_new(true);
    // SQLite gives the files beside it the same mode.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut create, 0o600);
    match create.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(cannot(error)),
    }
}

fn configure_writer(connection: &Connection, options: &Options) -> Result<(), StoreFault> {
    let set = || {
        connection.busy_timeout(options.busy_timeout())?;
        connection.pragma_update(None, "synchronous", options.durability.pragma())?;
        connection.pragma_update(None, "journal_size_limit", WAL_LIMIT_BYTES)?;
        // Nothing that is written refers to a row that is not written with it.
        connection.pragma_update(None, "foreign_keys", false)?;
        if let Some(max_bytes) = options.max_bytes {
            let pages = i64::try_from(max_bytes / PAGE_BYTES).unwrap_or(i64::MAX).max(1);
            connection.pragma_update(None, "max_page_count", pages)?;
        }
        connection.set_prepared_statement_cache_capacity(64);
        Ok(())
    };
    set().map_err(|error: rusqlite::Error| fault(&error))
}

/// Makes the file a WAL file, which it stays.
///
/// SQLite does not call its busy handler for the switch, so two processes that create a file at
/// once would fail.
pub(crate) fn switch_to_wal(connection: &Connection, patience: Duration) -> Result<(), StoreFault> {
    let started = Instant::now();
    loop {
        let mode = connection
            .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get::<_, String>(0));
        match mode.map_err(|error| fault(&error)) {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(mode) => {
                let detail = format!("the file system does not support WAL, only `{mode}`");
                return Err(StoreFault::new(FaultKind::CannotOpen, detail));
            }
            Err(fault) if fault.kind == FaultKind::Busy && started.elapsed() < patience => {
                std::thread::sleep(RETRY_EVERY);
            }
            Err(fault) => return Err(fault),
        }
    }
}
