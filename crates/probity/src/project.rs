//! The project's own configuration: `.probity/probity.toml`, the defaults of every request.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use probity_core::Digest;
use probity_record::blob_digest;
use probity_verifier::{CommandLine, Role, TrustError, TrustKind, TrustStore, Workspace};

use crate::location;
use crate::request::{Format, Request, RequestError};

/// Where the configuration is, below the workspace.
pub const CONFIG_PATH: &str = ".probity/probity.toml";

/// A project with its configuration.
#[derive(Debug, Clone)]
pub struct Project {
    /// The configuration file.
    pub path: PathBuf,
    /// What it asks for, paths made absolute.
    pub defaults: Request,
    /// What it is trusted as: the configuration, every verifier file it names, and the files of the
    /// project that its command lines run, as bytes.
    pub digest: Digest,
}

/// The project's configuration cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectError {
    /// The configuration is no request.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// A verifier that it names cannot be read.
    #[error("cannot read `{path}`, which the project's configuration names: {source}")]
    Verifier {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Nobody allowed it.
    #[error(
        "`{path}` came with this folder and would decide what runs and what is checked; read it, \
         then allow exactly this version with `probity trust {path}`, or leave it out with \
         --no-project"
    )]
    Untrusted {
        /// The configuration.
        path: PathBuf,
    },
    /// The list of what is trusted cannot be used.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// There is no place for the list.
    #[error("no home folder for the list of trusted files; set XDG_CONFIG_HOME")]
    NoHome,
}

impl ProjectError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Request(error) => error.code(),
            Self::Verifier { .. } => "project_verifier",
            Self::Untrusted { .. } => "project_untrusted",
            Self::Trust(error) => error.code(),
            Self::NoHome => "store_no_home",
        }
    }
}

impl Project {
    /// Reads the configuration of the project at `root`; `None` where there is none.
    ///
    /// # Errors
    /// [`ProjectError`] if it cannot be read or is no request.
    pub fn find(root: &Path) -> Result<Option<Self>, ProjectError> {
        let path = root.join(CONFIG_PATH);
        if path.symlink_metadata().is_err() {
            return Ok(None);
        }
        Self::load(&path, root).map(Some)
    }

    /// Reads a configuration. Its paths are relative to `root`, the project's folder.
    ///
    /// # Errors
    /// [`ProjectError`] if it cannot be read or is no request.
    pub fn load(path: &Path, root: &Path) -> Result<Self, ProjectError> {
        let failed = |source| RequestError::Read { path: path.to_path_buf(), source };
        if !std::fs::metadata(path).map_err(failed)?.is_file() {
            return Err(failed(std::io::Error::other("it is no regular file")).into());
        }
        let text = std::fs::read_to_string(path).map_err(failed)?;
        let mut defaults = Request::parse(&text, Format::Toml, &path.display().to_string())?;
        let mut parts = vec![blob_digest(text.as_bytes())];
        for file in &mut defaults.verify_files {
            *file = root.join(&*file);
            let source = std::fs::read(&*file)
                .map_err(|source| ProjectError::Verifier { path: file.clone(), source })?;
            parts.push(blob_digest(&source));
        }
        parts.extend(commands(&defaults, root)?);
        defaults.sealed.push(path.to_path_buf());
        if let Some(workspace) = &mut defaults.workspace {
            *workspace = root.join(&*workspace);
        }
        let bytes: Vec<u8> = parts.iter().flat_map(|part| *part.as_bytes()).collect();
        Ok(Self { path: path.to_path_buf(), defaults, digest: blob_digest(&bytes) })
    }

    /// Refuses a configuration that nobody allowed, by its exact hash. Also one that runs nothing: it
    /// can exempt files from the seal or open hosts.
    ///
    /// # Errors
    /// [`ProjectError::Untrusted`], or the list of what is trusted cannot be read.
    pub fn require_trust(&self) -> Result<(), ProjectError> {
        if self.is_trusted()? {
            return Ok(());
        }
        Err(ProjectError::Untrusted { path: self.path.clone() })
    }

    /// Whether exactly this version was allowed.
    ///
    /// # Errors
    /// [`ProjectError::Trust`] if the list cannot be read.
    pub fn is_trusted(&self) -> Result<bool, ProjectError> {
        Ok(trust_store()?.is_trusted(TrustKind::Config, &self.digest))
    }

    /// Allows exactly this version.
    ///
    /// # Errors
    /// [`ProjectError::Trust`] if the list cannot be written.
    pub fn trust(&self) -> Result<(), ProjectError> {
        let label = self.path.display().to_string();
        Ok(trust_store()?.trust(TrustKind::Config, self.digest, &label)?)
    }
}

/// The scripts that checks run by name: trusting a command line means trusting them too.
fn commands(defaults: &Request, root: &Path) -> Result<Vec<Digest>, ProjectError> {
    let Ok(workspace) = Workspace::open(root) else { return Ok(Vec::new()) };
    let mut files = BTreeSet::new();
    for line in defaults.expect.iter().filter_map(|check| check.command_line()) {
        let named = CommandLine::of_line(line).files_named_in(&workspace);
        files.extend(named.into_iter().filter(|it| it.role == Role::Judge).map(|it| it.path));
    }
    let digest = |key: String| {
        let path = root.join(&key);
        let bytes =
            std::fs::read(&path).map_err(|source| ProjectError::Verifier { path, source })?;
        Ok(blob_digest(&[key.as_bytes(), b"\0", &bytes].concat()))
    };
    files.into_iter().map(digest).collect()
}

fn trust_store() -> Result<TrustStore, ProjectError> {
    let path = location::trust_file().ok_or(ProjectError::NoHome)?;
    Ok(TrustStore::open(path)?)
}
