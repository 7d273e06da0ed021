//! Appends: one message for a batch, by compare-and-set.

use async_nats::HeaderMap;
use bytes::Bytes;
use probity_core::RunId;
use probity_store::{AppendError, Batch, StoreFault};
use tokio::time::Instant;

use crate::NatsStore;
use crate::blob::digest_of;
use crate::link::{Failure, Pauses, refusal};
use crate::space::Part;
use crate::stored;
use crate::tail::{Tail, header};

/// Bytes of records that go into the message itself. Above it they go into a blob that the message
/// names, so that looking at the end of a log is never dear.
const MAX_INLINE_BYTES: usize = 128 * 1024;

/// A message that is sent until it is known what became of it.
struct Commit {
    subject: String,
    /// Behind which end it goes.
    after: Tail,
    /// The end that it makes; its `seq` is not known yet.
    len: u64,
    sealed: bool,
    id: String,
    headers: HeaderMap,
    body: Bytes,
}

/// What stands where a commit was to go.
enum Found {
    Nothing,
    Mine(u64),
    Another,
}

impl NatsStore {
    pub(crate) async fn append_batch(
        &self,
        run: &RunId,
        expected_len: u64,
        batch: Batch,
    ) -> Result<u64, AppendError> {
        batch.check()?;
        let end = self.shared.link.end();
        let after = self.place(run, expected_len, end).await?;
        // Nothing of the batch can be read before its message is there.
        let Batch { records, blobs, seal } = batch;
        let announced =
            async { if after.len == 0 { self.announce(run, end).await } else { Ok(()) } };
        let prepared = tokio::try_join!(self.put_blobs(blobs, end), announced);
        prepared.map_err(AppendError::Unavailable)?;
        let commit = self.commit(run, after, &records, seal, end).await;
        self.send(run, commit.map_err(AppendError::Unavailable)?, end).await
    }

    /// The end of a log as the leader of the stream knows it. Never behind what this process knows.
    pub(crate) async fn tail(&self, run: &RunId, end: Instant) -> Result<Tail, Failure> {
        let shared = &self.shared;
        let (stream, subject) = (shared.space.stream(Part::Log), shared.space.run(run));
        let mut pauses = Pauses::until(end);
        loop {
            let known = shared.tails.get(run).unwrap_or_default();
            let found = stored::last(&shared.link, &stream, &subject, end).await?;
            let tail = match &found {
                Some(message) => Tail::of(message).ok_or_else(|| foreign(message.seq))?,
                None => Tail::default(),
            };
            if tail.seq >= known.seq {
                if tail.seq > 0 {
                    shared.tails.learn(run, tail);
                }
                return Ok(tail);
            }
            if shared.options.max_age_s.is_some() {
                // It was not forgotten by a leader, but by age.
                shared.tails.forget(run);
                return Ok(tail);
            }
            // A leader that has just been chosen, or one that does not know that it was deposed.
            if !pauses.pause().await {
                let why = format!("it has forgotten what it acknowledged of run {run}");
                return Err(Failure::Unreadable(why));
            }
        }
    }

    /// The end that an append goes behind, if it is the one that the writer named.
    async fn place(&self, run: &RunId, expected: u64, end: Instant) -> Result<Tail, AppendError> {
        if let Some(known) = self.shared.tails.get(run)
            && known.len == expected
            && known.seq > 0
            && !known.sealed
        {
            return Ok(known);
        }
        let tail = self.tail(run, end).await;
        let tail = tail.map_err(|failure| AppendError::Unavailable(failure.fault()))?;
        if tail.sealed || tail.len != expected { Err(lost(expected, tail)) } else { Ok(tail) }
    }

    /// Puts a run into the list, once.
    async fn announce(&self, run: &RunId, end: Instant) -> Result<(), StoreFault> {
        let subject = self.shared.space.created(run);
        self.publish_first(&subject, &subject, HeaderMap::new(), Bytes::new(), end)
            .await
            .map(drop)
            .map_err(|failure| failure.fault())
    }

