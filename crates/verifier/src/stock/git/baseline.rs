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

/// Reads the facts that `git` checks compare with: the commit of every ref and of `HEAD`, and the
/// address of every remote. They belong into the manifest of the state before the delegate.
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
        let repository = Repository::at(workspace, launcher, timeout, cancel).await?;
        Ok((repository.tips().await?, repository.remotes().await?))
    };
    match read.await {
        Ok((tips, remotes)) => {
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

/// The commits that refs were at.
pub(super) fn tips(facts: &BTreeMap<String, String>) -> impl Iterator<Item = &str> {
    facts.iter().filter(|(name, _)| name.starts_with(TIP)).map(|(_, commit)| commit.as_str())
}

/// The address that a remote had.
pub(super) fn remote<'a>(facts: &'a BTreeMap<String, String>, name: &str) -> Option<&'a str> {
    facts.get(&format!("{REMOTE}{name}")).map(String::as_str)
}
