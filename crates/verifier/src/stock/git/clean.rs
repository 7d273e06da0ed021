//! Whether the working tree is what `HEAD` holds, by content.
//!
//! The tree is compared from a Git folder outside the workspace: its index is made from the commit,
//! so no entry of the repository's own index can vouch for a file, and it has none of the
//! repository's configuration, attributes and exclude lists. Only the objects are the repository's.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use probity_core::Fault;
use probity_sandbox::Spawn;
use tempfile::TempDir;

use super::baseline::EXCLUDE_LIST;
use super::plumbing::{Repository, Stop};

/// Submodules that are looked into.
const MAX_SUBMODULES: usize = 1_000;

/// Files that tell Git what to overlook, and count only where a commit holds them.
const RULES: &str = ".gitignore";

/// Paths that differ from `HEAD`: in the working tree, in the index, or untracked; in submodules
/// too. The repository's own exclude list counts where `with_own_excludes`.
pub(super) async fn dirty(
    repository: &Repository<'_>,
    with_own_excludes: bool,
) -> Result<BTreeSet<String>, Stop> {
    let head = repository.commit("HEAD").await?;
    let mut dirty = BTreeSet::new();
    let mut pending = vec![(PathBuf::new(), head)];
    let mut seen = 0;
    while let Some((below, commit)) = pending.pop() {
        seen += 1;
        if seen > MAX_SUBMODULES {
            let reason = format!("there are more than {MAX_SUBMODULES} submodules");
            return Err(Stop::inconclusive("git_failed", reason));
        }
        let nested = repository.below(&below);
        let with_own_excludes = with_own_excludes && below.as_os_str().is_empty();
        let here = dirty_here(&nested, commit.as_deref(), with_own_excludes).await?;
        let Some(commit) = commit else {
            dirty.extend(here);
            continue;
        };
        for (path, commit) in nested.submodules(&commit).await? {
            if here.contains(&path) {
                continue;
            }
            match state(&nested.root().join(&path)) {
                Submodule::Absent => {}
                Submodule::Present => pending.push((below.join(&path), Some(commit))),
                Submodule::Odd => {
                    dirty.insert(below.join(&path).display().to_string());
                }
            }
        }
        dirty.extend(here.iter().map(|path| below.join(path).display().to_string()));
    }
    Ok(dirty)
}

async fn dirty_here(
    repository: &Repository<'_>,
    commit: Option<&str>,
    with_own_excludes: bool,
) -> Result<BTreeSet<String>, Stop> {
    let mut dirty: BTreeSet<String> = match commit {
        Some(commit) => repository.staged_since(commit).await?.into_iter().collect(),
        None => {
            repository.entries(repository.spawn(&["ls-files", "-z"])).await?.into_iter().collect()
        }
    };
    let apart = Apart::new(repository, commit).await?;
    if let Some(commit) = commit {
        repository.success(apart.spawn(repository).args(["read-tree", commit])).await?;
    }
    let mut status = apart.spawn(repository);
    if with_own_excludes {
        status = status.args(["-c", &format!("core.excludesFile={EXCLUDE_LIST}")]);
    }
    let status = status.args([
        "status",
        "--porcelain=v1",
        "-z",
        "--no-renames",
        "--untracked-files=all",
        // Names the ignored files one by one, unless their folder is ignored by a rule above it.
        "--ignored=matching",
        // Submodules are looked into in the same way as this repository.
        "--ignore-submodules=dirty",
    ]);
    for entry in repository.entries(status).await? {
        let Some(path) = entry.get(3..) else { continue };
        let is_rules = Path::new(path).file_name() == Some(OsStr::new(RULES));
        if !entry.starts_with("!!") || is_rules {
            dirty.insert(path.to_owned());
        }
    }
    Ok(dirty)
}

/// A Git folder outside the workspace, removed when dropped.
struct Apart {
    folder: TempDir,
    commit: Option<String>,
}

impl Apart {
    async fn new(repository: &Repository<'_>, commit: Option<&str>) -> Result<Self, Stop> {
        let objects = repository.text(&["rev-parse", "--git-path", "objects"]).await?;
        let objects = repository.root().join(OsStr::from_bytes(&objects));
        let format = repository.text(&["rev-parse", "--show-object-format"]).await?;
        let format = String::from_utf8_lossy(&format);
        let folder = fill(repository.root(), &objects, &format, commit).map_err(|error| {
            let folder = std::env::temp_dir();
            let reason = format!("no Git folder can be made in `{}`: {error}", folder.display());
            Stop::Fault(Fault::new("git_no_scratch", format!("{reason}; set `TMPDIR`")))
        })?;
        Ok(Self { folder, commit: commit.map(str::to_owned) })
    }

    fn spawn(&self, repository: &Repository<'_>) -> Spawn {
        let spawn = repository
            .bare(&[])
            .cwd(repository.root())
            .env("GIT_DIR", self.folder.path())
            .env("GIT_WORK_TREE", repository.root());
        match &self.commit {
            // Attributes of the commit, whatever the working tree holds.
            Some(commit) => spawn.env("GIT_ATTR_SOURCE", commit),
            None => spawn,
        }
    }
}

fn fill(
    root: &Path,
    objects: &Path,
    format: &str,
    commit: Option<&str>,
) -> Result<TempDir, std::io::Error> {
    let base = std::fs::canonicalize(std::env::temp_dir())?;
    if base.starts_with(root) {
        return Err(std::io::Error::other("it is inside the workspace"));
    }
    let folder = TempDir::with_prefix_in("probity-git-", base)?;
    let at = folder.path();
    std::fs::create_dir(at.join("refs"))?;
    std::fs::create_dir_all(at.join("objects/info"))?;
    let mut line = objects.as_os_str().as_bytes().to_vec();
    line.push(b'\n');
    std::fs::write(at.join("objects/info/alternates"), line)?;
    let head = commit.unwrap_or("ref: refs/heads/none");
    std::fs::write(at.join("HEAD"), format!("{head}\n"))?;
    let mut config = "[core]\n\trepositoryFormatVersion = 1\n\tbare = false\n".to_owned();
    if format != "sha1" {
        config.push_str(&format!("[extensions]\n\tobjectFormat = {format}\n"));
    }
    std::fs::write(at.join("config"), config)?;
    Ok(folder)
}

/// What stands where a commit has a submodule.
enum Submodule {
    /// An empty folder.
    Absent,
    /// A repository.
    Present,
    /// Anything else.
    Odd,
}

fn state(path: &Path) -> Submodule {
    if !path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        return Submodule::Odd;
    }
    if path.join(".git").symlink_metadata().is_ok() {
        return Submodule::Present;
    }
    match std::fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Submodule::Absent,
        Ok(false) | Err(_) => Submodule::Odd,
    }
}
