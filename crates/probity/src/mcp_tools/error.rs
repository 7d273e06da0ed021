//! Why a tool did nothing.

use std::path::PathBuf;

use probity_core::{NameError, PolicyError, RunId};
use probity_engine::EngineError;

use crate::own_store::StoreUnnamed;
use crate::{PrepareError, ProjectError};

/// A tool did not do what was asked. What a run comes to is no fault.
#[derive(Debug, thiserror::Error)]
pub(super) enum ToolFault {
    /// There is no such tool.
    #[error("there is no tool of that name")]
    NoTool,
    /// The arguments are not those of the tool.
    #[error(
        "{0}; what the schema does not list is the operator's to say: delegate, workspace, store, \
         required checks"
    )]
    Arguments(String),
    /// A check of a kind that a caller may not add.
    #[error(
        "a check of kind `{kind}` is not a caller's to add: {why}; ask the operator to put it into \
         .probity/probity.toml{hint}"
    )]
    CheckKind { kind: &'static str, why: &'static str, hint: &'static str },
    /// A check that takes files out of the seal.
    #[error(
        "`may_change` of the check `{check}` would take files out of what is sealed; drop the key: \
         that is the operator's to say"
    )]
    CheckWeakens { check: String },
    /// A check under the name of another one.
    #[error(
        "the check `{id}` of the operator would lose its name to one of these checks; give yours \
         another `id`"
    )]
    CheckTaken { id: String },
    /// A bound above that of the operator.
    #[error("`{key}` may only be lowered, and {asked} is above the operator's {most}")]
    BoundRaised { key: &'static str, asked: u64, most: u64 },
    /// A profile that is not a caller's to name.
    #[error("`{name}` is no delegate to ask here; there {}", names(.agents))]
    AgentDenied { name: String, agents: Vec<String> },
    /// A check that compares with a moment nobody looked at.
    #[error(
        "the check `{check}` compares with the workspace before the work, which `verify` has not \
         seen; use `delegate`, or leave it out"
    )]
    Compares { check: String },
    /// The call was cancelled before a run was opened.
    #[error("the call was cancelled before its run was opened")]
    Cancelled,
    /// The name of a run.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Nobody allowed the project. What allows it is not said to a model that could do it.
    #[error(
        "`{}` decides what runs and what is checked here, and the operator has not allowed it in this \
         version; a person must read and trust it first, so ask for that and do not do it yourself",
        .path.display()
    )]
    Untrusted { path: PathBuf },
    /// The workspace lies inside a project.
    #[error(
        "the workspace lies inside the project `{}`, whose policy would be left out; the operator must \
         start the server with --workspace there",
        .root.display()
    )]
    Above { root: PathBuf },
    /// The project.
    #[error(transparent)]
    Project(ProjectError),
    /// The request cannot be carried out.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// A bound.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The store is in the workspace.
    #[error(transparent)]
    Store(#[from] StoreUnnamed),
    /// The run was opened and not driven to its end.
    #[error("run {run} stopped without an outcome, and nothing is verified: {source}")]
    Stopped { run: RunId, source: EngineError },
    /// A run cannot be read.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The server itself.
    #[error("the call broke off inside the server")]
    Internal,
}

impl ToolFault {
    /// The stable machine word.
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::NoTool | Self::Arguments(_) => "mcp_arguments",
            Self::CheckKind { .. } => "mcp_check_kind",
            Self::CheckWeakens { .. } => "mcp_check_weakens",
            Self::CheckTaken { .. } => "mcp_check_taken",
            Self::BoundRaised { .. } => "mcp_bound_raised",
            Self::AgentDenied { .. } => "mcp_agent_denied",
            Self::Compares { .. } => "mcp_compares",
            Self::Cancelled => "cancelled",
            Self::Name(_) => "name",
            Self::Untrusted { .. } => "project_untrusted",
            Self::Above { .. } => "project_above",
            Self::Project(error) => error.code(),
            Self::Prepare(error) => error.code(),
            Self::Policy(_) => "request_bound",
            Self::Store(_) => "workspace_open",
            Self::Stopped { source, .. } | Self::Engine(source) => source.code(),
            Self::Internal => "mcp_call_failed",
        }
    }
}

impl From<ProjectError> for ToolFault {
    fn from(error: ProjectError) -> Self {
        match error {
            ProjectError::Untrusted { path } => Self::Untrusted { path },
            ProjectError::Above { root } => Self::Above { root },
            error => Self::Project(error),
        }
    }
}

fn names(agents: &[String]) -> String {
    match agents {
        [] => "is none".to_owned(),
        [only] => format!("is {only}"),
        several => format!("are {}", several.join(", ")),
    }
}
