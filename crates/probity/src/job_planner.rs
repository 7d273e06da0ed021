//! Plans of what workflow runs delegate: the work of a node, and a critic's look at what a worker left.

use std::sync::Arc;

use async_trait::async_trait;
use probity_conductor::Job;
use probity_core::{CheckDecl, Claim, Code, Fault, RedFirst, RunId, Subject, Verdict};
use probity_engine::{Check, Engine, Plan};
use probity_verifier::spec::CheckSpec;
use probity_verifier::{CheckContext, NoFacts, Verifier, Workspace};
use probity_worker::{PlanError, Planner};
use probity_workflow::{MockVerdict, VerifierSpec};
use serde_json::{Map, Value};

use crate::given::GivenClaim;
use crate::location::{Programs, StoreUrl};
use crate::own_store::leave_out;
use crate::planner::{never, refusal};
use crate::{Prepared, RecordedPlanner, Request, prepare_with};

/// Prepares jobs of workflow runs, and every other run as [`RecordedPlanner`] does.
///
/// A request in a definition is carried out as this user: whoever may register definitions decides what
/// runs.
pub struct JobPlanner {
    recorded: RecordedPlanner,
    programs: Arc<Programs>,
    store: Option<StoreUrl>,
    takes_mocks: bool,
}

impl JobPlanner {
    /// A planner of the runs that an engine reads.
    #[must_use]
    pub fn new(engine: Engine, programs: Programs) -> Self {
        let programs = Programs { are_of_worker: true, ..programs };
        let recorded = RecordedPlanner::new(engine, programs.clone());
        Self { recorded, programs: Arc::new(programs), store: None, takes_mocks: false }
    }

    /// As this planner, for jobs whose workspace may hold the store that they are kept in.
    #[must_use]
    pub fn beside(self, store: StoreUrl) -> Self {
        Self { store: Some(store), ..self }
    }

    /// As this planner, for a host that offers the seams of a conformance suite: a critic may be told what
    /// to say. Otherwise whoever registers a definition could let everything through.
    #[must_use]
    pub fn with_mocks(self, takes_mocks: bool) -> Self {
        Self { takes_mocks, ..self }
    }

    async fn delegation(&self, run: &RunId, request: Value) -> Result<Plan, PlanError> {
        let mut read: Request = serde_json::from_value(request).map_err(|error| {
            never("request_parse", &format!("the request of the node: {error}"))
        })?;
        require_absolute(&mut read)?;
        if let Some(store) = &self.store {
            leave_out(&mut read, store).map_err(|error| never("workspace_open", &error))?;
        }
        read.id = Some(run.clone());
        let request = serde_json::to_vec(&read).map_err(|error| never("request_record", &error))?;
        self.recorded.plan(run, request).await
    }

    async fn verification(
        &self,
        run: &RunId,
        candidate: Value,
        spec: VerifierSpec,
        mock: Option<MockVerdict>,
    ) -> Result<Plan, PlanError> {
        let (run, programs) = (run.clone(), Arc::clone(&self.programs));
        // Scripts are compiled.
        let work = move || verification(run, candidate, &spec, mock, &programs);
        match tokio::task::spawn_blocking(work).await {
            Ok(plan) => plan,
            Err(error) => Err(never("internal", &error)),
        }
    }
}

#[async_trait]
impl Planner for JobPlanner {
    async fn plan(&self, run: &RunId, request: Vec<u8>) -> Result<Plan, PlanError> {
        let Ok(read) = serde_json::from_slice::<Map<String, Value>>(&request) else {
            return self.recorded.plan(run, request).await;
        };
        if !read.contains_key("job") {
            return self.recorded.plan(run, request).await;
        }
        let job: Job = serde_json::from_value(Value::Object(read))
            .map_err(|error| never("request_parse", &error))?;
        let mut plan = match job {
            Job::Delegate { request } => self.delegation(run, request).await?,
            Job::Verify { mock: Some(_), .. } if !self.takes_mocks => {
                return Err(never(
                    "mock_refused",
                    &"verdicts are mocked only on a host with `--conformance-seams`",
                ));
            }
            Job::Verify { candidate, spec, mock, .. } => {
                self.verification(run, candidate, spec, mock).await?
            }
        };
        plan.request = request;
        Ok(plan)
    }
}

