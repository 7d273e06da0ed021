//! The CI system that a process runs in, as its environment says.

use std::io::{self, Write as _};
use std::path::PathBuf;

use uuid::Uuid;

/// Whether this is a job of GitHub Actions, or of what reads the same commands.
pub(super) fn is_github() -> bool {
    is_true("GITHUB_ACTIONS")
}

/// Whether this is a job of GitLab.
pub(super) fn is_gitlab() -> bool {
    is_true("GITLAB_CI")
}

/// The file that a job of GitHub takes its summary from.
pub(super) fn summary_file() -> Option<PathBuf> {
    folder("GITHUB_STEP_SUMMARY")
}

/// The folder that paths of annotations and reports are relative to.
pub(super) fn root() -> Option<PathBuf> {
    folder("GITHUB_WORKSPACE").or_else(|| folder("CI_PROJECT_DIR"))
}

fn folder(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn is_true(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| value == "true")
}

/// A runner that reads commands from what is printed. It is told to read none until the reports come:
/// reasons quote delegates, and a line of one could be a command.
pub(super) struct GitHub {
    /// Ends the silence. Nothing that the delegate can read has it.
    token: String,
    /// Standard output is one JSON object, so that commands go to standard error.
    json: bool,
}

impl GitHub {
    /// Has the runner take no commands.
    pub(super) fn stop_commands(json: bool) -> Self {
        // The second one: the first of a millisecond would share its time with the run's name, which is
        // no secret; either has 62 bits that nobody can guess.
        let token = format!("probity-{}", Uuid::now_v7().simple());
        let github = Self { token, json };
        github.print(&format!("::stop-commands::{}\n", github.token));
        github
    }

    /// Gives commands, one a line.
    pub(super) fn say(&self, commands: &str) {
        self.print(&format!("::{}::\n{commands}", self.token));
    }

    /// A job whose output is gone is not told; its exit code is.
    fn print(&self, text: &str) {
        let _ = match self.json {
            true => io::stderr().lock().write_all(text.as_bytes()),
            false => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
            }
        };
    }
}
