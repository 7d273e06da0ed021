//! What a script may reach beyond its workspace, and who answers for it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

/// Everything a script may ask of the process that runs it. The default grants nothing.
#[derive(Clone, Default)]
pub struct Host {
    /// Answers `http.get` and `http.head`; `None` denies every host.
    pub http: Option<Arc<dyn HttpGate>>,
    /// Answers `exec.run`; `None` denies every command.
    pub commands: Option<Arc<dyn CommandGate>>,
    /// Answers `git.*`; `None` denies it.
    pub git: Option<Arc<dyn GitGate>>,
    /// The variables that `env(key)` may read, with their values.
    pub env: BTreeMap<String, String>,
    /// Files and folders that no tool may change, with all that lies in them: relative to the
    /// workspace, or absolute. `.git` and `.probity` are protected in every folder without being
    /// named. Verifiers and hooks change nothing anyway.
    pub protected: Vec<String>,
}

impl fmt::Debug for Host {
    /// Names only: values of variables may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host")
            .field("http", &self.http.is_some())
            .field("commands", &self.commands.is_some())
            .field("git", &self.git.is_some())
            .field("env", &self.env.keys())
            .field("protected", &self.protected)
            .finish()
    }
}

/// Why a gate gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum GateError {
    /// Policy forbids it: the check faults, because the operator has to decide.
    #[error("{0}")]
    Denied(String),
    /// Ground truth cannot be reached: the check is inconclusive.
    #[error("{0}")]
    Unreachable(String),
    /// Ground truth did not answer in time: the check is inconclusive.
    #[error("{0}")]
    Late(String),
    /// The request makes no sense: it is raised in the script.
    #[error("{0}")]
    Invalid(String),
}

/// The two methods a verifier may use: neither of them writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum HttpMethod {
    /// The whole response.
    Get,
    /// The response without its body.
    Head,
}

/// A request of a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpRequest {
    /// GET or HEAD.
    pub method: HttpMethod,
    /// The URL as the script wrote it.
    pub url: String,
    /// Header names and values as the script wrote them.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The longest wait, in milliseconds. 1 to 120 000.
    pub timeout_ms: u64,
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpResponse {
    /// The status code of the last hop.
    pub status: u16,
    /// The URL of the last hop.
    pub url: String,
    /// Header names and values in the order they came; names in any case, repeated where they were.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// The body as text; bytes that are not UTF-8 are replaced by U+FFFD.
    #[serde(default)]
    pub body: String,
    /// True when the body was longer than the gate reads: nothing may be concluded from what is
    /// absent in it.
    #[serde(default)]
    pub truncated: bool,
}

/// Reaches the network for scripts, under the policy of whoever built it.
#[async_trait]
pub trait HttpGate: Send + Sync {
    /// Sends one request and reads the bounded answer.
    ///
    /// # Errors
    /// A [`GateError`] saying whether policy, the network or the request is to blame.
    async fn fetch(&self, request: &HttpRequest) -> Result<HttpResponse, GateError>;
}

/// A command a script wants to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRequest {
    /// The command's name as the policy knows it.
    pub command: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// The longest run, in milliseconds. 1 to 600 000.
    pub timeout_ms: u64,
}

/// What the command left behind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandOutput {
    /// Its exit code; -1 when a signal ended it.
    pub exit_code: i32,
    /// Standard output as text, bounded by the gate.
    pub stdout: String,
    /// Standard error as text, bounded by the gate.
    pub stderr: String,
}

/// Runs commands for scripts, under the policy of whoever built it. Each run is in the workspace,
/// in its own process group, with bounded time and output.
#[async_trait]
pub trait CommandGate: Send + Sync {
    /// Runs one command to its end.
    ///
    /// # Errors
    /// A [`GateError`]; a command that did not end in time is [`GateError::Late`].
    async fn run(
        &self,
        workspace: &std::path::Path,
        request: &CommandRequest,
    ) -> Result<CommandOutput, GateError>;
}

/// A question about the workspace's repository. None of them writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "question", rename_all = "snake_case")]
pub enum GitRequest {
    /// The commit a revision names, or null.
    RevParse {
        /// The revision.
        rev: String,
    },
    /// Whether the first commit is reachable from the second.
    IsAncestor {
        /// The commit that should be contained.
        ancestor: String,
        /// The revision that should contain it.
        descendant: String,
    },
    /// Whether nothing is modified, staged or untracked.
    IsClean,
}

/// Answers questions about a repository, under the policy of whoever built it.
#[async_trait]
pub trait GitGate: Send + Sync {
    /// Answers one question: text or null for `RevParse`, a bool for the others.
    ///
    /// # Errors
    /// A [`GateError`]; a folder that is no repository is [`GateError::Invalid`].
    async fn ask(
        &self,
        workspace: &std::path::Path,
        request: &GitRequest,
    ) -> Result<serde_json::Value, GateError>;
}

/// A change to the workspace. Only a tool may make one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub(crate) enum Change {
    Write { path: String, text: String },
    Append { path: String, text: String },
    Mkdir { path: String },
    Remove { path: String },
}

/// The longest single wait.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// A question on its way from the script to the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub(crate) enum HostCall {
    Http(HttpRequest),
    Command(CommandRequest),
    Git(GitRequest),
    Env {
        key: String,
    },
    Change(Change),
    /// Nothing but time: so a wait ends with the check and with the run.
    Wait {
        ms: u64,
    },
}

/// The host's answer: the value, or which power was missing and why.
pub(crate) type HostAnswer = Result<serde_json::Value, GateError>;

impl Host {
    /// Answers one call. `None` in a gate is a denial.
    pub(crate) async fn answer(&self, workspace: &std::path::Path, call: &HostCall) -> HostAnswer {
        match call {
            HostCall::Http(request) => {
                let gate = self.http.as_ref().ok_or_else(|| {
                    GateError::Denied(format!("`{}` is not allowed: no host is", request.url))
                })?;
                let wait = Duration::from_millis(request.timeout_ms);
                let response = tokio::time::timeout(wait, gate.fetch(request)).await;
                let late = |_| GateError::Late(format!("`{}` did not answer in time", request.url));
                to_value(response.map_err(late)??)
            }
            HostCall::Command(request) => {
                let gate = self.commands.as_ref().ok_or_else(|| {
                    GateError::Denied(format!(
                        "command `{}` is not allowed: none is",
                        request.command
                    ))
                })?;
                to_value(gate.run(workspace, request).await?)
            }
            HostCall::Git(request) => {
                let gate = self.git.as_ref().ok_or_else(|| {
                    GateError::Denied("`git` is not allowed for this check".to_owned())
                })?;
                gate.ask(workspace, request).await
            }
            HostCall::Env { key } => match self.env.get(key) {
                Some(value) => Ok(value.as_str().into()),
                None => Err(GateError::Denied(format!("variable `{key}` is not allowed"))),
            },
            HostCall::Change(_) => {
                Err(GateError::Denied("only the `run` of a tool may change files".to_owned()))
            }
            HostCall::Wait { ms } => {
                tokio::time::sleep(Duration::from_millis(*ms).min(MAX_WAIT)).await;
                Ok(serde_json::Value::Null)
            }
        }
    }
}

fn to_value(answer: impl Serialize) -> HostAnswer {
    serde_json::to_value(answer).map_err(|error| GateError::Invalid(error.to_string()))
}
