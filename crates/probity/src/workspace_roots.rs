//! The folders that callers of a host may have work done in.

use std::io;
use std::path::{Path, PathBuf};

use probity_core::RunId;
use probity_host::owns;

/// Folders, each for the runs of one tenant or of all.
#[derive(Debug, Clone, Default)]
pub struct WorkspaceRoots {
    roots: Vec<Root>,
}

#[derive(Debug, Clone)]
struct Root {
    tenant: Option<String>,
    /// Without links.
    path: PathBuf,
}

/// A path is not one that a caller may name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RootError {
    /// The operator allowed no folder.
    #[error(
        "this host takes no delegations: no folder is allowed for workspaces (`probity serve \
         --workspace-root DIR`)"
    )]
    None,
    /// A relative path, and several folders that it could be in.
    #[error("`{path}` may be in several workspace roots of this host; name it from the root")]
    Ambiguous {
        /// What was named.
        path: String,
    },
    /// There is no such thing below a folder that is allowed. Whether it is elsewhere is not said.
    #[error("`{path}` is not there, or not below a workspace root of this host")]
    Outside {
        /// What was named.
        path: String,
    },
}

impl WorkspaceRoots {
    /// Reads `DIR`, or `TENANT=DIR` for the runs of one tenant.
    ///
    /// # Errors
    /// The first one that is no folder, with what is wrong with it.
    pub fn parse(texts: &[String]) -> Result<Self, (PathBuf, io::Error)> {
        let roots = texts.iter().map(|text| {
            let (tenant, path) = match text.split_once('=') {
                Some((tenant, path)) if !tenant.contains('/') => (Some(tenant.to_owned()), path),
                _ => (None, text.as_str()),
            };
            let failed = |error| (PathBuf::from(path), error);
            let path = Path::new(path).canonicalize().map_err(failed)?;
            match path.is_dir() {
                true => Ok(Root { tenant, path }),
                false => Err((path, io::Error::from(io::ErrorKind::NotADirectory))),
            }
        });
        Ok(Self { roots: roots.collect::<Result<_, _>>()? })
    }

    /// Whether no folder is allowed at all.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.roots.is_empty()
    }

    /// The folder that a caller names for a run, without links. A relative path is in the one root that the
    /// run's tenant has.
    ///
    /// # Errors
    /// [`RootError`] for everything that is not below a root.
    pub fn workspace(&self, run: &RunId, path: &Path) -> Result<PathBuf, RootError> {
        let mut roots = self.of(run);
        let first = roots.next().ok_or(RootError::None)?;
        if path.is_relative() && roots.next().is_some() {
            return Err(RootError::Ambiguous { path: path.display().to_string() });
        }
        let found = self.within(run, &first.path.join(path), path)?;
        match found.is_dir() {
            true => Ok(found),
            false => Err(RootError::Outside { path: path.display().to_string() }),
        }
    }

    /// A file that a caller names beside a workspace, without links. A relative path is in the workspace.
    ///
    /// # Errors
    /// [`RootError::Outside`].
    pub fn file(&self, run: &RunId, workspace: &Path, path: &Path) -> Result<PathBuf, RootError> {
        let found = self.within(run, &workspace.join(path), path)?;
        // Others would be waited for.
        match found.is_file() {
            true => Ok(found),
            false => Err(RootError::Outside { path: path.display().to_string() }),
        }
    }

    /// Whether a path, as it stands, is below a root of a run's tenant.
    #[must_use]
    pub fn holds(&self, run: &RunId, path: &Path) -> bool {
        self.of(run).any(|root| path.starts_with(&root.path))
    }

    fn within(&self, run: &RunId, path: &Path, named: &Path) -> Result<PathBuf, RootError> {
        let found = path.canonicalize().ok().filter(|found| self.holds(run, found));
        found.ok_or_else(|| RootError::Outside { path: named.display().to_string() })
    }

    fn of(&self, run: &RunId) -> impl Iterator<Item = &Root> {
        let is_for = |root: &&Root| root.tenant.as_ref().is_none_or(|tenant| owns(tenant, run));
        self.roots.iter().filter(is_for)
    }
}
