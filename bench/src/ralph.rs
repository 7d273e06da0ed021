//! ralph-cli (ralph-orchestrator), driven with the scripted delegate as its custom backend.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::case::Case;
use crate::error::BenchError;
use crate::matrix::{Answer, Word, installed};
use crate::site::Site;

/// As many iterations as Probity has attempts by default.
const ITERATIONS: u32 = 3;

/// An installed ralph.
pub(crate) struct Ralph {
    program: PathBuf,
    version: String,
}

impl Ralph {
    /// The program, or why it is left out.
    pub(crate) fn find(program: &Path) -> Result<Self, String> {
        match installed(program) {
            Some(version) => Ok(Self { program: program.to_path_buf(), version }),
            None => Err("ralph-cli is not installed; name its program with --ralph".to_owned()),
        }
    }

    /// Its name and version, as it says itself.
    pub(crate) fn name(&self) -> &str {
        &self.version
    }

    /// Runs the loop. Exit code 0 is its word for done.
    pub(crate) async fn ask(&self, case: &Case, tool: &Path) -> Result<Answer, BenchError> {
        let failed = BenchError::io("run ralph");
        let site = Site::build(case, tool).await?;
        // Its own word for done, behind whatever the delegate said: without it every run ends at
        // the cap of iterations and nothing is learned.
        let wrapper = site.state().join("backend.sh");
        let script = format!("#!/bin/sh\nsh '{}'\necho LOOP_COMPLETE\n", site.script().display());
        std::fs::write(&wrapper, script).map_err(&failed)?;
        let runs = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&wrapper, runs).map_err(&failed)?;
        let config = site.state().join("ralph.yml");
        let text = format!(
            "cli:\n  backend: custom\n  command: \"{}\"\n  prompt_mode: stdin\n\
             event_loop:\n  max_iterations: {ITERATIONS}\n  completion_promise: LOOP_COMPLETE\n",
            wrapper.display()
        );
        std::fs::write(&config, text).map_err(&failed)?;
        let mut command = Command::new(&self.program);
        command.arg("run").arg("-c").arg(&config).args(["--autonomous", "-p", "Do the task."]);
        command.current_dir(site.workspace());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let status = tokio::task::spawn_blocking(move || command.status())
            .await
            .unwrap_or_else(|error| Err(std::io::Error::other(error)))
            .map_err(&failed)?;
        let word = if status.success() { Word::Done } else { Word::NotDone };
        Ok(Answer { said: status.to_string(), word })
    }
}
