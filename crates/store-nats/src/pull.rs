//! Asking for jobs: pulls, what they bring, and what is done with what came too late.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_nats::{Client, Message, Subscriber};
use probity_core::RunId;
use probity_store::{Lease, Pool};
use serde_json::json;
use tokio::time::{Instant, timeout_at};

use crate::NatsStore;
use crate::link::Failure;
use crate::queue::header;
use crate::space::{Part, Space};
use crate::stored::receive;

/// The longest that one pull stays open at the server. A pull that is lost with its server is asked
/// again after that.
const PULL_MAX: Duration = Duration::from_secs(1);
/// How long the end of a pull may be on its way: longer than a server under load is busy with its
/// disk. A job that comes after it has been on its way for nothing.
const GRACE: Duration = Duration::from_secs(5);

/// A subscription for the answers to pulls of several pools.
pub(crate) struct Desk {
    client: Client,
    stream: String,
    inbox: String,
    answers: Option<Subscriber>,
    pools: Vec<Desired>,
    /// Whether nobody waits at it any more.
    is_left: bool,
}

/// One pool at the desk.
struct Desired {
    pool: Pool,
    open: Option<Open>,
}

/// A pull that may bring something yet.
#[derive(Clone, Copy)]
struct Open {
    since: Instant,
    /// When it ends at the latest.
    until: Instant,
    /// Whether it ends with its first job.
    is_single: bool,
}

/// What came.
enum Came {
    /// A job, and since when it may have been on its way.
    Job(Box<Token>, Instant),
    /// The end of a pull without a job; with what went wrong.
    End(Option<String>),
    /// Nothing in time.
    Nothing,
}

/// What became of a job that came.
enum Taken {
    Lease(Lease),
    /// It is in a new place, and due.
    Anew,
    /// It is not to be had now.
    Nothing,
}

/// A token as the consumer delivers it.
pub(crate) struct Token {
    pub(crate) run: RunId,
    pub(crate) pool: Pool,
    /// Where acknowledgements go.
    pub(crate) handle: String,
    /// Its number in the stream.
    pub(crate) seq: u64,
    delivered: u64,
    floor: u64,
    deliveries: u32,
    delay: Duration,
    /// When it was stored, since the Unix epoch by the server's clock.
    stored: Duration,
}

/// The numbers in the subject of acknowledgements.
pub(crate) struct AckSubject {
    /// How often the message was delivered.
    pub(crate) delivered: u64,
    /// Its number in the stream.
    pub(crate) seq: u64,
    stored_ns: u64,
}

impl AckSubject {
    /// Reads `$JS.ACK.[domain.account.]stream.consumer.delivered.seq.consumer_seq.time.pending...`.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('.').collect();
        let at = if parts.len() >= 11 { 6 } else { 4 };
        let number = |offset: usize| parts.get(at + offset)?.parse().ok();
        (parts.len() >= 9)
            .then(|| Some(Self { delivered: number(0)?, seq: number(1)?, stored_ns: number(3)? }))?
    }
}

impl Token {
    /// `None` for what is no token of ours.
    fn read(message: &Message) -> Option<Self> {
        let handle = message.reply.as_ref()?.to_string();
        let ack = AckSubject::read(&handle)?;
        let number = |name: &str| {
            let value = message.headers.as_ref()?.get(name)?;
            value.as_str().parse::<u64>().ok()
        };
        let subject = message.subject.as_str();
        Some(Self {
            run: Space::run_of(subject)?,
            pool: Space::pool_of(subject)?,
            seq: ack.seq,
            delivered: ack.delivered.max(1),
            floor: number(header::FLOOR).unwrap_or_default(),
            deliveries: u32::try_from(number(header::DELIVERIES).unwrap_or_default()).ok()?,
            delay: Duration::from_millis(number(header::DELAY_MS).unwrap_or_default()),
            stored: Duration::from_nanos(ack.stored_ns),
            handle,
        })
    }

    /// How long until it is due, by the clock of this machine.
    fn remaining(&self) -> Duration {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        if self.delay.is_zero() {
            return Duration::ZERO;
        }
        (self.stored + self.delay).saturating_sub(now)
    }

    /// The epoch of the lease that this delivery may become; at least 1.
    pub(crate) fn epoch(&self) -> u64 {
        self.floor.saturating_add(self.delivered)
    }

    /// How many leases there were since the job was enqueued, with the one that this delivery may
    /// become; at least 1.
    pub(crate) fn leases(&self) -> u32 {
        // One that had a delay was delivered once to be sent back until it is due.
        let early = u64::from(!self.delay.is_zero() && self.delivered > 1);
        let delivered = u32::try_from(self.delivered - early).unwrap_or(u32::MAX);
        self.deliveries.saturating_add(delivered)
    }

    fn lease(self) -> Lease {
        let (epoch, deliveries) = (self.epoch(), self.leases());
        Lease { run: self.run, pool: self.pool, epoch, deliveries, handle: self.handle }
    }
}

