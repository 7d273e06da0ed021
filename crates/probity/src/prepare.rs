//! From a request to a plan: scripts compiled, checks built, the judge's files gathered.

mod builder;
mod chat;
mod confined;
mod critic;
mod decision;
mod delegate;
mod hooks;
mod own_secrets;
mod refusing;
mod sandbox;
mod seal;
mod tool;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use probity_chat::ToolboxError;
use probity_core::{Code, PolicyError, RunId};
use probity_delegate::Delegate;
use probity_egress::{Client, EgressPolicy, RuleError};
use probity_engine::{CriticError, Plan};
use probity_llm::EndpointError;
use probity_policy::PolicyFindings;
use probity_sandbox::SandboxError;
use probity_verifier::spec::SpecError;
use probity_verifier::{GitFacts, IGNORED, PathError, SnapshotRules, Workspace, WorkspaceError};
use serde_json::Value;

use crate::location::Programs;
use crate::request::Request;
use builder::Builder;
pub(crate) use builder::method_ids;
use confined::Confined;
pub(crate) use decision::{decision, issued_pack, ready_steps};
pub(crate) use delegate::{Keys, missing_keys};

/// A plan, and what its author should know about it.
#[derive(Debug)]
pub struct Prepared {
    /// What the engine drives.
    pub plan: Plan,
    /// Weaknesses of the request that do not stop it.
    pub warnings: Vec<String>,
}

/// The request cannot be carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrepareError {
    /// There is no task.
    #[error("the request has no task; say in words what is to be done")]
    NoTask,
    /// There is no delegate.
    #[error(
        "the request names no delegate; put its command line behind `--`, name a chat model with \
         --endpoint and --model, or set one of `command`, `chat`, `acp`"
    )]
    NoCommand,
    /// There are several delegates.
    #[error("the request names several delegates; keep one of `command`, `chat` and `acp`")]
    Delegates,
    /// A key of a chat model, where another kind of delegate does the work.
    #[error(
        "`{key}` is about a chat model, and the delegate is none: its command line decides that; \
         remove the key, or name an `endpoint` under `chat`"
    )]
    ChatKey {
        /// The key.
        key: String,
    },
    /// A key of a command, where another kind of delegate does the work.
    #[error("`{key}` is about a delegate that is a `command`; remove it")]
    CommandKey {
        /// The key.
        key: &'static str,
    },
    /// A chat model that is not told from others.
    #[error("a chat model needs an `endpoint` and a `model`; `{0}` is missing")]
    ChatNeeds(&'static str),
    /// There is no key for a chat model.
    #[error(
        "the environment variable `{variable}` is not set, which should hold the key of the chat \
         model; set it, or name another one with `key_env` (`--key-env`)"
    )]
    NoKey {
        /// Its name.
        variable: String,
    },
    /// A secret of Probity itself was to be handed on.
    #[error(
        "`{name}` is a secret of Probity itself, and nothing that a request names is given it; \
         name another variable"
    )]
    OwnSecret {
        /// The variable.
        name: &'static str,
    },
    /// A chat model cannot be asked as it is configured.
    #[error("the chat model cannot be used: {0}")]
    Endpoint(#[from] EndpointError),
    /// A tool cannot be offered.
    #[error(transparent)]
    Toolbox(#[from] ToolboxError),
    /// A critic may not judge, or has nothing to judge by.
    #[error(transparent)]
    Critic(#[from] CriticError),
    /// A chat model that judges was to have tools.
    #[error(
        "a chat model that judges has no tools: a judge that can act can make its own truth; remove \
         `tools` and `mcp`, or check the world with a check of its own"
    )]
    CriticTools,
    /// A check asks a profile where there is no project.
    #[error("there is no profile `{name}` to ask: no project was applied to the request")]
    NoProfile {
        /// Its name.
        name: String,
    },
    /// The workspace cannot be opened.
    #[error("cannot use the workspace: {0}")]
    Workspace(#[from] WorkspaceError),
    /// A path of the request leads nowhere legal.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A bound.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A declared check.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A host rule.
    #[error("`{host}` is no host to allow: {detail}")]
    Host {
        /// What was given.
        host: String,
        /// What is wrong.
        detail: String,
    },
    /// A verifier file cannot be read.
    #[error("{0}")]
    Script(String),
    /// A script's limits, or the pool it runs in.
    #[error("{0}")]
    Limits(String),
    /// The delegate's settings.
    #[error("{0}")]
    Delegate(String),
    /// The decision, or the envelope and pack it falls under.
    #[error("the decision cannot be made as asked: {0}")]
    Decision(#[from] PolicyFindings),
    /// Not everything that is required of the sandbox holds here.
    #[error("{0}")]
    Sandbox(#[source] SandboxError),
    /// The request cannot be recorded, so nothing could say later what was run.
    #[error("the request cannot be written down: {0}; paths must be UTF-8")]
    Record(#[source] serde_json::Error),
    /// A check or a hook has a name that is kept for the methods of envelopes.
    #[error("`{id}` is kept for a method of an envelope; give the check or hook another id")]
    ReservedId {
        /// The name.
        id: Code,
    },
    /// A decision that could need verification declares no action.
    #[error(
        "the decision declares no action, and its envelope asks for verification by what is acted \
         on; declare the actions, with their blast radius"
    )]
    NoAction,
    /// An envelope names a verifier that nobody registered.
    #[error("the envelope names the verifier `{name}`, which is not registered")]
    NoMethod {
        /// Its name.
        name: String,
    },
    /// A decision of no class.
    #[error(
        "the request has a `decision` and no class for it; say `decision_type`, so that it runs under \
         an envelope"
    )]
    NoClass,
    /// The actions name several humans.
    #[error("the actions name several approvers: {names}; make a decision for each of them")]
    Approvers {
        /// Their names.
        names: String,
    },
    /// There is no envelope for a class of decisions.
    #[error(
        "there is no envelope for decisions of type `{class}`; put one into `.probity/envelopes/`, \
         or drop the key from the request"
    )]
    NoEnvelope {
        /// The class.
        class: String,
    },
}

