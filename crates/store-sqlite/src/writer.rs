//! The one thread that writes: groups what waits, commits once, answers all.

use std::time::{SystemTime, UNIX_EPOCH};

use probity_core::Digest;
use probity_store::{AppendError, FaultKind, LogState, StoreFault};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use tokio::sync::{mpsc, watch};

use crate::fault::fault;
use crate::request::{Append, Put, Request};

/// Requests that may wait; a caller beyond that waits to be let in.
pub(crate) const QUEUE_REQUESTS: usize = 256;

/// Bytes after which a group takes no further request: 16 MiB.
const GROUP_BYTES: usize = 16 * 1024 * 1024;

/// Everything the thread owns.
pub(crate) struct Writer {
    pub(crate) connection: Connection,
    /// Why nothing may be written, if so.
    pub(crate) refusal: Option<StoreFault>,
    /// Counts commits, so that followers wake.
    pub(crate) committed: watch::Sender<u64>,
}

/// What became of one request inside a transaction that went through.
enum Answer {
    Appended(u64),
    Put(Digest),
    /// Refused by what the log holds; wrote nothing.
    Refused(AppendError),
}

/// What became of a transaction that did not go through.
struct Failure {
    fault: StoreFault,
    /// Whether the commit itself failed, so that the outcome may not be known.
    at_commit: bool,
}

impl Writer {
    /// Serves until the last sender is gone and the queue is empty.
    pub(crate) fn serve(mut self, mut queue: mpsc::Receiver<Request>) {
        while let Some(first) = queue.blocking_recv() {
            let group = drain(first, &mut queue);
            self.settle(group);
        }
    }

    fn settle(&mut self, group: Vec<Request>) {
        if let Some(refusal) = self.refusal.clone() {
            let failure = Failure { fault: refusal, at_commit: false };
            group.into_iter().for_each(|request| fail(request, &failure));
            return;
        }
        match self.commit(&group) {
            Ok(answers) => self.reply(group, answers),
            Err(failure) if failure.at_commit || group.len() == 1 => {
                group.into_iter().for_each(|request| fail(request, &failure));
            }
            // One request broke the transaction of all: find out which, one by one.
            Err(_) => group.into_iter().for_each(|request| self.settle(vec![request])),
        }
    }

    fn reply(&self, group: Vec<Request>, answers: Vec<Answer>) {
        self.committed.send_modify(|count| *count = count.wrapping_add(1));
        for (request, answer) in group.into_iter().zip(answers) {
            // Whoever went away meanwhile reads the log.
            match (request, answer) {
                (Request::Append { reply, .. }, Answer::Appended(len)) => drop(reply.send(Ok(len))),
                (Request::Append { reply, .. }, Answer::Refused(error)) => {
                    drop(reply.send(Err(error)));
                }
                (Request::Put { reply, .. }, Answer::Put(digest)) => drop(reply.send(Ok(digest))),
                (Request::Append { .. }, Answer::Put(_))
                | (Request::Put { .. }, Answer::Appended(_) | Answer::Refused(_)) => {}
            }
        }
    }

    /// One transaction. Dropped before its commit, it is rolled back.
    fn commit(&mut self, group: &[Request]) -> Result<Vec<Answer>, Failure> {
        let before = |error: rusqlite::Error| Failure { fault: fault(&error), at_commit: false };
        let behavior = TransactionBehavior::Immediate;
        let transaction = self.connection.transaction_with_behavior(behavior).map_err(before)?;
        let answers: rusqlite::Result<Vec<Answer>> = group
            .iter()
            .map(|request| match request {
                Request::Append { work, .. } => append(&transaction, work),
                Request::Put { work, .. } => put(&transaction, work),
            })
            .collect();
        let answers = answers.map_err(before)?;
        transaction.commit().map_err(|error| {
            let fault = fault(&error);
            // On a full disk the commit frame, which is written last, is not there: nothing is
            // stored.
            let at_commit = fault.kind != FaultKind::Full;
            Failure { fault, at_commit }
        })?;
        Ok(answers)
    }
}

fn drain(first: Request, queue: &mut mpsc::Receiver<Request>) -> Vec<Request> {
    let mut bytes = first.bytes();
    let mut group = vec![first];
    while group.len() < QUEUE_REQUESTS && bytes < GROUP_BYTES {
        let Ok(next) = queue.try_recv() else { break };
        bytes = bytes.saturating_add(next.bytes());
        group.push(next);
    }
    group
}

fn fail(request: Request, failure: &Failure) {
    let fault = failure.fault.clone();
    match request {
        Request::Append { reply, .. } if failure.at_commit => {
            drop(reply.send(Err(AppendError::Unknown(fault))));
        }
        Request::Append { reply, .. } => drop(reply.send(Err(AppendError::Unavailable(fault)))),
        Request::Put { reply, .. } => drop(reply.send(Err(fault.into()))),
    }
}

fn append(transaction: &Transaction<'_>, work: &Append) -> rusqlite::Result<Answer> {
    let found = find(transaction, work.run.as_str())?;
    let state = found.map(|(_, state)| state).unwrap_or_default();
    if state.sealed {
        return Ok(Answer::Refused(AppendError::Sealed { len: state.len }));
    }
    if state.len != work.expected_len {
        let (expected, actual) = (work.expected_len, state.len);
        return Ok(Answer::Refused(AppendError::Conflict { expected, actual }));
    }
    let len = state.len + work.batch.records.len() as u64;
    let number = match found {
        Some((number, _)) => {
            let mut update = transaction
                .prepare_cached("UPDATE run SET len = ?2, sealed = ?3 WHERE number = ?1")?;
            update.execute(params![number, len.cast_signed(), work.batch.seal])?;
            number
        }
        None => {
            let mut insert = transaction.prepare_cached(
                "INSERT INTO run (id, len, sealed, created_at_ms) VALUES (?1, ?2, ?3, ?4)",
            )?;
            let id = work.run.as_str();
            insert.insert(params![id, len.cast_signed(), work.batch.seal, now_ms()])?
        }
    };
    for (digest, bytes) in &work.batch.blobs {
        put_blob(transaction, digest, bytes)?;
    }
    let mut insert =
        transaction.prepare_cached("INSERT INTO record (run, seq, bytes) VALUES (?1, ?2, ?3)")?;
    for (seq, record) in (state.len..).zip(&work.batch.records) {
        insert.execute(params![number, seq.cast_signed(), record])?;
    }
    Ok(Answer::Appended(len))
}

fn put(transaction: &Transaction<'_>, work: &Put) -> rusqlite::Result<Answer> {
    put_blob(transaction, &work.digest, &work.bytes)?;
    Ok(Answer::Put(work.digest))
}

fn put_blob(transaction: &Transaction<'_>, digest: &Digest, bytes: &[u8]) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached(
        "INSERT INTO blob (digest, bytes) VALUES (?1, ?2) ON CONFLICT (digest) DO NOTHING",
    )?;
    insert.execute(params![digest.as_bytes().as_slice(), bytes])?;
    Ok(())
}

/// The run's number in the file, and where its log stands.
pub(crate) fn find(
    connection: &Connection,
    run: &str,
) -> rusqlite::Result<Option<(i64, LogState)>> {
    let mut query =
        connection.prepare_cached("SELECT number, len, sealed FROM run WHERE id = ?1")?;
    let row = query.query_row([run], |row| {
        let len: i64 = row.get(1)?;
        Ok((row.get(0)?, LogState { len: len.cast_unsigned(), sealed: row.get(2)? }))
    });
    row.optional()
}

/// A clock before 1970 reads as 0.
fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
