//! One event of an agent at a time: a lock that dies with its process.

use std::fs::{File, OpenOptions, create_dir_all, metadata, remove_file};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use tokio::time::sleep;

use crate::location::StoreUrl;

/// How often a lock that is held is asked for again.
const PAUSE: Duration = Duration::from_millis(5);

/// The place of one event in the queue of its agent.
pub(super) struct Place {
    path: PathBuf,
    file: File,
    /// Another event was there first.
    pub(super) has_waited: bool,
}

impl Place {
    /// Waits until no other event of that agent is being answered. Whoever calls this bounds the wait.
    ///
    /// # Errors
    /// Why there can be no lock.
    pub(super) async fn take(name: &str) -> io::Result<Self> {
        let path = folder().join(format!("{name}.lock"));
        create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
        let mut has_waited = false;
        loop {
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(&path)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                // The one before may have taken the name away between opening and locking.
                Ok(()) if is_named(&file, &path) => return Ok(Self { path, file, has_waited }),
                Ok(()) => {}
                Err(Errno::WOULDBLOCK | Errno::INTR) => {
                    has_waited = true;
                    sleep(PAUSE).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // While it is locked, so that nobody else's is taken away.
        if is_named(&self.file, &self.path) {
            drop(remove_file(&self.path));
        }
    }
}

fn is_named(file: &File, path: &Path) -> bool {
    match (file.metadata(), metadata(path)) {
        (Ok(ours), Ok(named)) => (ours.dev(), ours.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

/// In the state folder of the user, out of the way of workspaces; without one, where temporary files are.
fn folder() -> PathBuf {
    match StoreUrl::of_user() {
        Ok(StoreUrl::Sqlite(path)) => path.with_file_name("hooks"),
        _ => {
            let user = rustix::process::getuid().as_raw();
            std::env::temp_dir().join(format!("probity-hooks-{user}"))
        }
    }
}
