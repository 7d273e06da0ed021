//! Runs are begun without pause, and each has its readers.

use std::time::Duration;

use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::wire::Wire;
use super::wrong;
use crate::error::BenchError;

/// Ages of events from here on are counted together.
const OLD_MS: usize = 60_000;
/// How long a server that was killed is asked again.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long between two questions.
const PAUSE: Duration = Duration::from_millis(20);

/// What is put on a server.
#[derive(Debug, Clone)]
pub(super) struct Load {
    /// Tells its runs from those of another load on the same server.
    pub(super) name: &'static str,
    pub(super) workflow: &'static str,
    /// Runs that are under way at a time.
    pub(super) runs: usize,
    /// Readers of each.
    pub(super) readers: usize,
    /// How long new ones are begun.
    pub(super) length: Duration,
    /// Whether a connection that breaks is made again: the server is killed.
    pub(super) is_stubborn: bool,
}

/// What the readers saw.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Seen {
    pub(super) runs: u64,
    /// Events that came, over all readers.
    pub(super) events: u64,
    pub(super) bytes: u64,
    /// From the first run to the end of the last.
    pub(super) wall_s: f64,
    /// Streams that broke and were taken up behind their last event.
    pub(super) taken_up: u64,
    /// Events with another sequence than the next one.
    pub(super) out_of_order: u64,
    /// Streams that ended without a terminal event.
    pub(super) without_end: u64,
    #[serde(skip)]
    ages: Vec<u64>,
}

impl Seen {
    fn nothing() -> Self {
        Self {
            runs: 0,
            events: 0,
            bytes: 0,
            wall_s: 0.0,
            taken_up: 0,
            out_of_order: 0,
            without_end: 0,
            ages: vec![0; OLD_MS + 1],
        }
    }

    fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.events += other.events;
        self.bytes += other.bytes;
        self.taken_up += other.taken_up;
        self.out_of_order += other.out_of_order;
        self.without_end += other.without_end;
        for (mine, theirs) in self.ages.iter_mut().zip(&other.ages) {
            *mine += theirs;
        }
    }

    /// The age below which that share of all events was when it came.
    pub(super) fn age_ms(&self, percent: u64) -> u64 {
        let rank = (self.events * percent).div_ceil(100).max(1);
        let mut so_far = 0;
        let place = self.ages.iter().position(|count| {
            so_far += count;
            so_far >= rank
        });
        place.and_then(|place| u64::try_from(place).ok()).unwrap_or_default()
    }
}

/// Puts it on a server and reads everything to its end.
pub(super) async fn put(load: &Load, wire: Wire) -> Result<Seen, BenchError> {
    let started = Instant::now();
    let mut lanes = JoinSet::new();
    for lane in 0..load.runs {
        lanes.spawn(drive(load.clone(), wire, lane, started + load.length));
    }
    let mut all = Seen::nothing();
    while let Some(seen) = lanes.join_next().await {
        all.add(&seen.map_err(wrong)??);
    }
    all.wall_s = started.elapsed().as_secs_f64();
    Ok(all)
}

/// One run after the other.
async fn drive(load: Load, wire: Wire, lane: usize, until: Instant) -> Result<Seen, BenchError> {
    let mut all = Seen::nothing();
    for number in 0_u64.. {
        if Instant::now() >= until {
            break;
        }
        let run = begin(&load, wire, &format!("{}-{lane}-{number}", load.name)).await?;
        all.runs += 1;
        let mut readers = JoinSet::new();
        for _ in 0..load.readers {
            readers.spawn(read(wire, run.clone(), load.is_stubborn));
        }
        while let Some(seen) = readers.join_next().await {
            all.add(&seen.map_err(wrong)??);
        }
    }
    Ok(all)
}

async fn begin(load: &Load, wire: Wire, once: &str) -> Result<String, BenchError> {
    let give_up = Instant::now() + PATIENCE;
    loop {
        match wire.begin(load.workflow, once).await {
            Ok(run) => return Ok(run),
            Err(error) if !load.is_stubborn || Instant::now() > give_up => return Err(error),
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// Reads a run to its end.
async fn read(wire: Wire, run: String, is_stubborn: bool) -> Result<Seen, BenchError> {
    let mut seen = Seen::nothing();
    let mut last: Option<u64> = None;
    let mut give_up = Instant::now() + PATIENCE;
    loop {
        let mut frames = match wire.follow(&run, last).await {
            Ok(frames) => frames,
            Err(error) if !is_stubborn || Instant::now() > give_up => return Err(error),
            Err(_) => {
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        while let Some(frame) = frames.next().await? {
            give_up = Instant::now() + PATIENCE;
            seen.events += 1;
            seen.bytes += u64::try_from(frame.bytes).unwrap_or_default();
            seen.out_of_order += u64::from(frame.sequence != last.map_or(0, |last| last + 1));
            last = Some(frame.sequence);
            let age = usize::try_from(frame.age_ms).unwrap_or(OLD_MS).min(OLD_MS);
            if let Some(count) = seen.ages.get_mut(age) {
                *count += 1;
            }
            if frame.is_terminal {
                // Nothing may follow.
                seen.out_of_order += u64::from(frames.next().await?.is_some());
                return Ok(seen);
            }
        }
        if !is_stubborn || Instant::now() > give_up {
            seen.without_end += 1;
            return Ok(seen);
        }
        seen.taken_up += 1;
    }
}
