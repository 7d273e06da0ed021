//! Reading records, and waiting for more of them.

use std::time::Duration;

use probity_core::{Digest, RunId};
use probity_store::limits::{MAX_BATCH_BYTES, MAX_READ_BYTES};
use probity_store::{BlobError, FaultKind, LogState, StoreFault};
use serde_json::json;
use tokio::time::{Instant, timeout_at};

use crate::NatsStore;
use crate::link::{Failure, Pauses};
use crate::log::foreign;
use crate::space::Part;
use crate::stored::{self, Stored, receive};
use crate::tail::{Tail, header};

/// Messages that one request to a replica gives at most.
const MAX_MESSAGES: usize = 256;
/// How often a replica may bring nothing new before the leader is asked.
const REPLICA_TRIES: u32 = 3;
/// Looks of a follower beside what it is told: early ones, because its subscription may not have
/// reached every server yet, then seldom.
const LOOK_FIRST: Duration = Duration::from_millis(100);
const LOOK_SELDOM: Duration = Duration::from_secs(5);

/// Records as they are collected.
struct Collected {
    records: Vec<Vec<u8>>,
    bytes: usize,
    /// The next record that is wanted.
    from: u64,
    max: usize,
    is_full: bool,
}

impl NatsStore {
    pub(crate) async fn read_records(
        &self,
        run: &RunId,
        from_seq: u64,
        max_records: usize,
    ) -> Result<Vec<Vec<u8>>, StoreFault> {
        let mut collected = Collected {
            records: Vec::new(),
            bytes: 0,
            from: from_seq,
            max: max_records,
            is_full: max_records == 0,
        };
        let end = self.shared.link.end();
        // What is asked for and known to be there needs no word of the leader.
        let wanted = from_seq.saturating_add(max_records as u64);
        let is_kept = self.shared.options.max_age_s.is_none();
        let known = self.shared.tails.get(run).filter(|known| is_kept && wanted <= known.len);
        let tail = match known {
            Some(known) => known,
            None => self.tail(run, end).await.map_err(|failure| failure.fault())?,
        };
        if from_seq >= tail.len {
            return Ok(Vec::new());
        }
        let (mut len, mut seq) = self.shared.tails.place_before(run, from_seq);
        let mut pauses = Pauses::until(end);
        let mut tries = 0;
        while !collected.is_full && seq < tail.seq {
            let from_leader = tries >= REPLICA_TRIES;
            let many = if len == from_seq { max_records.min(MAX_MESSAGES) } else { MAX_MESSAGES };
            let messages = self.batches(run, seq + 1, many, from_leader, end).await;
            let messages = messages.map_err(|failure| failure.fault())?;
            let before = seq;
            for message in messages {
                // What was stored since belongs to the next read.
                if collected.is_full || message.seq > tail.seq || message.seq <= seq {
                    break;
                }
                let after = Tail::of(&message).ok_or_else(|| foreign(message.seq).fault())?;
                let records = message.headers.number(header::RECORDS).unwrap_or_default();
                if after.len != len + records {
                    if from_leader {
                        return Err(gap(run, len));
                    }
                    // One replica is damaged. Whether the log is, the leader says.
                    tries = REPLICA_TRIES;
                    break;
                }
                if after.len > collected.from {
                    let skip = collected.from.saturating_sub(len);
                    collected.take(&self.body(message).await?, skip);
                }
                (len, seq) = (after.len, after.seq);
                if !collected.is_full {
                    self.shared.tails.learn_place(run, len, seq);
                }
            }
            if seq == before {
                tries = (tries + 1).min(REPLICA_TRIES);
                if !pauses.pause().await {
                    let why = format!("no server has the records of run {run} behind {len}");
                    return Err(StoreFault::new(FaultKind::Io, why));
                }
            }
        }
        Ok(collected.records)
    }

