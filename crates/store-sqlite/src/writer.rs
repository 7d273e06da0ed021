//! The one thread that writes: groups what waits, commits once, answers all.

use std::time::{Duration, Instant};

use probity_core::Digest;
use probity_store::{AppendError, Enqueued, FaultKind, Lease, StoreFault};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::{mpsc, watch};

use crate::append::{append, put_blob};
use crate::bell::{Bell, Listener};
use crate::clock::Moment;
use crate::fault::fault;
use crate::files::Files;
use crate::held::Held;
use crate::jobs::Jobs;
use crate::request::{Asked, Change, Request};
use crate::{Options, Stay};

/// Requests that may wait; a caller beyond that waits to be let in.
pub(crate) const QUEUE_REQUESTS: usize = 256;

/// Bytes after which a group takes no further request: 16 MiB.
const GROUP_BYTES: usize = 16 * 1024 * 1024;

/// How often the thread wakes where nobody waits for anything.
const IDLE: Duration = Duration::from_secs(3600);

/// The longest write-ahead log that whoever stays briefly leaves for the next one: 1 MiB.
const MAX_LEFT_BYTES: u64 = 1 << 20;

/// Everything the thread owns.
pub(crate) struct Writer {
    pub(super) connection: Connection,
    /// Why nothing may be written, if so.
    pub(super) refusal: Option<StoreFault>,
    /// Counts commits, of other processes as far as they are noticed too, so that followers wake.
    pub(super) committed: watch::Sender<u64>,
    pub(super) bell: Bell,
    /// There from when somebody waits for what other processes commit. Not before: to take a watch away
    /// takes the kernel longer than a commit does.
    pub(super) listener: Option<Listener>,
    files: Files,
    stay: Stay,
    pub(super) lease_ttl: Duration,
    /// Leases that this store gave.
    pub(super) held: Held,
    /// Calls for jobs that wait, in the order in which they came.
    pub(super) asks: Vec<Asked>,
    /// Leases that were given to somebody who was gone.
    pub(super) unclaimed: Vec<Lease>,
    /// When to look at the queue again; `None` if nothing there has a time.
    pub(super) look_at: Option<Instant>,
    /// The latest that the wall clock has shown; before the first look, later than anything.
    pub(super) latest_ms: i64,
    /// SQLite's number of the state of the file, which changes with commits of others.
    pub(super) version: i64,
}

/// What became of one request inside a transaction that went through.
enum Answer {
    Appended(Result<u64, AppendError>),
    Put(Digest),
    Enqueued(Enqueued),
    Changed(bool),
}

/// What one transaction is to do.
struct Plan<'w> {
    group: &'w [Request],
    /// Calls to serve behind the requests.
    asks: &'w [Asked],
    unclaimed: &'w [Lease],
    held: &'w Held,
    lease_ttl: Duration,
    now: Moment,
    /// Whether the wall clock shows less than it did.
    is_set_back: bool,
    is_of_queue: bool,
}

/// What a transaction came to.
struct Done {
    answers: Vec<Answer>,
    /// For each call that waits, where calls were served.
    leases: Vec<Vec<Lease>>,
    now: Moment,
}

/// What became of a transaction that did not go through.
struct Failure {
    fault: StoreFault,
    /// Whether the commit itself failed, so that the outcome may not be known.
    at_commit: bool,
}

impl Writer {
    pub(crate) fn new(
        connection: Connection,
        refusal: Option<StoreFault>,
        committed: watch::Sender<u64>,
        options: &Options,
    ) -> Self {
        let bell = Bell::of(connection.path());
        let files = Files::of(connection.path());
        Self {
            connection,
            refusal,
            committed,
            bell,
            listener: None,
            files,
            stay: options.stay,
            lease_ttl: options.lease_ttl(),
            held: Held::default(),
            asks: Vec::new(),
            unclaimed: Vec::new(),
            look_at: None,
            latest_ms: i64::MAX,
            version: 0,
        }
    }

