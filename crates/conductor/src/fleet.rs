//! Delegations that workers of a fleet do.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use probity_core::{CheckDecl, Claim, Code, Entry, Event, Finding, Outcome, RunId};
use probity_engine::{EngineError, Post, Report, read_entries};
use probity_record::canonical::jcs;
use probity_record::read_step;
use probity_store::{Pool, QueueError, ReadError, Standing, Store};
use probity_worker::{Fleet, FleetError, PlanError, Planner};
use probity_workflow::{DelegationEnd, Judgement};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{Delegations, DelegationsError, Ended, Job};

/// How long one wait for the log lasts, before it is looked at how the queue has the job.
const PERIOD: Duration = Duration::from_secs(5);
/// Who stops a delegation.
const BY: &str = "workflow";

/// Submits delegations to a fleet. Its workers need a planner that makes the same plans: the request
/// of each is its [`Job`] as JSON. Of a [`Job::Verify`] the plan's delegate is to claim the candidate, as
/// its output or as JSON text, so that the gate's verdict is on that and nothing else.
pub struct FleetDelegations {
    fleet: Fleet,
    planner: Arc<dyn Planner>,
    pool: Pool,
}

impl FleetDelegations {
    /// Delegations for workers of a pool.
    #[must_use]
    pub const fn new(fleet: Fleet, planner: Arc<dyn Planner>, pool: Pool) -> Self {
        Self { fleet, planner, pool }
    }

    fn store(&self) -> &dyn Store {
        self.fleet.store().as_ref()
    }

    /// Waits for the seal. A run that waits for a human has not ended.
    async fn sealed(&self, run: &RunId) -> Result<(), DelegationsError> {
        let mut len = 0;
        loop {
            let waited = self.fleet.store().wait_beyond(run, len, PERIOD).await;
            let state = waited.map_err(|error| unread(&error))?;
            if state.sealed {
                return Ok(());
            }
            if state.len == len {
                let standing = self.fleet.store().standing(run).await;
                if let Some(Standing::Dead { cause, .. }) =
                    standing.map_err(|error| unqueued(&error))?
                {
                    return Err(DelegationsError::Never {
                        code: cause.code,
                        message: cause.message,
                    });
                }
            }
            len = state.len;
        }
    }
}

#[async_trait]
impl Delegations for FleetDelegations {
    async fn begin(&self, run: &RunId, job: &Job) -> Result<(), DelegationsError> {
        let request = job.to_request()?;
        let plan = self.planner.plan(run, request).await.map_err(unplanned)?;
        let submitted = self.fleet.submit(&plan, &self.pool, Duration::ZERO).await;
        submitted.map(drop).map_err(|error| unsubmitted(&error))
    }

    async fn ended(&self, run: &RunId, job: &Job) -> Result<Ended, DelegationsError> {
        self.sealed(run).await?;
        let report = Report::read(self.store(), run).await.map_err(|error| broken(&error))?;
        let entries = read_entries(self.store(), run).await.map_err(|error| broken(&error))?;
        Ok(match job {
            Job::Delegate { .. } => Ended::Delegation(delegation(&report, &entries)),
            Job::Verify { .. } => verification(&report, &entries),
        })
    }

    async fn stop(&self, run: &RunId, reason: &str) -> Result<(), DelegationsError> {
        let post = Post::Cancel { by: BY.to_owned(), text: reason.to_owned() };
        match self.fleet.post(run, &post).await {
            // It has ended, or there is none.
            Ok(_)
            | Err(FleetError::Engine(EngineError::Answer(_) | EngineError::Missing { .. })) => {
                Ok(())
            }
            Err(error) => Err(unsubmitted(&error)),
        }
    }
}

impl Job {
    /// The request that its delegation is opened with: canonical JSON, the same for the same job.
    ///
    /// # Errors
    /// It holds a number that has no canonical form.
    pub fn to_request(&self) -> Result<Vec<u8>, DelegationsError> {
        jcs(self).map_err(|error| DelegationsError::Never {
            code: Code::slug("job_not_canonical"),
            message: error.to_string(),
        })
    }

    /// The job that a delegation was opened with.
    ///
    /// # Errors
    /// The request is none of a job.
    pub fn from_request(request: &[u8]) -> Result<Self, DelegationsError> {
        let read = read_step(request).map_err(|error| error.to_string());
        let job =
            read.and_then(|json| serde_json::from_value(json).map_err(|error| error.to_string()));
        job.map_err(|why| DelegationsError::Never {
            code: Code::slug("job_unreadable"),
            message: format!("the request is none of a workflow run: {why}"),
        })
    }
}

impl Ended {
    /// What the end of a critic's delegation says: a verdict, or that there is none.
    #[must_use]
    pub fn of_verification(
        outcome: Outcome,
        code: Code,
        candidate: Option<String>,
        criteria: Vec<Code>,
        confidence: Option<f64>,
    ) -> Self {
        let verdict = match outcome {
            Outcome::Verified => Judgement::Pass,
            Outcome::Exhausted => Judgement::Revise,
            Outcome::Rejected | Outcome::Inconclusive => Judgement::Fail,
            Outcome::Unverified
            | Outcome::Faulted
            | Outcome::DelegateFailed
            | Outcome::Cancelled
            | Outcome::Escalated => return Self::Broke { code },
        };
        match candidate {
            Some(candidate) => Self::Verdict { candidate, verdict, criteria, confidence },
            None => Self::Broke { code },
        }
    }
}

