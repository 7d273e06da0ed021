//! Secrets leave the environment before anything is served: what stands there, every process of the same
//! user may read, and delegates are such processes.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use probity_sandbox::OWN_SECRETS;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::thread::set_name;

use crate::cli::CliError;

/// Says to the process that goes on that its secrets are on standard input: the id of the process, which
/// stays the same.
const HANDED: &str = "PROBITY_SERVE_HANDED";
/// The URL of a store may hold a password.
const STORE: &str = "PROBITY_STORE";
/// Bytes that a pipe takes without anybody who reads.
const MAX_BYTES: usize = 60 * 1024;

/// The secrets that the environment held.
#[derive(Debug, Default)]
pub(super) struct Secrets(BTreeMap<String, String>);

impl Secrets {
    /// Takes the secrets out of the environment, with the variables of these names: the process becomes
    /// itself once more without them. Returns in the one that serves.
    ///
    /// # Errors
    /// [`CliError`] if they cannot be handed over.
    pub(super) fn taken(more: Vec<String>) -> Result<Self, CliError> {
        let failed = |source| CliError::Io { what: "hand over secrets", source };
        if std::env::var(HANDED).is_ok_and(|id| id == std::process::id().to_string()) {
            let secrets = Self::received().map_err(failed)?;
            // Nor are they read from its memory, or from what it leaves when it breaks. Where the system
            // does not know these two, nothing is lost.
            let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
            let _ = set_name(c"probity");
            return Ok(secrets);
        }
        let own = OWN_SECRETS.into_iter().chain([STORE]).map(str::to_owned);
        let read =
            own.chain(more).filter_map(|name| Some((name.clone(), std::env::var(name).ok()?)));
        Err(failed(Self(read.collect()).handed_over()))
    }

    /// A secret by the name of its variable.
    pub(super) fn get(&self, name: &str) -> Option<String> {
        self.0.get(name).cloned()
    }

    /// The store that the environment named.
    pub(super) fn store(&self) -> Option<String> {
        self.get(STORE).filter(|store| !store.is_empty())
    }

    fn received() -> io::Result<Self> {
        let mut bytes = Vec::new();
        io::stdin().lock().take(1 << 20).read_to_end(&mut bytes)?;
        serde_json::from_slice(&bytes).map(Self).map_err(io::Error::other)
    }

    /// Returns only where it fails.
    fn handed_over(self) -> io::Error {
        self.replaced().map_or_else(|error| error, |never| match never {})
    }

    fn replaced(self) -> io::Result<std::convert::Infallible> {
        let bytes = serde_json::to_vec(&self.0)?;
        if bytes.len() > MAX_BYTES {
            return Err(io::Error::other("they are too long"));
        }
        let (reader, mut writer) = io::pipe()?;
        writer.write_all(&bytes)?;
        drop(writer);
        let mut words = std::env::args_os();
        let name = words.next().unwrap_or_else(|| OsString::from("probity"));
        let mut command = Command::new("/proc/self/exe");
        command.arg0(name).args(words).stdin(Stdio::from(reader));
        command.env(HANDED, std::process::id().to_string());
        for name in self.0.keys() {
            command.env_remove(name);
        }
        Err(command.exec())
    }
}
