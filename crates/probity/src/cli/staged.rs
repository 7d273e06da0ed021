//! What is staged in Git, in a folder of its own: the work tree is neither read nor touched.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use probity_sandbox::{Ended, Finished, Spawn, Status};
use tempfile::TempDir;

use super::{CliError, present};
use crate::ProjectError;
use crate::location::Programs;

/// How long Git may take for one step.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Bytes of what Git says that are shown.
const MAX_SAID_BYTES: usize = 2048;
/// What Git gives to its hooks: which repository, and which index. A commit of named paths has one of its
/// own.
const OF_HOOKS: [&str; 5] = [
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
];

/// A copy of the index, and gone when it is dropped.
pub(super) struct Staged {
    _held: TempDir,
    folder: PathBuf,
    /// The folder that it is a copy of.
    of: PathBuf,
}

impl Staged {
    /// Copies what is staged in the repository of a folder.
    ///
    /// # Errors
    /// [`CliError::Usage`] where there is no repository, or Git does not give it out.
    pub(super) async fn copy(of: &Path, programs: &Programs) -> Result<Self, CliError> {
        let failed = |source| CliError::Io { what: "make a temporary folder", source };
        let held = tempfile::Builder::new().prefix("probity-staged-").tempdir().map_err(failed)?;
        let root = held.path().canonicalize().map_err(failed)?;
        let at = ["rev-parse", "--show-toplevel", "--show-prefix"];
        let said = git(of, &at.map(Into::into), programs).await?;
        let mut lines = said.lines();
        let (Some(top), Some(below)) = (lines.next(), lines.next().or(Some(""))) else {
            return Err(CliError::Usage("git named no work tree".to_owned()));
        };
        let mut prefix = OsString::from("--prefix=");
        prefix.push(root.join(""));
        let copy = ["checkout-index".into(), "--all".into(), "--quiet".into(), prefix];
        git(Path::new(top), &copy, programs).await?;
        let folder: PathBuf = root.join(below).components().collect();
        std::fs::create_dir_all(&folder).map_err(failed)?;
        Ok(Self { _held: held, folder, of: of.to_path_buf() })
    }

    /// The folder that stands for the one that was named.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// What is said of the copy, said of the folder itself: the copy is gone when somebody reads it.
    pub(super) fn told(&self, text: &str) -> String {
        let of = self.of.display().to_string();
        text.replace(&self.folder.display().to_string(), &of)
    }

    /// As [`Self::told`], of an error that somebody is asked to do something about.
    pub(super) fn told_error(&self, error: CliError) -> CliError {
        match error {
            CliError::Usage(text) => CliError::Usage(self.told(&text)),
            CliError::Project(ProjectError::Untrusted { path }) => {
                let below = path.strip_prefix(&self.folder).map(|below| self.of.join(below));
                CliError::Project(ProjectError::Untrusted { path: below.unwrap_or(path) })
            }
            other => other,
        }
    }
}

async fn git(folder: &Path, args: &[OsString], programs: &Programs) -> Result<String, CliError> {
    let spawn = Spawn::new("git").args(args.iter().cloned()).cwd(folder).timeout(TIMEOUT);
    let spawn = OF_HOOKS.iter().fold(spawn.env("LC_ALL", "C"), Spawn::keep_env);
    let refused = |why: &str| {
        let why = present::line(why);
        CliError::Usage(format!("cannot read what is staged in `{}`: {why}", folder.display()))
    };
    let finished = spawn.run(&programs.launcher).await;
    let Finished { ended, stdout, stderr, .. } =
        finished.map_err(|error| refused(&error.to_string()))?;
    match ended {
        Ended::Exited(Status::Code(0)) => Ok(stdout.text().into_owned()),
        Ended::Exited(_) => Err(refused(stderr.last_text(MAX_SAID_BYTES).trim())),
        Ended::TimedOut | Ended::Cancelled => Err(refused("git did not answer in time")),
    }
}