    pub(crate) async fn wait_for_growth(
        &self,
        run: &RunId,
        len: u64,
        timeout: Duration,
    ) -> Result<LogState, Failure> {
        let shared = &self.shared;
        // A timeout beyond what the clock can hold is no bound at all, so it is cut to a year.
        let deadline = Instant::now() + timeout.min(Duration::from_secs(365 * 24 * 3600));
        let subscribing = shared.link.client().subscribe(shared.space.grown(run.as_str()));
        // Before the look, so that an append after the look wakes the wait.
        let mut grown = match timeout_at(shared.link.end(), subscribing).await {
            Ok(Ok(grown)) => grown,
            Ok(Err(error)) => return Err(Failure::NotTaken(error.to_string())),
            Err(_) => return Err(Failure::NotTaken("time-out".to_owned())),
        };
        let mut look = LOOK_FIRST;
        loop {
            let state = self.tail(run, shared.link.end()).await?.state().unwrap_or_default();
            let now = Instant::now();
            if state.len > len || state.sealed || now >= deadline {
                return Ok(state);
            }
            // Either way the next look decides.
            let told = timeout_at(deadline.min(now + look), receive(&mut grown)).await;
            if matches!(told, Ok(None)) {
                return Err(Failure::NotTaken("the connection was closed".to_owned()));
            }
            look = (look * 3).min(LOOK_SELDOM);
        }
    }

    /// Batches from that number on, as a replica or the leader has them.
    async fn batches(
        &self,
        run: &RunId,
        seq: u64,
        many: usize,
        from_leader: bool,
        end: Instant,
    ) -> Result<Vec<Stored>, Failure> {
        let (link, space) = (&self.shared.link, &self.shared.space);
        let (stream, subject) = (space.stream(Part::Log), space.run(run));
        if !from_leader {
            let request = json!({
                "seq": seq,
                "next_by_subj": subject,
                "batch": many.max(1),
                "max_bytes": MAX_READ_BYTES,
            });
            // A replica that does not answer is one that is behind.
            let patience = end.min(Instant::now() + Duration::from_secs(2));
            return Ok(stored::direct(link, &stream, &request, patience).await.unwrap_or_default());
        }
        Ok(stored::next(link, &stream, &subject, seq, end).await?.into_iter().collect())
    }

    /// The records of a batch with their newlines, from the message or from the blob that it names.
    async fn body(&self, message: Stored) -> Result<Vec<u8>, StoreFault> {
        let Some(name) = message.headers.get(header::BODY) else {
            return Ok(message.body.into());
        };
        let corrupt = |why: String| StoreFault::new(FaultKind::Corrupt, why);
        let digest: Digest =
            name.parse().map_err(|_| corrupt(format!("`{name}` names no blob")))?;
        match self.get_blob(&digest, MAX_BATCH_BYTES as u64).await {
            Ok(Some(bytes)) => Ok(bytes),
            Ok(None) => Err(corrupt(format!("blob {digest} of message {} is gone", message.seq))),
            Err(BlobError::Unavailable(fault)) => Err(fault),
            Err(error) => Err(corrupt(error.to_string())),
        }
    }
}

impl Collected {
    /// Takes the records of a batch behind the first `skip`, as far as the bounds allow.
    fn take(&mut self, body: &[u8], skip: u64) {
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        for record in body.split(|byte| *byte == b'\n').skip(skip) {
            let bytes = self.bytes.saturating_add(record.len());
            let is_first = self.records.is_empty();
            if self.records.len() >= self.max || (!is_first && bytes > MAX_READ_BYTES) {
                self.is_full = true;
                return;
            }
            self.bytes = bytes;
            self.records.push(record.to_vec());
            self.from += 1;
        }
        self.is_full = self.records.len() >= self.max;
    }
}

/// The stream lost records that it acknowledged.
fn gap(run: &RunId, len: u64) -> StoreFault {
    let why = format!("records of run {run} behind {len} are gone: by age, or by damage");
    StoreFault::new(FaultKind::Corrupt, why)
}
