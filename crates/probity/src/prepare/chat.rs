//! A chat model with its tools, of which servers are started when the first attempt asks.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use probity_chat::{ChatConfig, ChatDelegate, Model, OutagePolicy, Toolbox};
use probity_delegate::{Answered, Conversation, Delegate, DelegateError, Request};
use probity_mcp::{McpConfig, McpServer};
use probity_sandbox::Launcher;
use tokio::sync::OnceCell;

use crate::request::{Chat, Mcp, Millis};

/// A chat delegate that is whole once its servers of tools have been started: by the first attempt, so
/// that looking at a request starts nothing. A start that failed is tried again by the next attempt.
pub(super) struct ChatSeat {
    model: Arc<dyn Model>,
    tools: Toolbox,
    servers: Vec<(String, McpConfig)>,
    launcher: Launcher,
    config: ChatConfig,
    ready: OnceCell<Ready>,
}

/// The delegate. Its tools keep the servers alive, also where they offer none.
struct Ready {
    delegate: ChatDelegate,
    _servers: Vec<McpServer>,
}

impl ChatSeat {
    /// A model with these tools, and those of these servers.
    pub(super) fn new(
        chat: &Chat,
        model: Arc<dyn Model>,
        tools: Toolbox,
        servers: Vec<(String, McpConfig)>,
        launcher: Launcher,
    ) -> Self {
        let mut config = ChatConfig::new(Arc::new(now_ms));
        if let Some(calls) = chat.max_model_calls {
            config.max_model_calls = calls;
        }
        if let Some(timeout) = chat.call_timeout {
            config.call_timeout_ms = timeout.get();
        }
        Self { model, tools, servers, launcher, config, ready: OnceCell::new() }
    }

    /// As a worker wants it: a model that is out of reach is waited for without holding the worker.
    pub(super) fn of_worker(mut self) -> Self {
        self.config.outage = OutagePolicy::of_workers();
        self
    }

    async fn start(&self) -> Result<Ready, DelegateError> {
        let mut tools = self.tools.clone();
        let mut servers = Vec::with_capacity(self.servers.len());
        for (name, config) in &self.servers {
            let failed = |error: String| DelegateError::Start {
                program: config.command.first().cloned().unwrap_or_else(|| name.clone()),
                source: io::Error::other(error),
            };
            let server = McpServer::start(name.clone(), config.clone(), &self.launcher).await;
            let server = server.map_err(|error| failed(error.to_string()))?;
            let offered = server.tools();
            if offered.is_empty() {
                // Whoever names a server wants something of it, such as a tool under `only`.
                return Err(failed(format!("`{name}`: {}", server.warnings().join("; "))));
            }
            for tool in offered {
                tools.add(tool).map_err(|error| failed(error.to_string()))?;
            }
            servers.push(server);
        }
        let delegate = ChatDelegate::new(Arc::clone(&self.model), tools, self.config.clone());
        Ok(Ready { delegate, _servers: servers })
    }
}

#[async_trait]
impl Delegate for ChatSeat {
    async fn attempt(&self, request: &Request) -> Result<Answered, DelegateError> {
        let ready = tokio::select! {
            biased;
            () = request.cancel.cancelled() => return Err(DelegateError::Cancelled),
            ready = self.ready.get_or_try_init(|| self.start()) => ready?,
        };
        ready.delegate.attempt(request).await
    }

    fn conversation(&self) -> Conversation {
        Conversation::Same
    }

    fn describe(&self) -> String {
        format!("chat: {}", self.model.identity())
    }

    fn identity(&self) -> String {
        self.model.identity()
    }
}

impl fmt::Debug for ChatSeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatSeat")
            .field("model", &self.model.identity())
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}

/// How a server of tools is started, in the workspace.
pub(super) fn server(mcp: &Mcp, root: &Path) -> McpConfig {
    let kept =
        mcp.env_keep.iter().filter_map(|name| Some((name.clone(), std::env::var(name).ok()?)));
    let mut config = McpConfig::new(mcp.command.iter().cloned());
    config.env = kept.collect();
    config.cwd = Some(root.to_path_buf());
    config.only.clone_from(&mcp.only);
    config.prefix.clone_from(&mcp.prefix);
    config.timeout_ms = mcp.timeout.map_or(config.timeout_ms, Millis::get);
    config.start_timeout_ms = mcp.start_timeout.map_or(config.start_timeout_ms, Millis::get);
    config
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
