//! Worker processes: started, killed with `kill -9`, started again.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::wrong;
use crate::error::BenchError;
use crate::fleet::place::Place;

/// How long a worker that was told to end may take.
const END: Duration = Duration::from_secs(60);

/// What a worker process is told when it starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Duty {
    /// Its name, another one in every life.
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) side: String,
    pub(super) concurrency: usize,
    pub(super) model_ms: u64,
    pub(super) verifier_ms: u64,
}

/// The workers there are.
pub(super) struct Lives {
    duty: Duty,
    slots: Vec<Option<Life>>,
    born: u64,
    said: Sender<String>,
    /// What they say.
    pub(super) lines: Receiver<String>,
}

struct Life {
    name: String,
    child: Child,
    stdin: ChildStdin,
}

impl Lives {
    /// Starts so many.
    pub(super) fn start(duty: Duty, workers: usize) -> Result<Self, BenchError> {
        let (said, lines) = channel();
        let mut lives = Self { duty, slots: Vec::new(), born: 0, said, lines };
        for slot in 0..workers {
            lives.slots.push(None);
            lives.birth(slot)?;
        }
        Ok(lives)
    }

    /// Kills one and gives its name. Nobody is in its place then.
    pub(super) fn kill(&mut self, slot: usize) -> Result<Option<String>, BenchError> {
        let Some(mut life) = self.slots.get_mut(slot).and_then(Option::take) else {
            return Ok(None);
        };
        life.child.kill().map_err(BenchError::io("kill a worker"))?;
        life.child.wait().map_err(BenchError::io("wait for a worker"))?;
        Ok(Some(life.name))
    }

    /// Starts another in that place.
    pub(super) fn birth(&mut self, slot: usize) -> Result<(), BenchError> {
        let failed = BenchError::io("start a worker");
        let name = format!("w{slot}-{}", self.born);
        self.born += 1;
        let duty = Duty { name: name.clone(), ..self.duty.clone() };
        let mut command = Command::new("/proc/self/exe");
        command.args(["--worker", &serde_json::to_string(&duty).map_err(wrong)?]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(&failed)?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(wrong("no pipes"));
        };
        let said = self.said.clone();
        std::thread::spawn(move || read(stdout, &said));
        if let Some(place) = self.slots.get_mut(slot) {
            *place = Some(Life { name, child, stdin });
        }
        Ok(())
    }

    /// Starts again whoever ended by himself, and says how many did.
    pub(super) fn replace(&mut self) -> Result<u64, BenchError> {
        let mut ended = 0;
        for slot in 0..self.slots.len() {
            let life = self.slots.get_mut(slot).and_then(Option::as_mut);
            let status = life.map(|life| life.child.try_wait()).transpose();
            let status = status.map_err(BenchError::io("look at a worker"))?.flatten();
            if let Some(status) = status {
                eprintln!("chaos: worker {slot} ended by itself: {status}");
                ended += 1;
                self.birth(slot)?;
            }
        }
        Ok(ended)
    }

    /// Lets all of them end what they have.
    pub(super) fn finish(mut self) -> Result<(), BenchError> {
        let mut children = Vec::new();
        for life in std::mem::take(&mut self.slots).into_iter().flatten() {
            // The end of what it reads is the end of its work.
            drop(life.stdin);
            children.push(life.child);
        }
        let started = std::time::Instant::now();
        for mut child in children {
            while child.try_wait().map_err(BenchError::io("wait for a worker"))?.is_none() {
                if started.elapsed() > END {
                    child.kill().map_err(BenchError::io("kill a worker"))?;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        Ok(())
    }
}

impl Drop for Lives {
    fn drop(&mut self) {
        for slot in 0..self.slots.len() {
            // Whoever is dropped with workers alive has failed already.
            let _ = self.kill(slot);
        }
    }
}

fn read(stdout: ChildStdout, said: &Sender<String>) {
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        if said.send(line).is_err() {
            return;
        }
    }
}
