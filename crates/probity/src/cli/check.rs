//! `probity check`: is everything that a run would use in order? All problems, not only the first.

mod artifact;
mod delegate;
mod document;
mod finding;
mod pieces;
mod request;
mod script;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use probity_script::{Execution, PoolConfig, WorkerPool};
use serde_json::{Map, Value};

use self::document::Shape;
use self::finding::Checked;
use super::args::CheckArgs;
use super::present::{self, Style};
use super::source::refuse_irregular;
use super::staged::Staged;
use super::{CliError, EXIT_USAGE};
use crate::location::Programs;
use crate::request::Request;
use crate::{CONFIG_PATH, POLICY_PATH, PrepareError, Project};

/// The folders of a project's policy, and the endings of the files that count in them.
const FOLDERS: [(&str, &[&str]); 4] = [
    ("hooks", &["md"]),
    ("agents", &["md"]),
    ("envelopes", &["json", "yaml", "yml"]),
    ("verifiers", &["star", "py"]),
];
/// Files of one folder that are looked at.
const MAX_FILES: usize = 1000;

/// Compiles and validates; runs nothing but the examples of verifier scripts.
///
/// # Errors
/// [`CliError`] if there is nothing to check. What is wrong with what is there is no error but the
/// result.
pub(super) async fn check(args: &CheckArgs, programs: &Programs) -> Result<u8, CliError> {
    let root = args.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
    let root = std::path::absolute(&root).unwrap_or(root);
    let staged = match args.staged {
        true => Some(Staged::copy(&root, programs).await?),
        false => None,
    };
    let root = staged.as_ref().map_or(root, |staged| staged.folder().to_path_buf());
    let mut checker = Checker::new(programs, root)?;
    if args.files.is_empty() {
        let told = |error| match &staged {
            Some(staged) => staged.told_error(error),
            None => error,
        };
        checker.project().await.map_err(told)?;
    }
    for path in &args.files {
        checker.file(path).await;
    }
    let mut checked = checker.checked;
    if let Some(staged) = &staged {
        checked.findings.iter_mut().for_each(|it| it.message = staged.told(&it.message));
    }
    checked.ok = checked.errors() == 0;
    match args.json {
        true => present::json(&checked)?,
        false => drop(present::print(checked.text(Style::of_stdout()).as_bytes())?),
    }
    Ok(if checked.ok { 0 } else { EXIT_USAGE })
}

/// What looks at one thing after the other.
struct Checker<'a> {
    programs: &'a Programs,
    pool: Arc<WorkerPool>,
    root: PathBuf,
    checked: Checked,
    /// Scripts that were checked already.
    scripts: Vec<PathBuf>,
}

impl<'a> Checker<'a> {
    fn new(programs: &'a Programs, root: PathBuf) -> Result<Self, CliError> {
        let pool = WorkerPool::new(PoolConfig::new(programs.worker.clone()))
            .map_err(|error| PrepareError::Limits(error.to_string()))?;
        let (checked, scripts) = (Checked::default(), Vec::new());
        Ok(Self { programs, pool: Arc::new(pool), root, checked, scripts })
    }

    /// The configuration, and every file of its folders.
    async fn project(&mut self) -> Result<(), CliError> {
        let config = self.root.join(CONFIG_PATH);
        let files = self.files();
        if !config.is_file() && files.is_empty() {
            return Err(CliError::Usage(format!(
                "`{}` has no {CONFIG_PATH}; make one with `probity init`, or name files to check",
                self.root.display()
            )));
        }
        let before = self.checked.errors();
        let project = match Project::find(&self.root) {
            Ok(project) => project,
            // Each file is told by itself, where it is one file that is wrong.
            Err(error) => {
                self.broken_project(&config, &files, &error).await;
                return Ok(());
            }
        };
        if let Some(project) = &project {
            self.config(project).await;
        }
        for path in &files {
            self.policy_file(path, project.as_ref()).await;
        }
        if let Some(project) = project.filter(|_| self.checked.errors() == before) {
            self.methods(&project);
        }
        Ok(())
    }

