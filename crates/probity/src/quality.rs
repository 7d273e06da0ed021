//! How much the checks of a request would miss: each is run, by the engine as ever, on private copies of the
//! workspace with one thing changed. The delegate of these runs is who makes the change and says "done".

mod aim;
mod bench;
mod mutator;
mod repository;
mod subject;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use globset::GlobSet;
use probity_core::Claim;
use probity_engine::EngineError;
use probity_quality::{
    Asked, Bounds, CheckQuality, Draw, Fate, LeftOut, Mutant, Operator, Role, State, Tree,
    TreeError, Tried, pick, suggestion,
};
use probity_verifier::{IGNORED, PathError, compile_glob};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::location::Programs;
use crate::prepare::PrepareError;
use crate::request::{Millis, Request};
use bench::{Bench, Found, Judged};
use subject::{Aim, Subject};

/// Folders that the snapshot leaves out and that a check may need all the same: no build makes them anew.
const NEEDED: [&str; 3] = [".git", "node_modules", ".venv"];
/// Copies that are worked in at the same time, at most.
pub(crate) const MAX_JOBS: usize = 8;

/// What is tried, and how much of it.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// What chance follows from.
    pub(crate) seed: u64,
    /// Mutants of one check.
    pub(crate) max_mutants: usize,
    /// Copies that are worked in at the same time.
    pub(crate) jobs: usize,
    /// The most that a check is given for one mutant; its own time where absent.
    pub(crate) timeout: Option<Millis>,
    /// Names of checks; all where empty.
    pub(crate) only: Vec<String>,
    /// Globs of the files that are changed for checks that run a program.
    pub(crate) files: Vec<String>,
    /// The same as paths, because a run changed them.
    pub(crate) changed: Vec<String>,
    /// What is claimed.
    pub(crate) claim: Claim,
    /// Seconds since the Unix epoch.
    pub(crate) now_s: i64,
}

/// What the checks of a request are worth.
#[derive(Debug, Serialize)]
pub(crate) struct Quality {
    /// The seed.
    pub(crate) seed: u64,
    /// Mutants of one check, at most.
    pub(crate) max_mutants: usize,
    /// The workspace, which was not touched.
    pub(crate) workspace: PathBuf,
    /// The checks, in order.
    pub(crate) checks: Vec<CheckQuality>,
    /// What is not in the copies.
    pub(crate) left_out: Vec<LeftOut>,
    /// Weaknesses of the checks that show without trying.
    pub(crate) warnings: Vec<String>,
}

/// Nothing can be said about the checks.
#[derive(Debug, thiserror::Error)]
pub(crate) enum QualityError {
    /// The checks cannot be set up.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// A glob.
    #[error(transparent)]
    Pattern(#[from] PathError),
    /// There is no check of a name.
    #[error("there is no check `{name}`; there are: {known}")]
    NoCheck {
        /// The name.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// There is no copy.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// A run could not be driven.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The operating system.
    #[error("cannot {what}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        source: std::io::Error,
    },
}

/// Told of what goes on.
pub(crate) trait Witness: Send + Sync {
    /// A mutant of a check is tried: its number of how many, and what it is.
    fn trying(&self, check: &str, number: usize, of: usize, what: &str);
}

/// Tries the checks of a request, whose project is applied and whose paths are absolute.
///
/// # Errors
/// [`QualityError`]; [`TreeError::Cancelled`] once the token is. No copy is left behind.
pub(crate) async fn quality(
    request: &Request,
    options: &Options,
    programs: &Programs,
    witness: &dyn Witness,
    cancel: &CancellationToken,
) -> Result<Quality, QualityError> {
    let root = request.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
    let subjects = subject::subjects(request, options)?;
    let folder = Folder::make()?;
    let (whole, left_out) = copy(&root, &folder.0, &subjects, request, options, cancel).await?;
    let (whole, idle) = (Arc::new(whole), Vec::new());
    let mut shelf = Shelf { whole, folder: folder.0.clone(), options, programs, idle };
    let (mut checks, mut warnings) = (Vec::new(), Vec::new());
    for subject in &subjects {
        let started = Instant::now();
        let mut found = shelf.check(subject, witness, cancel, &mut warnings).await?;
        found.elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        checks.push(found);
    }
    warnings.sort();
    warnings.dedup();
    drop(shelf);
    let (seed, max_mutants) = (options.seed, options.max_mutants);
    Ok(Quality { seed, max_mutants, workspace: root, checks, left_out, warnings })
}

/// A folder of our own, gone with all that is in it when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn make() -> Result<Self, QualityError> {
        let failed = |source| QualityError::Io { what: "make a temporary folder", source };
        let made = tempfile::Builder::new().prefix("probity-quality-").tempdir().map_err(failed)?;
        let path = made.path().canonicalize().map_err(failed)?;
        // Its own removal stops at folders that may not be written.
        let _ = made.keep();
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = probity_quality::remove_folder(&self.0);
    }
}

