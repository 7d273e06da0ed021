//! Workers and servers are killed without pause; then every log is held against what really happened.

mod agent;
mod dice;
mod feed;
mod lives;
mod print;
mod proof;
mod side;
mod times;
mod worker;

use std::fmt::Display;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Parser;
use serde::Serialize;

use crate::error::BenchError;
use crate::fleet::place::{Ground, Kind};
use crate::machine::{Calm, Machine};
use crate::program;
use dice::Dice;
use feed::Feed;
use lives::{Duty, Lives};
use proof::Proof;
use side::Calls;
use times::{Kill, Resumption};

/// Kills, and proves that nothing came of it.
#[derive(Debug, Parser)]
#[command(name = "chaos")]
struct Args {
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    /// Stores to do it on: sqlite-full, sqlite-normal, jetstream.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Kind::SqliteFull, Kind::Jetstream])]
    stores: Vec<Kind>,
    /// Runs.
    #[arg(long, value_name = "N", default_value_t = 2000)]
    runs: u32,
    /// Worker processes.
    #[arg(long, value_name = "N", default_value_t = 4)]
    workers: usize,
    /// Runs that each of them has in hand at once.
    #[arg(long, value_name = "N", default_value_t = 8)]
    concurrency: usize,
    /// Runs that are under way at a time. Less than the workers can have, so that a run that stands
    /// still waits for its lease to run out and not for its turn.
    #[arg(long, value_name = "N", default_value_t = 20)]
    under_way: usize,
    /// How long a lease lasts without a heartbeat, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 4000)]
    lease_ttl_ms: u32,
    /// A worker is killed every so many milliseconds; 0 is never.
    #[arg(long, value_name = "MS", default_value_t = 1000)]
    kill_every_ms: u64,
    /// How often a server of a cluster is killed.
    #[arg(long, value_name = "N", default_value_t = 2)]
    server_kills: u32,
    /// How long a killed server stays away, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 3000)]
    server_away_ms: u64,
    /// How long the model takes, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 60)]
    model_ms: u64,
    /// How long the verifier takes, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 20)]
    verifier_ms: u64,
    /// After so many seconds without an end the runs count as lost.
    #[arg(long, value_name = "S", default_value_t = 1800)]
    give_up_s: u64,
    /// Whom chance picks.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The server program of NATS. Absent leaves JetStream out.
    #[arg(long, value_name = "PATH", env = "PROBITY_NATS_SERVER")]
    nats_server: Option<PathBuf>,
    /// Where it happens. Absent takes the folder for temporary files.
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Only work, for this program itself.
    #[arg(long, hide = true)]
    worker: Option<String>,
}

/// How often the state of things is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Everything that came out.
#[derive(Debug, Serialize)]
struct Outcome {
    machine: Machine,
    runs: u32,
    workers: usize,
    concurrency: usize,
    under_way: usize,
    lease_ttl_ms: u32,
    model_ms: u64,
    verifier_ms: u64,
    seed: u64,
    stores: Vec<OnStore>,
    skipped: Vec<String>,
}

/// What came out on one store.
#[derive(Debug, Serialize)]
struct OnStore {
    store: Kind,
    wall_s: f64,
    worker_kills: usize,
    server_kills: usize,
    /// Workers that ended without having been killed: there should be none.
    ended_by_themselves: u64,
    proof: Proof,
    resumption: Resumption,
    /// The same for the kills within which all servers were there.
    resumption_servers_up: Resumption,
    /// From the opening of a run to its first lease: half of them, 99 of a hundred, the longest.
    pickup_ms: [u64; 3],
    bytes_on_disk: u64,
    before: Calm,
    after: Calm,
}

/// Does it and prints.
#[must_use]
pub fn main() -> ExitCode {
    match program::block_on("chaos", act(Args::parse())) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(code) => code,
    }
}

async fn act(args: Args) -> Result<bool, BenchError> {
    if let Some(duty) = &args.worker {
        let duty: Duty = serde_json::from_str(duty).map_err(wrong)?;
        return worker::live(duty).await.map(|()| true);
    }
    let mut outcome = Outcome {
        machine: Machine::read(),
        runs: args.runs,
        workers: args.workers,
        concurrency: args.concurrency,
        under_way: args.under_way,
        lease_ttl_ms: args.lease_ttl_ms,
        model_ms: args.model_ms,
        verifier_ms: args.verifier_ms,
        seed: args.seed,
        stores: Vec::new(),
        skipped: Vec::new(),
    };
    for kind in &args.stores {
        match kind {
            Kind::Memory => outcome.skipped.push("memory: it is gone with its process".to_owned()),
            Kind::Jetstream if args.nats_server.is_none() => {
                outcome.skipped.push("jetstream: no --nats-server given".to_owned());
            }
            kind => outcome.stores.push(Box::pin(on_store(&args, *kind)).await?),
        }
    }
    match args.json {
        true => print::json(&outcome),
        false => print::table(&outcome),
    }
    let is_clean = |it: &OnStore| it.proof.violations.sum() == 0 && it.ended_by_themselves == 0;
    Ok(!outcome.stores.is_empty() && outcome.stores.iter().all(is_clean))
}

