//! The workspace as facts: paths, snapshots, changes, the sealed judge, trust.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot set up its world fails"
)]

mod changes;
mod context;
mod judge;
mod manifest;
mod paths;
mod snapshot;
mod trust;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use probity_verifier::{Manifest, SnapshotError, SnapshotRules, Workspace, snapshot};
use tokio_util::sync::CancellationToken;

/// A temporary folder with a workspace in it and room beside it.
struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("ws")).unwrap();
        Self { folder }
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.root().join(relative)
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("ws")
    }

    /// A path that lies beside the workspace.
    fn outside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, relative: &str, content: impl AsRef<[u8]>) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn link(&self, target: impl AsRef<Path>, relative: &str) {
        std::os::unix::fs::symlink(target, self.path(relative)).unwrap();
    }

    fn fifo(&self, relative: &str) {
        let mode = rustix::fs::Mode::from_raw_mode(0o644);
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, self.path(relative), kind, mode, 0).unwrap();
    }

    fn open(&self) -> Arc<Workspace> {
        Arc::new(Workspace::open(self.root()).unwrap())
    }

    fn try_snapshot(&self, rules: &SnapshotRules) -> Result<Manifest, SnapshotError> {
        snapshot(&self.open(), rules, &CancellationToken::new())
    }

    fn snapshot(&self) -> Manifest {
        self.try_snapshot(&SnapshotRules::default()).unwrap()
    }
}

fn keys(manifest: &Manifest) -> Vec<&str> {
    manifest.iter().map(|(key, _)| key).collect()
}

/// Runs something that would hang where it is wrong.
fn without_hanging<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || send.send(work()));
    receive.recv_timeout(Duration::from_secs(30)).expect("it hangs")
}

/// Root reads everything, whatever the permission bits say.
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
