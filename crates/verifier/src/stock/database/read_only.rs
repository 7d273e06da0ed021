//! A SQLite database that is opened to be read, without leaving anything beside it.

use std::fmt;
use std::io::Read as _;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::limits::Limit;
use rusqlite::{Connection, InterruptHandle, OpenFlags};

/// How long a lock is waited for; the check is tried again after it.
const BUSY_WAIT: Duration = Duration::from_millis(500);
/// Bytes of a value, and of a row.
const MAX_VALUE_BYTES: i32 = 16 << 20;

/// An open database that cannot be written to.
///
/// It is not trusted: its views and triggers may not call functions with side effects, no other
/// database is attached, and a value of more than 16 MiB is an error.
pub struct ReadOnlyDatabase {
    connection: Connection,
    watch: Watch,
}

impl ReadOnlyDatabase {
    /// Opens the database at a path without links; one that is put there now is refused. At the
    /// deadline statements are interrupted, `None` never comes. A lock is waited for until then, and
    /// for 500 ms at most.
    ///
    /// # Errors
    /// What SQLite says when the file cannot be opened as a database.
    pub fn open(at: &Path, deadline: Option<Instant>) -> Result<Self, rusqlite::Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let connection = match idle_log(at) {
            Some(uri) => Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)?,
            None => Connection::open_with_flags(at, flags)?,
        };
        connection.busy_timeout(BUSY_WAIT.min(left_until(deadline)))?;
        connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)?;
        connection.execute_batch("PRAGMA query_only = ON; PRAGMA trusted_schema = OFF;")?;
        let watch = Watch::start(connection.get_interrupt_handle(), deadline);
        Ok(Self { connection, watch })
    }

    /// What statements are prepared on.
    #[must_use]
    pub const fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Closes it, and says whether the deadline came first: a statement that was interrupted then
    /// was interrupted by it.
    #[must_use]
    pub fn close(mut self) -> bool {
        self.watch.stop()
    }
}

impl fmt::Debug for ReadOnlyDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadOnlyDatabase").finish_non_exhaustive()
    }
}

/// The address under which a database with a write-ahead log is read as it lies there. Only when
/// nobody has it open and the log is empty: opening it the usual way would leave two files beside
/// it, and the workspace would no longer be as the delegate left it.
fn idle_log(at: &Path) -> Option<String> {
    let beside = |suffix: &str| {
        let mut name = at.as_os_str().to_owned();
        name.push(suffix);
        std::fs::symlink_metadata(name).ok()
    };
    let mut header = [0; 20];
    std::fs::File::open(at).and_then(|mut file| file.read_exact(&mut header)).ok()?;
    let has_log = header.get(18) == Some(&2);
    let is_idle = beside("-shm").is_none() && beside("-wal").is_none_or(|log| log.len() == 0);
    let url = url::Url::from_file_path(at).ok()?;
    (has_log && is_idle).then(|| format!("{url}?immutable=1"))
}

fn left_until(deadline: Option<Instant>) -> Duration {
    deadline.map_or(Duration::MAX, |it| it.saturating_duration_since(Instant::now()))
}

/// Interrupts statements at the deadline, unless it is stopped or dropped before.
struct Watch {
    done: Option<Sender<()>>,
    thread: Option<JoinHandle<bool>>,
}

impl Watch {
    fn start(handle: InterruptHandle, deadline: Option<Instant>) -> Self {
        let (done, is_done) = channel();
        let thread = std::thread::spawn(move || {
            let ended = is_done.recv_timeout(left_until(deadline));
            let is_late = ended == Err(RecvTimeoutError::Timeout);
            if is_late {
                handle.interrupt();
            }
            is_late
        });
        Self { done: Some(done), thread: Some(thread) }
    }

    /// Whether the deadline came first.
    fn stop(&mut self) -> bool {
        // Closing the channel wakes the thread.
        drop(self.done.take());
        self.thread.take().is_some_and(|thread| thread.join().unwrap_or(false))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop();
    }
}
