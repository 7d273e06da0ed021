//! Jobs: tokens in a work queue.

use std::sync::PoisonError;
use std::time::Duration;

use async_nats::HeaderMap;
use bytes::Bytes;
use probity_core::RunId;
use probity_store::limits::{MAX_DELAY, MAX_EPOCH_FLOOR, MAX_LEASES};
use probity_store::{Ask, Enqueued, Job, Lease, LeaseError, Pool, QueueError, Standing};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::link::{Failure, Pauses, refusal};
use crate::pull::{AckSubject, Token};
use crate::space::{Mark, Part, Space};
use crate::stored::{self, Stored};
use crate::tail::header as log_header;
use crate::{NatsStore, aside};

/// Headers of tokens and marks.
pub(crate) mod header {
    /// Epochs of leases begin above it.
    pub(crate) const FLOOR: &str = "Probity-Floor";
    /// Leases that there were before this token, since the job was enqueued.
    pub(crate) const DELIVERIES: &str = "Probity-Deliveries";
    /// How long after it was stored a token is due, in milliseconds.
    pub(crate) const DELAY_MS: &str = "Probity-Delay-Ms";
    /// The token whose place this one took.
    pub(crate) const AFTER: &str = "Probity-After";
    /// The pool of a job that was set aside.
    pub(crate) const POOL: &str = "Probity-Pool";
    /// Why a job is dead, in one word.
    pub(crate) const CODE: &str = "Probity-Code";
}

/// A consumer of that name is there, with other settings.
const CONSUMER_DIFFERS: [u32; 2] = [10105, 10148];
/// Calls that may wait in one pool at a time, over all workers.
const MAX_WAITING: u32 = 8192;

impl NatsStore {
    pub(crate) async fn enqueue_job(&self, job: Job) -> Result<Enqueued, QueueError> {
        let Job { run, pool, delay, epoch_floor } = job;
        if epoch_floor > MAX_EPOCH_FLOOR {
            return Err(QueueError::Rejected { what: "epoch floor above 2^53" });
        }
        let end = self.shared.link.end();
        let result = async {
            // Almost always there is none of either kind, and one look says so.
            let marks = self.any_mark(&run, end).await?.is_some();
            if marks && let Some(dead) = self.mark(Mark::Dead, &run, end).await? {
                // A token beside a mark is a job that was being buried or revived: it is queued.
                if self.token(&run, end).await?.is_some() {
                    return Ok(Enqueued::Present);
                }
                // The two looks are two moments; the mark must have outlived the second.
                if self.mark(Mark::Dead, &run, end).await?.is_some_and(|it| it.seq == dead.seq) {
                    return Ok(Enqueued::Dead);
                }
            }
            let parked = if marks { self.mark(Mark::Parked, &run, end).await? } else { None };
            let left = parked.as_ref().and_then(|mark| mark.headers.number(header::FLOOR));
            let floor = epoch_floor.max(left.unwrap_or_default());
            if !self.publish_token(&run, &pool, floor, delay, end).await? {
                return Ok(Enqueued::Present);
            }
            self.unmark(parked, end).await?;
            Ok::<Enqueued, Failure>(Enqueued::Added)
        };
        Ok(result.await.map_err(|failure| failure.fault())?)
    }

    pub(crate) async fn lease_jobs(&self, ask: &Ask) -> Result<Vec<Lease>, QueueError> {
        if ask.pools.is_empty() {
            return Err(QueueError::Rejected { what: "call for no pool" });
        }
        if ask.max == 0 {
            return Err(QueueError::Rejected { what: "call for no job" });
        }
        let max = ask.max.min(MAX_LEASES);
        let mut pools = ask.pools.clone();
        pools.sort();
        pools.dedup();
        // So that no pool is always the first one to be emptied.
        let turn = pools.len().min(usize::from(self.turn()) % pools.len().max(1));
        pools.rotate_left(turn);
        let now = Instant::now();
        let deadline = now + ask.wait.min(MAX_DELAY);
        // While the servers choose leaders nobody can say that there is no job.
        let end = deadline.max(self.shared.link.end());
        let mut pauses = Pauses::until(end);
        loop {
            match self.lease_from(&pools, max, deadline, end).await {
                Ok(leases) => return Ok(leases),
                Err(failure) if failure.may_pass() => {
                    self.forget_pools();
                    if !pauses.pause().await {
                        return Err(failure.fault().into());
                    }
                }
                Err(failure) => return Err(failure.fault().into()),
            }
        }
    }

    async fn lease_from(
        &self,
        pools: &[Pool],
        max: usize,
        deadline: Instant,
        end: Instant,
    ) -> Result<Vec<Lease>, Failure> {
        for pool in pools {
            self.consumer(pool, end).await?;
        }
        let mut desk = self.desk(pools.iter().cloned(), end).await?;
        let mut leases = self.sweep(&mut desk, max, deadline, end).await?;
        // Nobody is given what ran out while the rest was looked at.
        leases.retain(|lease| self.held(lease).is_ok());
        if leases.is_empty() { self.wait_for_one(&mut desk, deadline).await } else { Ok(leases) }
    }

