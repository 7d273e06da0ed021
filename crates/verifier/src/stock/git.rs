//! `git:REF`: a commit, where it came from and where it went.
//!
//! | Situation | Result |
//! |---|---|
//! | the workspace's root holds no repository | revise `git_no_repository` |
//! | the same, it held none before the run either, and a folder above it does | fault `git_not_at_root` |
//! | the ref or id names no commit | revise `git_missing` |
//! | `created`, and the commit was in the history of a ref before the run | revise `git_not_created`; always so before the delegate |
//! | `clean`, and something is staged, differs from `HEAD` in content, or is untracked | revise `git_dirty` |
//! | `pushed`, and there is no such remote | revise `git_no_remote` |
//! | `pushed` of a branch or a tag, and the remote's ref of the same name is neither at the commit nor past it | revise `git_not_pushed` |
//! | `pushed` of `HEAD` on a branch, and the same of the branch's name and of what it followed on that remote before the run | revise `git_not_pushed` |
//! | `pushed` of a commit id, or of a `HEAD` that was on no branch before either, and the same of every ref of the remote | revise `git_not_pushed` |
//! | `contains_path`, and the commit's tree lacks it | revise `git_no_path` |
//! | `reachable_from`, and that ref is missing or its history lacks the commit | revise `git_not_reachable` |
//! | the remote does not answer, or not in time | inconclusive `git_remote_unreachable`, `git_timeout` |
//! | Git fails in another way, for example on a damaged repository | inconclusive `git_failed` |
//! | Git is not installed, cannot be started or watched | fault `git_not_found`, or the code of [`SandboxError`] |
//! | the remote is on a host that the egress policy does not allow, or speaks another protocol | fault `egress_denied` |
//! | `created`, and the run holds no [`baseline`] | fault `git_no_baseline` |
//! | `clean`, and no temporary folder outside the workspace can be made | fault `git_no_scratch` |
//!
//! Only commands that read are run. The repository's configuration, which the delegate may have
//! written, can start no program through them: hooks, the file-system monitor and the pager are off,
//! replaced objects and grafts are not followed, missing objects are not fetched. A remote that was there before the run is asked at the address it had then.
//!
//! `clean` hashes every tracked file anew. Untracked files are left out only by a `.gitignore` that
//! `HEAD` holds, or by `.git/info/exclude` if it is that of before the run; an untracked `.gitignore`
//! is itself dirty, and the lists of `core.excludesFile` do not count. Filters of the repository's
//! own configuration do not run, so the files that such a filter rewrites are dirty; filters of the
//! user's or the system's configuration run.

mod baseline;
mod clean;
mod plumbing;
mod pushed;
mod remote;

use std::collections::BTreeMap;
use std::path::Path;

use async_trait::async_trait;
use probity_core::{Evidence, Fault, Phase, Verdict};
use probity_egress::EgressPolicy;
use probity_sandbox::Launcher;

pub use baseline::{BASELINE_PRESENT, baseline};

use self::plumbing::{Repository, Stop};
use self::pushed::{Destination, Known, destination};
use super::place::locate;
use super::tally::Tally;
use super::{first_words, unanswered};
use crate::spec::GitSpec;
use crate::{CheckContext, Verifier};

/// Paths that a reason names.
const MAX_NAMED: usize = 5;

/// The effect `git`.
#[derive(Debug)]
pub struct Git {
    spec: GitSpec,
    launcher: Launcher,
    policy: EgressPolicy,
}

impl Git {
    /// The effect of a spec.
    #[must_use]
    pub const fn new(spec: GitSpec, launcher: Launcher, policy: EgressPolicy) -> Self {
        Self { spec, launcher, policy }
    }