/// Copies the workspace, as the rules of its snapshot and the needs of the checks have it.
async fn copy(
    root: &Path,
    folder: &Path,
    subjects: &[Subject],
    request: &Request,
    options: &Options,
    cancel: &CancellationToken,
) -> Result<(Tree, Vec<LeftOut>), QualityError> {
    let keep = Keep::new(request, subjects)?;
    let (root, to) = (root.to_path_buf(), folder.join("whole"));
    let (now_s, cancel) = (options.now_s, cancel.clone());
    let failed = |source| QualityError::Io { what: "copy the workspace", source };
    let work = move || {
        std::fs::create_dir(&to).map_err(failed)?;
        let kept = |path: &str, is_folder: bool| keep.keeps(path, is_folder);
        let copied =
            Tree::copy(&root, &to, Bounds::default(), now_s, &kept, &|| cancel.is_cancelled());
        Ok(copied?)
    };
    tokio::task::spawn_blocking(work).await.map_err(|error| failed(error.into()))?
}

/// What comes along into the copies.
struct Keep {
    ignored: GlobSet,
    /// Paths that checks name: they come along from wherever they are.
    named: Vec<String>,
}

impl Keep {
    fn new(request: &Request, subjects: &[Subject]) -> Result<Self, QualityError> {
        let built_in = IGNORED.iter().filter(|name| !NEEDED.contains(name));
        let built_in = built_in.map(|name| format!("**/{name}/"));
        let own = [".probity/*.db", ".probity/*.db-{wal,shm,journal}"].map(str::to_owned);
        let patterns: Vec<String> =
            built_in.chain(own).chain(request.ignore.iter().cloned()).collect();
        let named = subjects.iter().flat_map(Subject::named).collect();
        Ok(Self { ignored: aim::globs(&patterns)?, named })
    }

    fn keeps(&self, path: &str, is_folder: bool) -> bool {
        let mut ends = path.match_indices('/').map(|(at, _)| (at, true)).collect::<Vec<_>>();
        ends.push((path.len(), is_folder));
        let is_ignored = ends.into_iter().any(|(end, is_folder)| {
            let part = path.get(..end).unwrap_or(path);
            self.ignored.is_match(part) || (is_folder && self.ignored.is_match(format!("{part}/")))
        });
        let below = |path: &str, folder: &str| {
            path == folder || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
        };
        !is_ignored || self.named.iter().any(|named| below(path, named) || below(named, path))
    }
}

/// What all checks are tried with.
struct Shelf<'a> {
    /// The copy that nobody changes.
    whole: Arc<Tree>,
    folder: PathBuf,
    options: &'a Options,
    programs: &'a Programs,
    /// Copies that another check was tried on.
    idle: Vec<Bench>,
}

