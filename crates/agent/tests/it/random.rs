//! Random scripts, a crash at every append, and a fresh agent that goes on: what a run comes to does
//! not depend on where it was interrupted.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use probity_agent::chat::{
    Conversation, FunctionTool, ModelReply, ToolContext, ToolOutput, ToolReply,
};
use probity_agent::chat::{ToolSpec, Wait};
use probity_agent::{
    Agent, AgentError, Done, LedgerEntry, Reject, RunOptions, Submission, VerificationState,
};
use probity_core::{Outcome, SubmissionId};
use probity_engine::read_notes;
use probity_store::{MemoryStore, Store};
use probity_testkit::{CrashPoint, CrashStore, ScriptedModel, VirtualClock, call, final_output};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::stage::{Output, hand_in, run_id, within_an_hour};

/// Scripts that are played; each is interrupted at every append.
const CASES: u32 = 24;

/// What the model does next.
#[derive(Debug, Clone, Copy)]
enum Step {
    Pass,
    /// Hands in one of a few candidates that are not good.
    Revise(u8),
    /// Hands in one that the verifier cannot tell of at first.
    Unsure(u8),
    Fatal,
    Misfit,
    Silent,
    Work,
    Sleep,
    Ask,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => Just(Step::Pass),
        6 => (0..3_u8).prop_map(Step::Revise),
        2 => (0..3_u8).prop_map(Step::Unsure),
        1 => Just(Step::Fatal),
        2 => Just(Step::Misfit),
        1 => Just(Step::Silent),
        4 => Just(Step::Work),
        1 => Just(Step::Sleep),
        1 => Just(Step::Ask),
    ]
}

fn reply(step: Step) -> ModelReply {
    let calls = |name| ModelReply::calls([call("", name, json!({}))]);
    match step {
        Step::Pass => hand_in("pass"),
        Step::Revise(which) => hand_in(&format!("revise {which}")),
        Step::Unsure(which) => hand_in(&format!("unsure {which}")),
        Step::Fatal => hand_in("fatal"),
        Step::Misfit => final_output(json!({ "summary": 1 })),
        Step::Silent => ModelReply::text("hm"),
        Step::Work => calls("work"),
        Step::Sleep => calls("sleep"),
        Step::Ask => calls("ask"),
    }
}

/// Looks at outputs, and remembers at which; outlives every process of a run.
#[derive(Clone, Default)]
struct World(Arc<Mutex<HashMap<SubmissionId, u32>>>);

impl World {
    fn look(&self, output: &Output, submission: &Submission) -> Result<String, Reject> {
        let mut looks = self.0.lock().unwrap();
        let looks = looks.entry(submission.id.clone()).or_default();
        *looks += 1;
        match output.summary.as_str() {
            "pass" => Ok("passed".to_owned()),
            "fatal" => Err(Reject::fatal("Never.")),
            unsure if unsure.starts_with("unsure") && *looks == 1 => Err(Reject::system("busy")),
            _ => Err(Reject::revise("Not yet.")),
        }
    }

    fn seen(&self) -> HashSet<SubmissionId> {
        self.0.lock().unwrap().keys().cloned().collect()
    }
}

/// How a run ended, without the times.
#[derive(Debug, PartialEq)]
struct End {
    outcome: Outcome,
    code: String,
    verification: VerificationState,
    ledger: Vec<LedgerEntry>,
}

impl End {
    fn of(ended: Result<Done<String>, AgentError>) -> Result<Self, AgentError> {
        let (outcome, code, verification, ledger) = match ended {
            Ok(done) => (done.outcome, done.result, done.verification, done.ledger),
            Err(AgentError::NotDone(end)) => {
                (end.outcome, end.code.to_string(), end.verification, end.ledger)
            }
            Err(error) => return Err(error),
        };
        let ledger = ledger.into_iter().map(|entry| LedgerEntry {
            submitted_at_ms: 0,
            judged_at_ms: 0,
            ..entry
        });
        Ok(Self { outcome, code, verification, ledger: ledger.collect() })
    }
}

/// One process that drives the run.
struct Life {
    model: Arc<ScriptedModel>,
    agent: Agent<String>,
}