    /// Asks the server to begin the time of the lease anew.
    pub(crate) async fn renew(&self, lease: &Lease) -> Result<(), LeaseError> {
        let since = self.acknowledge(lease, "+WPI").await?;
        if self.shared.held.renew(&lease.handle, since) { Ok(()) } else { Err(LeaseError::Lost) }
    }

    pub(crate) async fn settle_job(&self, lease: &Lease) -> Result<(), LeaseError> {
        let until = self.held(lease)?;
        // Marks that a crash left beside the token would be all that is left of the job.
        self.unmark_all(&lease.run, until)
            .await
            .map_err(|failure| self.unless_lost(lease, &failure))?;
        self.remove_token(lease, until).await
    }

    /// Ends a lease and its token. An acknowledgement would be confirmed by the consumer before the
    /// stream has lost the token; what is deleted is gone for whoever looks next.
    pub(crate) async fn remove_token(
        &self,
        lease: &Lease,
        until: Instant,
    ) -> Result<(), LeaseError> {
        let token = AckSubject::read(&lease.handle).ok_or(LeaseError::Lost)?;
        let shared = &self.shared;
        let stream = shared.space.stream(Part::Work);
        let end = until.min(shared.link.end());
        let removed = stored::delete(&shared.link, &stream, token.seq, end).await;
        let removed = removed.map_err(|failure| self.unless_lost(lease, &failure))?;
        shared.held.end(&lease.handle);
        if !removed {
            // Somebody has it in another place: the server's clock was ahead of this one.
            return Err(LeaseError::Lost);
        }
        // This only tells the consumer not to look for it.
        drop(shared.link.client().publish(lease.handle.clone(), "+ACK".into()).await);
        Ok(())
    }

    /// Puts a new token in the place of the one that is held: behind all others, with what the lease
    /// counted.
    pub(crate) async fn hand_back(&self, lease: &Lease, delay: Duration) -> Result<(), LeaseError> {
        let until = self.held(lease)?;
        let held = AckSubject::read(&lease.handle).ok_or(LeaseError::Lost)?;
        let subject = self.shared.space.token(&lease.pool, &lease.run);
        let mut headers = token_headers(lease.epoch, lease.deliveries, delay);
        headers.insert(header::AFTER, held.seq.to_string());
        headers.insert(log_header::EXPECTED, held.seq.to_string());
        let mut pauses = Pauses::until(until);
        let mut is_open = false;
        loop {
            let link = &self.shared.link;
            let sent = stored::publish(link, &subject, headers.clone(), Bytes::new(), until).await;
            let Err(failure) = sent else { break };
            if failure.is(refusal::WRONG_LAST) {
                // By an earlier try of this call, or by whoever held it after this one.
                let token = self.token(&lease.run, until).await;
                let token = token.map_err(|failure| self.unless_lost(lease, &failure))?;
                let after = token.and_then(|token| token.headers.number(header::AFTER));
                if is_open && after == Some(held.seq) {
                    break;
                }
                self.shared.held.end(&lease.handle);
                return Err(LeaseError::Lost);
            }
            is_open |= failure.leaves_open();
            let again = failure.may_pass() || failure.is(refusal::WRONG_LAST_IN_FLIGHT);
            if !again || !pauses.pause().await {
                return Err(LeaseError::Unavailable(failure.fault()));
            }
        }
        self.shared.held.end(&lease.handle);
        // The old token is gone; this only tells the consumer not to look for it.
        let client = self.shared.link.client();
        drop(client.publish(lease.handle.clone(), "+ACK".into()).await);
        Ok(())
    }

    /// Puts a token that was delivered before in a new place, due at once, with what was counted. Each
    /// lease has a place of its own by that: a request of an earlier holder that is late, as long as it
    /// may be, names a place where nothing is any more.
    pub(crate) async fn put_anew(&self, token: &Token, end: Instant) {
        let subject = self.shared.space.token(&token.pool, &token.run);
        let mut headers = token_headers(token.epoch() - 1, token.leases() - 1, Duration::ZERO);
        headers.insert(log_header::EXPECTED, token.seq.to_string());
        let mut pauses = Pauses::until(end);
        loop {
            let link = &self.shared.link;
            let sent = stored::publish(link, &subject, headers.clone(), Bytes::new(), end).await;
            let Err(failure) = sent else { break };
            let again = failure.may_pass() || failure.is(refusal::WRONG_LAST_IN_FLIGHT);
            // Where it is not there any more, its last holder has ended it. Else it comes again when
            // the lease that nobody has runs out.
            if !again || !pauses.pause().await {
                return;
            }
        }
        // The old token is gone; this only tells the consumer not to look for it.
        let client = self.shared.link.client();
        drop(client.publish(token.handle.clone(), "+ACK".into()).await);
    }

