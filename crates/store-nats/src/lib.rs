//! Run logs, blobs and jobs on NATS JetStream: the store of many machines.
//!
//! JetStream replicates, orders and compares; nothing of that is written here. What is here is which
//! message means what, and what may be concluded from which answer.
//!
//! # Streams
//!
//! A space has five, named after it:
//!
//! | Stream | A message is | Bound |
//! |---|---|---|
//! | `NAME_LOG` | one batch of a run: records with newlines between | compare-and-set on the run's subject |
//! | `NAME_RUNS` | one run, stored before its first batch; its number is the cursor of lists | one for a run |
//! | `NAME_BLOB` | a blob, or the list and the pieces of a large one | one for a digest |
//! | `NAME_WORK` | the token of a job, in a subject of its pool | one for a run, over all pools |
//! | `NAME_ASIDE` | the mark of a parked or dead job | one for a run and kind |
//!
//! # What may be concluded
//!
//! An append that is acknowledged is kept by a majority of the replicas. After any other answer the
//! leader of the stream is asked what stands behind the record that the batch was to follow: the
//! batch itself, then the append has succeeded; another one, then it is a conflict, and a copy that is
//! still on its way will be refused; nothing, then the same message is sent again under the same id.
//! Only what is still open when the time is up is [`probity_store::AppendError::Unknown`].
//!
//! Each append has an id of its own, not one of its content: two writers with the same bytes are two
//! writers, and one of them is told so.
//!
//! # Leases
//!
//! JetStream takes acknowledgements from whoever held a message before. So a lease is kept twice: by
//! the server, which gives the job out again, and here, by a monotonic deadline that always ends
//! earlier. After it a lease is lost without a question to the server.
//!
//! A request that was sent before the deadline may still arrive after it, however late. So no two
//! leases share a place in the stream: a token that was delivered before is put in a new place before
//! anybody gets it, and what a former holder sent names a place where nothing is any more.
//!
//! # What a late word can still do
//!
//! A mark is in another stream than the token, and nothing binds the two. Where the mark of a `park`
//! or `bury` arrives after its lease, and after the next holder has settled the job, it stays: the
//! run is listed as parked or dead although its job has ended. Enqueuing, reviving or discarding it
//! ends that. A server that is killed may forget that it has just given a token out, and a consumer
//! that somebody deletes forgets all of it: the job is then given out again at once, with the same
//! epoch, and the log refuses the second of the two.
//!
//! # Tokens and marks
//!
//! To park or bury a job is two writes: the mark, then the end of the token; to wake one is the token,
//! then the end of the mark. Where a crash leaves both, the token counts: the job is queued, and the
//! mark goes when the job is settled.
//!
//! # What is not asked
//!
//! Most of what a write costs is that a majority is waited for, once for each stream, and little of it
//! is for each message: what reaches a leader together is replicated together. So the blobs of a batch
//! go at once, together with the announcement of a run, and the batch behind them.
//!
//! Small blobs do not travel inside the batch. A message has one subject, so of several digests in it
//! only a second write could say where they are. Nor do they go with it in an atomic batch of the
//! server: on three servers that costs what it costs to send them at once, on one more, and ages of
//! records would count for blobs.
//!
//! A blob that this process has stored or read is not sent again, and a small one not asked for again,
//! as long as the connection lasts. A log that is known to be long enough is read without a word of
//! the leader.
//!
//! # What is not kept
//!
//! Blobs of an append that lost the race for its place stay as blobs that nobody names. A run whose
//! creation was cut off between its two messages is not listed until somebody creates it, and then at
//! its first place.

mod aside;
mod blob;
mod bounded;
mod connect;
mod connect_error;
mod creds;
mod held;
mod inspect;
mod kept;
mod link;
mod list;
mod log;
mod monitor;
mod options;
mod pull;
mod queue;
mod read;
mod schema;
mod space;
mod store;
mod stored;
mod tail;
mod url;
mod version;

pub use connect_error::ConnectError;
pub use inspect::{Finding, Level, inspect};
pub use options::{Accept, Login, NatsOptions};
pub use store::NatsStore;
