//! One measurement in a process of its own, so that CPU time and memory are its alone.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::hand::Hands;
use super::mode::{Asked, Mode, tasks};
use super::place::{Kind, Place};
use super::rig::{Ends, Rig, run_of};
use super::wrong;
use crate::cost;
use crate::error::BenchError;
use crate::machine::{self, Calm};

/// Tasks before the clock starts, in a measurement of latency.
const WARM_UP: u32 = 3;

/// What is to be measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) what: What,
    pub(crate) place: Place,
    pub(crate) mode: Mode,
    /// Tasks, or turns of the long one.
    pub(crate) count: u32,
    pub(crate) concurrency: usize,
    /// Processes that work; 1 is the one that submits.
    pub(crate) processes: u32,
    /// How long the model takes, in processes that only work.
    pub(crate) latency_ms: u64,
}

/// Which figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum What {
    /// All tasks are there when the clock starts.
    Throughput,
    /// One task at a time, on an idle queue.
    Idle,
    /// One task of many turns.
    Long,
}

/// What came out, of the three whichever was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Figure {
    /// See [`What`].
    Throughput(Throughput),
    /// See [`What`].
    Idle(Idle),
    /// See [`What`].
    Long(Long),
}

/// CPU time is of all processes that work; the server's stands beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Throughput {
    pub(crate) store: Kind,
    pub(crate) mode: Mode,
    pub(crate) processes: u32,
    pub(crate) tasks: u32,
    pub(crate) turns: u64,
    pub(crate) wall_s: f64,
    pub(crate) tasks_per_s: f64,
    pub(crate) turns_per_s: f64,
    pub(crate) cpu_ms_per_turn: f64,
    pub(crate) server_cpu_ms_per_turn: f64,
    pub(crate) submits_per_s: f64,
    pub(crate) submit_cpu_ms: f64,
    pub(crate) peak_rss_bytes: u64,
    pub(crate) before: Calm,
    pub(crate) after: Calm,
}

/// From before the submission until the worker has told that the run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Idle {
    pub(crate) store: Kind,
    pub(crate) tasks: u32,
    pub(crate) p50_ms: f64,
    pub(crate) p90_ms: f64,
    pub(crate) max_ms: f64,
    pub(crate) before: Calm,
}

/// Time per turn around some turns of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Long {
    pub(crate) store: Kind,
    pub(crate) turns: u32,
    /// The turn, and milliseconds per turn in the window that ends with it.
    pub(crate) ms_per_turn_at: Vec<(u32, f64)>,
    pub(crate) whole_s: f64,
    pub(crate) before: Calm,
}