    async fn judge(&self, ctx: &CheckContext) -> Result<Tally, Stop> {
        let spec = &self.spec;
        let mut tally = Tally::default();
        let source = format!("git:{}", spec.reference);
        let repository = Repository::open(ctx, &self.launcher);
        let shown = &spec.reference;
        if spec.exists {
            tally.key("exists");
        }
        let Some(commit) = repository.commit(shown).await? else {
            tally.saw(Evidence::new(source, "absent"));
            tally.miss("git_missing", format!("`{shown}` names no commit"));
            return Ok(tally);
        };
        tally.saw(Evidence::new(source, commit.clone()));
        if spec.created {
            self.created(&repository, &commit, ctx, &mut tally).await?;
        }
        if spec.clean {
            clean(&repository, ctx, &mut tally).await?;
        }
        if let Some(name) = &spec.pushed {
            self.pushed(&repository, &commit, name, ctx, &mut tally).await?;
        }
        for path in &spec.contains_path {
            tally.key("contains_path");
            if !repository.has_path(&commit, path).await? {
                let path = first_words(path, 120);
                tally.miss("git_no_path", format!("the commit of `{shown}` holds no `{path}`"));
            }
        }
        if let Some(from) = &spec.reachable_from {
            tally.key("reachable_from");
            match repository.commit(from).await? {
                None => tally.miss("git_not_reachable", format!("`{from}` names no commit")),
                Some(tip) if repository.reaches(std::slice::from_ref(&tip), &commit).await? => {}
                Some(_) => tally.miss(
                    "git_not_reachable",
                    format!("the commit of `{shown}` is not in the history of `{from}`"),
                ),
            }
        }
        Ok(tally)
    }

    async fn created(
        &self,
        repository: &Repository<'_>,
        commit: &str,
        ctx: &CheckContext,
        tally: &mut Tally,
    ) -> Result<(), Stop> {
        tally.key("created");
        let facts = ctx.before.facts();
        let was_there = match ctx.phase {
            Phase::Before => true,
            Phase::After if !facts.contains_key(BASELINE_PRESENT) => {
                return Err(Stop::Fault(Fault::new(
                    "git_no_baseline",
                    "the run holds no record of the refs before it, so `created` cannot be told",
                )));
            }
            Phase::After => {
                let tips: Vec<String> = baseline::tips(facts).map(str::to_owned).collect();
                repository.reaches(&tips, commit).await?
            }
        };
        if was_there {
            let reason =
                format!("the commit of `{}` was there before the run", self.spec.reference);
            tally.miss("git_not_created", format!("{reason}; expected a new one"));
        }
        Ok(())
    }

