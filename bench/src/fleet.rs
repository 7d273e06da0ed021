//! What tasks cost that workers take from a queue, on every store, beside nfactorial's workers.

pub(crate) mod hand;
pub(crate) mod mode;
mod one;
mod peer;
pub(crate) mod place;
mod print;
mod recovery;
mod rig;
mod shape;
pub(crate) mod tasks;

use std::fmt::Display;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use serde::Serialize;

use crate::cluster::Cluster;
use crate::error::BenchError;
use crate::machine::{self, Machine};
use crate::program;
use mode::Mode;
use one::{Figure, Idle, Long, Order, Throughput, What};
use place::{Ground, Kind};
use recovery::Recovery;
use shape::Shape;

/// Measures and prints a table.
#[derive(Debug, Parser)]
#[command(name = "workers")]
struct Args {
    /// Print one JSON object in place of the table.
    #[arg(long)]
    json: bool,
    /// Stores to measure on.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Kind::ALL)]
    stores: Vec<Kind>,
    /// Modes to measure.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Mode::ALL)]
    modes: Vec<Mode>,
    /// What to measure.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Part::ALL)]
    parts: Vec<Part>,
    /// Tasks of every measurement, by a hundred of what it is otherwise.
    #[arg(long, value_name = "PERCENT", default_value_t = 100)]
    size: u32,
    /// Loops of every throughput; that with the middle CPU time is printed.
    #[arg(long, value_name = "N", default_value_t = 3)]
    loops: usize,
    /// Runs that a worker has in hand at once.
    #[arg(long, value_name = "N", default_value_t = 16)]
    concurrency: usize,
    /// The server program of NATS. Absent leaves JetStream out.
    #[arg(long, value_name = "PATH", env = "PROBITY_NATS_SERVER")]
    nats_server: Option<PathBuf>,
    /// A Python with nfactorial in it. Absent leaves the peer out.
    #[arg(long, value_name = "PATH", env = "FLEET_PYTHON")]
    python: Option<PathBuf>,
    /// The server program of Redis, for the peer.
    #[arg(long, value_name = "PATH", default_value = "redis-server")]
    redis_server: PathBuf,
    /// Where durable runs are kept: what `fsync` costs there is part of the figures. Absent takes the
    /// folder for temporary files.
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// One measurement of one process, for this program itself.
    #[arg(long, hide = true)]
    order: Option<String>,
    /// Only work, for this program itself.
    #[arg(long, hide = true, requires = "order")]
    hand: bool,
}

/// Groups of figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// Tasks and turns per second, CPU per turn.
    Throughput,
    /// The same with two processes that work.
    Two,
    /// One task on an idle queue.
    Idle,
    /// One task of 1,000 turns.
    Long,
    /// A worker is killed.
    Recovery,
}

/// Tasks of the measurement of latency.
const IDLE_TASKS: u32 = 50;
/// The same for the peer, whose tasks take their time.
const PEER_IDLE_TASKS: u32 = 30;
/// Turns of the long task.
const LONG_TURNS: u32 = 1000;
/// Workers killed on every store.
const KILLS: u32 = 3;
/// The lease that the stores have by default.
const LEASE_TTL_MS: u32 = 30_000;

/// Everything that was measured.
#[derive(Debug, Serialize)]
struct Figures {
    machine: Machine,
    fsync_ms: f64,
    nats_server: Option<String>,
    shapes: Vec<Shape>,
    throughput: Vec<Throughput>,
    /// Of every loop, the printed one included.
    cpu_ms_per_turn_of_loops: Vec<Vec<f64>>,
    idle: Vec<Idle>,
    long: Vec<Long>,
    recovery: Vec<Recovery>,
    peers: Vec<peer::Peer>,
    skipped: Vec<String>,
}

impl Part {
    const ALL: [Self; 5] = [Self::Throughput, Self::Two, Self::Idle, Self::Long, Self::Recovery];
}

/// Measures and prints.
#[must_use]
pub fn main() -> ExitCode {
    program::block_on("workers", act(Args::parse())).err().unwrap_or(ExitCode::SUCCESS)
}

async fn act(args: Args) -> Result<(), BenchError> {
    if let Some(order) = &args.order {
        let order: Order = serde_json::from_str(order).map_err(wrong)?;
        return match args.hand {
            true => hand::live(order).await,
            false => Box::pin(order.obey()).await,
        };
    }
    let figures = Box::pin(measure(&args)).await?;
    match args.json {
        true => print::json(&figures),
        false => print::table(&figures),
    }
    Ok(())
}

