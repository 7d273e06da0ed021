//! `probity recheck`: does a verdict still say something about the world?

use std::sync::Arc;

use async_trait::async_trait;
use probity_core::{Delegation, Digest, Outcome, RunId};
use probity_delegate::{Answered, Conversation, Delegate, DelegateError};
use probity_engine::EngineError;
use probity_script::Script;
use probity_store::{Store, limits};
use probity_verifier::{Changes, JudgeManifest, Manifest, snapshot};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::CliError;
use super::args::RecheckArgs;
use super::log::{open_existing, resolve_run};
use super::present::{self, Style, Tone};
use crate::location::Programs;
use crate::prepare::prepare_unasked;
use crate::{Prepared, Recorded, Request, open_workspace};

/// Differences that a person is shown; `--json` has them all.
const MAX_SHOWN: usize = 50;

/// What a run's verdict is worth now.
#[derive(Debug, Serialize)]
struct Freshness {
    run_id: RunId,
    /// How the run ended; absent while it has not.
    outcome: Option<Outcome>,
    state: State,
    /// Where the workspace differs from the one that was judged.
    changed: Vec<Changed>,
    /// Files that decided, and are not what they were.
    judge: Vec<ChangedJudge>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// The world is as it was judged.
    Fresh,
    /// It has moved since.
    Stale,
    /// There is no verdict that could be fresh.
    NotVerified,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Changed {
    path: String,
    change: &'static str,
}

#[derive(Debug, Serialize)]
struct ChangedJudge {
    path: String,
    was: String,
    is: String,
}

/// Compares the world with the one that a run's last verdict saw. Runs nothing.
///
/// # Errors
/// [`CliError`] if there is no such run, or the workspace cannot be read.
pub(super) async fn recheck(args: &RecheckArgs, programs: &Programs) -> Result<u8, CliError> {
    let store = open_existing(&args.store).await?;
    let run = resolve_run(store.as_ref(), &args.run).await?;
    let freshness = freshness(store.as_ref(), run, programs).await?;
    match args.json {
        true => present::json(&freshness)?,
        false => drop(present::print(freshness.text(Style::of_stdout()).as_bytes())?),
    }
    Ok(match freshness.state {
        State::Fresh => 0,
        State::Stale => 1,
        State::NotVerified => Outcome::Unverified.exit_code(),
    })
}

async fn freshness(
    store: &dyn Store,
    run: RunId,
    programs: &Programs,
) -> Result<Freshness, CliError> {
    let Recorded { log, request, .. } = Recorded::read(store, &run).await?;
    let machine = Delegation::replay(&log.entries).map_err(EngineError::from)?;
    let outcome = machine.stage().outcome();
    let judged = machine.judged().last().and_then(|judged| judged.world);
    let (Some(Outcome::Verified), Some(judged)) = (outcome, judged) else {
        let (changed, judge) = (Vec::new(), Vec::new());
        return Ok(Freshness { run_id: run, outcome, state: State::NotVerified, changed, judge });
    };
    let before = stored(store, judged.manifest, "manifest", Manifest::from_bytes).await?;
    let sealed = match machine.baseline() {
        Some(world) => stored(store, world.judge, "judge", JudgeManifest::from_bytes).await?,
        None => stored(store, judged.judge, "judge", JudgeManifest::from_bytes).await?,
    };
    if request.workspace.as_ref().is_some_and(|workspace| !workspace.exists()) {
        let changed = vec![Changed { path: ".".to_owned(), change: "deleted" }];
        let (state, judge) = (State::Stale, Vec::new());
        return Ok(Freshness { run_id: run, outcome, state, changed, judge });
    }
    let now = Now::observe(request, &run, programs).await?;
    let changed = changes(&Changes::between(&before, &now.manifest));
    let judge = match now.plan.judge.as_sealed(&sealed).check(&sealed) {
        Ok(()) => Vec::new(),
        Err(tampered) => tampered
            .into_iter()
            .map(|file| ChangedJudge {
                was: file.was.to_string(),
                is: file.is.to_string(),
                path: file.path,
            })
            .collect(),
    };
    let is_fresh = changed.is_empty() && judge.is_empty();
    let state = if is_fresh { State::Fresh } else { State::Stale };
    Ok(Freshness { run_id: run, outcome, state, changed, judge })
}

/// The world now, looked at by the rules of the run.
struct Now {
    plan: probity_engine::Plan,
    manifest: Manifest,
}

impl Now {
    async fn observe(
        mut request: Request,
        run: &RunId,
        programs: &Programs,
    ) -> Result<Self, CliError> {
        // A verifier that is gone is a difference of the judge, not a reason to know nothing.
        request.verify_files.retain(|path| Script::from_file(path).is_ok());
        let workspace = open_workspace(&request)?;
        let Prepared { plan, .. } =
            prepare_unasked(&request, run.clone(), programs, workspace, Arc::new(Nobody))?;
        let (workspace, rules) = (Arc::clone(&plan.workspace), plan.snapshot.clone());
        let look = move || snapshot(&workspace, &rules, &CancellationToken::new());
        let manifest = tokio::task::spawn_blocking(look).await.map_err(|error| CliError::Io {
            what: "read the workspace",
            source: std::io::Error::other(error),
        })?;
        Ok(Self { plan, manifest: manifest? })
    }
}

/// Stands where a plan wants a delegate and nothing will be delegated.
pub(super) struct Nobody;

#[async_trait]
impl Delegate for Nobody {
    async fn attempt(&self, _: &probity_delegate::Request) -> Result<Answered, DelegateError> {
        Err(DelegateError::Cancelled)
    }