impl NatsStore {
    /// A desk for these pools, in this order.
    pub(crate) async fn desk(
        &self,
        pools: impl IntoIterator<Item = Pool>,
        end: Instant,
    ) -> Result<Desk, Failure> {
        let client = self.shared.link.client().clone();
        let inbox = client.new_inbox();
        let answers = match timeout_at(end, client.subscribe(format!("{inbox}.*"))).await {
            Ok(Ok(answers)) => answers,
            Ok(Err(error)) => return Err(Failure::NotTaken(error.to_string())),
            Err(_) => return Err(Failure::NotTaken("time-out".to_owned())),
        };
        let stream = self.shared.space.stream(Part::Work);
        let pools = pools.into_iter().map(|pool| Desired { pool, open: None }).collect();
        Ok(Desk { client, stream, inbox, answers: Some(answers), pools, is_left: false })
    }

    /// What is there now, at most `max`, pool by pool. Jobs that are not due, however many, take no
    /// more time than there is until `deadline`, and a second where that is nearer.
    pub(crate) async fn sweep(
        &self,
        desk: &mut Desk,
        max: usize,
        deadline: Instant,
        end: Instant,
    ) -> Result<Vec<Lease>, Failure> {
        let mut leases = Vec::new();
        let enough = deadline.max(Instant::now() + PULL_MAX);
        for place in 0..desk.pools.len() {
            // A job that is not due is sent back and makes room for another one.
            while leases.len() < max {
                let want = max - leases.len();
                desk.pull(place, want, None, end).await?;
                let (mut came, mut is_put_anew) = (0, false);
                while came < want && desk.is_open(place) {
                    // Those that are in hand must not run out for the sake of the next one.
                    let patience = if leases.is_empty() {
                        end
                    } else {
                        end.min(Instant::now() + self.shared.options.lease_ttl() / 4)
                    };
                    match desk.come(patience).await {
                        Came::Job(token, since) => {
                            came += 1;
                            match self.take(*token, since).await {
                                Taken::Lease(lease) => leases.push(lease),
                                Taken::Anew => is_put_anew = true,
                                Taken::Nothing => {}
                            }
                        }
                        Came::End(None) => {}
                        Came::End(Some(why)) => return self.or_failure(leases, why),
                        Came::Nothing => return self.or_failure(leases, "time-out".to_owned()),
                    }
                }
                desk.close(place);
                // What was put anew is behind all others, and there.
                let is_empty = came < want && !is_put_anew;
                if is_empty || Instant::now() >= enough {
                    break;
                }
            }
        }
        Ok(leases)
    }

    /// Waits for one job in any of the pools, until `deadline`.
    pub(crate) async fn wait_for_one(
        &self,
        desk: &mut Desk,
        deadline: Instant,
    ) -> Result<Vec<Lease>, Failure> {
        // A lease that was on its way for longer than this could have run out already.
        let longest = PULL_MAX.min(self.shared.options.lease_ttl() / 2);
        loop {
            let now = Instant::now();
            for place in 0..desk.pools.len() {
                if !desk.is_open(place) && now < deadline {
                    let expires = longest.min(deadline - now).max(Duration::from_millis(1));
                    desk.pull(place, 1, Some(expires), now + longest).await?;
                }
            }
            if desk.is_idle() {
                return Ok(Vec::new());
            }
            match desk.come(now + longest + GRACE).await {
                Came::Job(token, since) => {
                    if let Taken::Lease(lease) = self.take(*token, since).await {
                        return Ok(vec![lease]);
                    }
                }
                Came::End(None) => {}
                Came::End(Some(why)) => return Err(Failure::NotTaken(why)),
                Came::Nothing => return Err(Failure::Unanswered("time-out".to_owned())),
            }
        }
    }

    /// Makes a lease of what came, or sends it back because it is not due, or puts it anew because
    /// somebody may have held it in the place where it is.
    async fn take(&self, token: Token, since: Instant) -> Taken {
        let remaining = token.remaining();
        if !remaining.is_zero() {
            send_back(self.shared.link.client(), &token.handle, remaining).await;
            return Taken::Nothing;
        }
        let lease_ttl = self.shared.options.lease_ttl();
        if token.delivered > 1 {
            self.put_anew(&token, since + lease_ttl / 2).await;
            return Taken::Anew;
        }
        let lease = token.lease();
        self.shared.held.take(&lease.handle, since);
        // What waited on its way has lost part of its time: it gets all of it.
        let is_fresh = since.elapsed() < lease_ttl / 20;
        if is_fresh || self.renew(&lease).await.is_ok() {
            return Taken::Lease(lease);
        }
        Taken::Nothing
    }

    /// What came before the failure counts more than the failure.
    fn or_failure(&self, leases: Vec<Lease>, why: String) -> Result<Vec<Lease>, Failure> {
        // Pools are looked at again: a consumer may be gone.
        self.forget_pools();
        if leases.is_empty() { Err(Failure::NotTaken(why)) } else { Ok(leases) }
    }
}

