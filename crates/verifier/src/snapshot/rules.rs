//! What a snapshot records, and its limits.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use globset::{GlobSet, GlobSetBuilder};

use crate::workspace::{PathError, Workspace, compile_glob};

/// Folders that are left out, at any depth, unless a rule says otherwise: version control's own
/// store, installed packages, build output and tool caches. Only folders: a file or a link of that
/// name is recorded. The list is part of the program; nothing in the workspace can lengthen it.
pub const IGNORED: [&str; 8] = [
    ".git",
    "node_modules",
    "target",
    ".venv",
    "__pycache__",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
];

/// Files of the run's own store, which grows while a run is watched.
const IGNORED_FILES: [&str; 2] = [".probity/*.db", ".probity/*.db-{wal,shm,journal}"];

/// What a snapshot records, and its limits. Policy of the operator: the workspace's own ignore files
/// are never read, because the delegate could write them.
#[derive(Debug, Clone)]
pub struct SnapshotRules {
    /// Shared, because every check is given the rules.
    ignored: Arc<GlobSet>,
    patterns: Arc<[String]>,
    pub(super) always: BTreeSet<String>,
    /// How much is read at most.
    pub limits: SnapshotLimits,
}

/// How much a snapshot reads at most. Beyond it there is an error and no manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotLimits {
    /// Entries: files, folders, links. 200 000 unless set.
    pub max_files: usize,
    /// Bytes of one file. 1 GiB unless set.
    pub max_file_bytes: u64,
    /// Bytes of all files together. 16 GiB unless set.
    pub max_total_bytes: u64,
}

impl Default for SnapshotLimits {
    fn default() -> Self {
        Self { max_files: 200_000, max_file_bytes: 1 << 30, max_total_bytes: 16 << 30 }
    }
}

impl Default for SnapshotRules {
    fn default() -> Self {
        static DEFAULT: LazyLock<SnapshotRules> = LazyLock::new(|| {
            let mut rules = SnapshotRules::nothing_ignored();
            let folders = IGNORED.iter().map(|name| format!("**/{name}/"));
            rules.patterns = folders.chain(IGNORED_FILES.map(str::to_owned)).collect();
            // The patterns are constants, which a test compiles.
            rules.ignored = Arc::new(compile(&rules.patterns).unwrap_or_default());
            rules
        });
        DEFAULT.clone()
    }
}

impl SnapshotRules {
    /// The default limits, and every entry recorded.
    #[must_use]
    pub fn nothing_ignored() -> Self {
        Self {
            ignored: Arc::new(GlobSet::empty()),
            patterns: Arc::default(),
            always: BTreeSet::new(),
            limits: SnapshotLimits::default(),
        }
    }

    /// Leaves out what these globs match, in addition: relative to the root; a folder that matches is
    /// left out with everything in it. A pattern that ends with `/` matches folders only.
    ///
    /// # Errors
    /// [`PathError::Pattern`] when one is no glob.
    pub fn ignore<S: AsRef<str>>(
        mut self,
        patterns: impl IntoIterator<Item = S>,
    ) -> Result<Self, PathError> {
        let more = patterns.into_iter().map(|pattern| pattern.as_ref().to_owned());
        self.patterns = self.patterns.iter().cloned().chain(more).collect();
        self.ignored = Arc::new(compile(&self.patterns)?);
        Ok(self)
    }

    /// Records these paths even inside folders that are left out: a file, or a folder with all that
    /// is in it. Paths that checks look at belong here.
    ///
    /// # Errors
    /// [`PathError`] when one is no path inside `workspace`.
    pub fn always<S: AsRef<std::path::Path>>(
        mut self,
        workspace: &Workspace,
        paths: impl IntoIterator<Item = S>,
    ) -> Result<Self, PathError> {
        for path in paths {
            self.always.insert(workspace.key(path)?);
        }
        Ok(self)
    }

    /// Whether the rules leave out an entry. Folders are asked for with a `/` at the end.
    pub(crate) fn ignores(&self, key: &str, is_dir: bool) -> bool {
        if self.ignored.is_empty() {
            return false;
        }
        self.ignored.is_match(key) || (is_dir && self.ignored.is_match(format!("{key}/")))
    }
}

fn compile(patterns: &[String]) -> Result<GlobSet, PathError> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(compile_glob(pattern)?);
    }
    set.build().map_err(|error| PathError::Pattern {
        pattern: patterns.join(" "),
        why: error.kind().to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_leaves_out_the_listed_folders_at_any_depth_and_only_folders() {
        let rules = SnapshotRules::default();
        for name in IGNORED {
            assert!(rules.ignores(name, true), "{name}");
            assert!(rules.ignores(&format!("a/b/{name}"), true), "{name}");
            assert!(!rules.ignores(name, false), "{name} as a file");
            assert!(!rules.ignores(&format!("{name}s"), true), "{name}s");
        }
        for name in ["probity.db", "probity.db-wal", "x.db-shm", "x.db-journal"] {
            assert!(rules.ignores(&format!(".probity/{name}"), false), "{name}");
            assert!(!rules.ignores(&format!("sub/.probity/{name}"), false), "{name}");
        }
        assert!(!rules.ignores(".probity/probity.toml", false));
    }

    #[test]
    fn a_pattern_without_a_slash_at_its_end_matches_files_and_folders() {
        let rules = SnapshotRules::nothing_ignored().ignore(["data/*.tmp"]).unwrap();
        assert!(rules.ignores("data/a.tmp", false) && rules.ignores("data/a.tmp", true));
        assert!(!rules.ignores("data/deep/a.tmp", false));
        let error = SnapshotRules::default().ignore(["a["]).unwrap_err();
        assert_eq!(error.code(), "pattern_invalid");
    }
}
