//! A running agent: its process and the connection to it.

use std::time::Duration;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, AuthMethod, AuthMethodId, AuthenticateRequest, ClientCapabilities,
    Implementation, InitializeRequest,
};
use probity_core::RunId;
use probity_delegate::DelegateError;
use probity_sandbox::{Child, Ended, Launcher, SandboxError, Spawn};
use tokio::time::timeout;

use crate::config::AcpConfig;
use crate::connection::Connection;
use crate::session::Session;
use crate::steps::{Halt, Limits, MAX_QUOTE_BYTES};
use crate::workspace::Workspace;

/// How much standard error is kept.
const MAX_STDERR_BYTES: usize = 64 * 1024;

/// Time between SIGTERM and SIGKILL.
const TERM_GRACE: Duration = Duration::from_secs(2);

/// How long a process may go on whose connection broke, before it is killed: long enough to tell its
/// own end from being killed.
const END_GRACE: Duration = Duration::from_millis(500);

/// A running agent. Dropping it kills its process with everything that it has started.
#[derive(Debug)]
pub(crate) struct LiveAgent {
    child: Child,
    pub(crate) connection: Connection,
    /// What it can do; told by `initialize`.
    pub(crate) can: AgentCapabilities,
    /// How it lets itself be authenticated.
    pub(crate) logins: Vec<AuthMethod>,
    /// The session that is open, and whose it is.
    pub(crate) session: Option<(RunId, Session)>,
}

impl LiveAgent {
    /// Starts the process.
    pub(crate) async fn start(
        config: &AcpConfig,
        workspace: &Workspace,
        launcher: &Launcher,
    ) -> Result<Self, DelegateError> {
        let mut command = config.command.iter();
        let mut spawn = Spawn::new(command.next().cloned().unwrap_or_default())
            .args(command.cloned())
            .cwd(workspace.root())
            .inherit_env()
            .term_grace(TERM_GRACE)
            .max_stderr_bytes(MAX_STDERR_BYTES);
        for (name, value) in &config.env {
            spawn = spawn.env(name, value);
        }
        let mut child = spawn.start(launcher).await.map_err(start_error)?;
        let streams = child.take_stdout().zip(child.take_stdin());
        let connection = match streams {
            Some((from, to)) => Connection::open(from, to).await,
            None => None,
        };
        let Some(connection) = connection else {
            return Err(DelegateError::Failed { message: "no connection to it".to_owned() });
        };
        let can = AgentCapabilities::default();
        Ok(Self { child, connection, can, logins: Vec::new(), session: None })
    }

    /// Agrees on the protocol, and says who asks where the configuration tells how.
    pub(crate) async fn initialize(
        &mut self,
        limits: Limits<'_>,
        login: Option<&str>,
    ) -> Result<(), Halt> {
        let request = InitializeRequest::new(ProtocolVersion::V1)
            .client_capabilities(ClientCapabilities::default())
            .client_info(Implementation::new("probity", env!("CARGO_PKG_VERSION")));
        let steps = limits.of(&self.connection);
        let response = steps.call("initialize", request).await?;
        if response.protocol_version != ProtocolVersion::V1 {
            return Err(Halt::Unfit {
                detail: format!(
                    "it speaks version {} of the protocol, and version 1 is needed",
                    response.protocol_version
                ),
            });
        }
        if let Some(method) = login {
            let request = AuthenticateRequest::new(AuthMethodId::new(method));
            steps.call("authenticate", request).await?;
        }
        self.can = response.agent_capabilities;
        self.logins = response.auth_methods;
        Ok(())
    }

    /// Whether it can be asked.
    pub(crate) fn is_up(&self) -> bool {
        self.connection.is_up() && !self.child.is_over()
    }

    /// Kills it with everything that it has started, and waits until that is done.
    pub(crate) async fn kill(self) {
        // What could not be watched cannot be waited for either.
        let _ = self.child.kill().await;
    }

    /// Ends an agent whose connection broke, and tells in words how it ended.
    pub(crate) async fn autopsy(self) -> Autopsy {
        let fault = self.connection.fault();
        let first_foreign = self.connection.first_foreign();
        let by_itself = timeout(END_GRACE, self.child.wait()).await;
        let status = match by_itself {
            Ok(Ok(finished)) => match finished.ended {
                Ended::Exited(status) => Some(status.to_string()),
                Ended::TimedOut | Ended::Cancelled => None,
            },
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => None,
        };
        if status.is_none() {
            // As in `kill`.
            let _ = self.child.kill().await;
        }
        let stderr_tail = self.child.stderr_tail(MAX_QUOTE_BYTES).trim_end().to_owned();
        Autopsy { status, stderr_tail, fault, first_foreign }
    }
}

/// How an agent ended.
#[derive(Debug)]
pub(crate) struct Autopsy {
    /// `exit status 2`, `signal 9`; `None` when it went on and was killed.
    pub(crate) status: Option<String>,
    /// The end of its standard error.
    pub(crate) stderr_tail: String,
    /// Why it was given up from this side, if it was.
    pub(crate) fault: Option<String>,
    /// The first line that was no message.
    pub(crate) first_foreign: Option<String>,
}

impl Autopsy {
    /// What was seen of it, in words: `it ended with signal 9: …`.
    pub(crate) fn words(&self) -> String {
        let how = match &self.status {
            Some(status) => format!("it ended with {status}"),
            None => "it closed its output".to_owned(),
        };
        match (self.stderr_tail.is_empty(), &self.first_foreign) {
            (false, _) => format!("{how}: {}", self.stderr_tail),
            (true, Some(line)) => format!("{how}; it wrote `{line}`"),
            (true, None) => how,
        }
    }
}

fn start_error(error: SandboxError) -> DelegateError {
    match error {
        SandboxError::Start { program, source } => DelegateError::Start { program, source },
        source => DelegateError::Sandbox { source },
    }
}