    pub(crate) async fn standing_of(&self, run: &RunId) -> Result<Option<Standing>, QueueError> {
        let end = self.shared.link.end();
        let standing = async {
            // A job that wakes between the two looks at its token has no mark either.
            for _ in 0..2 {
                if let Some(token) = self.token(run, end).await? {
                    let pool = Space::pool_of(&token.subject).unwrap_or_default();
                    return Ok(Some(Standing::Queued { pool }));
                }
                if let Some(mark) = self.mark(Mark::Parked, run, end).await? {
                    return Ok(Some(Standing::Parked { pool: aside::pool_of(&mark) }));
                }
                if let Some(mark) = self.mark(Mark::Dead, run, end).await? {
                    let (pool, cause) = (aside::pool_of(&mark), aside::cause(&mark));
                    return Ok(Some(Standing::Dead { pool, cause }));
                }
            }
            Ok::<Option<Standing>, Failure>(None)
        };
        Ok(standing.await.map_err(|failure| failure.fault())?)
    }

    /// The token of a run, as the leader knows it.
    pub(crate) async fn token(&self, run: &RunId, end: Instant) -> Result<Option<Stored>, Failure> {
        let shared = &self.shared;
        let (stream, subject) = (shared.space.stream(Part::Work), shared.space.any_token(run));
        stored::last(&shared.link, &stream, &subject, end).await
    }

    /// Puts a token in unless the run has one, in whatever pool.
    pub(crate) async fn publish_token(
        &self,
        run: &RunId,
        pool: &Pool,
        floor: u64,
        delay: Duration,
        end: Instant,
    ) -> Result<bool, Failure> {
        let space = &self.shared.space;
        let headers = token_headers(floor, 0, delay);
        self.publish_first(
            &space.token(pool, run),
            &space.any_token(run),
            headers,
            Bytes::new(),
            end,
        )
        .await
    }

    /// When a lease that is still held ends.
    pub(crate) fn held(&self, lease: &Lease) -> Result<Instant, LeaseError> {
        self.shared.held.until(&lease.handle).ok_or(LeaseError::Lost)
    }

    /// A failure, unless the lease has run out meanwhile.
    pub(crate) fn unless_lost(&self, lease: &Lease, failure: &Failure) -> LeaseError {
        match self.held(lease) {
            Ok(_) => LeaseError::Unavailable(failure.fault()),
            Err(lost) => lost,
        }
    }

    /// Sends an acknowledgement until it is confirmed, as long as the lease is held. Gives the moment
    /// before the one that was confirmed was sent.
    pub(crate) async fn acknowledge(
        &self,
        lease: &Lease,
        word: &'static str,
    ) -> Result<Instant, LeaseError> {
        let end = self.held(lease)?.min(self.shared.link.end());
        let mut pauses = Pauses::until(end);
        loop {
            self.held(lease)?;
            let since = Instant::now();
            let body = Bytes::from_static(word.as_bytes());
            match self.shared.link.once(&lease.handle, None, body, end).await {
                Ok(_) => return Ok(since),
                Err(failure) => {
                    if !failure.may_pass() || !pauses.pause().await {
                        return Err(self.unless_lost(lease, &failure));
                    }
                }
            }
        }
    }

    /// Makes sure that a pool has its consumer, with leases of the right length.
    async fn consumer(&self, pool: &Pool, end: Instant) -> Result<(), Failure> {
        let shared = &self.shared;
        if shared.pools.lock().unwrap_or_else(PoisonError::into_inner).contains(pool) {
            return Ok(());
        }
        let stream = shared.space.stream(Part::Work);
        let ack_wait_ns = shared.options.lease_ttl_ms.saturating_mul(1_000_000);
        let config = json!({
            "stream_name": stream,
            "action": "create",
            "config": {
                "durable_name": pool.as_str(),
                "filter_subject": shared.space.pool(pool),
                "deliver_policy": "all",
                "ack_policy": "explicit",
                "replay_policy": "instant",
                "ack_wait": ack_wait_ns,
                "max_deliver": -1,
                // Jobs that are not due are held by the consumer, however many.
                "max_ack_pending": -1,
                "max_waiting": MAX_WAITING,
            },
        });
        let name = format!("CONSUMER.CREATE.{stream}.{pool}");
        match shared.link.api::<Value>(&name, &config, end).await {
            Ok(_) => {}
            Err(Failure::Refused(error)) if CONSUMER_DIFFERS.contains(&error.err_code) => {
                let why = format!("consumer {pool} of {stream} has other settings");
                return Err(Failure::Unreadable(why));
            }
            Err(failure) => return Err(failure),
        }
        shared.pools.lock().unwrap_or_else(PoisonError::into_inner).insert(pool.clone());
        Ok(())
    }

    /// So that consumers are looked for again.
    pub(crate) fn forget_pools(&self) {
        self.shared.pools.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn turn(&self) -> u8 {
        self.shared.turn.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
    }
}

fn token_headers(floor: u64, deliveries: u32, delay: Duration) -> HeaderMap {
    let delay_ms = u64::try_from(delay.min(MAX_DELAY).as_millis()).unwrap_or(u64::MAX);
    let mut headers = HeaderMap::new();
    headers.insert(header::FLOOR, floor.to_string());
    headers.insert(header::DELIVERIES, deliveries.to_string());
    headers.insert(header::DELAY_MS, delay_ms.to_string());
    headers
}
