//! One private copy that is worked in: a check is run on it as any run of the engine, then it is put right.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use probity_core::{Claim, Entry, Outcome, RunId};
use probity_engine::{Engine, Report, SystemClock, Watch};
use probity_quality::{Bounds, Mutant, Tree, TreeError};
use probity_store::MemoryStore;
use probity_verifier::{IGNORED, NoFacts};
use tokio_util::sync::CancellationToken;

use super::mutator::Mutator;
use super::repository::{self, Moved, Remote};
use super::subject::{Subject, plain};
use super::{NEEDED, QualityError};
use crate::location::Programs;
use crate::prepare::prepare_unasked;
use crate::request::Request;
use crate::{Prepared, open_workspace};

/// The name of every trial: each is alone in its store.
const TRIAL: u128 = 1;
/// How long the moving back of a remote's ref may take.
const MOVE_TIMEOUT: Duration = Duration::from_secs(60);

/// What a check made of the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Judged {
    /// It passed.
    Passed,
    /// It did not, for this word.
    Refused(String),
    /// It broke, or could not tell.
    Broke(String),
    /// The change could not be made, so that nobody looked.
    NotMade(String),
}

/// One trial.
pub(super) struct Found {
    pub(super) judged: Judged,
    /// Why, in words.
    pub(super) reason: String,
    /// Weaknesses of the check that show without a trial.
    pub(super) warnings: Vec<String>,
}

/// One private copy, and the check that is tried on it.
pub(super) struct Bench {
    work: Arc<Mutex<Tree>>,
    whole: Arc<Tree>,
    /// Gone with the copy.
    held: PathBuf,
    scratch: PathBuf,
    request: Request,
    new_path: Option<String>,
    claim: Claim,
    remote: Option<Remote>,
    moved: Arc<Mutex<Option<Moved>>>,
    programs: Programs,
    cancel: CancellationToken,
    /// Whether the copy is as it was when it was made.
    is_right: bool,
}

impl Bench {
    pub(super) async fn make(
        subject: &Subject,
        whole: Arc<Tree>,
        folder: PathBuf,
        claim: Claim,
        now_s: i64,
        programs: &Programs,
        cancel: CancellationToken,
    ) -> Result<Self, QualityError> {
        let failed = |source| QualityError::Io { what: "make a folder for a copy", source };
        let made = tempfile::Builder::new().prefix("copy-").tempdir_in(&folder).map_err(failed)?;
        let held = made.keep();
        let (root, scratch) = (held.join("workspace"), held.join("scratch"));
        for folder in [&root, &scratch] {
            std::fs::create_dir(folder).map_err(failed)?;
        }
        let (from, token) = (Arc::clone(&whole), cancel.clone());
        let copied = tokio::task::spawn_blocking(move || {
            let keep = |_: &str, _: bool| true;
            let is_cancelled = || token.is_cancelled();
            Tree::copy(from.root(), &root, Bounds::default(), now_s, &keep, &is_cancelled)
        });
        let (tree, _) = copied.await.map_err(|error| failed(error.into()))??;
        let request = rebased(subject, &whole, tree.root());
        Ok(Self {
            request,
            work: Arc::new(Mutex::new(tree)),
            whole,
            held,
            scratch,
            new_path: new_path(subject),
            claim,
            remote: None,
            moved: Arc::default(),
            programs: programs.clone(),
            cancel,
            is_right: true,
        })
    }

    /// Tries another check from now on.
    pub(super) fn turn_to(&mut self, subject: &Subject) {
        let root = {
            let work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
            work.root().to_path_buf()
        };
        self.request = rebased(subject, &self.whole, &root);
        self.new_path = new_path(subject);
    }

    pub(super) fn with_remote(mut self, remote: Option<Remote>) -> Self {
        self.remote = remote;
        self
    }

    /// Runs the check with one thing changed, or with things as they are.
    ///
    /// # Errors
    /// [`TreeError::Cancelled`] once the token is; [`QualityError`] where the run could not be driven, or the
    /// copy not be put right.
    pub(super) async fn judge(&mut self, mutant: Option<&Mutant>) -> Result<Found, QualityError> {
        if self.cancel.is_cancelled() {
            return Err(TreeError::Cancelled.into());
        }
        if !self.is_right {
            self.put_right().await?;
        }
        self.is_right = false;
        if let Some(path) = &self.new_path {
            self.work.lock().unwrap_or_else(PoisonError::into_inner).remove(path)?;
        }
        let found = self.drive(mutant).await;
        let moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(moved) = moved {
            repository::put_right(&moved, &self.programs, MOVE_TIMEOUT).await;
        }
        if self.cancel.is_cancelled() {
            return Err(TreeError::Cancelled.into());
        }
        found
    }

