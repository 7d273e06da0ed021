//! Facts about the workspace that are no files: they join the manifest, so that a verdict names
//! them too.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use probity_core::Fault;
use probity_sandbox::Launcher;
use tokio_util::sync::CancellationToken;

use crate::{Workspace, stock};

/// Reads facts before the delegate starts and after every claim.
#[async_trait]
pub trait Facts: Send + Sync {
    /// The facts at this moment, by name.
    ///
    /// # Errors
    /// A [`Fault`] when they cannot be read: without them no verdict can be trusted.
    async fn read(
        &self,
        workspace: &Workspace,
        cancel: &CancellationToken,
    ) -> Result<BTreeMap<String, String>, Fault>;
}

/// No facts: where there was no moment before the work, nothing may be compared with one.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFacts;

#[async_trait]
impl Facts for NoFacts {
    async fn read(
        &self,
        _: &Workspace,
        _: &CancellationToken,
    ) -> Result<BTreeMap<String, String>, Fault> {
        Ok(BTreeMap::new())
    }
}

/// The commits that refs are at, and the addresses of remotes. Nothing is run where the workspace
/// is no repository.
#[derive(Debug, Clone)]
pub struct GitFacts {
    launcher: Launcher,
}

impl GitFacts {
    /// The longest that git may take, in milliseconds.
    pub const TIMEOUT_MS: u64 = 30_000;

    /// Facts by the `git` on `PATH`.
    #[must_use]
    pub const fn new(launcher: Launcher) -> Self {
        Self { launcher }
    }
}

#[async_trait]
impl Facts for GitFacts {
    async fn read(
        &self,
        workspace: &Workspace,
        cancel: &CancellationToken,
    ) -> Result<BTreeMap<String, String>, Fault> {
        let timeout = Duration::from_millis(Self::TIMEOUT_MS);
        stock::baseline(workspace, &self.launcher, timeout, cancel).await
    }
}
