//! Where things are: the store, the operator's configuration, the programs probity starts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use probity_sandbox::Launcher;
use probity_script::WorkerProgram;
use probity_store::{MemoryStore, Store, StoreFault};
use probity_store_sqlite::{Options, SqliteStore};

/// A store that runs are kept in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreUrl {
    /// One SQLite file.
    Sqlite(PathBuf),
    /// Memory: gone with the process.
    Memory,
}

/// The store cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The text names no store.
    #[error("`{text}` names no store; write sqlite:PATH or memory")]
    Url {
        /// What was given.
        text: String,
    },
    /// There is no place for the default.
    #[error("no home folder for the default store; give --store sqlite:PATH")]
    NoHome,
    /// It cannot be opened.
    #[error("cannot open `{path}`: {fault}")]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        fault: StoreFault,
    },
}

impl StoreError {
    /// The stable machine word.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Url { .. } => "store_url",
            Self::NoHome => "store_no_home",
            Self::Open { fault, .. } => fault.code(),
        }
    }
}

impl StoreUrl {
    /// Reads `sqlite:PATH` or `memory`.
    ///
    /// # Errors
    /// [`StoreError::Url`] for everything else.
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        match text.split_once(':') {
            Some(("sqlite", path)) if !path.is_empty() => Ok(Self::Sqlite(PathBuf::from(path))),
            None if text == "memory" => Ok(Self::Memory),
            _ => Err(StoreError::Url { text: text.to_owned() }),
        }
    }

    /// The default: `probity.db` in the state folder of the user, out of the way of workspaces, so
    /// that a delegate does not come across the record of what it did.
    ///
    /// # Errors
    /// [`StoreError::NoHome`] if neither `XDG_STATE_HOME` nor `HOME` is set.
    pub fn of_user() -> Result<Self, StoreError> {
        let folder = user_folder("XDG_STATE_HOME", ".local/state").ok_or(StoreError::NoHome)?;
        Ok(Self::Sqlite(folder.join("probity.db")))
    }

    /// Opens the store; a SQLite file is created where there is none.
    ///
    /// # Errors
    /// [`StoreError::Open`] with what to do about it.
    pub fn open(&self) -> Result<Arc<dyn Store>, StoreError> {
        match self {
            Self::Memory => Ok(Arc::new(MemoryStore::new())),
            Self::Sqlite(path) => {
                let store = SqliteStore::open(path, Options::default());
                let failed = |fault| StoreError::Open { path: path.clone(), fault };
                Ok(Arc::new(store.map_err(failed)?))
            }
        }
    }
}

/// The list of what may run from repositories; in the configuration folder of the user.
#[must_use]
pub fn trust_file() -> Option<PathBuf> {
    user_folder("XDG_CONFIG_HOME", ".config").map(|folder| folder.join("trusted"))
}

/// How probity starts programs: through itself, so that they can be killed whole.
#[derive(Debug, Clone)]
pub struct Programs {
    /// Starts and kills commands.
    pub launcher: Launcher,
    /// Runs scripts.
    pub worker: WorkerProgram,
}

impl Programs {
    /// A binary that hands `sandbox-exec` and `script-worker` to this library, as `probity` does.
    /// A path that a delegate can write to lets it put another program there; a binary that starts
    /// itself gives `/proc/self/exe`.
    #[must_use]
    pub fn of(binary: &Path) -> Self {
        Self {
            launcher: Launcher::helper(binary, ["sandbox-exec"]),
            worker: WorkerProgram {
                program: binary.to_path_buf(),
                args: vec!["script-worker".into()],
            },
        }
    }
}

fn user_folder(variable: &str, below_home: &str) -> Option<PathBuf> {
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    let named = std::env::var_os(variable).map(PathBuf::from).and_then(absolute);
    let home = || std::env::var_os("HOME").map(PathBuf::from).and_then(absolute);
    named.or_else(|| home().map(|home| home.join(below_home))).map(|base| base.join("probity"))
}