impl Life {
    fn new(script: &[Step], store: Arc<dyn Store>, world: &World) -> Self {
        let replies = script.iter().copied().chain([Step::Pass]).map(reply);
        let model = Arc::new(ScriptedModel::replies(replies).by_number().repeat_last());
        let world = world.clone();
        let agent = Agent::builder("You fix tests.")
            .shared_model(model.clone())
            .store(store)
            .clock(Arc::new(VirtualClock::at(1_700_000_000_000)))
            .tool(waits("work", None))
            .tool(waits("sleep", Some(Wait::Sleep(Duration::from_secs(3)))))
            .tool(waits("ask", Some(Wait::Answer { question: "Shall I?".to_owned() })))
            .output::<Output>()
            .verifier(move |output: Output, submission: Submission| {
                let looked = world.look(&output, &submission);
                async move { looked }
            })
            .verifier_max_system_errors(5, Duration::from_millis(1))
            .build()
            .unwrap();
        Self { model, agent }
    }

    /// Drives the run to its end, answering what it asks.
    async fn live(&self, resumes: bool) -> Result<End, AgentError> {
        let run = run_id("random");
        let mut ended = if resumes {
            self.agent.resume(&run).await
        } else {
            let options = RunOptions { run: Some(run.clone()), ..RunOptions::default() };
            self.agent.run_with("Fix it.", options).await
        };
        for _ in 0..20 {
            match ended {
                Err(AgentError::Waits { about, .. }) => {
                    ended = self.agent.wake(&run, &about, "ana", json!("yes")).await;
                }
                ended => return End::of(ended),
            }
        }
        panic!("it asks and asks");
    }

    /// The numbers of the calls that the model was asked for.
    fn asked(&self) -> Vec<u32> {
        self.model.asked().iter().map(|asked| asked.number).collect()
    }
}

/// A tool that waits like this on its first call.
fn waits(name: &str, wait: Option<Wait>) -> impl probity_agent::chat::Tool + use<> {
    let spec = ToolSpec {
        name: name.to_owned(),
        description: "Does something.".to_owned(),
        parameters: json!({ "type": "object" }),
    };
    let tool = FunctionTool::raw(spec, move |_: Value, context: ToolContext| {
        let reply = match &wait {
            Some(wait) if context.answer.is_none() => ToolReply::Park(wait.clone()),
            _ => ToolReply::Done(ToolOutput::text("done")),
        };
        async move { Ok(reply) }
    });
    tool.idempotent()
}

/// Plays a script without a crash, then with one at every append. How many there were.
async fn play(script: &[Step]) -> u64 {
    let whole = Arc::new(CrashStore::new(Arc::new(MemoryStore::new()), CrashPoint::Never));
    let first = Life::new(script, whole.clone(), &World::default());
    let expected = within_an_hour(first.live(false)).await.unwrap();
    let counted = expected.ledger.iter().filter(|entry| entry.counted).count();
    assert_eq!(usize::try_from(expected.verification.attempts_used).unwrap(), counted);
    assert!(expected.verification.attempts_used <= expected.verification.max_attempts);
    let numbers = first.asked();
    for point in CrashPoint::all(whole.appends()) {
        if point != CrashPoint::Before(0) {
            interrupted(script, point, &expected, &numbers).await;
        }
    }
    2 * whole.appends()
}

async fn interrupted(script: &[Step], point: CrashPoint, expected: &End, numbers: &[u32]) {
    let (behind, world) = (Arc::new(MemoryStore::new()), World::default());
    let store = Arc::new(CrashStore::new(behind.clone(), point));
    let before = Life::new(script, store.clone(), &world);
    let ended = within_an_hour(before.live(false)).await;
    assert!(ended.is_err() && store.is_dead(), "{point:?}: {ended:?}");
    let notes = read_notes(behind.as_ref(), &run_id("random")).await.unwrap();
    let recorded = Conversation::replay(&notes).unwrap().model_calls();
    let ledger = before.agent.ledger(&run_id("random")).await;
    assert!(ledger.is_err(), "{point:?}: the store lives");

    let after = Life::new(script, behind, &world);
    let kept = after.agent.ledger(&run_id("random")).await.unwrap();
    let end = within_an_hour(after.live(true)).await;
    let end = end.unwrap_or_else(|error| panic!("{point:?}: {error}"));
    assert_eq!(end, *expected, "{point:?}");
    assert!(kept.entries().len() <= end.ledger.len(), "{point:?}: a verdict was lost");
    for (kept, entry) in kept.entries().iter().zip(&end.ledger) {
        assert_eq!(kept.submission_id, entry.submission_id, "{point:?}");
        assert_eq!((kept.verdict, kept.counted), (entry.verdict, entry.counted), "{point:?}");
    }
    let named: HashSet<SubmissionId> =
        end.ledger.iter().map(|entry| entry.submission_id.clone()).collect();
    assert!(world.seen().is_subset(&named), "{point:?}: a submission that has no verdict");

    let (before, after) = (before.asked(), after.asked());
    assert!(after.iter().all(|number| *number >= recorded), "{point:?}: {after:?} of {recorded}");
    let all: BTreeSet<u32> = before.iter().chain(&after).copied().collect();
    assert_eq!(all, numbers.iter().copied().collect(), "{point:?}");
    assert!(before.len() + after.len() <= numbers.len() + 1, "{point:?}: {before:?} {after:?}");
}

