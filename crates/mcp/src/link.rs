//! The way to a server that may end and be started again.

use std::sync::Arc;

use probity_sandbox::Launcher;
use serde_json::{Map, Value};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::config::McpConfig;
use crate::error::McpError;
use crate::session::{MAX_MESSAGE_BYTES, MAX_REQUESTS, Session, Unanswered};

/// What the model is told when nobody knows what became of its call.
const MAYBE: &str = "the call may have taken effect: look before you repeat it";

/// A server as its tools reach it.
#[derive(Debug)]
pub(crate) struct Link {
    name: String,
    config: McpConfig,
    launcher: Launcher,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    session: Option<Arc<Session>>,
    restarts: u32,
    stopped: bool,
}

impl Link {
    pub(crate) fn new(
        name: String,
        config: McpConfig,
        launcher: Launcher,
        session: Session,
    ) -> Self {
        let state = State { session: Some(Arc::new(session)), restarts: 0, stopped: false };
        Self { name, config, launcher, state: Mutex::new(state) }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Calls a tool; starts the server anew first, once, if it has ended. The error is in words for
    /// the model.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        cancel: &CancellationToken,
    ) -> Result<Value, String> {
        let deadline = Instant::now() + self.config.call_bound();
        let session = tokio::select! {
            session = self.session() => session?,
            () = cancel.cancelled() => return Err("the call was cancelled before it began".to_owned()),
            () = sleep_until(deadline) => return Err(self.told("is not there in time; nothing was called")),
        };
        let unanswered = match session.call(tool, arguments, deadline, cancel).await {
            Ok(answer) => return Ok(answer),
            Err(unanswered) => unanswered,
        };
        Err(match unanswered {
            Unanswered::Lost => self.lost(&session).await,
            Unanswered::TimedOut => {
                let bound_ms = self.config.timeout_ms;
                self.told(&format!("did not answer within {bound_ms} ms; {MAYBE}"))
            }
            Unanswered::Cancelled => format!("the call was cancelled; {MAYBE}"),
            Unanswered::Refused { code, message } => {
                self.told(&format!("refused the call: {message} ({code})"))
            }
            Unanswered::Unreadable => self.told("answered what cannot be read"),
        })
    }

    /// Ends the server; it is not started again.
    pub(crate) async fn stop(&self) {
        let session = {
            let mut state = self.state.lock().await;
            state.stopped = true;
            state.session.take()
        };
        if let Some(session) = session {
            session.end().await;
        }
    }

    /// A server that can be asked: the running one, or a new one if that has ended.
    async fn session(&self) -> Result<Arc<Session>, String> {
        let mut state = self.state.lock().await;
        if state.stopped {
            return Err(self.told("was stopped"));
        }
        if let Some(session) = state.session.as_ref().filter(|session| session.is_alive()) {
            return Ok(Arc::clone(session));
        }
        if let Some(dead) = state.session.take() {
            dead.end().await;
        }
        let most = self.config.max_restarts;
        if state.restarts >= most {
            return Err(
                self.told(&format!("ended, and is not started again after {most} restarts"))
            );
        }
        state.restarts = state.restarts.saturating_add(1);
        let started = Session::start(&self.name, &self.config, &self.launcher).await;
        let session = Arc::new(started.map_err(|error: McpError| error.to_string())?);
        state.session = Some(Arc::clone(&session));
        Ok(session)
    }

    /// Clears away a server that was lost in a call, and says what is known.
    async fn lost(&self, session: &Arc<Session>) -> String {
        let overrun = session.is_overrun();
        let how = session.end().await;
        if overrun {
            let detail = format!(
                "wrote a message of more than {MAX_MESSAGE_BYTES} bytes, or made more than \
                 {MAX_REQUESTS} requests; {MAYBE}"
            );
            return self.told(&detail);
        }
        self.told(&format!("ended during the call ({how}); {MAYBE}"))
    }

    fn told(&self, what: &str) -> String {
        format!("the MCP server `{}` {what}", self.name)
    }
}