impl Shelf<'_> {
    async fn check(
        &mut self,
        subject: &Subject,
        witness: &dyn Witness,
        cancel: &CancellationToken,
        warnings: &mut Vec<String>,
    ) -> Result<CheckQuality, QualityError> {
        let (id, kind) = (subject.id.as_str(), subject.kind);
        if let Aim::Nothing(why) = &subject.aim {
            return Ok(CheckQuality::unscored(id, kind, State::NotTried, why, None));
        }
        let remote =
            repository::Remote::of(subject, &self.whole, &self.folder, self.programs).await;
        let mut bench = self.bench(subject, &remote, cancel).await?;
        witness.trying(id, 0, 0, "as things are");
        let Found { judged, reason, warnings: told } = bench.judge(None).await?;
        warnings.extend(told);
        let unscored = match &judged {
            Judged::Passed => None,
            Judged::Refused(code) => Some((State::Red, code)),
            Judged::Broke(code) | Judged::NotMade(code) => Some((State::Broken, code)),
        };
        if let Some((state, code)) = unscored {
            self.keep(bench, &remote);
            return Ok(CheckQuality::unscored(id, kind, state, &reason, Some(code)));
        }
        let mutants = self.mutants(subject, &mut bench, &remote).await;
        if mutants.iter().all(|mutant| mutant.operator.is_control()) {
            let why = subject.aim.nothing_found();
            self.keep(bench, &remote);
            return Ok(CheckQuality::unscored(id, kind, State::NotTried, why, None));
        }
        let tried = self.try_all(subject, bench, &remote, mutants, witness, cancel).await?;
        Ok(CheckQuality::of(id, kind, tried))
    }

    /// A copy for a check: one that is there, or another one. Where the check asks a copy of a remote, the
    /// repository says so, and that is in no copy of before.
    async fn bench(
        &mut self,
        subject: &Subject,
        remote: &Option<repository::Remote>,
        cancel: &CancellationToken,
    ) -> Result<Bench, QualityError> {
        if remote.is_none()
            && let Some(mut bench) = self.idle.pop()
        {
            bench.turn_to(subject);
            return Ok(bench);
        }
        let (claim, now_s) = (self.options.claim.clone(), self.options.now_s);
        let (whole, folder) = (Arc::clone(&self.whole), self.folder.clone());
        let made = Bench::make(subject, whole, folder, claim, now_s, self.programs, cancel.clone())
            .await?;
        Ok(made.with_remote(remote.clone()))
    }

    fn keep(&mut self, bench: Bench, remote: &Option<repository::Remote>) {
        if remote.is_none() {
            self.idle.push(bench);
        }
    }

    /// What is tried: the mutants, and the controls behind them.
    async fn mutants(
        &self,
        subject: &Subject,
        bench: &mut Bench,
        remote: &Option<repository::Remote>,
    ) -> Vec<Mutant> {
        let mut draw = Draw::new(self.options.seed, subject.id.as_str());
        let all = match &subject.aim {
            Aim::Repository(spec) => {
                repository::mutants(spec, &self.whole, remote, self.programs, &mut draw).await
            }
            _ => {
                let sealed = bench.sealed().await;
                aim::mutants(subject, self.options, &self.whole, &sealed, &self.folder, &mut draw)
            }
        };
        let touched = all.iter().find(|it| self.whole.files().any(|file| file == it.path));
        let touched = touched.map(|it| Mutant::outside(Operator::Touch, &it.path, it.role));
        let mut picked = pick(all, self.options.max_mutants, &mut draw);
        picked.push(Mutant::outside(Operator::Nothing, "", Role::Work));
        picked.extend(touched);
        picked
    }

    /// Tries every mutant, in as many copies as are wanted; in their order, whoever was first.
    async fn try_all(
        &mut self,
        subject: &Subject,
        first: Bench,
        remote: &Option<repository::Remote>,
        mutants: Vec<Mutant>,
        witness: &dyn Witness,
        cancel: &CancellationToken,
    ) -> Result<Vec<Tried>, QualityError> {
        // A remote is one for all copies, and two would move its refs at once.
        let jobs = if remote.is_some() { 1 } else { self.options.jobs.clamp(1, MAX_JOBS) };
        let mut benches = vec![first];
        while benches.len() < jobs.min(mutants.len()) {
            benches.push(self.bench(subject, remote, cancel).await?);
        }
        let of = mutants.len();
        let mut queue = mutants.into_iter().zip(0_usize..);
        let mut at_work = tokio::task::JoinSet::new();
        let mut judged: Vec<(usize, Mutant, Found)> = Vec::new();
        let mut failure = None;
        loop {
            while failure.is_none() && !benches.is_empty() {
                let Some((mutant, number)) = queue.next() else { break };
                let Some(mut bench) = benches.pop() else { break };
                witness.trying(subject.id.as_str(), number.saturating_add(1), of, &mutant.what());
                at_work.spawn(async move {
                    let found = bench.judge(Some(&mutant)).await;
                    (bench, number, mutant, found)
                });
            }
            match at_work.join_next().await {
                None => break,
                Some(Ok((bench, number, mutant, Ok(found)))) => {
                    benches.push(bench);
                    judged.push((number, mutant, found));
                }
                Some(Ok((.., Err(error)))) => failure = failure.or(Some(error)),
                Some(Err(error)) => {
                    let source = error.into();
                    let lost = QualityError::Io { what: "try a mutant", source };
                    failure = failure.or(Some(lost));
                }
            }
        }
        if let Some(error) = failure {
            return Err(error);
        }
        benches.into_iter().for_each(|bench| self.keep(bench, remote));
        judged.sort_by_key(|(number, ..)| *number);
        let undeclared = subject.undeclared();
        let tried = judged.into_iter();
        Ok(tried
            .filter_map(|(_, mutant, found)| told(subject, &undeclared, mutant, found))
            .collect())
    }
}

/// What came of one mutant; none where it could not be made.
fn told(subject: &Subject, undeclared: &[String], mutant: Mutant, found: Found) -> Option<Tried> {
    let (fate, code) = match found.judged {
        Judged::Passed => (Fate::Missed, None),
        Judged::Refused(code) => (Fate::Caught, Some(code)),
        Judged::Broke(code) => (Fate::Fault, Some(code)),
        Judged::NotMade(_) => return None,
    };
    let covers = |glob: &&String| {
        compile_glob(glob).is_ok_and(|glob| glob.compile_matcher().is_match(&mutant.path))
    };
    let undeclared = undeclared.iter().find(covers).map(String::as_str);
    let asked = Asked { kind: subject.kind, undeclared };
    Some(Tried {
        operator: mutant.operator,
        line: mutant.line(),
        what: mutant.what(),
        fate,
        code,
        suggestion: suggestion(&asked, mutant.operator, mutant.role, &mutant.path),
        path: mutant.path,
    })
}
