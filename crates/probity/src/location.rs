//! Where things are: the store, the operator's configuration, the programs probity starts.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use probity_sandbox::Launcher;
use probity_script::WorkerProgram;
use probity_store::{FaultKind, MemoryStore, Store, StoreFault, WorkStore};
use probity_store_nats::{ConnectError, NatsOptions, NatsStore};
use probity_store_sqlite::{Options, SqliteStore, Stay};
use rustix::fs::Access;

/// A store that runs are kept in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreUrl {
    /// One SQLite file.
    Sqlite(PathBuf),
    /// Memory: gone with the process.
    Memory,
    /// Streams of NATS servers, which many machines share.
    Nats(Box<NatsOptions>),
}

/// The store cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The text names no store.
    #[error("`{text}` names no store; write sqlite:PATH, memory, or nats://HOST (tls://HOST)")]
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
    /// It cannot be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// It is not on this machine, and was to be opened as if it were.
    #[error("the store {label} is not on this machine; it is connected to, not opened")]
    Remote {
        /// The store, without secrets.
        label: String,
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
            Self::Connect(error) => error.code(),
            Self::Remote { .. } => "store_remote",
        }
    }
}

impl StoreUrl {
    /// Reads `sqlite:PATH`, `memory`, or the URL of a NATS store, as [`NatsOptions::parse`] takes it.
    ///
    /// # Errors
    /// [`StoreError::Url`] for everything else; [`StoreError::Connect`] for a NATS URL that says
    /// something else than it may.
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        match text.split_once(':') {
            Some(("sqlite", path)) if !path.is_empty() => Ok(Self::Sqlite(PathBuf::from(path))),
            Some((scheme, rest)) if is_of_nats(scheme) && rest.starts_with("//") => {
                Ok(Self::Nats(Box::new(NatsOptions::parse(text)?)))
            }
            None if text == "memory" => Ok(Self::Memory),
            // There may be a password or a token in it.
            _ if text.contains(['@', '%', '?']) || text.matches(':').count() > 1 => {
                Err(StoreError::Url { text: "that text".to_owned() })
            }
            _ => Err(StoreError::Url { text: text.to_owned() }),
        }
    }

    /// The store in a word that people know it by, without secrets.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::Sqlite(path) => format!("sqlite:{}", path.display()),
            Self::Memory => "memory".to_owned(),
            Self::Nats(options) => format!("{}/{}", options.urls().join(","), options.space),
        }
    }

    /// The same store, from wherever the command that reads this is run.
    #[must_use]
    pub fn absolute(&self) -> Self {
        match self {
            Self::Sqlite(path) => {
                Self::Sqlite(std::path::absolute(path).unwrap_or_else(|_| path.clone()))
            }
            other => other.clone(),
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

    /// Opens a store of this machine; a SQLite file is created where there is none.
    ///
    /// # Errors
    /// [`StoreError::Open`] with what to do about it; [`StoreError::Remote`] for one that must be
    /// connected to, which [`StoreUrl::open_shared`] does.
    pub fn open(&self) -> Result<Arc<dyn Store>, StoreError> {
        Ok(self.open_here(Options::default())?)
    }

    /// Opens the store, whichever it is, with its queue. A SQLite file and the streams of a NATS store
    /// are created where there are none.
    ///
    /// # Errors
    /// [`StoreError::Open`] and [`StoreError::Connect`] with what to do about it.
    pub async fn open_shared(&self) -> Result<Arc<dyn WorkStore>, StoreError> {
        self.open_leasing(None).await
    }

    /// As [`StoreUrl::open_shared`], with leases of that length where the store lets its opener choose:
    /// a SQLite file does; that of a NATS store is part of its URL.
    ///
    /// # Errors
    /// As [`StoreUrl::open_shared`].
    pub async fn open_leasing(
        &self,
        lease: Option<Duration>,
    ) -> Result<Arc<dyn WorkStore>, StoreError> {
        let mut options = Options::default();
        if let Some(lease) = lease {
            options.lease_ttl_ms = u32::try_from(lease.as_millis()).unwrap_or(u32::MAX);
        }
        self.open_anywhere(options).await
    }

    /// As [`StoreUrl::open_shared`], for one answer that somebody waits for: what else can be done later is
    /// left to whoever opens the store next.
    ///
    /// # Errors
    /// As [`StoreUrl::open_shared`].
    pub async fn open_briefly(&self) -> Result<Arc<dyn WorkStore>, StoreError> {
        self.open_anywhere(Options { stay: Stay::Brief, ..Options::default() }).await
    }

    async fn open_anywhere(&self, options: Options) -> Result<Arc<dyn WorkStore>, StoreError> {
        match self {
            Self::Nats(options) => {
                Ok(Arc::new(NatsStore::connect(options.as_ref().clone()).await?))
            }
            Self::Sqlite(_) | Self::Memory => self.open_here(options),
        }
    }

    fn open_here(&self, options: Options) -> Result<Arc<dyn WorkStore>, StoreError> {
        match self {
            Self::Memory => Ok(Arc::new(MemoryStore::new())),
            Self::Sqlite(path) => {
                let store = SqliteStore::open(path, options);
                let failed =
                    |fault| StoreError::Open { path: path.clone(), fault: explained(path, fault) };
                Ok(Arc::new(store.map_err(failed)?))
            }
            Self::Nats(_) => Err(StoreError::Remote { label: self.label() }),
        }
    }
}

/// The fault by what the file system says, where the file's own driver cannot tell it: on a read-only or
/// a full one, it is the files beside the database that cannot be made.
pub(crate) fn explained(path: &Path, fault: StoreFault) -> StoreFault {
    if !matches!(fault.kind, FaultKind::CannotOpen | FaultKind::Io) {
        return fault;
    }
    // Asked of the names: a file that is opened and closed besides loses its locks.
    let may = |path: &Path, access| rustix::fs::access(path, access).is_ok();
    let folder = folder_of(path);
    let is_readable = may(path, Access::READ_OK) && may(folder, Access::EXEC_OK);
    if is_readable && !(may(path, Access::WRITE_OK) && may(folder, Access::WRITE_OK)) {
        return StoreFault::new(FaultKind::ReadOnly, fault.detail);
    }
    if is_full(path) && may(path, Access::WRITE_OK) {
        return StoreFault::new(FaultKind::Full, fault.detail);
    }
    fault
}

/// Whether the disk that a file is on has no block left for this user.
pub(crate) fn is_full(path: &Path) -> bool {
    rustix::fs::statvfs(folder_of(path)).is_ok_and(|about| about.f_bavail == 0)
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
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
    /// Whether runs are prepared for a worker: a chat model that is out of reach is waited for without
    /// holding it, where whoever waits for one run wants to hear of that at once.
    pub are_of_worker: bool,
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
            are_of_worker: false,
        }
    }
}

fn user_folder(variable: &str, below_home: &str) -> Option<PathBuf> {
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    let named = std::env::var_os(variable).map(PathBuf::from).and_then(absolute);
    let home = || std::env::var_os("HOME").map(PathBuf::from).and_then(absolute);
    named.or_else(|| home().map(|home| home.join(below_home))).map(|base| base.join("probity"))
}

fn is_of_nats(scheme: &str) -> bool {
    ["nats", "tls"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
}
