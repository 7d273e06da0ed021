//! Delegations that real workers do, through the real gate.

use std::sync::Arc;

use async_trait::async_trait;
use probity_conductor::{Conductor, ConductorOptions, Delegations, Ended, FleetDelegations, Job};
use probity_core::{CheckDecl, Claim, Code, Fault, Outcome, Policy, RunId, Subject, Verdict};
use probity_delegate::{Answered, FunctionDelegate};
use probity_engine::{Check, Clock, Plan};
use probity_store::{MemoryStore, Pool, WorkStore};
use probity_testkit::VirtualClock;
use probity_verifier::{CheckContext, NoFacts, Verifier, Workspace};
use probity_worker::{Fleet, PlanError, Planner, Worker, WorkerEvent, WorkerOptions, WorkerWatch};
use probity_workflow::{Definition, Entry, Event, Judgement, MockVerdict, Start};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::cast::Part;
use crate::rig::{Rig, assert_sound, id, kinds, start, team, to_end};

struct Silent;

impl WorkerWatch for Silent {
    fn event(&self, _: &WorkerEvent) {}
}

/// Says what it is told to, as a verifier under the gate.
struct Says(MockVerdict);

#[async_trait]
impl Verifier for Says {
    async fn verify(&self, ctx: &CheckContext) -> Result<Verdict, Fault> {
        Ok(match self.0 {
            MockVerdict::Pass => {
                let criteria = vec![Code::slug("grounded")];
                Verdict { confidence_bp: Some(9_000), criteria, ..Verdict::pass() }
            }
            MockVerdict::Fail => Verdict::fail("no", "told to"),
            MockVerdict::Revise => Verdict::revise("no", "told to"),
            MockVerdict::Fault => return Err(Fault::new("it_broke", "told to")),
            MockVerdict::Hang => {
                ctx.cancel.cancelled().await;
                Verdict::inconclusive("late", "told to")
            }
        })
    }
}

struct Jobs;

#[async_trait]
impl Planner for Jobs {
    async fn plan(&self, run: &RunId, request: Vec<u8>) -> Result<Plan, PlanError> {
        let job = Job::from_request(&request).unwrap();
        let (claim, says) = match job {
            Job::Delegate { request } if request["task"] == "none" => {
                let (code, message) = (Code::slug("no_plan"), "no plan".to_owned());
                return Err(PlanError::Never { code, message });
            }
            Job::Delegate { request } => {
                let says =
                    if request["task"] == "lie" { MockVerdict::Fail } else { MockVerdict::Pass };
                (Claim { output: Some(json!({"of": request})), ..Claim::default() }, says)
            }
            Job::Verify { candidate, mock, .. } => {
                (Claim::text(candidate.to_string()), mock.expect("a scripted verdict"))
            }
        };
        let given = FunctionDelegate::new("given", move |_| {
            let claim = claim.clone();
            async move { Ok(Answered::of(claim)) }
        });
        let (id, subject) = (Code::slug("says"), Subject::Claim);
        let decl = CheckDecl { id, subject, timeout_ms: 60_000 };
        let checks = vec![Check::verifier(decl, Arc::new(Says(says)))];
        let workspace = Arc::new(Workspace::none());
        let policy = Policy { max_attempts: 1, ..Policy::default() };
        let plan = Plan::new(run.clone(), "Check.", Arc::new(given), workspace, Arc::new(NoFacts));
        Ok(Plan { request, checks, policy, ..plan })
    }
}

struct Site {
    conductor: Conductor,
    delegations: Arc<FleetDelegations>,
    _worker: AbortOnDropHandle<()>,
}

fn site() -> Site {
    let store: Arc<dyn WorkStore> = Arc::new(MemoryStore::new());
    let clock: Arc<dyn Clock> = Arc::new(VirtualClock::at(1_700_000_000_000));
    let fleet = Fleet::new(Arc::clone(&store), Arc::clone(&clock));
    let delegations = Arc::new(FleetDelegations::new(fleet, Arc::new(Jobs), Pool::default()));
    let options = WorkerOptions { seed: 7, ..WorkerOptions::new("w-1".parse().unwrap()) };
    let worker = Worker::new(Arc::clone(&store), Arc::clone(&clock), Arc::new(Jobs), options);
    let working = tokio::spawn(async move {
        let (drain, stop) = (CancellationToken::new(), CancellationToken::new());
        worker.work(Arc::new(Silent), drain, stop).await;
    });
    let conductor =
        Conductor::new(store, clock, Arc::clone(&delegations) as _, ConductorOptions::default());
    for definition in crate::rig::all() {
        conductor.definitions().add(definition).unwrap();
    }
    Site { conductor, delegations, _worker: AbortOnDropHandle::new(working) }
}

fn scripted(conductor: &Conductor, on_fail: &str, says: Value) -> Start {
    let mut json = team("conformance-team", Some(on_fail));
    json["metadata"]["probity"]["verifiers"]["desk"]["mockVerdicts"] = says;
    json["metadata"]["probity"]["verifiers"]["desk"]["checks"] = json!([]);
    let definition = Definition::parse(&json).unwrap();
    Start { definition, ..start(conductor, "writer") }
}

async fn ended(says: Value, on_fail: &str) -> Vec<Arc<Entry>> {
    let site = site();
    let start = scripted(&site.conductor, on_fail, says);
    site.conductor.begin(id("wf-1"), start).await.unwrap();
    let entries = to_end(&site.conductor, &id("wf-1")).await;
    assert_sound(&entries);
    entries
}