fn delegation(report: &Report, entries: &[Entry]) -> DelegationEnd {
    let outcome = report.outcome.unwrap_or(Outcome::Faulted);
    let claim = report.claim.as_ref().map(content);
    let delivered = outcome.delivers().then(|| report.delivered.as_ref().map(content));
    let delivered = delivered.map(|edited| edited.or_else(|| claim.clone())).unwrap_or_default();
    let verdict = report.history.last().and_then(|last| match last.verdict {
        probity_core::Judgement::Pass => Some(Judgement::Pass),
        probity_core::Judgement::Revise => Some(Judgement::Revise),
        probity_core::Judgement::Fail | probity_core::Judgement::Inconclusive => {
            Some(Judgement::Fail)
        }
        probity_core::Judgement::Fault | probity_core::Judgement::Unverified => None,
    });
    DelegationEnd {
        outcome: outcome.as_str().to_owned(),
        code: code_of(report, outcome),
        verdict,
        criteria: Looked::of(entries).criteria,
        attempts: report.attempts.into(),
        // What hooks made of it afterwards, nobody checked.
        candidate: claim.as_ref().or(delivered.as_ref()).and_then(digest),
        is_edited: outcome.delivers() && report.delivered.is_some(),
        delivered,
    }
}

fn verification(report: &Report, entries: &[Entry]) -> Ended {
    let outcome = report.outcome.unwrap_or(Outcome::Faulted);
    let candidate = report.claim.as_ref().map(checked).as_ref().and_then(digest);
    let Looked { criteria, confidence } = Looked::of(entries);
    Ended::of_verification(outcome, code_of(report, outcome), candidate, criteria, confidence)
}

fn code_of(report: &Report, outcome: Outcome) -> Code {
    report.code.clone().unwrap_or_else(|| Code::slug(outcome.as_str()))
}

/// What a claim leaves: the output of a typed agent, the answer of any other.
fn content(claim: &Claim) -> Value {
    claim.output.clone().unwrap_or_else(|| Value::String(claim.response.clone()))
}

/// The candidate as it was claimed.
fn checked(claim: &Claim) -> Value {
    let text = || serde_json::from_str(&claim.response).ok();
    claim.output.clone().or_else(text).unwrap_or_else(|| content(claim))
}

fn digest(value: &Value) -> Option<String> {
    Some(hex::encode(Sha256::digest(jcs(value).ok()?)))
}

/// What was looked at in the last turn that was judged.
struct Looked {
    criteria: Vec<Code>,
    /// That of the check that was least sure.
    confidence: Option<f64>,
}

impl Looked {
    fn of(entries: &[Entry]) -> Self {
        let mut decls: &[CheckDecl] = &[];
        let mut findings = BTreeMap::new();
        for entry in entries {
            match &entry.event {
                Event::RunOpened { checks, .. } => decls = checks,
                Event::CheckFinished { check, finding, .. } => {
                    findings.insert(check.as_usize(), finding);
                }
                _ => {}
            }
        }
        let mut criteria = Vec::new();
        let mut least: Option<u16> = None;
        for (check, finding) in findings {
            let Finding::Verdict { criteria: keys, confidence_bp, .. } = finding else { continue };
            match keys.is_empty() {
                true => criteria.extend(decls.get(check).map(|decl| decl.id.clone())),
                false => criteria.extend(keys.iter().cloned()),
            }
            least = least.into_iter().chain(*confidence_bp).min();
        }
        criteria.sort_unstable();
        criteria.dedup();
        Self { criteria, confidence: least.map(|basis_points| f64::from(basis_points) / 10_000.0) }
    }
}

fn unplanned(error: PlanError) -> DelegationsError {
    match error {
        PlanError::Never { code, message } => DelegationsError::Never { code, message },
        PlanError::Later { code, message } => DelegationsError::Later { code, message },
    }
}

fn unsubmitted(error: &FleetError) -> DelegationsError {
    match error {
        FleetError::Engine(error) => broken(error),
        FleetError::Queue(error) => unqueued(error),
        FleetError::Buried { code, .. } => {
            DelegationsError::Never { code: code.clone(), message: error.to_string() }
        }
        _ => later(error.code(), error),
    }
}

/// A store may be there again; a log that says something else stays as it is.
fn broken(error: &EngineError) -> DelegationsError {
    match error {
        EngineError::Append(_)
        | EngineError::Log(_)
        | EngineError::Blob(_)
        | EngineError::Fenced { .. } => later(error.code(), error),
        _ => DelegationsError::Never { code: Code::slug(error.code()), message: error.to_string() },
    }
}

fn unread(error: &ReadError) -> DelegationsError {
    later(error.code(), error)
}

fn unqueued(error: &QueueError) -> DelegationsError {
    later(error.code(), error)
}

fn later(code: &str, error: &dyn std::fmt::Display) -> DelegationsError {
    DelegationsError::Later { code: Code::slug(code), message: error.to_string() }
}
