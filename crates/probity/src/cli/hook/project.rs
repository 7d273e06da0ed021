//! What an agent's claim is checked by: the project that the event is about.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use probity_core::{CheckDecl, Code, Fault, RedFirst, RunId, Subject, Verdict};
use probity_engine::{Check, Plan};
use probity_harness::Event;
use probity_verifier::{CheckContext, NoFacts, Verifier};

use super::outside::Outside;
use crate::cli::CliError;
use crate::given;
use crate::location::{Programs, StoreUrl};
use crate::own_store::leave_out;
use crate::{POLICY_PATH, Prepared, Project, Request, open_workspace, prepare_with};

/// The name of the check that stands where the project's checks cannot be made.
const UNREADY: &str = "probity-hook";
/// The time of that check, in milliseconds. It takes none.
const UNREADY_MS: u64 = 1_000;
/// The code where the judge's files were changed.
const TAMPERED: &str = "judge_tampered";
const WHY_TAMPERED: &str = "files that decide the checks were changed earlier in this session and are not what \
    they were; restore them, or have the user look at them and begin a new session";
/// The longest task that is kept, in bytes.
const MAX_TASK_BYTES: usize = 32 * 1024;

/// Why a claim cannot be checked, before any check is asked.
#[derive(Debug)]
pub(super) struct Unready {
    code: String,
    why: String,
}

impl Unready {
    pub(super) fn new(code: &str, why: impl Into<String>) -> Self {
        Self { code: code.to_owned(), why: why.into() }
    }
}

/// Whether these are the checks of a run that only says why nothing can be checked.
pub(super) fn is_unready(checks: &[CheckDecl]) -> bool {
    checks.iter().any(|check| check.id.as_str() == UNREADY)
}

impl Unready {
    /// The judge's files are not what they were.
    pub(super) fn tampered() -> Self {
        Self::new(TAMPERED, WHY_TAMPERED)
    }

    pub(super) fn is_tampering(&self) -> bool {
        self.code == TAMPERED
    }
}

impl From<&CliError> for Unready {
    fn from(error: &CliError) -> Self {
        Self { code: error.code().to_owned(), why: error.to_string() }
    }
}

/// The folder that holds the policy: the one that the tool names, or one above it.
pub(super) fn root(event: &Event) -> Option<PathBuf> {
    let variable = event.tool.project_variable().and_then(std::env::var_os).map(PathBuf::from);
    let named = variable.filter(|path| path.is_absolute() && path.is_dir());
    let start = named.unwrap_or_else(|| event.cwd.clone());
    start.ancestors().find(|folder| folder.join(POLICY_PATH).is_dir()).map(Path::to_path_buf)
}

/// The request of a run: the project's checks for that event, on what the user asked for.
///
/// # Errors
/// [`CliError`] if the project is not trusted or cannot be used.
pub(super) fn request(
    event: &Event,
    root: &Path,
    url: &StoreUrl,
) -> Result<Option<Request>, CliError> {
    let Some(project) = Project::find(root)? else { return Ok(None) };
    project.require_trust()?;
    let asked = Request {
        task: task(event),
        agent: profile(event, &project),
        workspace: Some(root.to_path_buf()),
        red_first: Some(RedFirst::Off),
        ..Request::default()
    };
    let mut request = project.apply(asked)?;
    // Who does the work is outside, whatever the project's default is.
    request.command = Vec::new();
    request.resume = None;
    request.chat = None;
    request.acp = None;
    request.format = None;
    request.on_delegate_error = None;
    request.attempt_timeout = None;
    // It would count the time in which the agent works, and the user thinks.
    request.timeout = None;
    leave_out(&mut request, url)?;
    Ok(Some(request))
}

/// The task as the record shows it.
fn task(event: &Event) -> String {
    let text = event.text.trim();
    if event.role.is_claim() && event.role != probity_harness::Role::Task || text.is_empty() {
        return format!("what the user of {} asked for", event.tool);
    }
    let end = text.floor_char_boundary(MAX_TASK_BYTES);
    text.get(..end).unwrap_or_default().to_owned()
}

/// The profile that is asked: that of the sub-agent's kind, that of the event, or none.
fn profile(event: &Event, project: &Project) -> Option<String> {
    let names = [event.agent_kind.as_deref(), event.role.profile()];
    let there = |name: &&str| project.profile(name).is_ok();
    names.into_iter().flatten().find(there).map(str::to_owned)
}

/// Whether a check compares with the workspace as it was before the work.
pub(super) fn compares(request: &Request) -> bool {
    request.expect.iter().any(given::compares)
}

/// The plan of a request, with the agent as its delegate.
///
/// # Errors
/// [`CliError`] if its checks cannot be set up.
pub(super) fn plan(
    request: &Request,
    run: RunId,
    programs: &Programs,
    outside: Outside,
) -> Result<Plan, CliError> {
    let workspace = open_workspace(request)?;
    let Prepared { plan, .. } = prepare_with(request, run, programs, workspace, Arc::new(outside))?;
    Ok(plan)
}

/// The plan of a run that only says why nothing can be checked.
///
/// # Errors
/// [`CliError`] if the workspace cannot be opened.
pub(super) fn unready_plan(
    request: &Request,
    run: RunId,
    outside: Outside,
    unready: Unready,
) -> Result<Plan, CliError> {
    let workspace = open_workspace(request)?;
    let task = request.task.as_str();
    let mut plan = Plan::new(run, task, Arc::new(outside), workspace, Arc::new(NoFacts));
    plan.request = serde_json::to_vec(request).unwrap_or_default();
    plan.policy = request.policy()?;
    let decl =
        CheckDecl { id: Code::slug(UNREADY), subject: Subject::Claim, timeout_ms: UNREADY_MS };
    plan.checks = vec![Check::verifier(decl, Arc::new(unready))];
    Ok(plan)
}

/// The request of such a run.
pub(super) fn unready_request(event: &Event, root: &Path) -> Request {
    Request {
        task: task(event),
        workspace: Some(root.to_path_buf()),
        red_first: Some(RedFirst::Off),
        max_verify_retries: Some(0),
        ..Request::default()
    }
}

#[async_trait::async_trait]
impl Verifier for Unready {
    async fn verify(&self, _: &CheckContext) -> Result<Verdict, Fault> {
        Err(Fault { code: Code::slug(&self.code), message: self.why.clone(), location: None })
    }

    fn yields(&self) -> bool {
        true
    }
}