async fn measure(args: &Args) -> Result<Figures, BenchError> {
    let folder = args.folder.clone().unwrap_or_else(std::env::temp_dir);
    let mut figures = Figures {
        machine: Machine::read(),
        fsync_ms: machine::fsync_ms(&folder)?,
        nats_server: args.nats_server.as_deref().map(Cluster::version).transpose()?,
        shapes: shape::measure(&args.modes).await?,
        throughput: Vec::new(),
        cpu_ms_per_turn_of_loops: Vec::new(),
        idle: Vec::new(),
        long: Vec::new(),
        recovery: Vec::new(),
        peers: Vec::new(),
        skipped: Vec::new(),
    };
    for kind in &args.stores {
        if *kind == Kind::Jetstream && args.nats_server.is_none() {
            figures.skipped.push("jetstream: no --nats-server given".to_owned());
            continue;
        }
        for part in &args.parts {
            Box::pin(figures.part(args, &folder, *kind, *part)).await?;
        }
    }
    figures.peers(args);
    Ok(figures)
}

impl Figures {
    async fn part(
        &mut self,
        args: &Args,
        folder: &std::path::Path,
        kind: Kind,
        part: Part,
    ) -> Result<(), BenchError> {
        let ground = || Ground::new(kind, folder, args.nats_server.as_ref(), LEASE_TTL_MS);
        let order = |ground: &Ground, what, mode: Mode, count| Order {
            what,
            place: ground.place.clone(),
            mode,
            count,
            concurrency: args.concurrency,
            processes: if part == Part::Two { 2 } else { 1 },
            latency_ms: 0,
        };
        match part {
            // Its runs are seen by one process only.
            Part::Two | Part::Recovery if kind == Kind::Memory => {}
            Part::Throughput | Part::Two => {
                for mode in &args.modes {
                    let mut loops = Vec::new();
                    for _ in 0..args.loops.max(1) {
                        let ground = ground()?;
                        let count = args.sized(mode.tasks());
                        let figure = order(&ground, What::Throughput, *mode, count).run()?;
                        if let Figure::Throughput(figure) = figure {
                            loops.push(figure);
                        }
                    }
                    self.keep(loops);
                }
            }
            Part::Idle => {
                let ground = ground()?;
                let count = args.sized(IDLE_TASKS);
                if let Figure::Idle(figure) =
                    order(&ground, What::Idle, Mode::Plain, count).run()?
                {
                    self.idle.push(figure);
                }
            }
            Part::Long => {
                let ground = ground()?;
                let count = args.sized(LONG_TURNS);
                if let Figure::Long(figure) =
                    order(&ground, What::Long, Mode::Tools4, count).run()?
                {
                    self.long.push(figure);
                }
            }
            Part::Recovery => {
                let ground = ground()?;
                let order = order(&ground, What::Throughput, Mode::Plain, 1);
                self.recovery.push(recovery::measure(&order, KILLS).await?);
            }
        }
        Ok(())
    }

    /// The loop with the middle CPU time.
    fn keep(&mut self, mut loops: Vec<Throughput>) {
        loops.sort_by(|one, other| one.cpu_ms_per_turn.total_cmp(&other.cpu_ms_per_turn));
        self.cpu_ms_per_turn_of_loops.push(loops.iter().map(|it| it.cpu_ms_per_turn).collect());
        let middle = loops.len() / 2;
        self.throughput.extend(loops.into_iter().nth(middle));
    }

    fn peers(&mut self, args: &Args) {
        let Some(python) = &args.python else {
            self.skipped.push("nfactorial: no --python given".to_owned());
            return;
        };
        let mut orders = Vec::new();
        for durability in peer::DURABILITIES {
            if args.parts.contains(&Part::Throughput) {
                for mode in args.modes.iter().filter(|mode| peer::MODES.contains(&mode.as_str())) {
                    orders.push((mode.as_str(), args.sized(mode.tasks()), durability));
                }
            }
        }
        if args.parts.contains(&Part::Idle) {
            orders.push(("idle", args.sized(PEER_IDLE_TASKS), "none"));
        }
        if args.parts.contains(&Part::Long) {
            orders.push(("long", args.sized(LONG_TURNS), "none"));
        }
        for (mode, count, durability) in orders {
            match peer::drive(python, &args.redis_server, mode, count, durability) {
                Ok(peer) => self.peers.push(peer),
                Err(error) => self.skipped.push(format!("nfactorial {mode}: {error}")),
            }
        }
    }
}

impl Args {
    fn sized(&self, count: u32) -> u32 {
        (count.saturating_mul(self.size) / 100).max(1)
    }
}

/// A measurement that cannot be taken.
pub(crate) fn wrong(detail: impl Display) -> BenchError {
    BenchError::Measure { what: "a fleet", detail: detail.to_string() }
}