impl PrepareError {
    /// The stable machine word.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoTask => "request_no_task",
            Self::NoCommand => "request_no_command",
            Self::Delegates => "request_delegates",
            Self::ChatKey { .. } => "request_chat_key",
            Self::CommandKey { .. } => "request_command_key",
            Self::ChatNeeds(_) => "request_chat_needs",
            Self::NoKey { .. } => "model_key_missing",
            Self::OwnSecret { .. } => "request_own_secret",
            Self::Endpoint(error) => error.code(),
            Self::Toolbox(error) => error.code(),
            Self::Critic(error) => error.code(),
            Self::CriticTools => "critic_tools",
            Self::NoProfile { .. } => "profile_missing",
            Self::Workspace(_) => "workspace_open",
            Self::Path(error) => error.code(),
            Self::Policy(_) => "request_bound",
            Self::Spec(error) => error.code(),
            Self::Host { .. } => "request_host",
            Self::Script(_) => "script_read",
            Self::Limits(_) => "script_limits",
            Self::Delegate(_) => "request_delegate",
            Self::Decision(findings) => findings.code(),
            Self::Sandbox(error) => error.code(),
            Self::Record(_) => "request_record",
            Self::ReservedId { .. } => "request_reserved_id",
            Self::NoAction => "action_undeclared",
            Self::NoMethod { .. } => "method_unknown",
            Self::NoClass => "decision_no_class",
            Self::Approvers { .. } => "decision_approvers",
            Self::NoEnvelope { .. } => "envelope_missing",
        }
    }
}

/// Prepares a request to be run by the delegate that it names. The key of a chat model is read from
/// the environment. Nothing is started: servers of tools are when the first attempt asks.
///
/// # Errors
/// [`PrepareError`]; nothing has been run.
pub fn prepare(
    request: &Request,
    run: RunId,
    programs: &Programs,
) -> Result<Prepared, PrepareError> {
    prepare_keyed(request, run, programs, Keys::Needed)
}

/// As [`prepare`], with or without keys.
///
/// # Errors
/// As [`prepare`].
pub(crate) fn prepare_keyed(
    request: &Request,
    run: RunId,
    programs: &Programs,
    keys: Keys,
) -> Result<Prepared, PrepareError> {
    if request.task.trim().is_empty() {
        return Err(PrepareError::NoTask);
    }
    let workspace = open_workspace(request)?;
    let who = Who::Named;
    assemble(request, run, programs, workspace, who, keys)
}

/// Prepares a request for a delegate that is given.
///
/// # Errors
/// [`PrepareError`]; nothing has been run.
pub fn prepare_with(
    request: &Request,
    run: RunId,
    programs: &Programs,
    workspace: Arc<Workspace>,
    delegate: Arc<dyn Delegate>,
) -> Result<Prepared, PrepareError> {
    assemble(request, run, programs, workspace, Who::Given(delegate), Keys::Needed)
}

