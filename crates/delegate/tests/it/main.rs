//! Delegates, asked as the driver asks them; commands are real processes.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot set up its world fails"
)]

mod command;
mod config;
mod formats;
mod function;
mod saying;
mod scripted;

use std::time::Duration;

use probity_core::Turn;
use probity_delegate::{CommandConfig, CommandDelegate, Prompt, Request};
use probity_sandbox::Launcher;

/// Long enough for a loaded machine; no test waits for it unless it fails.
const PATIENCE: Duration = Duration::from_secs(30);

fn launcher() -> Launcher {
    Launcher::helper(env!("CARGO_BIN_EXE_probity-delegate-sandbox-exec"), ["sandbox-exec"])
}

/// Attempt `attempt` of 3: the first with the task alone, a later one with a correction.
fn request(attempt: u32) -> Request {
    let prompt = Prompt {
        task: "Write the file.".into(),
        correction: (attempt > 1).then(|| "Not done: the file is missing.".into()),
        last_response: (attempt > 1).then(|| "Done!".into()),
        ..Prompt::default()
    };
    Request {
        turn: Turn { epoch: 0, number: attempt - 1 },
        attempt,
        timeout: Some(PATIENCE),
        ..Request::first("run-1".parse().unwrap(), 3, prompt)
    }
}

fn sh(script: &str) -> CommandConfig {
    CommandConfig::new(["sh", "-c", script, "agent"])
}

fn delegate(config: CommandConfig, dir: &std::path::Path) -> CommandDelegate {
    CommandDelegate::new(config, dir, launcher()).unwrap()
}
