//! The checks of a request, one by one: each with a request that asks for it alone, and what of the world can
//! be changed that it is about.

use std::path::PathBuf;

use probity_core::{Code, RedFirst};
use probity_verifier::spec::{CheckSpec, Effect, GitSpec, Source, assign_ids};
use probity_verifier::{CommandLine, undeclared_inputs};

use super::{Options, QualityError, aim};
use crate::prepare::PrepareError;
use crate::request::Request;

const AT_SERVER: &str = "it asks a server, which no copy of the workspace can change";
const AT_MACHINE: &str = "it looks at the machine, which no copy of the workspace can change";
const AT_CLAIM: &str = "it looks at the claim, which no change of the workspace touches";
const ASKS: &str = "it asks somebody, who is not asked about changes that nobody made";
const COMPARES_REFS: &str =
    "`created` compares with the refs before a run, and there was no run between then and now";

/// One check.
pub(super) struct Subject {
    /// Its name.
    pub(super) id: Code,
    /// Its kind; `script` for a verifier in a file.
    pub(super) kind: &'static str,
    /// What asks for it alone. The workspace is yet to be named.
    pub(super) request: Request,
    /// What it is about.
    pub(super) aim: Aim,
    /// The workspace, in every spelling that a path may have.
    pub(super) roots: Vec<PathBuf>,
}

/// What of the world a check is about.
pub(super) enum Aim {
    /// Nothing that can be changed here, and why.
    Nothing(&'static str),
    /// A file that it names. `is_new` where it compares with the time before the work.
    File { path: String, is_new: bool },
    /// A folder that it names.
    Folder { path: String, is_new: bool },
    /// A path where nothing is to be.
    Absent(String),
    /// Whatever a program looks at: its command line, or its source.
    Program { line: Option<String>, source: Option<String> },
    /// Everything but what these globs match.
    Others(Vec<String>),
    /// A repository.
    Repository(GitSpec),
}

impl Aim {
    fn of(spec: &CheckSpec) -> Self {
        let is_new = spec.compared_path().is_some();
        let program = |line: &str| Self::Program { line: Some(line.to_owned()), source: None };
        let file = |path: &str| Self::File { path: path.to_owned(), is_new };
        match &spec.effect {
            Effect::File(it) if it.absent => Self::Absent(it.path.clone()),
            Effect::Dir(it) if it.absent => Self::Absent(it.path.clone()),
            Effect::File(it) => file(&it.path),
            Effect::Dir(it) => Self::Folder { path: it.path.clone(), is_new },
            Effect::Json(it) if it.path == "-" => Self::Nothing(AT_CLAIM),
            Effect::Json(it) => file(&it.path),
            Effect::Citations(it) if it.path == "-" => Self::Nothing(AT_CLAIM),
            Effect::Citations(it) => file(&it.path),
            Effect::Sqlite(it) => file(&it.path),
            Effect::Command(it) => program(&it.line),
            Effect::External(it) => program(&it.line),
            Effect::ReadAfterWrite(it) => Self::of_source(&it.source),
            Effect::InvariantCheck(it) => Self::of_source(&it.source),
            Effect::Git(it) if it.created => Self::Nothing(COMPARES_REFS),
            Effect::Git(it) => Self::Repository(it.clone()),
            Effect::ChangesOnly(it) => Self::Others(it.globs.clone()),
            Effect::Http(_) => Self::Nothing(AT_SERVER),
            Effect::Port(_) | Effect::Process(_) => Self::Nothing(AT_MACHINE),
            Effect::Text(_) => Self::Nothing(AT_CLAIM),
            Effect::Agent(_) | Effect::Human(_) => Self::Nothing(ASKS),
        }
    }

    fn of_source(source: &Source) -> Self {
        match source {
            Source::File(path) | Source::Sqlite(path) => {
                Self::File { path: path.clone(), is_new: false }
            }
            Source::Command(line) => Self::Program { line: Some(line.clone()), source: None },
            Source::Http(_) => Self::Nothing(AT_SERVER),
        }
    }

    /// Why there was nothing to change, where there could have been something.
    pub(super) const fn nothing_found(&self) -> &'static str {
        match self {
            Self::Program { .. } => "no file was found that it may look at; name some with --files",
            Self::Repository(_) => "the repository has nothing that could be moved back or changed",
            _ => "nothing could be changed",
        }
    }
}

impl Subject {
    /// The path that is not there before the work, where the check compares with that time.
    pub(super) fn new_path(&self) -> Option<&str> {
        match &self.aim {
            Aim::File { path, is_new: true } | Aim::Folder { path, is_new: true } => Some(path),
            _ => None,
        }
    }