/// Whoever carries a request out stands in another folder than whoever wrote it.
fn require_absolute(request: &mut Request) -> Result<(), PlanError> {
    if request.workspace.as_ref().is_none_or(|workspace| workspace.is_relative()) {
        let why = "the request of the node must name its `workspace`, from the root: nobody knows in \
                   which folder a worker was started";
        return Err(never("workspace_not_absolute", &why));
    }
    if let Some(path) = request.files_mut().find(|path| path.is_relative()) {
        let why = format!("the request of the node must name `{}` from the root", path.display());
        return Err(never("workspace_not_absolute", &why));
    }
    Ok(())
}

/// One look at a claim that stands: no retry, nothing before the work to compare with.
fn verification(
    run: RunId,
    candidate: Value,
    spec: &VerifierSpec,
    mock: Option<MockVerdict>,
    programs: &Programs,
) -> Result<Plan, PlanError> {
    let request = Request {
        id: Some(run.clone()),
        task: format!("What a worker left is checked by {}.", spec.agent_id),
        max_verify_retries: Some(0),
        red_first: Some(RedFirst::Off),
        ..checks(spec, mock.is_some())?
    };
    let claim = Claim {
        // What scripts and texts look at; checks of a typed output look at the value.
        response: candidate.to_string(),
        output: Some(candidate),
        ..Claim::default()
    };
    let workspace = Arc::new(Workspace::none());
    let given = Arc::new(GivenClaim { claim });
    let prepared = prepare_with(&request, run, programs, workspace, given);
    let Prepared { mut plan, .. } = prepared.map_err(|error| refusal(&error))?;
    plan.facts = Arc::new(NoFacts);
    if let Some(says) = mock {
        let decl = CheckDecl {
            id: Code::slug("scripted"),
            subject: Subject::Claim,
            timeout_ms: spec.timeout_ms,
        };
        plan.checks = vec![Check::verifier(decl, Arc::new(Scripted { says }))];
    }
    Ok(plan)
}

/// The checks of a verifier: declared ones, and `{"verify": "..."}` with a script. A scripted verdict
/// takes their place.
fn checks(spec: &VerifierSpec, is_scripted: bool) -> Result<Request, PlanError> {
    let mut request = Request::default();
    if is_scripted {
        return Ok(request);
    }
    for (place, check) in spec.checks.iter().enumerate() {
        let script = check.as_object().filter(|members| members.len() == 1);
        if let Some(Value::String(script)) = script.and_then(|members| members.get("verify")) {
            request.verify.push(script.clone());
            continue;
        }
        let declared: CheckSpec = serde_json::from_value(check.clone()).map_err(|error| {
            never("request_parse", &format!("check {place} of `{}`: {error}", spec.agent_id))
        })?;
        request.expect.push(declared);
    }
    Ok(request)
}

/// A verifier that gives the verdict it was told to give: for conformance, where the gate is looked at
/// and not the check.
struct Scripted {
    says: MockVerdict,
}

#[async_trait]
impl Verifier for Scripted {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        match self.says {
            MockVerdict::Pass => Ok(Verdict::pass()),
            MockVerdict::Fail => Ok(Verdict::fail("scripted_fail", "told to say so")),
            MockVerdict::Revise => Ok(Verdict::revise("scripted_revise", "told to say so")),
            MockVerdict::Fault => Err(Fault::new("scripted_fault", "told to break")),
            MockVerdict::Hang => {
                ctx.cancel.cancelled().await;
                Ok(Verdict::inconclusive("scripted_timeout", "told to hang"))
            }
        }
    }
}