    /// Publishes the only message of `only`, which may hold wildcards. False if there is one that is
    /// kept already. Safe to send again.
    pub(crate) async fn publish_first(
        &self,
        subject: &str,
        only: &str,
        mut headers: HeaderMap,
        body: Bytes,
        end: Instant,
    ) -> Result<bool, Failure> {
        headers.insert(header::EXPECTED, "0");
        if only != subject {
            headers.insert(header::EXPECTED_SUBJECT, only);
        }
        let mut pauses = Pauses::until(end);
        loop {
            let link = &self.shared.link;
            let sent = stored::publish(link, subject, headers.clone(), body.clone(), end).await;
            match sent {
                Ok(_) => return Ok(true),
                Err(failure) if failure.is(refusal::WRONG_LAST) => return Ok(false),
                Err(failure) if failure.may_pass() || failure.is(refusal::WRONG_LAST_IN_FLIGHT) => {
                    if !pauses.pause().await {
                        return Err(failure);
                    }
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    async fn commit(
        &self,
        run: &RunId,
        after: Tail,
        records: &[Vec<u8>],
        sealed: bool,
        end: Instant,
    ) -> Result<Commit, StoreFault> {
        let link = &self.shared.link;
        let len = after.len.saturating_add(records.len() as u64);
        let mut body: Bytes = records.join(&b'\n').into();
        let mut headers = HeaderMap::new();
        let id = link.client().new_inbox();
        headers.insert(header::ID, id.as_str());
        headers.insert(header::EXPECTED, after.seq.to_string());
        headers.insert(header::LEN, len.to_string());
        headers.insert(header::RECORDS, records.len().to_string());
        if sealed {
            headers.insert(header::SEALED, "1");
        }
        if body.len() > MAX_INLINE_BYTES {
            let digest = digest_of(body.clone()).await;
            headers.insert(header::BODY, digest.to_string());
            self.store_blob(digest, std::mem::take(&mut body), end).await?;
        }
        let subject = self.shared.space.run(run);
        Ok(Commit { subject, after, len, sealed, id, headers, body })
    }

    /// Sends a commit until it is known what became of it, or time is up.
    async fn send(&self, run: &RunId, commit: Commit, end: Instant) -> Result<u64, AppendError> {
        let Commit { subject, after, len, sealed, headers, body, .. } = &commit;
        let mut pauses = Pauses::until(end);
        // Whether a copy may be on its way to the server.
        let mut is_open = false;
        loop {
            let link = &self.shared.link;
            let sent = stored::publish(link, subject, headers.clone(), body.clone(), end).await;
            let failure = match sent {
                Ok(ack) => {
                    let tail = Tail { len: *len, seq: ack.seq, sealed: *sealed };
                    self.shared.tails.learn(run, tail);
                    return Ok(*len);
                }
                Err(failure) => failure,
            };
            is_open |= failure.leaves_open();
            let fault = failure.fault();
            let give_up = || {
                if is_open { AppendError::Unknown(fault) } else { AppendError::Unavailable(fault) }
            };
            let is_wrong =
                failure.is(refusal::WRONG_LAST) || failure.is(refusal::WRONG_LAST_IN_FLIGHT);
            if !is_wrong && !is_open && !failure.may_pass() {
                return Err(give_up());
            }
            if is_wrong || is_open {
                match self.found(&commit, end).await {
                    Ok(Found::Nothing) => {}
                    Ok(Found::Mine(seq)) => {
                        let tail = Tail { len: *len, seq, sealed: *sealed };
                        self.shared.tails.learn(run, tail);
                        return Ok(*len);
                    }
                    Ok(Found::Another) => {
                        // A copy on its way names a place that is taken: it will be refused.
                        self.shared.tails.forget(run);
                        let tail = self.tail(run, end).await;
                        let tail = tail.map_err(|it| AppendError::Unavailable(it.fault()))?;
                        return Err(lost(after.len, tail));
                    }
                    Err(_) => return Err(give_up()),
                }
            }
            if !pauses.pause().await {
                return Err(give_up());
            }
        }
    }

    /// Asks the leader what stands behind the end that a commit names.
    async fn found(&self, commit: &Commit, end: Instant) -> Result<Found, Failure> {
        let stream = self.shared.space.stream(Part::Log);
        let seq = commit.after.seq.saturating_add(1);
        let next = stored::next(&self.shared.link, &stream, &commit.subject, seq, end).await?;
        Ok(match next {
            None => Found::Nothing,
            Some(message) if message.headers.get(header::ID) == Some(commit.id.as_str()) => {
                Found::Mine(message.seq)
            }
            Some(_) => Found::Another,
        })
    }
}

/// Why an append that names another end is refused.
fn lost(expected: u64, tail: Tail) -> AppendError {
    if tail.sealed {
        return AppendError::Sealed { len: tail.len };
    }
    AppendError::Conflict { expected, actual: tail.len }
}

/// A message in the stream that this crate did not write.
pub(crate) fn foreign(seq: u64) -> Failure {
    Failure::Unreadable(format!("message {seq} of the log is no batch"))
}