impl Desk {
    fn is_open(&self, place: usize) -> bool {
        self.pools.get(place).is_some_and(|desired| desired.open.is_some())
    }

    fn is_idle(&self) -> bool {
        self.pools.iter().all(|desired| desired.open.is_none())
    }

    fn close(&mut self, place: usize) {
        if let Some(desired) = self.pools.get_mut(place) {
            desired.open = None;
        }
    }

    /// Asks for jobs of one pool: those that are there, or those that come in that time.
    async fn pull(
        &mut self,
        place: usize,
        batch: usize,
        expires: Option<Duration>,
        end: Instant,
    ) -> Result<(), Failure> {
        let Some(desired) = self.pools.get_mut(place) else { return Ok(()) };
        let request = match expires {
            Some(expires) => {
                let expires_ns = u64::try_from(expires.as_nanos()).unwrap_or(u64::MAX);
                json!({ "batch": batch, "expires": expires_ns })
            }
            None => json!({ "batch": batch, "no_wait": true }),
        };
        let subject = format!("$JS.API.CONSUMER.MSG.NEXT.{}.{}", self.stream, desired.pool);
        let reply = format!("{}.{place}", self.inbox);
        let now = Instant::now();
        let until = now + expires.unwrap_or_default() + GRACE;
        desired.open = Some(Open { since: now, until, is_single: batch == 1 });
        let body = request.to_string().into();
        let publishing = self.client.publish_with_reply(subject, reply, body);
        match timeout_at(end, publishing).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(Failure::NotTaken(error.to_string())),
            Err(_) => Err(Failure::NotTaken("time-out".to_owned())),
        }
    }

    /// Sends back what comes until every pull has ended.
    async fn clear(mut self) {
        while !self.is_idle() {
            match self.come(Instant::now() + PULL_MAX + GRACE).await {
                Came::Job(token, _) => send_back(&self.client, &token.handle, Duration::ZERO).await,
                Came::End(_) => {}
                Came::Nothing => {
                    let now = Instant::now();
                    for desired in &mut self.pools {
                        desired.open = desired.open.filter(|open| open.until > now);
                    }
                    if self.answers.is_none() {
                        return;
                    }
                }
            }
        }
    }

    /// The next thing that comes.
    async fn come(&mut self, end: Instant) -> Came {
        let latest = self.pools.iter().filter_map(|desired| desired.open?.until.into()).min();
        let Some(answers) = self.answers.as_mut() else { return Came::Nothing };
        let end = latest.unwrap_or(end).min(end);
        let message = match timeout_at(end, receive(answers)).await {
            Ok(Some(message)) => message,
            Ok(None) => {
                // The connection was closed; nothing more will come.
                self.answers = None;
                return Came::Nothing;
            }
            Err(_) => return Came::Nothing,
        };
        let Some(status) = message.status else {
            let Some(token) = Token::read(&message) else { return Came::End(None) };
            let asked = self.pools.iter_mut().find(|desired| desired.pool == token.pool);
            let open = asked.and_then(|desired| {
                let open = desired.open?;
                if open.is_single {
                    desired.open = None;
                }
                Some(open.since)
            });
            return match open {
                Some(since) => Came::Job(Box::new(token), since),
                None => {
                    send_back(&self.client, &token.handle, Duration::ZERO).await;
                    Came::End(None)
                }
            };
        };
        let place = message.subject.rsplit('.').next().and_then(|it| it.parse().ok());
        let place: usize = place.unwrap_or(usize::MAX);
        self.close(place);
        match status.as_u16() {
            // No messages; the time of the pull is over.
            404 | 408 => Came::End(None),
            other => {
                let why = message.description.unwrap_or_default();
                Came::End(Some(format!("status {other} {why}")))
            }
        }
    }
}

impl Drop for Desk {
    /// Pulls that are still open may bring jobs for which nobody waits: they go back at once.
    fn drop(&mut self) {
        let Some(answers) = self.answers.take() else { return };
        if self.is_left || self.is_idle() {
            return;
        }
        let mut pools = std::mem::take(&mut self.pools);
        for open in pools.iter_mut().filter_map(|desired| desired.open.as_mut()) {
            // Also where the time is up already, and that is why nobody waits.
            open.until = open.until.max(Instant::now() + GRACE);
        }
        let desk = Self {
            client: self.client.clone(),
            stream: std::mem::take(&mut self.stream),
            inbox: std::mem::take(&mut self.inbox),
            answers: Some(answers),
            pools,
            is_left: true,
        };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        drop(runtime.spawn(desk.clear()));
    }
}

/// Gives a job back, due after that time. If that is lost on its way, the job comes back when the
/// lease that nobody has runs out.
async fn send_back(client: &Client, handle: &str, delay: Duration) {
    let nak = if delay.is_zero() {
        "-NAK".to_owned()
    } else {
        let delay_ns = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
        format!("-NAK {}", json!({ "delay": delay_ns }))
    };
    let sending = client.publish(handle.to_owned(), nak.into());
    drop(tokio::time::timeout(GRACE, sending).await);
}
