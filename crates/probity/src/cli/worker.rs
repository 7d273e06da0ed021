//! `probity worker`.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use probity_core::{RunId, WorkerId};
use probity_engine::SystemClock;
use probity_store::{Pool, Store, WorkStore};
use probity_store_sqlite::Options;
use probity_worker::{Fleet, How, Tally, Worker, WorkerEvent, WorkerOptions, WorkerWatch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::args::WorkerArgs;
use super::present::{self, count, line};
use super::signals::Signals;
use super::submit::shared_url;
use super::telemetry::Telling;
use super::{CliError, EXIT_INTERRUPTED};
use crate::JobPlanner;
use crate::location::{Programs, StoreUrl};
use crate::request::Millis;

/// How often a worker that is to end by itself is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A run became a dead letter.
const EXIT_BURIED: u8 = 1;
/// The longest host name that is taken into a worker's name, in characters.
const MAX_HOST_CHARS: usize = 24;

/// Leases runs, drives them and leaves them, until it is told to stop.
///
/// # Errors
/// [`CliError`] if the store cannot be opened.
pub(super) async fn worker(args: &WorkerArgs, programs: Programs) -> Result<u8, CliError> {
    let url = shared_url(&args.store)?;
    let lease = lease_of(args, &url)?;
    let name = match &args.name {
        Some(name) => name.clone(),
        None => draw_name()?,
    };
    let store = url.open_leasing(lease).await?;
    let options = options(args, name);
    // Before anybody is told that there is a worker, who may stop it then.
    let (drain, stop) = (CancellationToken::new(), CancellationToken::new());
    let signals =
        Signals::new().map_err(|source| CliError::Io { what: "listen to signals", source })?;
    listen(signals, drain.clone(), stop.clone());
    let logs: Arc<dyn Store> = Arc::clone(&store) as Arc<dyn Store>;
    let telling = Telling::begin(&logs)?;
    announce(args, &url, &options, store.lease_ttl())?;
    let watch = Arc::new(Told::new(args.json));
    let planner = planner(&store, programs, url, false);
    let worker = Worker::new(Arc::clone(&store), Arc::new(SystemClock), planner, options);
    let tally = work(&worker, args, &watch, &telling, &drain, &stop).await;
    telling.end().await;
    summary(&tally, args.json)?;
    Ok(if watch.state().buried > 0 { EXIT_BURIED } else { 0 })
}

/// What prepares every run that a store may hold.
pub(super) fn planner(
    store: &Arc<dyn WorkStore>,
    programs: Programs,
    url: StoreUrl,
    takes_mocks: bool,
) -> Arc<JobPlanner> {
    let fleet = Fleet::new(Arc::clone(store), Arc::new(SystemClock));
    Arc::new(JobPlanner::new(fleet.engine().clone(), programs).beside(url).with_mocks(takes_mocks))
}

async fn work(
    worker: &Worker,
    args: &WorkerArgs,
    watch: &Arc<Told>,
    telling: &Telling,
    drain: &CancellationToken,
    stop: &CancellationToken,
) -> Tally {
    let watcher = telling.beside_worker(Arc::clone(watch) as Arc<dyn WorkerWatch>);
    let work = worker.work(watcher, drain.clone(), stop.clone());
    tokio::pin!(work);
    if args.once {
        let idle = Duration::from_millis(args.idle.get());
        tokio::select! {
            biased;
            tally = &mut work => return tally,
            () = watch.idle(idle) => drain.cancel(),
        }
    }
    work.await
}

fn options(args: &WorkerArgs, name: WorkerId) -> WorkerOptions {
    let defaults = WorkerOptions::new(name);
    WorkerOptions {
        pools: if args.pool.is_empty() { vec![Pool::default()] } else { args.pool.clone() },
        concurrency: usize::from(args.concurrency),
        drain_timeout: Duration::from_millis(args.drain_timeout.get()),
        max_failures: args.max_failures,
        seed: Uuid::now_v7().as_u64_pair().1,
        ..defaults
    }
}

/// How long leases are to last, where the store lets its opener choose.
fn lease_of(args: &WorkerArgs, url: &StoreUrl) -> Result<Option<Duration>, CliError> {
    let Some(lease_ms) = args.lease.map(Millis::get) else { return Ok(None) };
    if let StoreUrl::Nats(_) = url {
        return Err(CliError::Usage(
            "the lease time of a NATS store is the same for all that share it; write it into the URL: \
             nats://HOST/?lease-ttl-ms=30000"
                .to_owned(),
        ));
    }
    let (least, most) = (Options::MIN_LEASE_TTL_MS, Options::MAX_LEASE_TTL_MS);
    if !(u64::from(least)..=u64::from(most)).contains(&lease_ms) {
        return Err(CliError::Usage("--lease takes 1s to 10m".to_owned()));
    }
    Ok(Some(Duration::from_millis(lease_ms)))
}

/// A name that no other worker has: the host, the process, and a drawn number.
pub(super) fn draw_name() -> Result<WorkerId, CliError> {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let legal = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let host: String = host.trim().chars().map(legal).take(MAX_HOST_CHARS).collect();
    let host = if host.is_empty() { "worker".to_owned() } else { host };
    let drawn = Uuid::now_v7().as_u64_pair().1 & 0xffff_ffff;
    Ok(format!("{host}-{}-{drawn:08x}", std::process::id()).parse()?)
}

fn announce(
    args: &WorkerArgs,
    url: &StoreUrl,
    options: &WorkerOptions,
    lease: Duration,
) -> Result<(), CliError> {
    let pools: Vec<&str> = options.pools.iter().map(Pool::as_str).collect();
    let lease_ms = u64::try_from(lease.as_millis()).unwrap_or(u64::MAX);
    let (worker, store, version) =
        (&options.worker, url.absolute().label(), env!("CARGO_PKG_VERSION"));
    if args.json {
        return present::json(&serde_json::json!({
            "event": "started", "worker": worker, "store": store, "pools": pools,
            "concurrency": options.concurrency, "lease_ms": lease_ms, "version": version,
        }));
    }
    present::note(&format!(
        "worker {worker}: store {store}, pools {}, at most {} at once, leases of {lease_ms} ms, \
         probity {version}",
        pools.join(", "),
        count(u64::try_from(options.concurrency).unwrap_or(u64::MAX), "run")
    ));
    Ok(())
}

fn summary(tally: &Tally, json: bool) -> Result<(), CliError> {
    if json {
        return present::json(&serde_json::json!({"event": "ended", "tally": tally}));
    }
    let Tally { leased, ended, left, failed, buried, lost, .. } = tally;
    let (leased, ended, lost) =
        (count(*leased, "lease"), count(*ended, "run"), count(*lost, "lease"));
    present::note(&format!(
        "ended: {leased}, {ended} ended, {left} left, {failed} to be tried again, {buried} buried, \
         {lost} lost"
    ));
    Ok(())
}

/// The first signal drains, the second one lets go, the third one ends the process.
pub(super) fn listen(mut told: Signals, drain: CancellationToken, stop: CancellationToken) {
    tokio::spawn(async move {
        told.next().await;
        // A worker that ends by itself drains already.
        if !drain.is_cancelled() {
            present::note("draining: nothing new is taken; once more lets go of the runs in hand");
            drain.cancel();
            told.next().await;
        }
        present::note("letting go of the runs in hand; once more ends the process");
        stop.cancel();
        told.next().await;
        std::process::exit(i32::from(EXIT_INTERRUPTED));
    });
}

/// What the worker tells, on standard error in words or on standard output as JSON.
pub(super) struct Told {
    json: bool,
    is_gone: AtomicBool,
    state: Mutex<State>,
}

struct State {
    in_hand: BTreeSet<RunId>,
    /// When a run was taken or left last.
    moved: Instant,
    buried: u64,
}

impl Told {
    pub(super) fn new(json: bool) -> Self {
        let state = State { in_hand: BTreeSet::new(), moved: Instant::now(), buried: 0 };
        Self { json, is_gone: AtomicBool::new(false), state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until nothing was in hand for so long.
    async fn idle(&self, idle: Duration) {
        loop {
            let is_idle = {
                let state = self.state();
                state.in_hand.is_empty() && state.moved.elapsed() >= idle
            };
            if is_idle {
                return;
            }
            tokio::time::sleep(LOOK_EVERY.min(idle)).await;
        }
    }
}

impl WorkerWatch for Told {
    fn event(&self, event: &WorkerEvent) {
        {
            let mut state = self.state();
            match event {
                WorkerEvent::Leased { run, .. } => drop(state.in_hand.insert(run.clone())),
                WorkerEvent::Rested { run, .. }
                | WorkerEvent::Failed { run, .. }
                | WorkerEvent::LeaseLost { run } => drop(state.in_hand.remove(run)),
                WorkerEvent::Buried { run, .. } => {
                    state.in_hand.remove(run);
                    state.buried = state.buried.saturating_add(1);
                }
                _ => {}
            }
            if !matches!(event, WorkerEvent::StoreTrouble { .. } | WorkerEvent::Swept { .. }) {
                state.moved = Instant::now();
            }
        }
        if self.is_gone.load(Ordering::Relaxed) {
            return;
        }
        if !self.json {
            let _ = writeln!(io::stderr(), "{}", said(event));
        } else if present::json(event).is_err() {
            self.is_gone.store(true, Ordering::Relaxed);
        }
    }
}

/// An event in a line. Content of runs is in none of them; messages are those of errors.
fn said(event: &WorkerEvent) -> String {
    let later = |again_in_ms: &u64| format!("again in {} ms", again_in_ms);
    match event {
        WorkerEvent::Leased { run, epoch } => format!("{run}  taken, epoch {epoch}"),
        WorkerEvent::Rested { run, how } => match how {
            How::Ended { outcome, code } => format!("{run}  {outcome} [{code}]"),
            How::Parked => format!("{run}  left: it waits for somebody"),
            How::Waits { again_in_ms } => format!("{run}  left: it waits, {}", later(again_in_ms)),
            How::Unheard { again_in_ms } => {
                format!(
                    "{run}  ended, and the run that waits for it is told {}",
                    later(again_in_ms)
                )
            }
            How::Stopped => format!("{run}  left: the worker was told to stop"),
            How::NotThere { again_in_ms } => {
                format!("{run}  is not there yet, {}", later(again_in_ms))
            }
            How::NeverCreated => format!("{run}  was never there; its job is given up"),
            _ => format!("{run}  left"),
        },
        WorkerEvent::Failed { run, code, message, retry_in_ms } => {
            let again = retry_in_ms.as_ref().map_or_else(|| "not tried again".to_owned(), later);
            format!("{run}  failed [{code}], {again}: {}", line(message))
        }
        WorkerEvent::Buried { run, code, message } => {
            format!("{run}  dead letter [{code}]: {}", line(message))
        }
        WorkerEvent::LeaseLost { run } => format!("{run}  lease lost; others may have it"),
        WorkerEvent::StoreTrouble { code, message } => {
            format!("store trouble [{code}]: {}", line(message))
        }
        WorkerEvent::Swept { woken: 1 } => "1 parked run is looked at again".to_owned(),
        WorkerEvent::Swept { woken } => format!("{woken} parked runs are looked at again"),
        other => format!("{other:?}"),
    }
}
