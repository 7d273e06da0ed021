//! Which files are changed for a check, and what each of them is to it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use globset::{GlobSet, GlobSetBuilder};
use probity_quality::{
    Draw, FileKind, MAX_CONTENT_BYTES, Mutant, Operator, Role, Tree, changes, looks_like_test,
};
use probity_verifier::{CommandLine, PathError, Role as Naming, Workspace, compile_glob};

use super::Options;
use super::subject::{Aim, Subject, plain};
use crate::POLICY_PATH;

/// Files that are changed for one check: what it looks at, and what decides.
const MAX_WORK: usize = 24;
const MAX_JUDGES: usize = 8;
/// Files in a folder that a check names.
const MAX_BELOW: usize = 4;
/// The name of what appears where nothing of it was.
const NEW: &str = "probity-mutant";

/// Everything that could be changed for a check, in files.
pub(super) fn mutants(
    subject: &Subject,
    options: &Options,
    whole: &Tree,
    sealed: &BTreeSet<String>,
    scratch: &Path,
    draw: &mut Draw,
) -> Vec<Mutant> {
    let mut found = Vec::new();
    for (path, role) in targets(subject, options, whole, sealed, draw) {
        // What is still in its log would be missing from the database itself.
        let has_log = whole.read(&format!("{path}-wal"), u64::MAX).ok().flatten();
        let is_open = has_log.is_some_and(|log| !log.is_empty());
        let content = match is_open {
            true => None,
            false => whole.read(&path, MAX_CONTENT_BYTES).ok().flatten(),
        };
        found.extend(changes(&path, role, content.as_deref(), scratch, draw));
    }
    if let Aim::Others(globs) = &subject.aim
        && self::globs(globs).is_ok_and(|globs| !globs.is_match(NEW))
        && !whole.holds(NEW)
    {
        found.push(Mutant::outside(Operator::Create, NEW, Role::Untouchable));
    }
    found
}

/// The glob set of patterns, as everything else of the workspace is matched.
///
/// # Errors
/// [`PathError::Pattern`].
pub(super) fn globs<S: AsRef<str>>(patterns: &[S]) -> Result<GlobSet, PathError> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(compile_glob(pattern.as_ref())?);
    }
    set.build().map_err(|error| PathError::Pattern {
        pattern: patterns.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(" "),
        why: error.kind().to_string(),
    })
}

fn targets(
    subject: &Subject,
    options: &Options,
    whole: &Tree,
    sealed: &BTreeSet<String>,
    draw: &mut Draw,
) -> Vec<(String, Role)> {
    match &subject.aim {
        Aim::File { path, .. } => vec![(plain(path), Role::Named)],
        Aim::Absent(path) => vec![(plain(path), Role::Absent)],
        Aim::Folder { path, .. } => folder(&plain(path), whole, draw),
        Aim::Others(patterns) => {
            let own = globs(patterns).unwrap_or_else(|_| GlobSet::empty());
            let mut others: Vec<&str> = ours(whole).filter(|file| !own.is_match(file)).collect();
            draw.shuffle(&mut others);
            others.into_iter().take(MAX_WORK).map(|it| (it.to_owned(), Role::Untouchable)).collect()
        }
        Aim::Program { line, source } => {
            let mut files = match chosen(options, whole) {
                Some(files) => files,
                None => mentioned(line.as_deref(), source.as_deref(), whole),
            };
            if !files.values().any(|role| *role != Role::Judge) && options.files.is_empty() {
                files.extend(likely(whole));
            }
            roles(subject, files, sealed, draw)
        }
        Aim::Nothing(_) | Aim::Repository(_) => Vec::new(),
    }
}

fn folder(path: &str, whole: &Tree, draw: &mut Draw) -> Vec<(String, Role)> {
    let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
    let mut below: Vec<&str> = ours(whole).filter(|file| file.starts_with(&prefix)).collect();
    draw.shuffle(&mut below);
    let itself = (!path.is_empty()).then(|| (path.to_owned(), Role::NamedFolder));
    let below = below.into_iter().take(MAX_BELOW).map(|file| (file.to_owned(), Role::Work));
    itself.into_iter().chain(below).collect()
}

/// The files that somebody chose.
fn chosen(options: &Options, whole: &Tree) -> Option<BTreeMap<String, Role>> {
    let by_glob = globs(&options.files).unwrap_or_else(|_| GlobSet::empty());
    let is_chosen =
        |file: &&str| by_glob.is_match(file) || options.changed.iter().any(|it| it == file);
    let files = whole.files().filter(is_chosen).map(|file| (file.to_owned(), Role::Work));
    let is_asked = !options.files.is_empty() || !options.changed.is_empty();
    is_asked.then(|| files.collect())
}

/// The files that a command line or a script names.
fn mentioned(line: Option<&str>, source: Option<&str>, whole: &Tree) -> BTreeMap<String, Role> {
    let mut found = BTreeMap::new();
    if let (Some(line), Ok(workspace)) = (line, Workspace::open(whole.root())) {
        for named in CommandLine::of_line(line).files_named_in(&workspace) {
            let role = if named.role == Naming::Judge { Role::Judge } else { Role::Named };
            found.insert(named.path, role);
        }
    }
    if let Some(source) = source {
        let is_in = |file: &&str| {
            [format!("\"{file}\""), format!("'{file}'")].iter().any(|text| source.contains(text))
        };
        found.extend(ours(whole).filter(is_in).map(|file| (file.to_owned(), Role::Named)));
    }
    found
}

/// The files that a program may read although nobody says so: code, data and tests, not words for people.
fn likely(whole: &Tree) -> impl Iterator<Item = (String, Role)> {
    let is_likely = |file: &&str| {
        let content = whole.read(file, MAX_CONTENT_BYTES).ok().flatten().unwrap_or_default();
        !matches!(FileKind::of(file, &content), FileKind::Prose)
    };
    ours(whole).filter(is_likely).map(|file| (file.to_owned(), Role::Work))
}

/// The files of the project itself: not what was installed, not the history, not our own.
fn ours(whole: &Tree) -> impl Iterator<Item = &str> {
    whole.files().filter(|file| {
        let mut folders = file.split('/').rev().skip(1);
        !folders.any(|folder| super::NEEDED.contains(&folder) || folder == POLICY_PATH)
    })
}

/// What each file is to the check, and a bounded number of each kind.
fn roles(
    subject: &Subject,
    files: BTreeMap<String, Role>,
    sealed: &BTreeSet<String>,
    draw: &mut Draw,
) -> Vec<(String, Role)> {
    let known = globs(&subject.undeclared()).unwrap_or_else(|_| GlobSet::empty());
    let (mut judges, mut work) = (Vec::new(), Vec::new());
    for (file, role) in files {
        let decides = role == Role::Judge
            || sealed.contains(&file)
            || (role == Role::Work && (looks_like_test(&file) || known.is_match(&file)));
        match decides {
            true => judges.push((file, Role::Judge)),
            false => work.push((file, role)),
        }
    }
    draw.shuffle(&mut judges);
    draw.shuffle(&mut work);
    judges.truncate(MAX_JUDGES);
    work.truncate(MAX_WORK);
    judges.into_iter().chain(work).collect()
}
