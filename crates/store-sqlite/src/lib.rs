//! Run logs, blobs and a queue in one SQLite file: the durable store of one machine.
//!
//! The file is in WAL mode, so `-wal` and `-shm` files stand beside it while it is open, and behind who
//! [stayed briefly](Stay::Brief); copy it
//! with `sqlite3 FILE ".backup COPY"`, not with `cp`. It must be on a local disk: WAL needs shared
//! memory, which network file systems do not give.
//!
//! One thread writes. It takes what waits in its queue, up to a bound, stores all of it in one
//! transaction, and answers everyone after the commit; so a hundred runs that append at once pay
//! for one disk flush. What one request does wrong never fails another one of its group. Readers
//! have connections of their own and never wait for the writer.
//!
//! A statement looks at one table, and its parameters stand in expressions (`?1 | 0`, `IN (?1)`) where
//! they bound a `LIMIT` or the first columns of a key: SQLite plans by the value of a bare one there, and
//! so parses the statement anew at every new value, which costs more than to run it.
//!
//! Several processes may open the same file. Every compare-and-set happens inside `BEGIN
//! IMMEDIATE`, so it holds between processes as it does inside one.
//!
//! A job goes to whoever waits for it in the transaction that makes it due. Processes wake each other:
//! on Linux by a watch on the `-wal` file, elsewhere they look ten times a second. A lease is kept and
//! ended through the store that gave it or a clone of it.
//!
//! What an acknowledged append survives is the caller's choice: see [`Durability`].

mod append;
mod bell;
mod clock;
mod fault;
mod files;
mod held;
mod inspect;
mod jobs;
mod open;
mod options;
mod pack;
mod queue;
mod reader;
mod request;
mod schema;
mod standing;
mod store;
mod tend;
mod writer;

pub use inspect::{Inspection, Jobs, inspect};
pub use options::{Durability, Options, Stay};
pub use store::SqliteStore;
