//! One running server, and the conversation with it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use probity_sandbox::{Child, Ended, Launcher, Spawn};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientCapabilities, ClientConfig, ClientRequest,
    ClientResult, ErrorCode, Implementation, ListToolsRequest, PaginatedRequestParams,
    ProtocolVersion, ServerNotification, ServerRequest, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, NotificationContext, PeerRequestOptions, RequestContext, RequestHandle,
    RoleClient, RunningService, Service, ServiceError, serve_client,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::bounded::Bounded;
use crate::catalog::MAX_TOOLS;
use crate::config::McpConfig;
use crate::error::McpError;
use crate::output::cut;

/// Bytes of one message of a server; one that is longer ends the conversation.
pub(crate) const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// Requests of a server to its client; one that makes more is given up.
pub(crate) const MAX_REQUESTS: usize = 10_000;

/// Bytes held of a server's standard error.
const MAX_STDERR_BYTES: usize = 64 * 1024;

/// Bytes of its end that people are told, and of the server's own messages.
const MAX_TOLD_BYTES: usize = 2048;

/// Pages of the list of tools that are asked for.
const MAX_PAGES: usize = 64;

/// How long a server may take to leave once its input has ended, and again between SIGTERM and
/// SIGKILL.
const LEAVE_BOUND: Duration = Duration::from_secs(2);

/// How long telling a server that a call is not wanted any more may take.
const TELL_BOUND: Duration = Duration::from_secs(1);

/// A running server.
#[derive(Debug)]
pub(crate) struct Session {
    child: Child,
    service: RunningService<RoleClient, Refusing>,
    overrun: CancellationToken,
}

/// A question that got no answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// In time.
    TimedOut,
    /// The answer is not wanted any more.
    Cancelled,
    /// The server is gone, or what it says can't be followed any more.
    Lost,
    /// It answered with an error.
    Refused { code: i32, message: String },
    /// It answered something else.
    Unreadable,
}

impl Session {
    /// Starts a server and shakes hands.
    pub(crate) async fn start(
        name: &str,
        config: &McpConfig,
        launcher: &Launcher,
    ) -> Result<Self, McpError> {
        let server = || name.to_owned();
        let Some((program, args)) = config.command.split_first() else {
            return Err(McpError::Config { server: server(), detail: "its command is empty" });
        };
        let mut spawn = Spawn::new(program)
            .args(args)
            .max_stderr_bytes(MAX_STDERR_BYTES)
            .term_grace(LEAVE_BOUND);
        for (name, value) in &config.env {
            spawn = spawn.env(name, value);
        }
        if let Some(cwd) = &config.cwd {
            spawn = spawn.cwd(cwd);
        }
        let started = spawn.start(launcher).await;
        let mut child = started.map_err(|source| McpError::Start { server: server(), source })?;
        let (Some(stdin), Some(stdout)) = (child.take_stdin(), child.take_stdout()) else {
            return Err(McpError::Config { server: server(), detail: "it has no streams" });
        };
        let stdout = Bounded::new(stdout, MAX_MESSAGE_BYTES);
        let overrun = stdout.overrun();
        let client = Refusing { asked: AtomicUsize::new(0), overrun: overrun.clone() };
        let transport =
            AsyncRwTransport::new_client(stdout, stdin).with_max_line_length(usize::MAX);
        match timeout(config.start_bound(), Box::pin(serve_client(client, transport))).await {
            Ok(Ok(service)) => Ok(Self { child, service, overrun }),
            Ok(Err(error)) => {
                let overrun = overrun.is_cancelled();
                Err(no_start(name, &child, &error, overrun).await)
            }
            Err(_) => Err(silent(name, &child, config.start_timeout_ms).await),
        }
    }

    /// Lists the tools as the server describes them: all pages up to the one in which there are more
    /// than [`MAX_TOOLS`], and together no more than one message may have.
    pub(crate) async fn list(&self, config: &McpConfig) -> Result<Vec<Value>, Unanswered> {
        let deadline = Instant::now() + config.start_bound();
        let never = CancellationToken::new();
        let mut tools = Vec::new();
        let mut bytes: usize = 0;
        let mut params: Option<PaginatedRequestParams> = None;
        for _ in 0..MAX_PAGES {
            let request = ListToolsRequest { params: params.take(), ..ListToolsRequest::default() };
            let request = ClientRequest::ListToolsRequest(request);
            let mut page = self.ask(request, deadline, &never).await?;
            bytes = bytes.saturating_add(page.to_string().len());
            if bytes > MAX_MESSAGE_BYTES {
                return Err(Unanswered::Unreadable);
            }
            let Some(Value::Array(listed)) = page.get_mut("tools").map(Value::take) else {
                return Err(Unanswered::Unreadable);
            };
            tools.extend(listed);
            let cursor = page.get("nextCursor").and_then(Value::as_str);
            let cursor = cursor.filter(|_| tools.len() <= MAX_TOOLS);
            let Some(cursor) = cursor else { break };
            params = Some(PaginatedRequestParams::default().with_cursor(Some(cursor.to_owned())));
        }
        Ok(tools)
    }

