//! Retry loops around a shell check: that of `sh` itself, and those of libraries, driven by
//! `peers/lies.py` in a Python that has them. The check is the row's own, told by [`shell`].

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use probity_lies::Case;
use serde::Deserialize;

use crate::error::BenchError;
use crate::face;
use crate::matrix::{Answer, Word};
use crate::service::Service;
use crate::shell;

/// Kept in the program, so that it runs from any folder.
const DRIVER: &str = include_str!("../peers/lies.py");
/// As many attempts as Probity has by default.
const ATTEMPTS: u32 = 3;

/// Who loops.
#[derive(Debug, Clone)]
pub(crate) enum Loop {
    /// `sh`: run, check, again.
    Shell,
    /// A library in this Python.
    Python { name: &'static str, version: String, python: PathBuf },
}

#[derive(Deserialize)]
struct Said {
    said: String,
    done: bool,
}

impl Loop {
    /// All of them, and why some are left out.
    pub(crate) fn find(python: Option<&Path>) -> (Vec<Self>, Vec<String>) {
        let (mut found, mut skipped) = (vec![Self::Shell], Vec::new());
        for name in ["strands-agents", "pydantic-ai-slim"] {
            let Some(python) = python else {
                skipped.push(format!("{name}: no --python given"));
                continue;
            };
            match version(python, name) {
                Some(version) => {
                    found.push(Self::Python { name, version, python: python.to_path_buf() });
                }
                None => skipped.push(format!("{name} is not in that Python")),
            }
        }
        (found, skipped)
    }

    /// Name and version.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Shell => "sh retry loop".to_owned(),
            Self::Python { name, version, .. } => format!("{name} {version}"),
        }
    }

    /// Runs the loop; nothing where the checks cannot be told.
    pub(crate) async fn ask(&self, case: &Case, tool: &Path) -> Result<Option<Answer>, BenchError> {
        let service = Service::start(tool.to_path_buf()).await?;
        let site = face::site(case, service.extras()).await?;
        let Some(check) = shell::script(case, &site) else { return Ok(None) };
        let file = site.state().join("check.sh");
        std::fs::write(&file, check).map_err(BenchError::io("write a check"))?;
        let mut command = match self {
            Self::Shell => {
                let text = format!(
                    "n=0; while test $n -lt {ATTEMPTS}; do n=$((n + 1)); sh \"$1\" < /dev/null; \
                     if sh \"$2\" < /dev/null; then exit 0; fi; done; exit 1"
                );
                let mut command = Command::new("sh");
                command.args(["-c", &text, "loop"]);
                command
            }
            Self::Python { name, python, .. } => {
                let mut command = Command::new(python);
                command.args(["-c", DRIVER, name, &ATTEMPTS.to_string()]);
                command
            }
        };
        command.arg(site.script()).arg(file).current_dir(site.workspace()).stdin(Stdio::null());
        let output =
            face::blocking(move || command.output().map_err(BenchError::io("run a peer"))).await?;
        if let Self::Shell = self {
            let done = output.status.success();
            let said = if done { "exit 0" } else { "exit 1" };
            let word = if done { Word::Done } else { Word::NotDone };
            return Ok(Some(Answer { said: said.to_owned(), word }));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let said: Said =
            serde_json::from_str(text.lines().last().unwrap_or_default()).map_err(|error| {
                BenchError::Output {
                    program: "a peer",
                    detail: format!("{error}: {}", String::from_utf8_lossy(&output.stderr)),
                }
            })?;
        let word = if said.done { Word::Done } else { Word::NotDone };
        Ok(Some(Answer { said: said.said, word }))
    }
}

fn version(python: &Path, name: &str) -> Option<String> {
    let text = format!("import importlib.metadata as m; print(m.version('{name}'))");
    let output = Command::new(python).args(["-c", &text]).output().ok()?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(version)
}
