//! The gates as they are in production: the guarded HTTP client, and commands killed whole.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use probity_egress::{Client, EgressError, Method, Request};
use probity_sandbox::{Ended, Finished, Launcher, Spawn, Status};
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use crate::host::{
    CommandGate, CommandOutput, CommandRequest, GateError, GitGate, GitRequest, HttpGate,
    HttpMethod, HttpRequest, HttpResponse,
};

/// Bytes of each output stream of a command that a script sees.
const MAX_OUTPUT_BYTES: usize = 1 << 20;
/// The longest a question to git may take.
const GIT_TIMEOUT: Duration = Duration::from_secs(30);

/// Reaches the hosts that the client's policy allows. Request headers are refused: the client sends
/// its own only.
#[derive(Clone)]
pub struct EgressGate {
    client: Client,
}

impl EgressGate {
    /// A gate over a client and so over its policy.
    #[must_use]
    pub const fn new(client: Client) -> Self {
        Self { client }
    }
}

#[async_trait]
impl HttpGate for EgressGate {
    async fn fetch(&self, request: &HttpRequest) -> Result<HttpResponse, GateError> {
        if !request.headers.is_empty() {
            return Err(GateError::Invalid("request headers cannot be set".to_owned()));
        }
        let sent = Request {
            url: request.url.clone(),
            method: match request.method {
                HttpMethod::Get => Method::Get,
                HttpMethod::Head => Method::Head,
            },
            max_body_bytes: None,
            timeout: Some(Duration::from_millis(request.timeout_ms)),
        };
        // Dropping the call cancels it.
        let response = self.client.send(&sent, &CancellationToken::new()).await.map_err(refusal)?;
        Ok(HttpResponse {
            status: response.status,
            body: response.text().into_owned(),
            url: response.url,
            headers: response.headers,
            truncated: response.truncated,
        })
    }
}

fn refusal(error: EgressError) -> GateError {
    let message = error.to_string();
    match error {
        EgressError::Denied { .. } => GateError::Denied(message),
        EgressError::BadUrl { .. } => GateError::Invalid(message),
        EgressError::TimedOut { .. } => GateError::Late(message),
        _ => GateError::Unreachable(message),
    }
}

/// Runs the commands it was given by name, and no others.
#[derive(Debug, Clone)]
pub struct NamedCommands {
    launcher: Launcher,
    commands: BTreeMap<String, OsString>,
}

impl NamedCommands {
    /// A gate for these commands: the name a script uses, and the program it stands for. No shell
    /// is involved.
    #[must_use]
    pub const fn new(launcher: Launcher, commands: BTreeMap<String, OsString>) -> Self {
        Self { launcher, commands }
    }
}

#[async_trait]
impl CommandGate for NamedCommands {
    async fn run(
        &self,
        workspace: &Path,
        request: &CommandRequest,
    ) -> Result<CommandOutput, GateError> {
        let program = self.commands.get(&request.command).ok_or_else(|| {
            GateError::Denied(format!("the policy does not name the command `{}`", request.command))
        })?;
        let spawn = Spawn::new(program)
            .args(&request.args)
            .cwd(workspace)
            .timeout(Duration::from_millis(request.timeout_ms))
            .max_output_bytes(MAX_OUTPUT_BYTES);
        let finished = run(&spawn, &self.launcher, &request.command).await?;
        Ok(CommandOutput {
            exit_code: match finished.status() {
                Some(Status::Code(code)) => code,
                Some(Status::Signal(_)) | None => -1,
            },
            stdout: finished.stdout.text().into_owned(),
            stderr: finished.stderr.text().into_owned(),
        })
    }
}

async fn run(spawn: &Spawn, launcher: &Launcher, name: &str) -> Result<Finished, GateError> {
    let finished =
        spawn.run(launcher).await.map_err(|error| GateError::Invalid(error.to_string()))?;
    match finished.ended {
        Ended::Exited(_) => Ok(finished),
        Ended::TimedOut => Err(GateError::Late(format!("command `{name}` did not end in time"))),
        Ended::Cancelled => Err(GateError::Unreachable(format!("command `{name}` was cancelled"))),
    }
}

/// Asks the `git` program, with the user's and the system's configuration left out. The
/// repository's own configuration is read: a delegate that may write it can make git run programs,
/// under the same containment as any other command.
#[derive(Debug, Clone)]
pub struct GitCommand {
    launcher: Launcher,
}

impl GitCommand {
    /// A gate over the `git` on `PATH`.
    #[must_use]
    pub const fn new(launcher: Launcher) -> Self {
        Self { launcher }
    }

    async fn git(&self, workspace: &Path, args: &[&str]) -> Result<Finished, GateError> {
        let mut spawn = Spawn::new("git")
            .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"])
            .args(["-c", "safe.directory=*", "--no-pager"])
            .args(args)
            .cwd(workspace)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .timeout(GIT_TIMEOUT)
            .max_output_bytes(MAX_OUTPUT_BYTES);
        // Never a repository that the workspace merely lies in.
        if let Some(parent) = workspace.parent() {
            spawn = spawn.env("GIT_CEILING_DIRECTORIES", parent);
        }
        run(&spawn, &self.launcher, "git").await
    }

    /// The commit a revision names; `None` where it names none or there is no repository.
    async fn commit(&self, workspace: &Path, rev: &str) -> Result<Option<String>, GateError> {
        let named = format!("{rev}^{{commit}}");
        let args = ["rev-parse", "--verify", "--quiet", "--end-of-options", &named];
        let finished = self.git(workspace, &args).await?;
        Ok(finished.success().then(|| finished.stdout.text().trim().to_owned()))
    }
}

#[async_trait]
impl GitGate for GitCommand {
    async fn ask(&self, workspace: &Path, request: &GitRequest) -> Result<Json, GateError> {
        match request {
            GitRequest::RevParse { rev } => Ok(self.commit(workspace, rev).await?.into()),
            GitRequest::IsAncestor { ancestor, descendant } => {
                let ancestor = self.commit(workspace, ancestor).await?;
                let descendant = self.commit(workspace, descendant).await?;
                let (Some(ancestor), Some(descendant)) = (ancestor, descendant) else {
                    return Ok(false.into());
                };
                let args = ["merge-base", "--is-ancestor", &ancestor, &descendant];
                Ok(self.git(workspace, &args).await?.success().into())
            }
            GitRequest::IsClean => {
                let finished = self.git(workspace, &["status", "--porcelain"]).await?;
                if finished.success() {
                    return Ok(finished.stdout.text().is_empty().into());
                }
                let said = finished.stderr.last_text(512);
                Err(GateError::Invalid(format!("git status failed: {}", said.trim())))
            }
        }
    }
}