    async fn pushed(
        &self,
        repository: &Repository<'_>,
        commit: &str,
        name: &str,
        ctx: &CheckContext,
        tally: &mut Tally,
    ) -> Result<(), Stop> {
        tally.key("pushed");
        let before = baseline::remote(ctx.before.facts(), name).map(str::to_owned);
        let url = match before {
            Some(url) => Some(url),
            None if baseline::was_present(ctx.before.facts()) => {
                let reason = format!("there was no remote called `{name}` before the run");
                tally.miss("git_no_remote", reason);
                return Ok(());
            }
            None => repository.remotes().await?.remove(name),
        };
        let Some(url) = url else {
            tally.miss("git_no_remote", format!("there is no remote called `{name}`"));
            return Ok(());
        };
        remote::permit(&url, &self.policy).await?;
        let refs = repository.remote_refs(&url).await?;
        tally.saw(Evidence::new(format!("git-remote:{name}"), format!("{} refs", refs.len())));
        let now = repository.branch().await?;
        let before = ctx.before.facts();
        let branch = now.as_deref().or_else(|| baseline::branch(before));
        let tips = repository.tips().await?;
        let upstream = branch.and_then(|branch| baseline::upstream(before, branch, name));
        let known = Known { tips: &tips, branch, upstream, remote: name };
        let shown = &self.spec.reference;
        let wanted = match destination(shown, commit, &known) {
            Destination::Anywhere => {
                let tips: Vec<String> = refs.into_values().collect();
                if !holds(repository, &tips, commit).await? {
                    let reason = format!("no ref of the remote `{name}` holds the commit of");
                    tally.miss("git_not_pushed", format!("{reason} `{shown}`"));
                }
                return Ok(());
            }
            Destination::Refs(wanted) => wanted,
        };
        for any in wanted {
            let tips: Vec<String> = any
                .iter()
                // The second is the commit of an annotated tag.
                .flat_map(|wanted| [wanted.clone(), format!("{wanted}^{{}}")])
                .filter_map(|wanted| refs.get(&wanted).cloned())
                .collect();
            if !holds(repository, &tips, commit).await? {
                let any =
                    any.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ");
                let reason = if tips.is_empty() {
                    format!("the remote `{name}` has no {any}; push `{shown}` to it")
                } else {
                    format!("{any} of the remote `{name}` does not hold the commit of `{shown}`")
                };
                tally.miss("git_not_pushed", reason);
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Verifier for Git {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        match locate(ctx, ".git") {
            Err(error) => return unanswered(&error),
            Ok(place) if place.stat.is_none() => {
                return match baseline::was_present(ctx.before.facts()) {
                    false => not_at_root(ctx).map_or_else(|| Ok(no_repository(&self.spec)), Err),
                    // The delegate removed it.
                    true => Ok(no_repository(&self.spec)),
                };
            }
            Ok(place) if place.new_link.is_some() => return Ok(no_repository(&self.spec)),
            Ok(_) => {}
        }
        match self.judge(ctx).await {
            Ok(tally) => Ok(tally.verdict()),
            Err(Stop::NoRepository) => Ok(no_repository(&self.spec)),
            Err(Stop::Verdict(verdict)) => Ok(*verdict),
            Err(Stop::Fault(fault)) => Err(fault),
        }
    }
}

/// Whether one of the tips of a remote is at the commit or past it.
async fn holds(repository: &Repository<'_>, tips: &[String], commit: &str) -> Result<bool, Stop> {
    Ok(tips.iter().any(|tip| tip == commit) || repository.reaches(tips, commit).await?)
}

/// The fault of a workspace inside a repository: the delegate's commits would go to that one.
fn not_at_root(ctx: &CheckContext) -> Option<Fault> {
    let root = ctx.workspace.root();
    let around = root.ancestors().skip(1).find(|folder| is_repository(folder))?;
    let (root, around) = (root.display(), around.display());
    let message =
        format!("the workspace `{root}` is a folder inside the Git repository `{around}`");
    let advice = "make the repository's root the workspace, or run `git init` in the workspace";
    Some(Fault::new("git_not_at_root", format!("{message}; {advice}")))
}

/// Whether a folder is the root of a repository; a linked work tree has a file for `.git`.
fn is_repository(folder: &Path) -> bool {
    let git = folder.join(".git");
    git.is_file() || (git.join("HEAD").exists() && git.join("objects").is_dir())
}

fn no_repository(spec: &GitSpec) -> Verdict {
    Verdict::revise("git_no_repository", "the workspace is not a Git repository")
        .with_evidence(Evidence::new(format!("git:{}", spec.reference), "no repository"))
}

async fn clean(
    repository: &Repository<'_>,
    ctx: &CheckContext,
    tally: &mut Tally,
) -> Result<(), Stop> {
    tally.key("clean");
    let with_own_excludes = baseline::excludes_are_kept(ctx.before.facts(), &ctx.workspace);
    let dirty = clean::dirty(repository, with_own_excludes).await?;
    if dirty.is_empty() {
        return Ok(());
    }
    let named: BTreeMap<&str, ()> =
        dirty.iter().take(MAX_NAMED).map(|path| (path.as_str(), ())).collect();
    let mut reason = named
        .keys()
        .map(|path| format!("`{}`", first_words(path, 120)))
        .collect::<Vec<_>>()
        .join(", ");
    if dirty.len() > MAX_NAMED {
        reason.push_str(" and more");
    }
    tally.miss("git_dirty", format!("the working tree is not clean: {reason}"));
    Ok(())
}