async fn on_store(args: &Args, kind: Kind) -> Result<OnStore, BenchError> {
    let folder = args.folder.clone().unwrap_or_else(std::env::temp_dir);
    let nats = args.nats_server.as_ref();
    let mut ground = Ground::new(kind, &folder, nats, args.lease_ttl_ms)?;
    let side = ground.folder().join("side.log");
    let expected = agent::unharmed(&ground.folder().join("unharmed.log")).await?;
    let store = ground.place.open().await?;
    let before = Calm::look();
    let duty = Duty {
        name: String::new(),
        place: ground.place.clone(),
        side: side.display().to_string(),
        concurrency: args.concurrency,
        model_ms: args.model_ms,
        verifier_ms: args.verifier_ms,
    };
    let mut lives = Lives::start(duty, args.workers)?;
    let mut feed = Feed::new(std::sync::Arc::clone(&store), args.runs, args.under_way)?;
    let started = Instant::now();
    let mut reaper = Reaper::new(args, kind);
    let mut ended_by_themselves = 0;
    while !feed.is_over() && started.elapsed() < Duration::from_secs(args.give_up_s) {
        feed.turn(&lives.lines).await?;
        reaper.turn(&mut lives, &mut ground, feed.share()).map_err(wrong)?;
        ended_by_themselves += lives.replace()?;
        tokio::time::sleep(LOOK).await;
    }
    let wall_s = started.elapsed().as_secs_f64();
    reaper.raise(&mut ground)?;
    lives.finish()?;
    let calls = Calls::read(&side)?;
    let runs = feed.runs();
    let (proof, held) = proof::prove(&store, &runs, &expected, &calls).await?;
    // A lease runs out that long after its last beat, and somebody must see it.
    let bound_ms = u64::from(args.lease_ttl_ms) + 1000;
    let (kills, away) = (&reaper.kills, &reaper.away);
    let is_calm = |kill: &Kill| {
        // From before the kill until everything must have been taken up.
        away.iter().all(|(from, to)| kill.at_ms + bound_ms < *from || kill.at_ms > *to)
    };
    Ok(OnStore {
        store: kind,
        wall_s,
        worker_kills: kills.len(),
        server_kills: away.len(),
        ended_by_themselves,
        proof,
        resumption: times::resumption(kills, &held, bound_ms, |_| true),
        resumption_servers_up: times::resumption(kills, &held, bound_ms, is_calm),
        pickup_ms: times::pickup(&held),
        bytes_on_disk: ground.bytes(),
        before,
        after: Calm::look(),
    })
}

/// Who kills.
struct Reaper {
    dice: Dice,
    workers: u64,
    every: Duration,
    next: Instant,
    server_kills: u32,
    server_away: Duration,
    /// The server that is away, and since when.
    down: Option<(usize, Instant, u64)>,
    kills: Vec<Kill>,
    /// When servers were away, from and to, in milliseconds since the Unix epoch.
    away: Vec<(u64, u64)>,
}

/// How long a cluster may take to be whole again once a server is back.
const HEAL_MS: u64 = 5000;

impl Reaper {
    fn new(args: &Args, kind: Kind) -> Self {
        let every = Duration::from_millis(args.kill_every_ms);
        Self {
            dice: Dice::new(args.seed),
            workers: u64::try_from(args.workers).unwrap_or(1),
            every,
            next: Instant::now() + every,
            server_kills: if kind == Kind::Jetstream { args.server_kills } else { 0 },
            server_away: Duration::from_millis(args.server_away_ms),
            down: None,
            kills: Vec::new(),
            away: Vec::new(),
        }
    }

    /// `share` is how much of all runs has ended, from 0 to 1.
    fn turn(
        &mut self,
        lives: &mut Lives,
        ground: &mut Ground,
        share: f64,
    ) -> Result<(), BenchError> {
        if !self.every.is_zero() && Instant::now() >= self.next {
            self.next += self.every;
            let slot = usize::try_from(self.dice.below(self.workers)).unwrap_or(0);
            let at_ms = now_ms();
            if let Some(who) = lives.kill(slot)? {
                self.kills.push(Kill { who, at_ms });
            }
            lives.birth(slot)?;
        }
        let Some(cluster) = ground.cluster.as_mut() else { return Ok(()) };
        match self.down {
            Some((_, since, _)) if since.elapsed() >= self.server_away => self.raise(ground),
            Some(_) => Ok(()),
            None => {
                let so_far = u32::try_from(self.away.len()).unwrap_or(u32::MAX);
                let due = f64::from(so_far + 1) / f64::from(self.server_kills + 1);
                if so_far < self.server_kills && share >= due {
                    let number = usize::try_from(self.dice.below(3)).unwrap_or(0);
                    cluster.kill(number)?;
                    self.down = Some((number, Instant::now(), now_ms()));
                }
                Ok(())
            }
        }
    }

    /// Starts the server again that is away.
    fn raise(&mut self, ground: &mut Ground) -> Result<(), BenchError> {
        if let (Some((number, _, from_ms)), Some(cluster)) = (self.down.take(), &mut ground.cluster)
        {
            cluster.restart(number)?;
            self.away.push((from_ms, now_ms() + HEAL_MS));
        }
        Ok(())
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn wrong(detail: impl Display) -> BenchError {
    BenchError::Measure { what: "what chaos came to", detail: detail.to_string() }
}
