//! A server, from its start to its end.

use std::fmt;
use std::sync::Arc;

use probity_chat::Tool;
use probity_sandbox::Launcher;

use crate::catalog::{Offer, offers};
use crate::config::McpConfig;
use crate::error::McpError;
use crate::link::Link;
use crate::session::{Session, Unanswered};
use crate::tool::McpTool;

/// What JSON-RPC answers to a method that is not there.
const METHOD_NOT_FOUND: i32 = -32601;

/// A running server. It is killed with everything it has started when this value and all its tools
/// are dropped, or by [`McpServer::stop`].
pub struct McpServer {
    link: Arc<Link>,
    offers: Vec<Offer>,
    warnings: Vec<String>,
}

impl McpServer {
    /// Starts a server and asks for its tools. Of these at most 256 are offered, and each only with
    /// a schema of an object of at most 64 KiB; what is left out is told by [`McpServer::warnings`].
    ///
    /// Needs a Tokio runtime, which must live as long as the server.
    ///
    /// # Errors
    /// [`McpError`] when it does not start, or does not say in time what it can do. It is dead then.
    pub async fn start(
        name: impl Into<String>,
        config: McpConfig,
        launcher: &Launcher,
    ) -> Result<Self, McpError> {
        let name = name.into();
        let config_error = |detail| McpError::Config { server: name.clone(), detail };
        if config.timeout_ms == 0 || config.start_timeout_ms == 0 {
            return Err(config_error("a time-out of 0 leaves no time to answer"));
        }
        let session = Session::start(&name, &config, launcher).await?;
        let listed = match session.list(&config).await {
            Ok(listed) => listed,
            Err(Unanswered::Refused { code: METHOD_NOT_FOUND, .. }) => Vec::new(),
            Err(why) => return Err(unlisted(name, &config, &session, why).await),
        };
        let prefix = config.prefix.as_deref().unwrap_or(&name);
        let (offers, mut warnings) = offers(&listed, prefix, config.only.as_deref());
        if offers.is_empty() {
            warnings.push("the server offers no tools".to_owned());
        }
        let link = Arc::new(Link::new(name, config, launcher.clone(), session));
        Ok(Self { link, offers, warnings })
    }

    /// The server's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.link.name()
    }

    /// Its tools, in its order, under names of 1 to 64 of `A-Z a-z 0-9 _ -`, no two alike.
    ///
    /// A call that the server ends in, or does not answer in time, fails with the word that it may
    /// have taken effect; the next call starts the server anew, as often as configured. A tool that
    /// calls itself read-only or idempotent is repeated after a crash; of any other the model is
    /// told.
    #[must_use]
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let tool = |offer: &Offer| {
            Arc::new(McpTool::new(Arc::clone(&self.link), offer.clone())) as Arc<dyn Tool>
        };
        self.offers.iter().map(tool).collect()
    }

    /// What was left out of its tools, in words for people.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Ends the server: its input ends, and what has not left two seconds later is killed. Calls of
    /// its tools fail from then on.
    pub async fn stop(&self) {
        self.link.stop().await;
    }
}

impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServer")
            .field("name", &self.name())
            .field("tools", &self.offers.len())
            .finish_non_exhaustive()
    }
}

async fn unlisted(
    server: String,
    config: &McpConfig,
    session: &Session,
    why: Unanswered,
) -> McpError {
    let overrun = session.is_overrun();
    let status = session.end().await;
    let stderr_tail = session.stderr_tail();
    let message = match why {
        Unanswered::TimedOut | Unanswered::Cancelled => {
            let timeout_ms = config.start_timeout_ms;
            return McpError::TimedOut { server, timeout_ms, stderr_tail };
        }
        Unanswered::Lost if !overrun => return McpError::Ended { server, status, stderr_tail },
        Unanswered::Lost => "its list of tools is too long".to_owned(),
        Unanswered::Refused { code, message } => {
            format!("it refused to list its tools: {message} ({code})")
        }
        Unanswered::Unreadable => "its list of tools cannot be read".to_owned(),
    };
    McpError::Protocol { server, message }
}
