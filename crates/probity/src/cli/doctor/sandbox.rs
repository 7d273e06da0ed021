//! What this machine can hold commands to, found out by holding one to it.

use probity_sandbox::{Enforcement, Level, Part, SandboxError, probe};
use serde::Serialize;

use crate::location::Programs;

/// One part of a sandbox.
#[derive(Debug, Serialize)]
pub(super) struct Holding {
    /// Its name.
    pub(super) part: &'static str,
    /// Whether it holds here.
    pub(super) holds: bool,
    /// Why not, in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) lack: Option<&'static str>,
    /// What it is, or why it does not hold.
    pub(super) text: String,
}

/// Every part.
pub(super) async fn holdings(programs: &Programs) -> Vec<Holding> {
    match tried(programs).await {
        Ok(held) => held.parts().map(|(part, level)| holding(part, level)).collect(),
        Err(error) => {
            let none = |part: Part| Holding {
                part: part.as_str(),
                holds: false,
                lack: Some(error.code()),
                text: error.to_string(),
            };
            Part::ALL.into_iter().map(none).collect()
        }
    }
}

async fn tried(programs: &Programs) -> Result<Enforcement, SandboxError> {
    let failed = |source| SandboxError::Watch { program: "the sandbox".to_owned(), source };
    let folder = tempfile::tempdir().map_err(failed)?;
    for name in ["kept", "hidden"] {
        std::fs::write(folder.path().join(name), "").map_err(failed)?;
    }
    probe(&programs.launcher, folder.path()).await
}

fn holding(part: Part, level: Level) -> Holding {
    let (holds, lack, text) = match level {
        Level::Enforced => (true, None, what(part)),
        Level::Unavailable(lack) => (false, Some(lack.as_str()), lack.text()),
    };
    Holding { part: part.as_str(), holds, lack, text: text.to_owned() }
}

fn what(part: Part) -> &'static str {
    match part {
        Part::Privileges => "a program brings no right of another user",
        Part::Tracing => "the memory of other processes is out of reach",
        Part::Signals => "other processes are not signalled",
        Part::Sockets => "abstract sockets of others are not connected to",
        Part::Calls => "calls that would undo a sandbox are refused",
        Part::Files => "files are written in named folders only",
        Part::Protected => "named paths in these stay as they are",
        Part::Hidden => "named paths are not seen",
        Part::Daemons => "sockets of container and system daemons are not seen",
        Part::Network => "the network can be denied",
        Part::Processes => "the number of processes can be bounded",
        Part::Memory => "memory can be bounded",
        _ => "it holds",
    }
}