    /// A project that cannot be loaded: what of it is wrong, file by file.
    async fn broken_project(
        &mut self,
        config: &Path,
        files: &[PathBuf],
        error: &crate::ProjectError,
    ) {
        let before = self.checked.errors();
        if config.is_file() {
            self.config_keys(config);
        }
        for path in files {
            self.policy_file(path, None).await;
        }
        // Such as two files that say the same.
        if self.checked.errors() == before {
            self.checked.error(self.name(config, ""), error.code(), error.to_string());
        }
    }

    /// The files of the project's folders, folder by folder, by name.
    fn files(&self) -> Vec<PathBuf> {
        let policy = self.root.join(POLICY_PATH);
        let mut files = Vec::new();
        for (folder, endings) in FOLDERS {
            let entries = std::fs::read_dir(policy.join(folder)).into_iter().flatten();
            let counts = |path: &PathBuf| {
                let ending = path.extension().and_then(|ending| ending.to_str());
                ending.is_some_and(|ending| endings.contains(&ending))
            };
            let found = entries.flatten().map(|entry| entry.path()).filter(counts);
            let mut found: Vec<PathBuf> = found.take(MAX_FILES).collect();
            found.sort();
            files.append(&mut found);
        }
        files
    }

    /// A file of the project's folders, by its folder.
    async fn policy_file(&mut self, path: &Path, project: Option<&Project>) {
        let folder = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        match folder {
            Some("hooks") => self.hook_file(path).await,
            Some("agents") => self.profile_file(path, project).await,
            Some("envelopes") => self.policy_document(path),
            _ => self.verifier_file(path, &Value::Object(Map::new())).await,
        }
    }

    /// A file that was named: what it is, its folder, its ending and its shape say.
    async fn file(&mut self, path: &Path) {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        if !self.is_regular(&path) {
            return;
        }
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("star" | "py") => {
                self.verifier_file(&path, &Value::Object(Map::new())).await;
            }
            Some("md") => match self.is_profile(&path) {
                true => {
                    let project = Project::find(&self.root_of(&path)).ok().flatten();
                    self.profile_file(&path, project.as_ref()).await;
                }
                false => self.hook_file(&path).await,
            },
            Some("jsonl" | "ndjson") => self.documents(&path),
            _ if path.ends_with(CONFIG_PATH) => self.config_file(&path).await,
            _ => match Shape::of_file(&path) {
                Shape::Envelope | Shape::Pack => self.policy_document(&path),
                Shape::Audited => self.documents(&path),
                Shape::Request => self.request_file(&path).await,
            },
        }
    }

    /// Whether a file can be read to its end; tells it if not. What is absent is told by its reader.
    fn is_regular(&mut self, path: &Path) -> bool {
        let refused = refuse_irregular(path).err();
        if let Some(error) = &refused {
            self.checked.error(self.name(path, ""), error.code(), error.to_string());
        }
        refused.is_none()
    }

    async fn config_file(&mut self, path: &Path) {
        let root = self.root_of(path);
        match Project::load(path, &root) {
            Ok(project) => self.config(&project).await,
            Err(error) => self.broken(path, error.code(), &error.to_string()),
        }
    }

    async fn request_file(&mut self, path: &Path) {
        match Request::load(path) {
            Ok(request) => {
                let project = match Project::find(&self.root) {
                    Ok(project) => project,
                    Err(error) => {
                        let message = format!("without the project, which is broken: {error}");
                        self.checked.warning(self.name(path, ""), error.code(), message);
                        None
                    }
                };
                self.request(path, request, project.as_ref()).await;
            }
            Err(error) => self.broken(path, error.code(), &error.to_string()),
        }
    }

    /// The project that a file of `.probity` belongs to.
    fn root_of(&self, path: &Path) -> PathBuf {
        let policy = path.ancestors().find(|folder| folder.ends_with(POLICY_PATH));
        policy.and_then(Path::parent).unwrap_or(&self.root).to_path_buf()
    }

    fn execution(&self) -> Execution {
        Execution::Worker(Arc::clone(&self.pool))
    }

    /// The path as it is seen from the project, and a part of the file.
    fn name(&self, path: &Path, part: &str) -> String {
        let path = path.strip_prefix(&self.root).unwrap_or(path).display();
        if part.is_empty() { path.to_string() } else { format!("{path}: {part}") }
    }
}