    /// Serves until the last sender is gone and the queue is empty.
    pub(crate) async fn serve(mut self, mut queue: mpsc::Receiver<Request>) {
        loop {
            let look_every = self.listener.as_ref().map_or(IDLE, Listener::look_every);
            let wake_at = self.wake_at(Instant::now() + look_every);
            let listener = self.listener.as_mut();
            let rung = async {
                match listener {
                    Some(listener) => listener.rung().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                first = queue.recv() => match first {
                    Some(first) => {
                        self.settle_group(first, &mut queue);
                        if let Some(listener) = &mut self.listener {
                            listener.forget();
                        }
                    }
                    None => break,
                },
                () = rung => {}
                () = tokio::time::sleep_until(wake_at.into()) => {}
            }
            self.tend();
        }
        if self.stay == Stay::Brief && self.files.log_bytes() <= MAX_LEFT_BYTES {
            self.leave_log();
        }
    }

    fn settle_group(&mut self, first: Request, queue: &mut mpsc::Receiver<Request>) {
        let mut group = Vec::new();
        for request in drain(first, queue) {
            match request {
                Request::Lease(asked) => match &self.refusal {
                    Some(refusal) => drop(asked.reply.send(Err(refusal.clone()))),
                    None => {
                        self.listen();
                        self.asks.push(asked);
                        self.look_at = Some(Instant::now());
                    }
                },
                Request::GiveBack(leases) => self.take_back(leases),
                Request::Follow => self.listen(),
                request => group.push(request),
            }
        }
        if !group.is_empty() {
            self.settle(group);
        }
    }

    /// Begins to hear of other processes' commits. What was committed before is found by the look that
    /// follows.
    fn listen(&mut self) {
        if self.listener.is_none() {
            self.listener = Some(self.bell.listen());
        }
    }

    fn settle(&mut self, group: Vec<Request>) {
        // Whoever waits for a job gets it in the transaction that makes it due.
        let with_asks = !self.asks.is_empty() && group.iter().any(Request::is_of_queue);
        if with_asks {
            match self.commit(&group, true) {
                Ok(done) => return self.reply(group, done),
                Err(failure) if failure.at_commit => {
                    self.fail_asks(&failure.fault);
                    return group.into_iter().for_each(|request| fail(request, &failure));
                }
                // Who asks shall not fail who writes, nor the other way round.
                Err(_) => self.look_at = Some(Instant::now()),
            }
        }
        self.settle_writes(group);
    }

    fn settle_writes(&mut self, group: Vec<Request>) {
        match self.commit(&group, false) {
            Ok(done) => self.reply(group, done),
            Err(failure) if failure.at_commit || group.len() == 1 => {
                group.into_iter().for_each(|request| fail(request, &failure));
            }
            // One request broke the transaction of all: find out which, one by one.
            Err(_) => group.into_iter().for_each(|request| self.settle_writes(vec![request])),
        }
    }

    /// Lets times run out and serves the calls that wait. False if it could not.
    pub(super) fn serve_asks(&mut self) -> bool {
        match self.commit(&[], true) {
            Ok(done) => {
                self.reply(Vec::new(), done);
                true
            }
            Err(failure) => {
                // What is unclaimed runs out.
                self.unclaimed.clear();
                self.fail_asks(&failure.fault);
                false
            }
        }
    }

    fn reply(&mut self, group: Vec<Request>, done: Done) {
        self.committed.send_modify(|count| *count = count.wrapping_add(1));
        if group.is_empty() || !group.iter().all(Request::is_quiet) {
            self.bell.ring();
        }
        let until = done.now.instant + self.lease_ttl;
        for (request, answer) in group.into_iter().zip(done.answers) {
            // Whoever went away meanwhile reads the log.
            match (request, answer) {
                (Request::Append { reply, .. }, Answer::Appended(result)) => {
                    drop(reply.send(result));
                }
                (Request::Put { reply, .. }, Answer::Put(digest)) => drop(reply.send(Ok(digest))),
                (Request::Enqueue { reply, .. }, Answer::Enqueued(enqueued)) => {
                    drop(reply.send(Ok(enqueued)));
                }
                (Request::Change { work, reply }, Answer::Changed(is_made)) => {
                    match &work {
                        Change::Heartbeat(lease) if is_made => self.held.keep(lease, until),
                        Change::Heartbeat(lease) | Change::End(lease, _) => self.held.forget(lease),
                        Change::Revive(_) | Change::Discard(_) => {}
                    }
                    drop(reply.send(Ok(is_made)));
                }
                _ => {}
            }
        }
        self.hand_out(done.leases, until, done.now.instant);
        // What is due next may be something else now.
        self.look_at = Some(done.now.instant);
    }

    fn hand_out(&mut self, leases: Vec<Vec<Lease>>, until: Instant, now: Instant) {
        let asks = std::mem::take(&mut self.asks);
        let mut leases = leases.into_iter();
        for asked in asks {
            let leases = leases.next().unwrap_or_default();
            if leases.is_empty() {
                self.asks.push(asked);
                continue;
            }
            for lease in &leases {
                self.held.give(lease, until, now);
            }
            if let Err(Ok(leases)) = asked.reply.send(Ok(leases)) {
                self.take_back(leases);
            }
        }
    }

    fn take_back(&mut self, leases: Vec<Lease>) {
        leases.iter().for_each(|lease| self.held.forget(lease));
        self.unclaimed.extend(leases);
    }

    pub(super) fn fail_asks(&mut self, fault: &StoreFault) {
        for asked in self.asks.drain(..) {
            drop(asked.reply.send(Err(fault.clone())));
        }
    }

    /// One transaction. Dropped before its commit, it is rolled back.
    fn commit(&mut self, group: &[Request], with_asks: bool) -> Result<Done, Failure> {
        if let Some(refusal) = self.refusal.clone() {
            return Err(Failure { fault: refusal, at_commit: false });
        }
        self.check_files(false)?;
        let before = |error: rusqlite::Error| Failure { fault: fault(&error), at_commit: false };
        let behavior = TransactionBehavior::Immediate;
        let transaction = self.connection.transaction_with_behavior(behavior).map_err(before)?;
        // After the wait for other writers.
        let now = Moment::now();
        let plan = Plan {
            group,
            asks: if with_asks { &self.asks } else { &[] },
            unclaimed: if with_asks { &self.unclaimed } else { &[] },
            held: &self.held,
            lease_ttl: self.lease_ttl,
            now,
            is_set_back: now.wall_ms < self.latest_ms,
            is_of_queue: with_asks || group.iter().any(Request::is_of_queue),
        };
        let is_of_queue = plan.is_of_queue;
        let done = plan.carry_out(&transaction).map_err(before)?;
        transaction.commit().map_err(|error| {
            let fault = fault(&error);
            // On a full disk the commit frame, which is written last, is not there: nothing is
            // stored.
            let at_commit = fault.kind != FaultKind::Full;
            Failure { fault, at_commit }
        })?;
        self.check_files(true)?;
        if with_asks {
            self.unclaimed.clear();
        }
        if is_of_queue {
            self.latest_ms = now.wall_ms;
        }
        Ok(done)
    }

    fn check_files(&self, at_commit: bool) -> Result<(), Failure> {
        self.files.check().map_err(|fault| {
            // On closing, what is in a write-ahead log that nobody else has would go into a file that
            // others have written since.
            self.leave_log();
            Failure { fault, at_commit }
        })
    }

    /// Has SQLite leave the write-ahead log as it is on closing.
    fn leave_log(&self) {
        let leave = rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
        drop(self.connection.set_db_config(leave, true));
    }
}

impl Plan<'_> {
    fn carry_out(&self, transaction: &Transaction<'_>) -> rusqlite::Result<Done> {
        let mut jobs = None;
        if self.is_of_queue {
            let mut opened = Jobs::open(transaction, self.now, self.lease_ttl)?;
            if self.is_set_back {
                opened.begin_anew()?;
            }
            jobs = Some(opened);
        }
        let mut answers = Vec::with_capacity(self.group.len());
        for request in self.group {
            answers.push(match (request, &mut jobs) {
                (Request::Append { work, .. }, _) => {
                    Answer::Appended(append(transaction, work, self.now)?)
                }
                (Request::Put { work, .. }, _) => {
                    put_blob(transaction, &work.digest, &work.bytes)?;
                    Answer::Put(work.digest)
                }
                (Request::Enqueue { work, .. }, Some(jobs)) => {
                    Answer::Enqueued(jobs.enqueue(work)?)
                }
                (Request::Change { work, .. }, Some(jobs)) => {
                    Answer::Changed(self.change(jobs, work)?)
                }
                // The queue is open for those, and the others are not in a group.
                (Request::Enqueue { .. } | Request::Change { .. }, None)
                | (Request::Lease(_) | Request::GiveBack(_) | Request::Follow, _) => {
                    Answer::Changed(false)
                }
            });
        }
        let mut leases = Vec::with_capacity(self.asks.len());
        if let Some(mut jobs) = jobs {
            for lease in self.unclaimed {
                if let Some(ticket) = Held::ticket(lease) {
                    jobs.give_back(lease, ticket)?;
                }
            }
            for asked in self.asks {
                // Nobody takes what is given to somebody who is gone.
                let is_gone = asked.reply.is_closed();
                leases.push(if is_gone { Vec::new() } else { jobs.lease(&asked.ask)? });
            }
            jobs.close()?;
        }
        Ok(Done { answers, leases, now: self.now })
    }

    fn change(&self, jobs: &mut Jobs<'_>, change: &Change) -> rusqlite::Result<bool> {
        match change {
            Change::Heartbeat(lease) => match self.held.live(lease, self.now.instant) {
                Some(ticket) => jobs.heartbeat(lease, ticket),
                None => Ok(false),
            },
            Change::End(lease, end) => match self.held.live(lease, self.now.instant) {
                Some(ticket) => jobs.end(lease, ticket, end),
                None => Ok(false),
            },
            Change::Revive(run) => jobs.revive(run),
            Change::Discard(run) => jobs.discard(run),
        }
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
        Request::Enqueue { reply, .. } => drop(reply.send(Err(fault))),
        Request::Change { reply, .. } => drop(reply.send(Err(fault))),
        Request::Lease(asked) => drop(asked.reply.send(Err(fault))),
        Request::GiveBack(_) | Request::Follow => {}
    }
}
