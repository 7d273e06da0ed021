//! Events to many readers, beside a server that does nothing else; and a host that is killed under them.

mod floor;
mod load;
mod print;
mod server;
mod wire;
mod workflow;

use std::fmt::Display;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use serde::Serialize;
use tokio::time::Instant;

use crate::error::BenchError;
use crate::machine::{Calm, Machine};
use crate::program;
use floor::Script;
use load::{Load, Seen, put};
use server::{Home, Server};

/// Measures and prints a table.
#[derive(Debug, Parser)]
#[command(name = "streams")]
struct Args {
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    /// Streams that are open at a time.
    #[arg(long, value_name = "N", default_value_t = 200)]
    readers: usize,
    /// Readers of one run.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [10, 200])]
    per_run: Vec<usize>,
    /// How long runs are begun in one loop, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 5000)]
    length_ms: u64,
    /// Loops of every row, host and floor in turn; the one with the middle share of the floor is printed.
    #[arg(long, value_name = "N", default_value_t = 3)]
    loops: usize,
    /// How often the host is killed in the last part; 0 leaves it out.
    #[arg(long, value_name = "N", default_value_t = 10)]
    kills: u32,
    /// The host is killed every so many milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 2000)]
    kill_every_ms: u64,
    /// The program whose `serve` is measured. Absent takes this one's own build of it.
    #[arg(long, value_name = "PATH")]
    probity: Option<PathBuf>,
    /// Where the store is. Absent takes the folder for temporary files.
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Be the floor, for this program itself.
    #[arg(long, hide = true)]
    floor: Option<String>,
}

/// Everything that came out.
#[derive(Debug, Serialize)]
struct Outcome {
    machine: Machine,
    readers: usize,
    length_ms: u64,
    rows: Vec<Row>,
    killed: Option<Killed>,
    before: Calm,
    after: Calm,
}

/// One workflow, with so many readers of a run.
#[derive(Debug, Serialize)]
struct Row {
    workflow: &'static str,
    per_run: usize,
    events_per_run: u64,
    bytes_per_event: u64,
    host: Side,
    floor: Side,
    /// Events a second of the host by those of the floor.
    share: f64,
}

/// What one server did.
#[derive(Debug, Serialize)]
struct Side {
    runs: u64,
    events: u64,
    events_per_s: f64,
    /// CPU time of the server for one event that one reader was told, in microseconds.
    cpu_us_per_event: f64,
    /// Ages of events when they came: half of them, 99 of a hundred, the oldest.
    age_ms: [u64; 3],
    out_of_order: u64,
    without_end: u64,
    peak_rss_bytes: u64,
}

/// What the readers of a host that was killed saw.
#[derive(Debug, Serialize)]
struct Killed {
    kills: u32,
    seen: Seen,
}

/// Does it and prints. Ends with 1 where an event was lost or came twice.
#[must_use]
pub fn main() -> ExitCode {
    match program::block_on("streams", act(Args::parse())) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(code) => code,
    }
}

async fn act(args: Args) -> Result<bool, BenchError> {
    if let Some(script) = &args.floor {
        let script: Script = serde_json::from_str(script).map_err(wrong)?;
        return floor::serve(script).await.map(|()| true);
    }
    let before = Calm::look();
    let mut rows = Vec::new();
    for workflow in [workflow::LONG, workflow::CHECKED] {
        for &per_run in &args.per_run {
            rows.push(row(&args, workflow, per_run).await?);
        }
    }
    let killed = match args.kills {
        0 => None,
        _ => Some(kill(&args).await?),
    };
    let outcome = Outcome {
        machine: Machine::read(),
        readers: args.readers,
        length_ms: args.length_ms,
        rows,
        killed,
        before,
        after: Calm::look(),
    };
    if args.json {
        print::json(&outcome)
    } else {
        print::table(&outcome)
    }
    Ok(outcome.is_whole())
}

impl Outcome {
    /// Whether every reader was told everything once.
    fn is_whole(&self) -> bool {
        let sides = self.rows.iter().flat_map(|row| [&row.host, &row.floor]);
        let told = sides.clone().all(|side| side.out_of_order + side.without_end == 0);
        let some = sides.clone().all(|side| side.events > 0);
        let after = self.killed.as_ref().is_none_or(|killed| {
            killed.seen.out_of_order + killed.seen.without_end == 0 && killed.seen.taken_up > 0
        });
        told && some && after
    }
}