    /// Paths that come along into the copy, whatever is ignored.
    pub(super) fn named(&self) -> Option<String> {
        match &self.aim {
            Aim::File { path, .. } | Aim::Folder { path, .. } if path != "." => Some(plain(path)),
            _ => None,
        }
    }

    /// Globs of files that its program is known to read, and that are not under seal.
    pub(super) fn undeclared(&self) -> Vec<String> {
        let Aim::Program { line: Some(line), .. } = &self.aim else { return Vec::new() };
        let inputs = self.request.expect.first().map(CheckSpec::inputs).unwrap_or_default();
        undeclared_inputs(&CommandLine::of_line(line), &inputs)
    }
}

/// A path of the workspace as its own listing spells it.
pub(super) fn plain(path: &str) -> String {
    let parts = path.split('/').filter(|part| !part.is_empty() && *part != ".");
    parts.collect::<Vec<_>>().join("/")
}

/// The checks that are to be tried.
///
/// # Errors
/// [`QualityError`] for a name that no check has, or names that two have.
pub(super) fn subjects(request: &Request, options: &Options) -> Result<Vec<Subject>, QualityError> {
    aim::globs(&options.files)?;
    let base = Request {
        expect: Vec::new(),
        verify: Vec::new(),
        verify_files: Vec::new(),
        verify_args: request.verify_args.clone(),
        verify_timeout: shorter(request.verify_timeout, options),
        allow_hosts: request.allow_hosts.clone(),
        allow_private: request.allow_private.clone(),
        ignore: request.ignore.clone(),
        may_change: request.may_change.clone(),
        sealed: request.sealed.clone(),
        sandbox: request.sandbox.clone(),
        task: request.task.clone(),
        max_verify_retries: Some(0),
        red_first: Some(RedFirst::Off),
        ..Request::default()
    };
    let root = request.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
    let roots: Vec<PathBuf> = root.canonicalize().ok().into_iter().chain([root]).collect();
    let mut all = Vec::new();
    let ids = assign_ids(&request.expect).map_err(PrepareError::from)?;
    for (spec, id) in request.expect.iter().zip(ids) {
        let timeout_ms =
            options.timeout.map_or(spec.timeout_ms(), |most| most.get().min(spec.timeout_ms()));
        let one = CheckSpec { id: Some(id.clone()), timeout_ms: Some(timeout_ms), ..spec.clone() };
        let (kind, aim) = (spec.kind(), Aim::of(spec));
        let request = Request { expect: vec![one], ..base.clone() };
        all.push(Subject { id, kind, aim, request, roots: roots.clone() });
    }
    for source in &request.verify {
        let id = free("verify", &all);
        let aim = Aim::Program { line: None, source: Some(source.clone()) };
        let request = Request { verify: vec![source.clone()], ..base.clone() };
        all.push(Subject { id, kind: "script", aim, request, roots: roots.clone() });
    }
    for path in &request.verify_files {
        let name =
            path.file_name().map_or_else(|| path.to_string_lossy(), |name| name.to_string_lossy());
        let id = free(&name, &all);
        let aim = Aim::Program { line: None, source: source_of(path) };
        let request = Request { verify_files: vec![path.clone()], ..base.clone() };
        all.push(Subject { id, kind: "script", aim, request, roots: roots.clone() });
    }
    for name in &options.only {
        if all.iter().all(|subject| subject.id.as_str() != name) {
            let known: Vec<&str> = all.iter().map(|subject| subject.id.as_str()).collect();
            let (name, known) = (name.clone(), known.join(", "));
            return Err(QualityError::NoCheck { name, known });
        }
    }
    let is_wanted = |subject: &Subject| {
        options.only.is_empty() || options.only.iter().any(|name| subject.id.as_str() == name)
    };
    all.retain(is_wanted);
    Ok(all)
}

fn shorter(
    own: Option<crate::request::Millis>,
    options: &Options,
) -> Option<crate::request::Millis> {
    match (own, options.timeout) {
        (Some(own), Some(most)) if own.get() <= most.get() => Some(own),
        (own, most) => most.or(own),
    }
}

/// The name that a script's check has in a run, see `Builder::free_id`.
fn free(name: &str, taken: &[Subject]) -> Code {
    let first = Code::slug(name);
    let is_free = |id: &Code| taken.iter().all(|subject| subject.id != *id);
    (2_u32..)
        .map(|number| Code::slug(&format!("{number}_{first}")))
        .find(|id| is_free(id))
        .filter(|_| !is_free(&first))
        .unwrap_or(first)
}

/// What a verifier says, so that the files it names can be found in it. One that cannot be read is told when it
/// is run.
fn source_of(path: &PathBuf) -> Option<String> {
    const MAX_BYTES: u64 = 1 << 20;
    let length = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?.len();
    (length <= MAX_BYTES).then(|| std::fs::read_to_string(path).ok()).flatten()
}
