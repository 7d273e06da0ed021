//! What a repository looked like before the run: its refs and the addresses of its remotes, as facts
//! of the manifest.

use std::collections::BTreeMap;
use std::time::Duration;

use probity_core::Fault;
use probity_sandbox::Launcher;
use tokio_util::sync::CancellationToken;

use super::plumbing::{Repository, Stop};
use crate::Workspace;

/// The fact that says that the others were read, and whether there was a repository.
pub const BASELINE_PRESENT: &str = "git";
const TIP: &str = "git.ref:";
const REMOTE: &str = "git.remote:";
const BRANCH: &str = "git.branch";
const UPSTREAM: &str = "git.upstream:";
const EXCLUDES: &str = "git.excludes";
/// Where a repository keeps exclude rules that no commit holds, and how much of it is read.
pub(super) const EXCLUDE_LIST: &str = ".git/info/exclude";
const MAX_EXCLUDE_BYTES: u64 = 16 << 20;

/// Reads the facts that `git` checks compare with: the commit of every ref and of `HEAD`, the branch
/// that `HEAD` is on, what every branch follows, the address of every remote, and the content of the exclude list that no commit holds. They belong
/// into the manifest of the state before the delegate.
///
/// # Errors
/// A fault as the `git` check's own; a repository that cannot be read is `git_no_baseline`.
pub async fn baseline(
    workspace: &Workspace,
    launcher: &Launcher,
    timeout: Duration,
    cancel: &CancellationToken,
) -> Result<BTreeMap<String, String>, Fault> {
    let mut facts = BTreeMap::new();
    let found = workspace.stat_link(".git");
    if matches!(found, Ok(None)) {
        facts.insert(BASELINE_PRESENT.to_owned(), "absent".to_owned());
        return Ok(facts);
    }
    let read = async {
        let repository = Repository::at(workspace, launcher, timeout, cancel);
        let branches = (repository.branch().await?, repository.upstreams().await?);
        Ok((repository.tips().await?, repository.remotes().await?, branches))
    };
    match read.await {
        Ok((tips, remotes, (branch, upstreams))) => {
            facts.extend(excludes(workspace).map(|digest| (EXCLUDES.to_owned(), digest)));
            facts.extend(branch.map(|name| (BRANCH.to_owned(), name)));
            facts.extend(upstreams.into_iter().map(|(name, at)| (format!("{UPSTREAM}{name}"), at)));
            facts.insert(BASELINE_PRESENT.to_owned(), "present".to_owned());
            facts.extend(tips.into_iter().map(|(name, commit)| (format!("{TIP}{name}"), commit)));
            facts.extend(remotes.into_iter().map(|(name, url)| (format!("{REMOTE}{name}"), url)));
            Ok(facts)
        }
        Err(Stop::NoRepository) => {
            facts.insert(BASELINE_PRESENT.to_owned(), "absent".to_owned());
            Ok(facts)
        }
        Err(Stop::Fault(fault)) => Err(fault),
        Err(Stop::Verdict(verdict)) => Err(Fault::new("git_no_baseline", verdict.reason)),
    }
}

/// Whether the repository has an exclude list of its own that is the one of before the run. Without
/// a baseline it is taken as it stands.
pub(super) fn excludes_are_kept(facts: &BTreeMap<String, String>, workspace: &Workspace) -> bool {
    let Some(is) = excludes(workspace) else { return false };
    facts.contains_key(BASELINE_PRESENT) && facts.get(EXCLUDES) == Some(&is)
}

/// The content of the exclude list, where it is a file inside the workspace.
fn excludes(workspace: &Workspace) -> Option<String> {
    let (digest, _) = workspace.digest(EXCLUDE_LIST, MAX_EXCLUDE_BYTES).ok()??;
    Some(digest.to_string())
}

/// Whether there was a repository.
pub(super) fn was_present(facts: &BTreeMap<String, String>) -> bool {
    facts.get(BASELINE_PRESENT).is_some_and(|fact| fact == "present")
}

/// The commits that refs were at.
pub(super) fn tips(facts: &BTreeMap<String, String>) -> impl Iterator<Item = &str> {
    facts.iter().filter(|(name, _)| name.starts_with(TIP)).map(|(_, commit)| commit.as_str())
}

/// The address that a remote had.
pub(super) fn remote<'a>(facts: &'a BTreeMap<String, String>, name: &str) -> Option<&'a str> {
    facts.get(&format!("{REMOTE}{name}")).map(String::as_str)
}

/// The branch that `HEAD` was on.
pub(super) fn branch(facts: &BTreeMap<String, String>) -> Option<&str> {
    facts.get(BRANCH).map(String::as_str)
}

/// The ref of a remote that a branch followed.
pub(super) fn upstream<'a>(
    facts: &'a BTreeMap<String, String>,
    branch: &str,
    remote: &str,
) -> Option<&'a str> {
    facts.get(&format!("{UPSTREAM}{branch}"))?.strip_prefix(remote)?.strip_prefix(' ')
}
