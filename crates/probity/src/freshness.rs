//! Whether a verdict still says something about the world.

use std::sync::Arc;

use async_trait::async_trait;
use probity_core::{Delegation, Digest, Outcome, RunId};
use probity_delegate::{Answered, Conversation, Delegate, DelegateError};
use probity_engine::EngineError;
use probity_script::Script;
use probity_store::{Store, limits};
use probity_verifier::{Changes, JudgeManifest, Manifest, SnapshotError, snapshot};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::location::Programs;
use crate::prepare::prepare_unasked;
use crate::{PrepareError, Prepared, Recorded, Request, open_workspace};

/// What a run's verdict is worth now.
#[derive(Debug, Serialize)]
pub(crate) struct Freshness {
    pub(crate) run_id: RunId,
    /// How the run ended; absent while it has not.
    pub(crate) outcome: Option<Outcome>,
    pub(crate) state: State,
    /// Where the workspace differs from the one that was judged.
    pub(crate) changed: Vec<Changed>,
    /// Files that decided, and are not what they were.
    pub(crate) judge: Vec<ChangedJudge>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    /// The world is as it was judged.
    Fresh,
    /// It has moved since.
    Stale,
    /// There is no verdict that could be fresh.
    NotVerified,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Changed {
    pub(crate) path: String,
    pub(crate) change: &'static str,
}

#[derive(Debug, Serialize)]
pub(crate) struct ChangedJudge {
    pub(crate) path: String,
    pub(crate) was: String,
    pub(crate) is: String,
}

/// Nobody can say whether the world has moved.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FreshnessError {
    /// The run cannot be read.
    #[error(transparent)]
    Run(#[from] EngineError),
    /// What it was judged by cannot be made again.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The workspace cannot be read.
    #[error("cannot read the workspace: {0}")]
    Snapshot(#[from] SnapshotError),
    /// The operating system.
    #[error("cannot read the workspace: {0}")]
    Io(#[from] std::io::Error),
}

impl FreshnessError {
    /// The stable machine word.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Run(error) => error.code(),
            Self::Prepare(error) => error.code(),
            Self::Snapshot(error) => error.code(),
            Self::Io(_) => "io",
        }
    }
}

/// Compares the world with the one that a run's last verdict saw. Runs nothing.
///
/// # Errors
/// [`FreshnessError`] if there is no such run, or the workspace cannot be read.
pub(crate) async fn freshness(
    store: &dyn Store,
    recorded: Recorded,
    programs: &Programs,
) -> Result<Freshness, FreshnessError> {
    let Recorded { log, request, .. } = recorded;
    let run = log.run.clone();
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

/// The files that were not before a run what they were when its last claim was judged.
///
/// # Errors
/// [`FreshnessError`] if its log or what it names is damaged.
pub(crate) async fn changed_by(
    store: &dyn Store,
    recorded: &Recorded,
) -> Result<Vec<String>, FreshnessError> {
    let machine = Delegation::replay(&recorded.log.entries).map_err(EngineError::from)?;
    let judged = machine.judged().last().and_then(|judged| judged.world);
    let (Some(before), Some(after)) = (machine.baseline(), judged) else { return Ok(Vec::new()) };
    let before = stored(store, before.manifest, "manifest", Manifest::from_bytes).await?;
    let after = stored(store, after.manifest, "manifest", Manifest::from_bytes).await?;
    let Changes { created, modified, .. } = Changes::between(&before, &after);
    Ok(created.into_iter().chain(modified).collect())
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
    ) -> Result<Self, FreshnessError> {
        // A verifier that is gone is a difference of the judge, not a reason to know nothing.
        request.verify_files.retain(|path| Script::from_file(path).is_ok());
        let workspace = open_workspace(&request)?;
        let Prepared { plan, .. } =
            prepare_unasked(&request, run.clone(), programs, workspace, Arc::new(Nobody))?;
        let (workspace, rules) = (Arc::clone(&plan.workspace), plan.snapshot.clone());
        let look = move || snapshot(&workspace, &rules, &CancellationToken::new());
        let manifest = tokio::task::spawn_blocking(look).await.map_err(std::io::Error::other)?;
        Ok(Self { plan, manifest: manifest? })
    }
}

/// Stands where a plan wants a delegate and nothing will be delegated.
pub(crate) struct Nobody;

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
) -> Result<T, FreshnessError> {
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