impl Order {
    /// Has it measured by another process of this program.
    pub(crate) fn run(&self) -> Result<Figure, BenchError> {
        let failed = BenchError::io("start a process of this program");
        let order = serde_json::to_string(self).map_err(wrong)?;
        let mut command = Command::new("/proc/self/exe");
        command.args(["--order", &order]).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::inherit());
        let output = command.output().map_err(&failed)?;
        serde_json::from_slice(&output.stdout).map_err(|_| {
            wrong(format!("no figure of {} {}", self.place.kind.as_str(), self.mode.as_str()))
        })
    }

    /// Measures, and prints the figure for whoever gave the order.
    pub(crate) async fn obey(self) -> Result<(), BenchError> {
        let figure = match self.what {
            What::Throughput => Figure::Throughput(self.throughput().await?),
            What::Idle => Figure::Idle(self.idle().await?),
            What::Long => Figure::Long(self.long().await?),
        };
        let line = serde_json::to_vec(&figure).map_err(wrong)?;
        std::io::stdout().write_all(&line).map_err(BenchError::io("print"))
    }

    async fn throughput(&self) -> Result<Throughput, BenchError> {
        let asked = Asked::counted();
        let tasks = tasks(self.mode, self.mode.turns(), &asked)?;
        let rig = Rig::new(self.place.open().await?, tasks);
        let (cpu_s, started) = (cost::own_cpu_s(), Instant::now());
        rig.submit(0, self.count).await?;
        let submit_s = started.elapsed().as_secs_f64();
        let submit_cpu_s = cost::own_cpu_s() - cpu_s;
        let before = Calm::look();
        let count = u64::from(self.count);
        let (wall_s, cpu_s, servers_cpu_s, turns) = if self.processes > 1 {
            let mut hands =
                Hands::start(&vec![self.clone(); usize::try_from(self.processes).unwrap_or(1)])?;
            let servers_cpu_s = self.place.servers_cpu_s();
            let started = Instant::now();
            hands.go()?;
            hands.ended(count)?;
            let wall_s = started.elapsed().as_secs_f64();
            let servers_cpu_s = self.place.servers_cpu_s() - servers_cpu_s;
            let (cpu_s, turns) = hands.finish()?;
            (wall_s, cpu_s, servers_cpu_s, turns)
        } else {
            let (cpu_s, servers_cpu_s) = (cost::own_cpu_s(), self.place.servers_cpu_s());
            let started = Instant::now();
            let hand = rig.start("hand", self.concurrency, Ends::default())?;
            hand.ended(count).await?;
            let wall_s = started.elapsed().as_secs_f64();
            let cpu_s = cost::own_cpu_s() - cpu_s;
            let servers_cpu_s = self.place.servers_cpu_s() - servers_cpu_s;
            hand.drain().await?;
            (wall_s, cpu_s, servers_cpu_s, asked.calls())
        };
        let expected = count * u64::from(self.mode.turns());
        if turns != expected {
            return Err(wrong(format!("{turns} turns, not {expected}")));
        }
        let (tasks, each) = (f64::from(self.count), f64::from(self.mode.turns()));
        let all = tasks * each;
        Ok(Throughput {
            store: self.place.kind,
            mode: self.mode,
            processes: self.processes,
            tasks: self.count,
            turns,
            wall_s,
            tasks_per_s: tasks / wall_s,
            turns_per_s: all / wall_s,
            cpu_ms_per_turn: cpu_s * 1e3 / all,
            server_cpu_ms_per_turn: servers_cpu_s * 1e3 / all,
            submits_per_s: tasks / submit_s,
            submit_cpu_ms: submit_cpu_s * 1e3 / tasks,
            peak_rss_bytes: machine::own_peak_rss_bytes(),
            before,
            after: Calm::look(),
        })
    }

    async fn idle(&self) -> Result<Idle, BenchError> {
        let tasks = tasks(self.mode, self.mode.turns(), &Asked::counted())?;
        let rig = Rig::new(self.place.open().await?, tasks);
        let before = Calm::look();
        let hand = rig.start("hand", self.concurrency, Ends::default())?;
        let mut times = Vec::new();
        for number in 0..self.count + WARM_UP {
            // Another moment of whatever the worker waits in, every time.
            let pause_ms = 300 + u64::from(number) * 37 % 200;
            tokio::time::sleep(Duration::from_millis(pause_ms)).await;
            let started = Instant::now();
            rig.submit_one(&run_of(number)?).await?;
            hand.ended(u64::from(number) + 1).await?;
            if number >= WARM_UP {
                times.push(started.elapsed().as_secs_f64() * 1e3);
            }
        }
        hand.drain().await?;
        times.sort_by(f64::total_cmp);
        let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or(f64::NAN);
        let (store, max_ms) = (self.place.kind, times.last().copied().unwrap_or(f64::NAN));
        Ok(Idle { store, tasks: self.count, p50_ms: at(50), p90_ms: at(90), max_ms, before })
    }

    async fn long(&self) -> Result<Long, BenchError> {
        let asked = Asked::timed();
        let rig = Rig::new(self.place.open().await?, tasks(Mode::Tools4, self.count, &asked)?);
        let before = Calm::look();
        rig.submit(0, 1).await?;
        let hand = rig.start("hand", self.concurrency, Ends::default())?;
        hand.ended(1).await?;
        hand.drain().await?;
        let times = asked.times();
        let ms = |from: usize, to: usize| match (times.get(from), times.get(to)) {
            (Some(from), Some(to)) => to.duration_since(*from).as_secs_f64() * 1e3,
            _ => f64::NAN,
        };
        let mut ms_per_turn_at = Vec::new();
        for turn in [20_u32, 100, 400, 1000] {
            // The ten turns before it, and the first twenty whole.
            let width = if turn == 20 { 19 } else { 10 };
            if turn <= self.count {
                let to = usize::try_from(turn - 1).unwrap_or(usize::MAX);
                let from = to.saturating_sub(usize::try_from(width).unwrap_or(usize::MAX));
                ms_per_turn_at.push((turn, ms(from, to) / f64::from(width)));
            }
        }
        let whole_s = ms(0, times.len().saturating_sub(1)) / 1e3;
        Ok(Long { store: self.place.kind, turns: self.count, ms_per_turn_at, whole_s, before })
    }
}
