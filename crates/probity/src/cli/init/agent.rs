//! Coding agents with a command line, and how they are called without a person.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;

use probity_delegate::CommandConfig;

/// One agent.
#[derive(Debug)]
pub(super) struct Agent {
    /// The program.
    pub(super) name: &'static str,
}

/// The agents that are offered, the most used first. How each is called is known to the delegate.
pub(super) const KNOWN: [Agent; 5] = [
    Agent { name: "claude" },
    Agent { name: "codex" },
    Agent { name: "gemini" },
    Agent { name: "qwen" },
    Agent { name: "opencode" },
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
        let Some(known) = CommandConfig::known(self.name) else { return String::new() };
        let mut text = format!("# command = {:?}\n", known.argv);
        if let Some(resume) = &known.resume {
            text.push_str(&format!("# resume = {resume:?}\n"));
        }
        text.push_str(&format!("# format = {:?}\n", known.format.as_str()));
        text
    }
}
