//! A host: what all its requests share.

use std::sync::Arc;

use probity_engine::Clock;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::board::Board;
use crate::config::HostConfig;
use crate::delegated::Delegated;
use crate::error::{Failure, Reason};
use crate::idempotency::Answered;
use crate::ids::Ids;
use crate::runs::Runs;
use crate::stream::Feeds;
use crate::webhook::Webhooks;
use crate::{api, fixture};

/// A host. Clones share everything; nothing is shared between hosts.
pub struct Host {
    pub(crate) config: HostConfig,
    pub(crate) runs: Arc<dyn Runs>,
    pub(crate) delegated: Option<Arc<dyn Delegated>>,
    pub(crate) board: Option<Arc<dyn Board>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) feeds: Feeds,
    pub(crate) answered: Answered,
    pub(crate) webhooks: Webhooks,
    /// Requests that are worked on.
    pub(crate) requests: Arc<Semaphore>,
    /// Streams and long polls that are open.
    pub(crate) streams: Arc<Semaphore>,
    /// Set once the host is to end: streams end then.
    pub(crate) stop: CancellationToken,
    pub(crate) discovery: Value,
}

impl Host {
    /// A host on runs. Where the seams are offered, their fixtures are registered.
    ///
    /// # Errors
    /// A fixture's name is taken by another definition.
    pub fn new(
        config: HostConfig,
        runs: Arc<dyn Runs>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
    ) -> Result<Arc<Self>, Failure> {
        Self::made(config, runs, None, None, clock, ids)
    }

    /// A host on runs and on delegations: the verdict API is served beside.
    ///
    /// # Errors
    /// As [`Host::new`].
    pub fn with_delegations(
        config: HostConfig,
        runs: Arc<dyn Runs>,
        delegated: Arc<dyn Delegated>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
    ) -> Result<Arc<Self>, Failure> {
        Self::made(config, runs, Some(delegated), None, clock, ids)
    }

    /// A host on runs and on delegations, with a board of them: the dashboard is served beside.
    ///
    /// # Errors
    /// As [`Host::new`].
    pub fn with_board(
        config: HostConfig,
        runs: Arc<dyn Runs>,
        delegated: Arc<dyn Delegated>,
        board: Arc<dyn Board>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
    ) -> Result<Arc<Self>, Failure> {
        Self::made(config, runs, Some(delegated), Some(board), clock, ids)
    }

    fn made(
        config: HostConfig,
        runs: Arc<dyn Runs>,
        delegated: Option<Arc<dyn Delegated>>,
        board: Option<Arc<dyn Board>>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
    ) -> Result<Arc<Self>, Failure> {
        let (has_delegations, has_board) = (delegated.is_some(), board.is_some());
        let config = HostConfig { has_delegations, has_board, ..config };
        if config.has_conformance_seams {
            for definition in fixture::definitions() {
                let definition = definition.map_err(|error| internal(&error.to_string()))?;
                runs.define(definition).map_err(|error| internal(&error.to_string()))?;
            }
        }
        let limits = config.limits;
        Ok(Arc::new(Self {
            discovery: api::discovery::document(&config),
            runs,
            delegated,
            board,
            clock,
            ids,
            feeds: Feeds::default(),
            answered: Answered::default(),
            webhooks: Webhooks::default(),
            requests: Arc::new(Semaphore::new(limits.max_requests)),
            streams: Arc::new(Semaphore::new(limits.max_streams)),
            stop: CancellationToken::new(),
            config,
        }))
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("config", &self.config.name).finish_non_exhaustive()
    }
}

fn internal(why: &str) -> Failure {
    Failure::new(Reason::Internal, why)
}
