//! What really happened, written beside the runs by whoever did it: one line per call of the model and
//! of the verifier, in one file that every process appends to.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use probity::core::{RunId, SubmissionId};

use crate::error::BenchError;

/// The file, in a process that calls.
#[derive(Debug)]
pub(super) struct Side {
    file: File,
    calls: AtomicU64,
}

/// Everything in it, by run.
#[derive(Debug, Default)]
pub(super) struct Calls {
    pub(super) runs: HashMap<String, OfRun>,
    /// How often the verifier was called, by submission.
    pub(super) verifier: HashMap<String, u64>,
    /// Lines that hold nothing: a process was killed in the midst of one.
    pub(super) torn: u64,
}

/// The calls of the model for one run, in the order in which they were made.
#[derive(Debug, Default)]
pub(super) struct OfRun {
    /// The number of the call among the recorded ones, and the name that its answer carries.
    pub(super) model: Vec<(u32, String)>,
}

impl Side {
    pub(super) fn open(path: &Path) -> Result<Self, BenchError> {
        let file = File::options().create(true).append(true).open(path);
        let file = file.map_err(BenchError::io("open the side file"))?;
        Ok(Self { file, calls: AtomicU64::new(0) })
    }

    /// Writes down a call of the model before its answer is given, and names the answer: another name
    /// for every call that was ever made.
    pub(super) fn model(&self, run: &RunId, number: u32) -> std::io::Result<String> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        let name = format!("call-{}-{call}", std::process::id());
        self.line(&format!("model {run} {number} {name}\n"))?;
        Ok(name)
    }

    /// Writes down a call of the verifier.
    pub(super) fn verifier(&self, submission: &SubmissionId) -> std::io::Result<()> {
        self.line(&format!("verifier {submission} 1 {}\n", std::process::id()))
    }

    /// One write, so that lines of several processes do not mix.
    fn line(&self, line: &str) -> std::io::Result<()> {
        (&self.file).write_all(line.as_bytes())
    }
}

impl Calls {
    pub(super) fn read(path: &PathBuf) -> Result<Self, BenchError> {
        let text = std::fs::read_to_string(path).map_err(BenchError::io("read the side file"))?;
        let mut calls = Self::default();
        for line in text.lines() {
            let mut words = line.split(' ');
            let (what, of) = (words.next(), words.next());
            let number = words.next().and_then(|number| number.parse().ok());
            let (Some(what), Some(of), Some(number), Some(name)) = (what, of, number, words.next())
            else {
                calls.torn += 1;
                continue;
            };
            match what {
                "model" => {
                    let of_run = calls.runs.entry(of.to_owned()).or_default();
                    of_run.model.push((number, name.to_owned()));
                }
                "verifier" => *calls.verifier.entry(of.to_owned()).or_default() += 1,
                _ => calls.torn += 1,
            }
        }
        Ok(calls)
    }
}
