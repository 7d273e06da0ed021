//! The commands that are measured, and whether they did what they are measured for.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::generate::Written;
use crate::cost::{self, Cost};
use crate::error::BenchError;

/// One command.
pub(super) struct Task {
    pub(super) what: &'static str,
    program: PathBuf,
    arguments: fn(&mut Command, &Written),
    /// What a peer must have said; nothing for our own, whose summary is read.
    word: Option<&'static str>,
}

/// How a command ended.
pub(super) struct Answer {
    cost: Cost,
    pub(super) exit: Option<i32>,
    pub(super) said: String,
}

impl Task {
    /// Shape, seal and envelope in one process, from each form; the last prints every report.
    pub(super) fn ours(probity: &Path) -> Vec<Self> {
        let of = |what, arguments| Self::of(probity, what, arguments);
        vec![
            of("verify --quiet, folder", |command, written| {
                command.arg(&written.folder).arg("--quiet");
            }),
            Self::lines(probity),
            of("verify --quiet, list", |command, written| {
                command.arg(&written.list).arg("--quiet");
            }),
            of("verify --json, lines", |command, written| {
                command.arg(&written.lines);
            }),
        ]
    }

    /// The lines alone.
    pub(super) fn lines(probity: &Path) -> Self {
        Self::of(probity, "verify --quiet, lines", |command, written| {
            command.arg(&written.lines).arg("--quiet");
        })
    }

    fn of(probity: &Path, what: &'static str, arguments: fn(&mut Command, &Written)) -> Self {
        Self { what, program: probity.to_path_buf(), arguments, word: None }
    }

    /// What deepsigma has: the shape by one command, the envelope by another. Neither looks at seals.
    pub(super) fn peers(coherence: &Path) -> Vec<Self> {
        let of = |what, word, arguments| Self {
            what,
            program: coherence.to_path_buf(),
            arguments,
            word: Some(word),
        };
        vec![
            of("schema validate, list", "PASS", |command, written| {
                command.args(["schema", "validate"]).arg(&written.list);
                command.args(["--schema", "episode"]);
            }),
            of("dte check, folder", "CLEAN", |command, written| {
                command.args(["dte", "check"]).arg(&written.folder);
                command.arg("--dte").arg(&written.envelope);
            }),
        ]
    }

    /// Runs it beside what was written.
    pub(super) fn run(&self, written: &Written) -> Result<Answer, BenchError> {
        let mut command = Command::new(&self.program);
        if self.word.is_none() {
            command.args(["episode", "verify", "--json", "--envelope"]).arg(&written.envelope);
        }
        (self.arguments)(&mut command, written);
        let folder = written.envelope.parent().unwrap_or(Path::new("."));
        let cost::Ended { cost, exit, said } = cost::run(&mut command, folder)?;
        Ok(Answer { cost, exit, said })
    }
}

impl Answer {
    /// The cost, if every episode was accepted.
    pub(super) fn accepted(self, task: &Task, count: u64) -> Result<Cost, BenchError> {
        let is_right = match task.word {
            Some(word) => self.exit == Some(0) && self.said.contains(word),
            None => self.exit == Some(0) && self.has_summary(count, 0),
        };
        if is_right { Ok(self.cost) } else { Err(self.wrong(task)) }
    }

    /// Whether ours rejected exactly one.
    pub(super) fn rejected_one(&self, task: &Task, count: u64) -> Result<(), BenchError> {
        let is_right = self.exit == Some(1) && self.has_summary(count, 1);
        if is_right { Ok(()) } else { Err(self.wrong(task)) }
    }

    fn has_summary(&self, count: u64, rejected: u64) -> bool {
        let last = self.said.lines().last().unwrap_or_default();
        let summary = serde_json::from_str::<Value>(last).unwrap_or_default();
        let expected = json!({
            "documents": count, "accepted": count - rejected, "rejected": rejected, "unread": 0,
            "envelopes": 1, "packs": 0,
        });
        summary.get("summary") == Some(&expected)
    }

    fn wrong(&self, task: &Task) -> BenchError {
        let end: String =
            self.said.chars().rev().take(400).collect::<Vec<_>>().into_iter().rev().collect();
        let detail = format!("`{}` ended with {:?} and said: {end}", task.what, self.exit);
        BenchError::Measure { what: "episodes", detail }
    }
}