/// As [`prepare_with`], for a plan that nobody is asked by: no key is read.
///
/// # Errors
/// As [`prepare_with`].
pub(crate) fn prepare_unasked(
    request: &Request,
    run: RunId,
    programs: &Programs,
    workspace: Arc<Workspace>,
    delegate: Arc<dyn Delegate>,
) -> Result<Prepared, PrepareError> {
    assemble(request, run, programs, workspace, Who::Given(delegate), Keys::Left)
}

/// Whose work is checked.
enum Who {
    /// Whoever the request names.
    Named,
    /// Somebody whom this does not start.
    Given(Arc<dyn Delegate>),
}

fn assemble(
    request: &Request,
    run: RunId,
    programs: &Programs,
    workspace: Arc<Workspace>,
    who: Who,
    keys: Keys,
) -> Result<Prepared, PrepareError> {
    let confined = Confined::of(request, programs, workspace, who, keys)?;
    let Confined { builder, governed, delegate, rungs, held } = confined;
    let facts = Arc::new(GitFacts::new(builder.deps.launcher.clone()));
    let Builder { mut checks, hooks, judge, rules, warnings, workspace, .. } = builder;
    checks.sort_by_key(|check| check.decl.subject.rank());
    let mut policy = request.policy()?;
    if let Some(governed) = &governed {
        governed.bound(&mut policy, request);
    }
    let (terms, decision, envelope, approver) = match governed {
        Some(it) => (Some(it.terms), it.shown, it.envelope, it.approver),
        None => (None, Value::Null, Vec::new(), None),
    };
    let plan = Plan {
        request: serde_json::to_vec(&held.noted(request)).map_err(PrepareError::Record)?,
        system_prompt: request.system_prompt.as_deref().map(Into::into),
        agent: request.agent.as_deref().unwrap_or_default().into(),
        parent: request.parent_id.clone(),
        policy,
        checks,
        hooks,
        terms,
        envelope,
        approver,
        decision: Arc::new(decision),
        rungs,
        snapshot: rules,
        judge: Arc::new(judge),
        attempt_timeout: request.attempt_timeout.map(|millis| Duration::from_millis(millis.get())),
        ..Plan::new(run, request.task.as_str(), delegate, workspace, facts)
    };
    Ok(Prepared { plan, warnings })
}

/// Opens the workspace that a request names; the current folder where it names none.
///
/// # Errors
/// [`PrepareError::Workspace`].
pub fn open_workspace(request: &Request) -> Result<Arc<Workspace>, PrepareError> {
    let given = request.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
    let absolute = std::path::absolute(&given).unwrap_or(given);
    Ok(Arc::new(Workspace::open(absolute)?))
}

/// What the snapshot leaves out. A check that asks what changed at all sees installed dependencies
/// and the parts of a repository that run code, too: there a change could hide.
fn snapshot_rules(request: &Request, workspace: &Workspace) -> Result<SnapshotRules, PrepareError> {
    let is_strict = request.expect.iter().any(|check| check.kind() == "changes_only");
    let rules = if is_strict {
        let folders = build_folders().map(|name| format!("**/{name}/"));
        let rules = SnapshotRules::nothing_ignored().ignore(folders)?;
        rules.always(workspace, [".git/hooks", ".git/config", ".git/info"])?
    } else {
        SnapshotRules::default()
    };
    Ok(rules.ignore(&request.ignore)?)
}

/// Folders that tools fill while they build and test.
fn build_folders() -> impl Iterator<Item = &'static str> {
    IGNORED.iter().copied().filter(|name| !matches!(*name, "node_modules" | ".venv"))
}

fn egress(request: &Request) -> Result<Client, PrepareError> {
    let failed = |host: &str, detail: String| PrepareError::Host { host: host.to_owned(), detail };
    let mut policy = EgressPolicy::default();
    for host in &request.allow_hosts {
        policy
            .allow_hosts
            .push(host.parse().map_err(|error: RuleError| failed(host, error.to_string()))?);
    }
    for host in &request.allow_private {
        policy
            .allow_private
            .push(host.parse().map_err(|error: RuleError| failed(host, error.to_string()))?);
    }
    Client::new(policy).map_err(|error| failed(&request.allow_hosts.join(", "), error.to_string()))
}
