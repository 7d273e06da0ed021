//! Tools for models that call other models: delegate under the gate, verify, look at a run, audit it.
//!
//! Whoever calls adds to what the operator asks and takes nothing away. The operator's project decides who
//! does the work, what is checked and how much it may cost; workspace and store are the server's. A caller
//! may name one of the operator's profiles, add checks, and lower bounds.

mod additions;
mod arguments;
mod audit;
mod delegate;
mod error;
mod narrator;
mod schema;
mod status;
mod told;
mod verify;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use probity_core::RunId;
use probity_engine::{Ended, Engine, EngineError, Plan, Report, SystemClock, Watch};
use probity_mcp::serve::{About, Answer, Call, Offer, Offered};
use probity_store::Store;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::location::{Programs, StoreUrl};
use crate::project::applied;
use crate::request::Millis;
use crate::{Project, Request};
use error::ToolFault;

/// What the operator lets callers do, beyond the project.
#[derive(Debug, Clone)]
pub struct McpOptions {
    /// Profiles that a caller may name. None: those of the project, or, where that names one, that one.
    pub agents: Vec<String>,
    /// Whether `run_status` tells what was said, and not only what it came to.
    pub shows_content: bool,
    /// Whether checks of a caller may run command lines.
    pub allows_commands: bool,
    /// Wall time of one call.
    pub call_timeout: Millis,
}

/// The tools, for one workspace and one store.
pub struct McpTools {
    desk: Arc<Work>,
}

/// What every tool works with.
struct Work {
    store: Arc<dyn Store>,
    url: StoreUrl,
    programs: Programs,
    /// Without links.
    workspace: PathBuf,
    options: McpOptions,
    /// Two delegates at once would each be taken for the other.
    delegations: Semaphore,
}

impl McpTools {
    /// Tools for the workspace, whose runs are kept in the store.
    ///
    /// # Errors
    /// There is no such folder.
    pub fn new(
        store: Arc<dyn Store>,
        url: StoreUrl,
        programs: Programs,
        workspace: &Path,
        options: McpOptions,
    ) -> std::io::Result<Self> {
        let workspace = workspace.canonicalize()?;
        if !workspace.is_dir() {
            return Err(std::io::ErrorKind::NotADirectory.into());
        }
        let delegations = Semaphore::new(1);
        let desk = Work { store, url, programs, workspace, options, delegations };
        Ok(Self { desk: Arc::new(desk) })
    }

    /// How long a call may take: its run ends by itself before that.
    #[must_use]
    pub fn call_bound(&self) -> Duration {
        const SLACK_MS: u64 = 60_000;
        Duration::from_millis(self.desk.options.call_timeout.get().saturating_add(SLACK_MS))
    }
}

#[async_trait]
impl Offer for McpTools {
    fn about(&self) -> About {
        About {
            name: "probity",
            title: "Probity",
            version: env!("CARGO_PKG_VERSION"),
            instructions: schema::INSTRUCTIONS.to_owned(),
        }
    }

    async fn tools(&self) -> Vec<Offered> {
        let desk = Arc::clone(&self.desk);
        // Files are read. Without names of profiles the tools are what they are.
        let agents = tokio::task::spawn_blocking(move || desk.agents()).await.unwrap_or_default();
        schema::tools(&agents, &self.desk.options)
    }

    async fn call(&self, call: Call) -> Answer {
        let desk = Arc::clone(&self.desk);
        let tool = call.tool.clone();
        // On the heap: a run is driven in there.
        let done = match tool.as_str() {
            "delegate" => Box::pin(delegate::delegate(desk, call)).await,
            "verify" => Box::pin(verify::verify(desk, call)).await,
            "run_status" => Box::pin(status::status(&desk, call)).await,
            "audit" => Box::pin(audit::audit(&desk, call)).await,
            _ => Err(ToolFault::NoTool),
        };
        done.unwrap_or_else(|fault| told::fault(&tool, &fault))
    }
}

impl Work {
    /// A request in this workspace with what the project says, which must be trusted.
    fn under(&self, request: Request) -> Result<Request, ToolFault> {
        let workspace = Some(self.workspace.clone());
        Ok(applied(Request { workspace, ..request })?.0)
    }

    /// The profiles that a caller may name. Names of a project that nobody allowed are not told.
    fn agents(&self) -> Vec<String> {
        if !self.options.agents.is_empty() {
            return self.options.agents.clone();
        }
        let Ok(Some(project)) = Project::find(&self.workspace) else { return Vec::new() };
        if !project.is_trusted().unwrap_or(false) {
            return Vec::new();
        }
        match project.defaults.agent {
            Some(only) => vec![only],
            None => project.policy.profiles.keys().map(ToString::to_string).collect(),
        }
    }

    /// Refuses a profile that is not a caller's to name.
    fn require_agent(&self, agent: Option<&str>) -> Result<(), ToolFault> {
        let Some(name) = agent else { return Ok(()) };
        let agents = self.agents();
        match agents.iter().any(|known| known == name) {
            true => Ok(()),
            // Where none is known, the project itself says why.
            false if agents.is_empty() && self.options.agents.is_empty() => Ok(()),
            false => Err(ToolFault::AgentDenied { name: name.to_owned(), agents }),
        }
    }

    /// Refuses a run that the store does not have.
    async fn require_run(&self, run: &RunId) -> Result<(), ToolFault> {
        match self.store.state(run).await.map_err(EngineError::from)? {
            Some(_) => Ok(()),
            None => Err(EngineError::Missing { run: run.clone() }.into()),
        }
    }

    /// Whether a recorded run was one in this workspace.
    fn is_here(&self, request: &Request) -> bool {
        let Some(workspace) = &request.workspace else { return false };
        workspace.canonicalize().as_ref().unwrap_or(workspace) == &self.workspace
    }

    fn engine(&self) -> Engine {
        Engine::new(Arc::clone(&self.store), Arc::new(SystemClock))
    }

    /// Drives a run to its end and reads what it came to.
    async fn drive(
        &self,
        plan: Plan,
        watch: &dyn Watch,
        cancel: CancellationToken,
    ) -> Result<Report, ToolFault> {
        let run = plan.run.clone();
        let stopped = |source: EngineError| ToolFault::Stopped { run: run.clone(), source };
        let _: Ended = self.engine().run(plan, watch, cancel).await.map_err(stopped)?;
        Report::read(self.store.as_ref(), &run).await.map_err(stopped)
    }
}

/// A new run's name: sorts by time.
fn draw_run_id() -> Result<RunId, ToolFault> {
    Uuid::now_v7().to_string().parse().map_err(|_| ToolFault::Internal)
}

/// Work on files, on a thread that may wait.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolFault> + Send + 'static,
) -> Result<T, ToolFault> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(ToolFault::Internal))
}
