//! Further processes that only work.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::mode::{Asked, tasks};
use super::one::Order;
use super::rig::{Ends, Rig};
use super::wrong;
use crate::cost;
use crate::error::BenchError;

/// How long nothing at all may happen.
const SILENCE: Duration = Duration::from_secs(120);

/// The processes, as whoever started them sees them.
pub(crate) struct Hands {
    hands: Vec<(Child, ChildStdin)>,
    lines: Receiver<String>,
}

/// What a hand says last.
#[derive(Debug, Serialize, Deserialize)]
struct Spent {
    cpu_s: f64,
    turns: u64,
}

impl Hands {
    /// Starts one for each order, and waits until all have their store open.
    pub(crate) fn start(orders: &[Order]) -> Result<Self, BenchError> {
        let failed = BenchError::io("start a worker");
        let (said, lines) = channel();
        let mut hands = Vec::new();
        for order in orders {
            let text = serde_json::to_string(order).map_err(wrong)?;
            let mut command = Command::new("/proc/self/exe");
            command.args(["--hand", "--order", &text]);
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().map_err(&failed)?;
            let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
                return Err(wrong("no pipes"));
            };
            let said = said.clone();
            std::thread::spawn(move || read(stdout, &said));
            hands.push((child, stdin));
        }
        let hands = Self { hands, lines };
        for _ in orders {
            hands.hear(|line| line == "ready")?;
        }
        Ok(hands)
    }

    /// The clock starts.
    pub(crate) fn go(&mut self) -> Result<(), BenchError> {
        for (_, stdin) in &mut self.hands {
            stdin.write_all(b"go\n").map_err(BenchError::io("write to a worker"))?;
        }
        Ok(())
    }

    /// Waits until so many runs have ended.
    pub(crate) fn ended(&self, count: u64) -> Result<(), BenchError> {
        for _ in 0..count {
            self.hear(|line| line.starts_with("ended "))?;
        }
        Ok(())
    }

    /// Waits until a run is in somebody's hands.
    pub(crate) fn leased(&self) -> Result<(), BenchError> {
        self.hear(|line| line.starts_with("leased "))
    }

    /// Kills them all, with `kill -9`.
    pub(crate) fn kill(mut self) -> Result<(), BenchError> {
        for (child, _) in &mut self.hands {
            child.kill().map_err(BenchError::io("kill a worker"))?;
            child.wait().map_err(BenchError::io("wait for a worker"))?;
        }
        Ok(())
    }

    /// CPU time since the start of the clock, and calls of the model, of all of them.
    pub(crate) fn finish(self) -> Result<(f64, u64), BenchError> {
        let (mut cpu_s, mut turns) = (0.0, 0);
        let mut children = Vec::new();
        for (child, stdin) in self.hands {
            // The end of what it reads is the end of its work.
            drop(stdin);
            children.push(child);
        }
        for mut child in children {
            let line = loop {
                let line = self.lines.recv_timeout(SILENCE).map_err(wrong)?;
                if line.starts_with('{') {
                    break line;
                }
            };
            let spent: Spent = serde_json::from_str(&line).map_err(wrong)?;
            cpu_s += spent.cpu_s;
            turns += spent.turns;
            child.wait().map_err(BenchError::io("wait for a worker"))?;
        }
        Ok((cpu_s, turns))
    }

    fn hear(&self, wanted: impl Fn(&str) -> bool) -> Result<(), BenchError> {
        loop {
            let line = self.lines.recv_timeout(SILENCE).map_err(wrong)?;
            if wanted(&line) {
                return Ok(());
            }
        }
    }
}

fn read(stdout: ChildStdout, said: &std::sync::mpsc::Sender<String>) {
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        if said.send(line).is_err() {
            return;
        }
    }
}

/// The life of a hand.
pub(crate) async fn live(order: Order) -> Result<(), BenchError> {
    let asked = Asked::slow(Duration::from_millis(order.latency_ms));
    let tasks = tasks(order.mode, order.mode.turns(), &asked)?;
    let rig = Rig::new(order.place.open().await?, tasks);
    println!("ready");
    next_line().await?;
    let cpu_s = cost::own_cpu_s();
    let hand =
        rig.start(&format!("hand-{}", std::process::id()), order.concurrency, Ends::loud())?;
    next_line().await?;
    hand.drain().await?;
    let spent = Spent { cpu_s: cost::own_cpu_s() - cpu_s, turns: asked.calls() };
    println!("{}", serde_json::to_string(&spent).map_err(wrong)?);
    Ok(())
}

/// A line of what this process is told, or the end of it.
pub(crate) async fn next_line() -> Result<String, BenchError> {
    let read = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).map(|_| line)
    });
    read.await.map_err(wrong)?.map_err(BenchError::io("read what a worker is told"))
}