    /// Calls a tool. On time-out and cancel the server is told that the answer is not wanted.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<Value, Unanswered> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        self.ask(request, deadline, cancel).await
    }

    /// Whether a question can be put.
    pub(crate) fn is_alive(&self) -> bool {
        !self.child.is_over()
            && !self.is_overrun()
            && !self.service.is_closed()
            && !self.service.is_transport_closed()
    }

    /// Whether it was lost for a message, or requests, over the bound.
    pub(crate) fn is_overrun(&self) -> bool {
        self.overrun.is_cancelled()
    }

    /// Ends the server: its input ends, then it is killed whole. Says how it ended.
    pub(crate) async fn end(&self) -> String {
        self.service.cancellation_token().cancel();
        how(&self.child).await
    }

    /// The end of what it wrote to standard error.
    pub(crate) fn stderr_tail(&self) -> String {
        self.child.stderr_tail(MAX_TOLD_BYTES)
    }

    async fn ask(
        &self,
        request: ClientRequest,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<Value, Unanswered> {
        let options = PeerRequestOptions::no_options();
        let asked = self.service.send_cancellable_request(request, options);
        let mut handle = tokio::select! {
            asked = asked => asked.map_err(unanswered)?,
            why = ended(deadline, cancel) => return Err(why),
        };
        let why = tokio::select! {
            answer = &mut handle.rx => return unpack(answer.unwrap_or(Err(ServiceError::TransportClosed))),
            // The kit itself waits until all is written that the server does not read.
            () = self.overrun.cancelled() => return Err(Unanswered::Lost),
            why = ended(deadline, cancel) => why,
        };
        tell(handle, &why).await;
        Err(why)
    }
}

async fn ended(deadline: Instant, cancel: &CancellationToken) -> Unanswered {
    tokio::select! {
        () = cancel.cancelled() => Unanswered::Cancelled,
        () = sleep_until(deadline) => Unanswered::TimedOut,
    }
}

async fn tell(handle: RequestHandle<RoleClient>, why: &Unanswered) {
    let reason = if *why == Unanswered::TimedOut { "timed out" } else { "cancelled" };
    // A server that cannot be told is none the wiser; the call is over all the same.
    let _ = timeout(TELL_BOUND, handle.cancel(Some(reason.to_owned()))).await;
}

fn unpack(answer: Result<ServerResult, ServiceError>) -> Result<Value, Unanswered> {
    // As JSON again: what the kit finds no type for is told apart here, tool by tool.
    serde_json::to_value(answer.map_err(unanswered)?).map_err(|_| Unanswered::Unreadable)
}

fn unanswered(error: ServiceError) -> Unanswered {
    match error {
        ServiceError::McpError(error) => Unanswered::Refused {
            code: error.code.0,
            message: cut(&error.message, MAX_TOLD_BYTES).to_owned(),
        },
        ServiceError::TransportClosed | ServiceError::TransportSend(_) => Unanswered::Lost,
        _ => Unanswered::Unreadable,
    }
}

/// Waits for the child to leave by itself for a while, then kills it. Says how it ended.
async fn how(child: &Child) -> String {
    let left = timeout(LEAVE_BOUND, child.wait()).await;
    let finished = match left {
        Ok(finished) => finished,
        Err(_) => child.kill().await,
    };
    match finished.map(|finished| finished.ended) {
        Ok(Ended::Exited(status)) => status.to_string(),
        Ok(Ended::TimedOut | Ended::Cancelled) => "it was killed".to_owned(),
        Err(error) => error.to_string(),
    }
}

async fn no_start(
    name: &str,
    child: &Child,
    error: &ClientInitializeError,
    overrun: bool,
) -> McpError {
    use ClientInitializeError::{ConnectionClosed, TransportError};
    let (server, status) = (name.to_owned(), how(child).await);
    let message = match error {
        _ if overrun => "its first message is too long".to_owned(),
        ConnectionClosed(_) | TransportError { .. } => {
            let stderr_tail = child.stderr_tail(MAX_TOLD_BYTES);
            return McpError::Ended { server, status, stderr_tail };
        }
        error => cut(&error.to_string(), MAX_TOLD_BYTES).to_owned(),
    };
    McpError::Protocol { server, message }
}

async fn silent(name: &str, child: &Child, timeout_ms: u64) -> McpError {
    // How it was killed is no news; an error of the sandbox comes second to this one.
    let _ = child.kill().await;
    let stderr_tail = child.stderr_tail(MAX_TOLD_BYTES);
    McpError::TimedOut { server: name.to_owned(), timeout_ms, stderr_tail }
}

/// What a server asks of its client is refused, but for a ping; what it tells is not listened to. One
/// that asks without end is not read on: answers that it does not read would pile up.
#[derive(Debug)]
struct Refusing {
    asked: AtomicUsize,
    overrun: CancellationToken,
}

impl Service<RoleClient> for Refusing {
    async fn handle_request(
        &self,
        request: ServerRequest,
        _: RequestContext<RoleClient>,
    ) -> Result<ClientResult, ErrorData> {
        if self.asked.fetch_add(1, Ordering::Relaxed) >= MAX_REQUESTS {
            self.overrun.cancel();
        }
        match request {
            ServerRequest::PingRequest(_) => Ok(ClientResult::empty(())),
            _ => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "not offered here", None)),
        }
    }

    async fn handle_notification(
        &self,
        _: ServerNotification,
        _: NotificationContext<RoleClient>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new("probity", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), client)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}
