//! ralph-cli (ralph-orchestrator), driven with the scripted delegate as its custom backend.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use probity_lies::Case;

use crate::error::BenchError;
use crate::face;
use crate::matrix::{Answer, Word, installed};
use crate::service::Service;
use crate::shell;

/// Leaves its folder out of what Git shows; outside of a repository it does nothing.
const IGNORE: &str = "file=$(git rev-parse --git-path info/exclude) && mkdir -p \"${file%/*}\" && \
                      echo .ralph/ >> \"$file\"; true";
/// As many iterations as Probity has attempts by default.
const ITERATIONS: u32 = 3;

/// What decides that a loop is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
    /// The words that its configuration names: the default.
    Promise,
    /// The same, and a hook on `pre.loop.complete` that runs the row's checks and blocks: the only
    /// place where it runs a check of its user before it is done.
    Hook,
}

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

    /// Its name and version, as it says itself, and the setting.
    pub(crate) fn name(&self, setting: Setting) -> String {
        let with = if setting == Setting::Hook { " + hook" } else { "" };
        format!("{}{with}", self.version)
    }

    /// Runs the loop. Exit code 0 is its word for done.
    pub(crate) async fn ask(
        &self,
        case: &Case,
        tool: &Path,
        setting: Setting,
    ) -> Result<Option<Answer>, BenchError> {
        let failed = BenchError::io("run ralph");
        let service = Service::start(tool.to_path_buf()).await?;
        let site = face::site(case, service.extras()).await?;
        // Its own word for done, behind whatever the delegate said, as its prompt asks agents for:
        // without it every run ends at the cap of iterations and nothing is learned.
        let wrapper = site.state().join("backend.sh");
        let script =
            format!("#!/bin/sh\nsh '{}'\nprintf '\\nLOOP_COMPLETE\\n'\n", site.script().display());
        std::fs::write(&wrapper, script).map_err(&failed)?;
        let runs = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&wrapper, runs).map_err(&failed)?;
        let mut text = format!(
            "cli:\n  backend: custom\n  command: \"{}\"\n  prompt_mode: stdin\n\
             event_loop:\n  max_iterations: {ITERATIONS}\n  completion_promise: LOOP_COMPLETE\n",
            wrapper.display()
        );
        if setting == Setting::Hook {
            let Some(check) = shell::script(case, &site) else { return Ok(None) };
            let file = site.state().join("check.sh");
            std::fs::write(&file, check).map_err(&failed)?;
            text.push_str(&format!(
                "hooks:\n  enabled: true\n  events:\n    pre.loop.complete:\n      - name: verify\n        \
                 command: [\"sh\", \"{}\"]\n        on_error: block\n",
                file.display()
            ));
        }
        let config = site.state().join("ralph.yml");
        std::fs::write(&config, text).map_err(&failed)?;
        // What it keeps in the folder is no dirt: whoever uses it would say so.
        let mut ignore = Command::new("sh");
        ignore.args(["-c", IGNORE]).current_dir(site.workspace());
        ignore.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        ignore.status().map_err(&failed)?;
        let mut command = Command::new(&self.program);
        command.arg("run").arg("-c").arg(&config);
        // Preflight asks for things of a repository that a row has not.
        command.args(["--autonomous", "--skip-preflight", "-p", "Do the task."]);
        command.current_dir(site.workspace());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let status = face::blocking(move || command.status().map_err(failed)).await?;
        let word = if status.success() { Word::Done } else { Word::NotDone };
        let said = status.code().map_or_else(|| "killed".to_owned(), |code| format!("exit {code}"));
        Ok(Some(Answer { said, word }))
    }
}