#[test]
fn whatever_is_interrupted_comes_to_the_same() {
    let mut runner =
        TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(CASES) });
    let crashes = std::cell::Cell::new(0);
    let scripts = proptest::collection::vec(step(), 0..10);
    let outcomes = runner.run(&scripts, |script| {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().start_paused(true).build().unwrap();
        crashes.set(crashes.get() + runtime.block_on(play(&script)));
        Ok(())
    });
    println!("{CASES} scripts, {} crashes", crashes.get());
    outcomes.unwrap();
}

/// Lives that each end at this append, one behind the other, until the run has ended; with the number
/// of lives and of model calls.
async fn lives(script: &[Step], point: CrashPoint) -> (End, usize, usize) {
    let (behind, world) = (Arc::new(MemoryStore::new()), World::default());
    let mut asked = 0;
    for lives in 1..100 {
        let store = Arc::new(CrashStore::new(behind.clone(), point));
        let life = Life::new(script, store, &world);
        let ended = within_an_hour(life.live(lives > 1)).await;
        asked += life.asked().len();
        if let Ok(end) = ended {
            return (end, lives, asked);
        }
    }
    panic!("{point:?}: it never ends");
}

#[tokio::test(start_paused = true)]
async fn a_run_of_short_lives_comes_to_the_same() {
    let script = [Step::Work, Step::Revise(0), Step::Sleep, Step::Unsure(1), Step::Work];
    let whole = Life::new(&script, Arc::new(MemoryStore::new()), &World::default());
    let expected = within_an_hour(whole.live(false)).await.unwrap();
    for point in [CrashPoint::After(3), CrashPoint::Before(5), CrashPoint::After(6)] {
        let (end, lives, asked) = lives(&script, point).await;
        assert_eq!(end, expected, "{point:?}");
        assert!((4..=11).contains(&lives), "{point:?}: {lives}");
        assert!(asked < whole.asked().len() + lives, "{point:?}: {asked} in {lives} lives");
    }
}

/// Processes that die before they come to anything do not do so for ever: the next one ends the run.
#[tokio::test(start_paused = true)]
async fn a_run_that_is_interrupted_again_and_again_ends() {
    let (behind, world) = (Arc::new(MemoryStore::new()), World::default());
    for lives in 0..12 {
        let store = Arc::new(CrashStore::new(behind.clone(), CrashPoint::After(0)));
        let life = Life::new(&[Step::Pass], store, &world);
        within_an_hour(life.live(lives > 0)).await.unwrap_err();
    }
    let last = Life::new(&[Step::Pass], behind, &world);
    let end = within_an_hour(last.live(true)).await.unwrap();
    assert_eq!((end.outcome, end.code.as_str()), (Outcome::Exhausted, "interruptions"));
    assert_eq!((end.verification.attempts_used, last.asked().len()), (0, 0));
}

/// One of each, so that none depends on luck.
#[tokio::test(start_paused = true)]
async fn every_step_is_interrupted_at_every_append() {
    let every = [
        Step::Work,
        Step::Revise(0),
        Step::Misfit,
        Step::Sleep,
        Step::Revise(0),
        Step::Ask,
        Step::Silent,
        Step::Unsure(0),
    ];
    let crashes = play(&every).await;
    assert!(crashes > 38, "{crashes}");
    assert!(play(&[Step::Revise(0), Step::Fatal]).await > 8);
    assert!(play(&[Step::Revise(0); 3]).await > 8);
    assert!(play(&[Step::Misfit; 3]).await >= 4);
}
