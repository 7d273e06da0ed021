//! The read side of the world as scripts see it: the workspace, or the files of an example.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use probity_verifier::{Kind, PathError, Workspace, WorkspaceError, compile_glob};

/// The largest file a script may read, in bytes.
pub(crate) const MAX_READ_BYTES: u64 = 16 << 20;
/// The most entries one `glob` or `list` may give.
pub(crate) const MAX_ENTRIES: usize = 100_000;

/// Where a script's paths lead.
pub(crate) enum Files {
    /// The workspace.
    Rooted(Arc<Workspace>),
    /// The files of an example: path to content.
    Given(BTreeMap<String, String>),
}

/// What is known of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) name: String,
    pub(crate) size: u64,
    pub(crate) is_dir: bool,
    pub(crate) mode: u32,
}

/// Why a question about files has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FilesError {
    #[error("`{path}` does not exist")]
    Missing { path: String },
    #[error(transparent)]
    Path(#[from] PathError),
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

impl Files {
    /// Opens the workspace, or takes the handle of the last call if the folder is still the same.
    pub(crate) fn open(root: &Path) -> Result<Self, FilesError> {
        thread_local! {
            static LAST: RefCell<Option<(PathBuf, Arc<Workspace>)>> = const { RefCell::new(None) };
        }
        let known = LAST.with_borrow(|last| {
            let (path, workspace) = last.as_ref()?;
            (path == root && workspace.check_root().is_ok()).then(|| Arc::clone(workspace))
        });
        if let Some(workspace) = known {
            return Ok(Self::Rooted(workspace));
        }
        let workspace = Arc::new(Workspace::open(root)?);
        LAST.set(Some((root.to_owned(), Arc::clone(&workspace))));
        Ok(Self::Rooted(workspace))
    }

    /// `None` where there is nothing; a link that leads nowhere is nothing.
    pub(crate) fn stat(&self, path: &str) -> Result<Option<Stat>, FilesError> {
        let name = Path::new(path).file_name().map_or(".".into(), |name| name.to_string_lossy());
        let name = name.into_owned();
        match self {
            Self::Rooted(workspace) => Ok(workspace.stat(path)?.map(|stat| Stat {
                name,
                size: stat.size,
                is_dir: stat.kind == Kind::Dir,
                mode: stat.mode,
            })),
            Self::Given(files) => {
                let key = given_key(path)?;
                if let Some(text) = files.get(&key) {
                    let size = u64::try_from(text.len()).unwrap_or(u64::MAX);
                    return Ok(Some(Stat { name, size, is_dir: false, mode: 0o644 }));
                }
                let inside = format!("{key}/");
                let is_dir = key.is_empty() || files.keys().any(|path| path.starts_with(&inside));
                Ok(is_dir.then_some(Stat { name, size: 0, is_dir, mode: 0o755 }))
            }
        }
    }

    /// The whole file. Pipes, devices and folders are refused, so that reading never blocks.
    pub(crate) fn read(&self, path: &str) -> Result<Vec<u8>, FilesError> {
        let bytes = match self {
            Self::Rooted(workspace) => workspace.read(path, MAX_READ_BYTES)?,
            Self::Given(files) => files.get(&given_key(path)?).map(|text| text.as_bytes().to_vec()),
        };
        bytes.ok_or_else(|| FilesError::Missing { path: path.to_owned() })
    }

    /// Names in a folder, sorted.
    pub(crate) fn list(&self, path: &str) -> Result<Vec<String>, FilesError> {
        let missing = || FilesError::Missing { path: path.to_owned() };
        match self {
            Self::Rooted(workspace) => {
                let listed = workspace.list(path, MAX_ENTRIES)?.ok_or_else(missing)?;
                Ok(listed.into_iter().map(|entry| entry.name).collect())
            }
            Self::Given(files) => {
                let key = given_key(path)?;
                let prefix = if key.is_empty() { key } else { format!("{key}/") };
                let name = |file: &String| {
                    file.strip_prefix(&prefix)?.split('/').next().map(str::to_owned)
                };
                let mut names: Vec<String> = files.keys().filter_map(name).collect();
                names.dedup();
                if names.is_empty() && !prefix.is_empty() { Err(missing()) } else { Ok(names) }
            }
        }
    }

    /// Where a regular file lies, without links: for a reader that opens paths by itself. `None`
    /// where there is nothing. The files of an example lie nowhere.
    pub(crate) fn locate(&self, path: &str) -> Result<Option<PathBuf>, FilesError> {
        let Self::Rooted(workspace) = self else { return Ok(None) };
        // Opening it says that it is inside, a regular file, and readable.
        if workspace.open_file(path)?.is_none() {
            return Ok(None);
        }
        let root = workspace.root();
        let escapes = || PathError::Escapes { path: path.to_owned() };
        let at = root.join(path).canonicalize().map_err(|_| escapes())?;
        if at.starts_with(root) { Ok(Some(at)) } else { Err(escapes().into()) }
    }

    /// Every file and folder below the root whose path fits the pattern, sorted. Links are listed
    /// but not entered.
    pub(crate) fn glob(&self, pattern: &str) -> Result<Vec<String>, FilesError> {
        match self {
            Self::Rooted(workspace) => Ok(workspace.glob(pattern, MAX_ENTRIES)?),
            Self::Given(files) => {
                let matcher = compile_glob(pattern)?.compile_matcher();
                Ok(files.keys().filter(|path| matcher.is_match(path)).cloned().collect())
            }
        }
    }
}

/// The path without `.` and `..`, as an example's `files` spells it; empty for the root.
fn given_key(path: &str) -> Result<String, PathError> {
    let outside = || PathError::Outside { path: path.to_owned(), root: "the example".to_owned() };
    let mut parts: Vec<String> = Vec::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            Component::CurDir => {}
            Component::ParentDir => drop(parts.pop().ok_or_else(outside)?),
            Component::RootDir | Component::Prefix(_) => return Err(outside()),
        }
    }
    Ok(parts.join("/"))
}