fn verdicts(entries: &[Arc<Entry>]) -> Vec<(Judgement, Vec<String>, Option<f64>)> {
    let verdict = |entry: &Arc<Entry>| match &entry.event {
        Event::AgentVerified(told) => {
            let keys = told.criteria.iter().map(|key| key.as_str().to_owned()).collect();
            Some((told.verdict, keys, told.confidence))
        }
        _ => None,
    };
    entries.iter().filter_map(verdict).collect()
}

#[tokio::test(start_paused = true)]
async fn scripted_verdicts_pass_through_the_real_gate() {
    let (says, grounded) = (vec!["says".to_owned()], vec!["grounded".to_owned()]);
    let pass = (Judgement::Pass, grounded, Some(0.9));
    let entries = ended(json!(["pass"]), "give-up").await;
    assert_eq!(verdicts(&entries), std::slice::from_ref(&pass));
    let entries = ended(json!(["fail"]), "give-up").await;
    assert_eq!(verdicts(&entries), [(Judgement::Fail, says.clone(), None)]);
    let entries = ended(json!(["revise", "pass"]), "give-up").await;
    assert_eq!(verdicts(&entries), [(Judgement::Revise, says, None), pass]);
    let Event::RunCompleted { outputs } = &entries.last().unwrap().event else { panic!("an end") };
    assert_eq!(outputs["result"], "good");
}

#[tokio::test(start_paused = true)]
async fn a_critic_that_breaks_or_hangs_gives_no_verdict() {
    for says in ["fault", "hang"] {
        let entries = ended(json!([says]), "give-up").await;
        assert_eq!(verdicts(&entries), [], "{says}");
        assert_eq!(kinds(&entries).last().unwrap(), "run-completed");
    }
}

#[tokio::test(start_paused = true)]
async fn what_workers_deliver_is_what_was_verified() {
    let site = site();
    for (task, end) in [("add", "run-completed"), ("lie", "run-failed"), ("none", "run-failed")] {
        let mut start = start(&site.conductor, "work");
        start.inputs.insert("task".to_owned(), json!(task));
        let run = id(&format!("wf-{task}"));
        site.conductor.begin(run.clone(), start).await.unwrap();
        let entries = to_end(&site.conductor, &run).await;
        assert_eq!(kinds(&entries).last().unwrap(), end, "{task}");
        let ended = site.conductor.snapshot(&run).await.unwrap().unwrap();
        let result = ended.variables.get("result");
        assert_eq!(result, (task == "add").then(|| json!({"of": {"task": "add"}})).as_ref());
    }
}

#[tokio::test(start_paused = true)]
async fn a_delegation_is_begun_once_and_may_be_stopped_whenever() {
    let site = site();
    let (run, job) = (id("d-1"), Job::Delegate { request: json!({"task": "add"}) });
    site.delegations.stop(&run, "early").await.unwrap();
    site.delegations.begin(&run, &job).await.unwrap();
    site.delegations.begin(&run, &job).await.unwrap();
    let Ended::Delegation(end) = site.delegations.ended(&run, &job).await.unwrap() else {
        panic!("the end of a delegation")
    };
    assert_eq!((end.outcome.as_str(), end.verdict), ("verified", Some(Judgement::Pass)));
    site.delegations.stop(&run, "late").await.unwrap();
    let other = Job::Delegate { request: json!({"task": "else"}) };
    assert_eq!(
        site.delegations.begin(&run, &other).await.unwrap_err().code().as_str(),
        "run_exists"
    );
}

#[test]
fn only_four_outcomes_of_a_critic_are_verdicts() {
    for outcome in Outcome::ALL {
        let code = Code::slug("word");
        let ended = Ended::of_verification(outcome, code.clone(), Some("d".into()), vec![], None);
        let verdict = match ended {
            Ended::Verdict { verdict, .. } => Some(verdict),
            Ended::Broke { code: why } => {
                assert_eq!(why, code);
                None
            }
            Ended::Delegation(_) => panic!("no delegation"),
        };
        let expected = match outcome {
            Outcome::Verified => Some(Judgement::Pass),
            Outcome::Exhausted => Some(Judgement::Revise),
            Outcome::Rejected | Outcome::Inconclusive => Some(Judgement::Fail),
            _ => None,
        };
        assert_eq!(verdict, expected, "{outcome}");
        let unclaimed = Ended::of_verification(outcome, code, None, vec![], None);
        assert!(matches!(unclaimed, Ended::Broke { .. }), "{outcome}: on nothing");
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_is_read_as_it_was_written() {
    let rig = Rig::new(Part::Mock);
    let start = scripted(&rig.conductor(), "again", json!(["pass"]));
    let spec = start.definition.as_json()["metadata"]["probity"]["verifiers"]["desk"].clone();
    let job = Job::Verify {
        target: id("child"),
        candidate: json!({"b": 1, "a": 0.5}),
        digest: "0".repeat(64),
        spec: serde_json::from_value(spec).unwrap(),
        mock: Some(MockVerdict::Hang),
    };
    let request = job.to_request().unwrap();
    assert_eq!(Job::from_request(&request).unwrap(), job);
    assert_eq!(Job::from_request(b"{}").unwrap_err().code().as_str(), "job_unreadable");
}