    fn conversation(&self) -> Conversation {
        Conversation::Fresh
    }

    fn describe(&self) -> String {
        "nobody".to_owned()
    }
}

async fn stored<T, E: std::fmt::Display>(
    store: &dyn Store,
    digest: Digest,
    what: &'static str,
    read: fn(&[u8]) -> Result<T, E>,
) -> Result<T, CliError> {
    let max_bytes = u64::try_from(limits::MAX_BLOB_BYTES).unwrap_or(u64::MAX);
    let bytes = store.get(&digest, max_bytes).await.map_err(EngineError::from)?;
    let bytes = bytes.ok_or(EngineError::BlobMissing { digest })?;
    let damaged = |error: E| EngineError::Content { what, digest, detail: error.to_string() };
    Ok(read(&bytes).map_err(damaged)?)
}

fn changes(changes: &Changes) -> Vec<Changed> {
    let lists = [
        ("created", &changes.created),
        ("modified", &changes.modified),
        ("deleted", &changes.deleted),
        ("mode_changed", &changes.mode_changed),
        ("undecided", &changes.undecided),
    ];
    let all = lists.into_iter().flat_map(|(change, paths)| {
        paths.iter().map(move |path| Changed { path: path.clone(), change })
    });
    all.collect()
}

impl Freshness {
    fn text(&self, style: Style) -> String {
        let run = &self.run_id;
        let headline = match (self.state, self.outcome) {
            (State::Fresh, _) => {
                let word = style.paint(Tone::Good, "FRESH");
                format!("{word}: run {run} is verified, and what it was judged on is unchanged")
            }
            (State::Stale, _) => {
                let word = style.paint(Tone::Bad, "STALE");
                let moved = self.changed.len().saturating_add(self.judge.len());
                let paths = if moved == 1 { "1 path" } else { &format!("{moved} paths") };
                format!("{word}: {paths} changed since run {run} was verified")
            }
            (State::NotVerified, outcome) => {
                let word = style.paint(Tone::Warn, "NOT VERIFIED");
                let how = outcome.map_or("is not finished".to_owned(), |it| format!("ended {it}"));
                format!("{word}: run {run} {how}; there is no verdict to go stale")
            }
        };
        let world = self.changed.iter().map(|it| {
            let change = it.change.replace('_', " ");
            format!("  {change:12}  {}", present::line(&it.path))
        });
        let judge = self.judge.iter().map(|it| {
            let path = present::line(&it.path);
            format!("  {:12}  {path}: was {}, is {}", "judge", it.was, it.is)
        });
        let mut lines = vec![headline];
        lines.extend(world.chain(judge).take(MAX_SHOWN));
        let hidden = self.changed.len().saturating_add(self.judge.len()).saturating_sub(MAX_SHOWN);
        if hidden > 0 {
            lines.push(format!("  and {hidden} more; --json lists them all"));
        }
        lines.push(String::new());
        lines.join("\n")
    }
}
