//! Coding agents with a command line, and how they are called without a person.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;

/// One agent.
#[derive(Debug)]
pub(super) struct Agent {
    /// The program.
    pub(super) name: &'static str,
    /// Its command line; the prompt goes to standard input.
    command: &'static [&'static str],
    /// What continues its conversation.
    resume: &'static [&'static str],
    /// What it writes.
    format: &'static str,
}

/// The agents whose output can be read.
pub(super) const KNOWN: [Agent; 3] = [
    Agent {
        name: "claude",
        command: &["claude", "-p", "--output-format", "stream-json", "--verbose"],
        resume: &[
            "claude",
            "-p",
            "--resume",
            "{session}",
            "--output-format",
            "stream-json",
            "--verbose",
        ],
        format: "claude",
    },
    Agent {
        name: "codex",
        command: &["codex", "exec", "--json", "-"],
        resume: &["codex", "exec", "--json", "resume", "{session}", "-"],
        format: "codex",
    },
    Agent {
        name: "gemini",
        command: &["gemini", "--output-format", "stream-json"],
        resume: &[],
        format: "gemini",
    },
];

/// The known agents that a search path leads to.
pub(super) fn installed(path: Option<&OsStr>) -> Vec<&'static Agent> {
    let Some(path) = path else { return Vec::new() };
    KNOWN.iter().filter(|agent| find(agent.name, path)).collect()
}

/// Whether a search path leads to a program.
pub(crate) fn find(name: &str, path: &OsStr) -> bool {
    std::env::split_paths(path).any(|folder| {
        let Ok(about) = std::fs::metadata(folder.join(name)) else { return false };
        about.is_file() && about.permissions().mode() & 0o111 != 0
    })
}

impl Agent {
    /// Remarks for the configuration that become settings without their `#`.
    pub(super) fn configuration(&self) -> String {
        let mut text = format!("# command = {:?}\n", self.command);
        if !self.resume.is_empty() {
            text.push_str(&format!("# resume = {:?}\n", self.resume));
        }
        text.push_str(&format!("# format = {:?}\n", self.format));
        text
    }
}
