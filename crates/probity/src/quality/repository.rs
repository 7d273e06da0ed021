//! Changes of a repository in the copy, and of a copy of its remote. Never of the remote itself.

use std::path::{Path, PathBuf};
use std::time::Duration;

use probity_quality::{Draw, Mutant, Operator, Role, Tree};
use probity_sandbox::{Ended, Finished, Spawn, Status};
use probity_verifier::spec::GitSpec;

use super::subject::{Aim, Subject};
use crate::location::Programs;

/// How long Git may take for one step.
const TIMEOUT: Duration = Duration::from_secs(120);
/// The file that Git is not told of.
const NEW: &str = "probity-mutant";

/// A copy of a remote.
#[derive(Debug, Clone)]
pub(super) struct Remote {
    pub(super) path: PathBuf,
}

/// A ref that was moved, and where it was.
#[derive(Debug)]
pub(super) struct Moved {
    at: PathBuf,
    name: String,
    was: String,
}

impl Remote {
    /// Copies the remote that a check asks, where it is on this machine, and has the copies of the workspace ask
    /// that one.
    pub(super) async fn of(
        subject: &Subject,
        whole: &Tree,
        folder: &Path,
        programs: &Programs,
    ) -> Option<Self> {
        let Aim::Repository(GitSpec { pushed: Some(name), .. }) = &subject.aim else { return None };
        let key = format!("remote.{name}.url");
        let url = git(whole.root(), &["config", "--get", &key], programs).await.ok()?;
        let local = url.trim();
        let local = local.strip_prefix("file://").unwrap_or(local);
        let is_path = local.starts_with(['/', '.']) || !local.contains(':');
        let root = subject.roots.first()?;
        let from = is_path.then(|| root.join(local)).filter(|path| path.is_dir())?;
        let path = folder.join(format!("remote-{}", subject.id));
        if !path.is_dir() {
            let (from, to) = (from.to_str()?, path.to_str()?);
            git(folder, &["clone", "--quiet", "--mirror", "--", from, to], programs).await.ok()?;
        }
        git(whole.root(), &["config", &key, path.to_str()?], programs).await.ok()?;
        Some(Self { path })
    }
}

/// What can be done to the repository that a check looks at.
pub(super) async fn mutants(
    spec: &GitSpec,
    whole: &Tree,
    remote: &Option<Remote>,
    programs: &Programs,
    draw: &mut Draw,
) -> Vec<Mutant> {
    let root = whole.root();
    let mut found = Vec::new();
    let reference = spec.reference.as_str();
    let full = ["rev-parse", "--symbolic-full-name", "--end-of-options", reference];
    let full = git(root, &full, programs).await.unwrap_or_default();
    let full = full.trim().trim_start_matches("--end-of-options").trim().to_owned();
    if full.starts_with("refs/") {
        if has_parent(root, &full, programs).await {
            found.push(Mutant::outside(Operator::MoveBack, &full, Role::Named));
        }
        if let Some(remote) = remote
            && has_parent(&remote.path, &full, programs).await
        {
            found.push(Mutant::outside(Operator::Unpush, &full, Role::Named));
        }
    }
    let tracked = git(root, &["ls-files", "-z"], programs).await.unwrap_or_default();
    let mut tracked: Vec<&str> =
        tracked.split('\0').filter(|path| whole.files().any(|file| file == *path)).collect();
    draw.shuffle(&mut tracked);
    let dirty = tracked.iter().take(2);
    found.extend(dirty.map(|path| Mutant::outside(Operator::Dirty, path, Role::Named)));
    if whole.is_folder(".git") && !whole.holds(NEW) {
        found.push(Mutant::outside(Operator::Untracked, NEW, Role::Named));
    }
    found
}

async fn has_parent(at: &Path, name: &str, programs: &Programs) -> bool {
    let parent = format!("{name}^{{commit}}~1");
    git(at, &["rev-parse", "--quiet", "--verify", "--end-of-options", &parent], programs)
        .await
        .is_ok()
}

/// Moves a ref back by one commit.
pub(super) async fn move_back(at: &Path, name: &str, programs: &Programs) -> Result<Moved, String> {
    let was = git(at, &["rev-parse", "--verify", "--end-of-options", name], programs).await?;
    let parent = format!("{name}^{{commit}}~1");
    let parent = git(at, &["rev-parse", "--verify", "--end-of-options", &parent], programs).await?;
    git(at, &["update-ref", name, parent.trim()], programs).await?;
    Ok(Moved { at: at.to_path_buf(), name: name.to_owned(), was: was.trim().to_owned() })
}

/// Moves a ref to where it was. One that stays behind is a red control at the end, and no good news.
pub(super) async fn put_right(moved: &Moved, programs: &Programs, timeout: Duration) {
    let args = ["update-ref", &moved.name, &moved.was];
    let _ = tokio::time::timeout(timeout, git(&moved.at, &args, programs)).await;
}

/// Runs Git where no hook, monitor or pager of the repository is started.
async fn git(at: &Path, args: &[&str], programs: &Programs) -> Result<String, String> {
    let quiet = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"];
    let spawn = Spawn::new("git").args(quiet).args(args.iter().copied()).cwd(at);
    let spawn = spawn.timeout(TIMEOUT).env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0");
    // The folder itself is the repository: one above it is somebody else's.
    let above = at.parent().unwrap_or(at);
    let spawn = spawn.env("GIT_CEILING_DIRECTORIES", above);
    let finished = spawn.run(&programs.launcher).await.map_err(|error| error.to_string())?;
    let Finished { ended, stdout, stderr, .. } = finished;
    match ended {
        Ended::Exited(Status::Code(0)) => Ok(stdout.text().into_owned()),
        Ended::Exited(_) => Err(stderr.last_text(1000).trim().to_owned()),
        Ended::TimedOut | Ended::Cancelled => Err("git did not answer in time".to_owned()),
    }
}