    async fn drive(&self, mutant: Option<&Mutant>) -> Result<Found, QualityError> {
        let run = RunId::from_uuid(TRIAL);
        let workspace = open_workspace(&self.request)?;
        let mutator = Arc::new(self.mutator(mutant));
        let Prepared { mut plan, warnings } =
            prepare_unasked(&self.request, run.clone(), &self.programs, workspace, mutator)?;
        plan.facts = Arc::new(NoFacts);
        let store = Arc::new(MemoryStore::new());
        let engine = Engine::new(store.clone(), Arc::new(SystemClock));
        engine.run(plan, &Unwatched, self.cancel.child_token()).await?;
        let report = Report::read(store.as_ref(), &run).await?;
        let (judged, reason) = told(&report);
        Ok(Found { judged, reason, warnings })
    }

    fn mutator(&self, mutant: Option<&Mutant>) -> Mutator {
        Mutator {
            work: Arc::clone(&self.work),
            whole: Arc::clone(&self.whole),
            scratch: self.scratch.clone(),
            new_path: self.new_path.clone(),
            mutant: mutant.cloned(),
            remote: self.remote.clone(),
            moved: Arc::clone(&self.moved),
            claim: self.claim.clone(),
            programs: self.programs.clone(),
        }
    }

    /// The files of the workspace that are under seal for the check.
    pub(super) async fn sealed(&mut self) -> BTreeSet<String> {
        if self.put_right().await.is_err() {
            return BTreeSet::new();
        }
        let run = RunId::from_uuid(TRIAL);
        let Ok(workspace) = open_workspace(&self.request) else { return BTreeSet::new() };
        let mutator = Arc::new(self.mutator(None));
        let prepared = prepare_unasked(&self.request, run, &self.programs, workspace, mutator);
        let Ok(Prepared { plan, .. }) = prepared else { return BTreeSet::new() };
        let look = move || plan.judge.look().iter().map(|(key, _)| key.to_owned()).collect();
        tokio::task::spawn_blocking(look).await.unwrap_or_default()
    }

    /// Makes the copy what it was.
    async fn put_right(&mut self) -> Result<(), QualityError> {
        let (work, whole) = (Arc::clone(&self.work), Arc::clone(&self.whole));
        let restored = tokio::task::spawn_blocking(move || {
            let mut work = work.lock().unwrap_or_else(PoisonError::into_inner);
            work.restore(&whole, &fills_up)
        });
        let lost = |error: tokio::task::JoinError| QualityError::Io {
            what: "put the copy right",
            source: error.into(),
        };
        restored.await.map_err(lost)??;
        self.is_right = true;
        Ok(())
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = probity_quality::remove_folder(&self.held);
    }
}

fn new_path(subject: &Subject) -> Option<String> {
    subject.new_path().map(plain).filter(|path| !path.is_empty())
}

/// Folders that tools fill while they build may stay: they are none of the work, and slow to make.
fn fills_up(path: &str, is_folder: bool) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    is_folder && IGNORED.contains(&name) && !NEEDED.contains(&name)
}

/// The request with the copy for its workspace. Files of the original are those of the copy; one that is not in
/// the copy is not under seal in it either.
fn rebased(subject: &Subject, whole: &Tree, to: &Path) -> Request {
    let mut request = subject.request.clone();
    let inside = |path: &Path| {
        let below = subject.roots.iter().find_map(|root| path.strip_prefix(root).ok());
        below.map(Path::to_path_buf)
    };
    for path in &mut request.verify_files {
        if let Some(below) = inside(path).filter(|below| whole.root().join(below).exists()) {
            *path = to.join(below);
        }
    }
    if let Some(sandbox) = &mut request.sandbox {
        let folders = [&mut sandbox.writable, &mut sandbox.hidden, &mut sandbox.protected];
        for path in folders.into_iter().flatten() {
            if let Some(below) = inside(path) {
                *path = to.join(below);
            }
        }
    }
    let sealed = std::mem::take(&mut request.sealed);
    request.sealed = sealed
        .into_iter()
        .filter_map(|path| match inside(&path) {
            None => path.is_absolute().then_some(path),
            Some(below) => whole.root().join(&below).is_file().then(|| to.join(below)),
        })
        .collect();
    request.workspace = Some(to.to_path_buf());
    request
}

/// What a run of one check came to.
fn told(report: &Report) -> (Judged, String) {
    let check = report.checks.first();
    let code = check.and_then(|check| check.code.as_ref()).or(report.code.as_ref());
    let code = code.map_or_else(String::new, ToString::to_string);
    let reason = check.map(|check| check.reason.clone()).filter(|reason| !reason.is_empty());
    let why = || report.reason.clone().or_else(|| report.failure.clone()).unwrap_or_default();
    let reason = reason.unwrap_or_else(why);
    // A judge that was touched is told by the run, whatever the check said.
    let run_code = report.code.as_ref().map(ToString::to_string).unwrap_or_default();
    let judged = match report.outcome {
        Some(Outcome::Verified) => Judged::Passed,
        Some(Outcome::Exhausted) => Judged::Refused(code),
        Some(Outcome::Rejected) => Judged::Refused(run_code),
        Some(Outcome::DelegateFailed) => Judged::NotMade(run_code),
        _ => Judged::Broke(code),
    };
    (judged, reason)
}

struct Unwatched;

impl Watch for Unwatched {
    fn entry(&self, _: &Entry) {}
}