/// The loop with the middle share.
async fn row(args: &Args, workflow: &'static str, per_run: usize) -> Result<Row, BenchError> {
    let mut loops = Vec::new();
    for _ in 0..args.loops.max(1) {
        loops.push(once(args, workflow, per_run).await?);
    }
    loops.sort_by(|one: &Row, other| one.share.total_cmp(&other.share));
    let middle = loops.len() / 2;
    loops.into_iter().nth(middle).ok_or_else(|| wrong("no loop"))
}

/// A fresh host and a fresh floor, one after the other.
async fn once(args: &Args, workflow: &'static str, per_run: usize) -> Result<Row, BenchError> {
    let load = load_of(args, workflow, per_run);
    let place = folder(args)?;
    let host = Server::host(&home(args, place.path())?, None)?;
    let (seen, on_host) = measured(&host, &load).await?;
    drop(host);
    let readers = u64::try_from(per_run).unwrap_or(u64::MAX);
    let events_per_run = seen.events.checked_div(seen.runs * readers).unwrap_or_default();
    let bytes_per_event = seen.bytes.checked_div(seen.events).unwrap_or_default();
    let script = Script {
        events: events_per_run,
        bytes: usize::try_from(bytes_per_event).unwrap_or_default(),
        attach_ms: workflow::ATTACH_MS,
    };
    let (_, floor) = measured(&Server::floor(&script)?, &load).await?;
    let share = on_host.events_per_s / floor.events_per_s;
    Ok(Row { workflow, per_run, events_per_run, bytes_per_event, host: on_host, floor, share })
}

async fn measured(server: &Server, load: &Load) -> Result<(Seen, Side), BenchError> {
    let warm = Load { name: "warm", length: load.length / 5, ..load.clone() };
    put(&warm, server.wire()).await?;
    let cpu_s = server.cpu_s();
    let seen = put(load, server.wire()).await?;
    let events = as_f64(seen.events);
    let side = Side {
        runs: seen.runs,
        events: seen.events,
        events_per_s: events / seen.wall_s,
        cpu_us_per_event: (server.cpu_s() - cpu_s) * 1e6 / events,
        age_ms: [seen.age_ms(50), seen.age_ms(99), seen.age_ms(100)],
        out_of_order: seen.out_of_order,
        without_end: seen.without_end,
        peak_rss_bytes: server.peak_rss_bytes(),
    };
    Ok((seen, side))
}

/// A host under load is killed and started again on its store.
async fn kill(args: &Args) -> Result<Killed, BenchError> {
    let place = folder(args)?;
    let home = home(args, place.path())?;
    let mut host = Server::host(&home, None)?;
    let every = Duration::from_millis(args.kill_every_ms);
    let load = Load {
        length: every * (args.kills + 1),
        is_stubborn: true,
        ..load_of(args, workflow::CHECKED, args.per_run.first().copied().unwrap_or(1))
    };
    let readers = tokio::spawn({
        let (load, wire) = (load.clone(), host.wire());
        async move { put(&load, wire).await }
    });
    let started = Instant::now();
    for number in 1..=args.kills {
        tokio::time::sleep_until(started + every * number).await;
        host.kill()?;
        host = Server::host(&home, Some(host.address()))?;
    }
    let seen = readers.await.map_err(wrong)??;
    Ok(Killed { kills: args.kills, seen })
}

fn load_of(args: &Args, workflow: &'static str, per_run: usize) -> Load {
    Load {
        name: "load",
        workflow,
        runs: args.readers.checked_div(per_run).unwrap_or_default().max(1),
        readers: per_run,
        length: Duration::from_millis(args.length_ms),
        is_stubborn: false,
    }
}

fn folder(args: &Args) -> Result<tempfile::TempDir, BenchError> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("streams-");
    let made = match &args.folder {
        Some(folder) => builder.tempdir_in(folder),
        None => builder.tempdir(),
    };
    made.map_err(BenchError::io("make a folder"))
}

fn home(args: &Args, folder: &std::path::Path) -> Result<Home, BenchError> {
    workflow::write(&folder.join("workflows"))?;
    Ok(Home { folder: folder.to_owned(), program: args.probity.clone() })
}

fn as_f64(count: u64) -> f64 {
    // Exact up to 2^32, far beyond what is counted here.
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

fn wrong(error: impl Display) -> BenchError {
    BenchError::Measure { what: "streams", detail: error.to_string() }
}
