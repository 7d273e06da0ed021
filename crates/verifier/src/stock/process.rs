//! `process:NAME`: whether a program runs on this machine.
//!
//! | Situation | Result |
//! |---|---|
//! | no process of that name | revise `process_missing`; with `absent` a pass |
//! | a process of that name | a pass; with `absent` revise `process_present` |
//! | the process table cannot be read, or not in time | inconclusive `process_unreadable`, `read_timeout` |
//!
//! A process has a name if the file name of its first argument is that, or the name the system keeps
//! of it (cut to 15 bytes). Processes that ended and wait to be reaped do not run. A script runs
//! under the name of its interpreter. What the delegate started inside an attempt is killed with the
//! attempt; this looks for what runs on: services, daemons that others started.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use async_trait::async_trait;
use probity_core::{Evidence, Fault, Verdict};

use super::blocking;
use super::tally::Tally;
use crate::spec::ProcessSpec;
use crate::{CheckContext, Verifier};

/// Bytes that the system keeps of a process's name.
const COMM_BYTES: usize = 15;
/// Bytes of a command line that are read: the first argument is all that matters.
const MAX_CMDLINE_BYTES: u64 = 4_096;
/// Processes that are looked at.
const MAX_PROCESSES: usize = 1_000_000;

/// The effect `process`.
#[derive(Debug, Clone)]
pub struct Process {
    spec: ProcessSpec,
}

impl Process {
    /// The effect of a spec.
    #[must_use]
    pub const fn new(spec: ProcessSpec) -> Self {
        Self { spec }
    }
}

#[async_trait]
impl Verifier for Process {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        let spec = self.spec.clone();
        blocking(ctx, move |_| {
            Ok(match running(Path::new("/proc"), &spec.name) {
                Ok(count) => judge(&spec, count),
                Err(error) => Verdict::inconclusive(
                    "process_unreadable",
                    format!("the process table could not be read: {error}"),
                ),
            })
        })
        .await
    }
}

fn judge(spec: &ProcessSpec, count: usize) -> Verdict {
    let name = &spec.name;
    let mut tally = Tally::default();
    tally.saw(Evidence::new(format!("process:{name}"), format!("{count} running")));
    if spec.absent {
        tally.key("absent");
    }
    match (count, spec.absent) {
        (0, false) => tally.miss("process_missing", format!("no process called `{name}` runs")),
        (1.., true) => tally.miss(
            "process_present",
            format!("{count} processes called `{name}` run, expected none"),
        ),
        _ => {}
    }
    tally.verdict()
}

/// How many processes of that name run.
fn running(table: &Path, name: &str) -> io::Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir(table)?.take(MAX_PROCESSES) {
        let entry = entry?;
        let is_process = entry.file_name().to_str().is_some_and(|id| id.parse::<u32>().is_ok());
        if is_process && runs_as(&entry.path(), name) {
            count += 1;
        }
    }
    Ok(count)
}

/// A process that ends meanwhile does not run.
fn runs_as(process: &Path, name: &str) -> bool {
    let Ok(status) = fs::read_to_string(process.join("stat")) else { return false };
    // `pid (name) state ...`; the name may itself hold parentheses and spaces.
    let Some((head, tail)) = status.rsplit_once(") ") else { return false };
    if tail.starts_with(['Z', 'X']) {
        return false;
    }
    let kept = head.split_once('(').map_or("", |(_, kept)| kept);
    let cut = name.as_bytes().get(..COMM_BYTES).unwrap_or(name.as_bytes());
    if name.len() <= COMM_BYTES && kept.as_bytes() == cut {
        return true;
    }
    let mut cmdline = Vec::new();
    let read = fs::File::open(process.join("cmdline"))
        .and_then(|file| file.take(MAX_CMDLINE_BYTES).read_to_end(&mut cmdline));
    let first = cmdline.split(|byte| *byte == 0).next().unwrap_or_default();
    let base = first.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    if read.is_ok() && !base.is_empty() {
        return base == name.as_bytes();
    }
    // A kernel thread has no arguments: all there is of its name is what the system keeps.
    kept.as_bytes() == cut
}
