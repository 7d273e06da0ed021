//! Agents whose runs are driven by workers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use probity_agent::chat::{FunctionTool, ModelError, ModelReply, Tool, ToolContext};
use probity_agent::{Agent, AgentError, Agents, Reject, Submission};
use probity_core::{Event, Outcome};
use probity_engine::Post;
use probity_store::{MemoryStore, WorkStore};
use probity_testkit::{CrashPoint, CrashStore, ScriptedModel, call};
use serde_json::json;

use crate::fleet::{Seen, Yard, events, memory, told};
use crate::stage::{Nothing, Output, agent, edit, editor, hand_in, model, only_good, run_id};

/// Every call of the verifier: the submission, and whether it was a replay.
type Calls = Arc<Mutex<Vec<(String, bool)>>>;

fn fixer(script: &Arc<ScriptedModel>, calls: &Calls) -> Agent<Output> {
    let calls = calls.clone();
    agent(script)
        .name("fixer")
        .tool(editor())
        .output::<Output>()
        .verifier(move |output: Output, submission: Submission| {
            calls.lock().unwrap().push((submission.id.to_string(), submission.is_replay));
            async move { only_good(output).await }
        })
        .verifier_max_attempts(5)
        .build()
        .unwrap()
}

/// Two calls at once, two rejections with work between them, a pass.
fn script() -> Arc<ScriptedModel> {
    let edits = |n: u32| ModelReply::calls((0..n).map(|_| call("", "edit", json!({}))));
    let replies = [edits(2), hand_in("bad"), edits(3), hand_in("worse"), edit(), hand_in("good")];
    Arc::new(ScriptedModel::replies(replies).by_number())
}

#[tokio::test(start_paused = true)]
async fn a_task_is_left_for_whoever_is_free_and_its_result_is_typed() {
    let (yard, store): (_, Arc<dyn WorkStore>) = (Yard::new(), memory());
    let (script, calls) = (script(), Calls::default());
    let fixer = fixer(&script, &calls);
    let submitted = yard.submit(&store, &fixer, "task").await;
    assert!(submitted.is_new());
    assert!(!yard.submit(&store, &fixer, "task").await.is_new(), "once is enough");
    let agents = Agents::new(yard.fleet(&store)).with(&fixer);
    let done = yard.works(&store, "w1", agents, submitted.wait()).await.unwrap();
    assert_eq!((done.result.summary.as_str(), done.outcome), ("good", Outcome::Verified));
    assert_eq!((done.verification.attempts_used, done.ledger.len()), (2, 3));
    assert_eq!(script.asked().len(), 6);
    // Whoever asks later, from wherever.
    let again = probity_agent::Submitted::<Output>::at(yard.fleet(&store), run_id("task"));
    assert_eq!(again.wait().await.unwrap(), done);
}

#[tokio::test(start_paused = true)]
async fn the_result_of_a_run_is_there_once_it_is_over() {
    let behind = memory();
    let (yard, store): (_, Arc<dyn WorkStore>) = (Yard::new(), behind.clone());
    let script = model(["a", "b", "c"].map(hand_in));
    let fixer = agent(&script).name("fixer").store(behind).output::<Output>().verifier(only_good);
    let fixer = fixer.build().unwrap();
    let run = run_id("task");
    assert_eq!(fixer.result(&run).await.unwrap_err().code(), "run_missing");
    let submitted = yard.submit(&store, &fixer, "task").await;
    assert!(fixer.result(&run).await.unwrap().is_none());
    let agents = Agents::new(yard.fleet(&store)).with(&fixer);
    let waited = yard.works(&store, "w1", agents, submitted.wait()).await.unwrap_err();
    let AgentError::NotDone(waited) = waited else { panic!("{waited}") };
    let AgentError::NotDone(read) = fixer.result(&run).await.unwrap_err() else { panic!() };
    assert_eq!(waited, read);
    assert_eq!((read.outcome, read.verification.attempts_used), (Outcome::Exhausted, 3));
    assert_eq!(read.last_claim.unwrap().output.unwrap()["summary"], "c");
}

/// The worker dies at every append; another one goes on behind the last record.
#[tokio::test(start_paused = true)]
async fn a_death_of_the_worker_anywhere_repeats_no_recorded_answer() {
    let yard = Yard::new();
    let whole = Arc::new(CrashStore::new(memory(), CrashPoint::Never));
    let store: Arc<dyn WorkStore> = whole.clone();
    let fixer_of = |script: &Arc<ScriptedModel>, calls: &Calls| fixer(script, calls);
    let expected = {
        let (script, calls) = (script(), Calls::default());
        let fixer = fixer_of(&script, &calls);
        let submitted = yard.submit(&store, &fixer, "task").await;
        let agents = Agents::new(yard.fleet(&store)).with(&fixer);
        yard.works(&store, "w1", agents, submitted.wait()).await.unwrap()
    };
    let appends = whole.appends();
    assert!(appends > 15, "{appends}");
    let mut replays = 0;
    for point in CrashPoint::all(appends).filter(|point| *point >= CrashPoint::Before(1)) {
        let behind: Arc<MemoryStore> = memory();
        let dying = Arc::new(CrashStore::new(behind.clone(), point));
        let (lasting, fragile): (Arc<dyn WorkStore>, Arc<dyn WorkStore>) = (behind, dying.clone());
        let (script, calls) = (script(), Calls::default());
        let fixer = fixer_of(&script, &calls);
        // The first append is the submission.
        if point != CrashPoint::After(0) {
            yard.submit(&fragile, &fixer, "task").await;
        }
        let dead = async {
            while !dying.is_dead() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let agents = || Agents::new(yard.fleet(&lasting)).with(&fixer);
        if point != CrashPoint::After(0) {
            yard.works(&fragile, "w1", Agents::new(yard.fleet(&fragile)).with(&fixer), dead).await;
        }
        let submitted = yard.submit(&lasting, &fixer, "task").await;
        let done = yard.works(&lasting, "w2", agents(), submitted.wait()).await.unwrap();
        assert_eq!(told(&done), told(&expected), "{point:?}");
        let mut times: HashMap<u32, usize> = HashMap::new();
        for asked in script.asked() {
            *times.entry(asked.number).or_default() += 1;
        }
        let twice = times.values().filter(|times| **times > 1).count();
        assert!(twice <= 1 && times.values().all(|it| *it <= 2), "{point:?}: {times:?}");
        assert_eq!(times.len(), 6, "{point:?}");
        // Only the answer that the death caught before it was kept is asked for again.
        let noted = events(&lasting, &run_id("task")).await;
        let resumed = noted.iter().filter(|it| matches!(it, Event::LeaseTaken { .. })).count();
        assert!(resumed <= 2, "{point:?}");
        let mut first: HashMap<String, u32> = HashMap::new();
        for (submission, is_replay) in calls.lock().unwrap().iter() {
            let seen = first.entry(submission.clone()).or_default();
            // A call that was announced and not made is told as a replay, too: nobody can know.
            assert!(*seen == 0 || *is_replay, "{point:?}: {submission}");
            *seen += 1;
            replays += u32::from(*is_replay);
        }
        assert_eq!(first.len(), 3, "{point:?}: the same submissions");
    }
    assert!(replays >= 3, "{replays}");
}

#[tokio::test(start_paused = true)]
async fn a_worker_refuses_runs_of_agents_that_it_does_not_know_or_that_differ() {
    let yard = Yard::new();
    let good = || model([hand_in("good")]);
    let known = |instructions: &str| {
        let agent = Agent::builder(instructions).name("fixer").shared_model(good());
        agent.output::<Output>().verifier(only_good).verifier_version("1").build().unwrap()
    };
    let other = agent(&good()).name("other").output::<Output>().verifier(only_good);
    let other = other.build().unwrap();
    let more = Agent::builder("Fix.").name("fixer").shared_model(good()).tool(editor());
    let more = more.output::<Output>().verifier(only_good).verifier_version("2").build().unwrap();
    for (worker_has, code, words) in [
        (&other, "agent_unknown", "one of the agent `fixer`; this worker knows: other"),
        (&known("Break."), "agent_differs", "what differs is instructions;"),
        (&more, "agent_differs", "what differs is tools, verifier;"),
    ] {
        let store: Arc<dyn WorkStore> = memory();
        let submitted = yard.submit(&store, &known("Fix."), "task").await;
        let agents = Agents::new(yard.fleet(&store)).with(worker_has);
        let error = yard.works(&store, "w1", agents, submitted.wait()).await.unwrap_err();
        let AgentError::Buried { code: why, message, .. } = &error else { panic!("{error}") };
        assert_eq!((why.as_str(), error.code()), (code, "run_buried"));
        assert!(message.contains(words), "{message}");
        // The log is as it was: once the agent is back, the run goes on.
        yard.fleet(&store).resume(&run_id("task"), &Default::default()).await.unwrap();
        let agents = Agents::new(yard.fleet(&store)).with(&known("Fix."));
        yard.works(&store, "w2", agents, submitted.wait()).await.unwrap();
    }
}

/// The provider is away for minutes. The run waits without anybody, and ends verified.
#[tokio::test(start_paused = true)]
async fn an_outage_frees_the_worker_and_the_run_goes_on_behind_it() {
    let (yard, store): (_, Arc<dyn WorkStore>) = (Yard::new(), memory());
    let away = |status, retry_after_ms| ModelError::Transient {
        status: Some(status),
        message: "come back later".to_owned(),
        retry_after_ms,
    };
    let mut script = ScriptedModel::new().reply(edit());
    // Four tries each time; then it asks for ten minutes, and is given them.
    for _ in 0..8 {
        script = script.error(away(503, None));
    }
    script = script.error(away(429, Some(600_000))).reply(hand_in("good"));
    let script = Arc::new(script);
    let fixer = agent(&script).name("fixer").tool(editor()).clock(yard.clock.clone());
    let fixer = fixer.output::<Output>().verifier(only_good).build().unwrap();
    let submitted = yard.submit(&store, &fixer, "task").await;
    let (seen, began) = (Seen::default(), tokio::time::Instant::now());
    let agents = Agents::new(yard.fleet(&store)).with(&fixer);
    let done = yard.watched(&store, "w1", agents, seen.clone(), submitted.wait()).await.unwrap();
    assert_eq!(done.verification.attempts_used, 0);
    let minutes = began.elapsed().as_secs() / 60;
    assert!((11..13).contains(&minutes), "30 s, 60 s, 600 s: {minutes}");
    let parked = events(&store, &run_id("task")).await;
    let parked = parked.iter().filter(|it| matches!(it, Event::DelegateParked { .. })).count();
    assert_eq!((parked, script.asked().len()), (3, 11));
    let left = seen.events().into_iter().filter(|event| {
        matches!(event, probity_worker::WorkerEvent::Rested { how, .. }
            if !matches!(how, probity_worker::How::Ended { .. }))
    });
    assert!(left.count() >= 3, "{:?}", seen.events());
    // A run that somebody awaits fails at once, unless its agent says otherwise.
    let script = Arc::new(ScriptedModel::new().error(away(503, None)).repeat_last());
    let error = crate::stage::not_done(agent(&script).build().unwrap().run("Fix it.").await);
    assert_eq!(error.code.as_str(), "model_unavailable");
    assert!(error.reasons[0].contains("come back later"), "{:?}", error.reasons);
}

/// A tool that says something to its own run, by way of the control plane.
fn speaker(yard: &Yard, store: &Arc<dyn WorkStore>, text: &str) -> impl Tool + use<> {
    let (fleet, text) = (yard.fleet(store), text.to_owned());
    FunctionTool::new("edit", "Edits a file.", move |_: Nothing, ctx: ToolContext| {
        let (fleet, text) = (fleet.clone(), text.clone());
        async move {
            let post = Post::Steer { by: "ana".to_owned(), text };
            fleet.post(&ctx.run, &post).await.map_err(|error| error.to_string())?;
            Ok::<_, String>("edited")
        }
    })
}

#[tokio::test(start_paused = true)]
async fn what_people_say_reaches_a_run_on_a_worker_and_counts_as_work() {
    let (yard, store): (_, Arc<dyn WorkStore>) = (Yard::new(), memory());
    let script = model([edit(), hand_in("bad"), hand_in("good")]);
    let fixer = agent(&script).name("fixer").tool(speaker(&yard, &store, "Mind the gap."));
    let fixer = fixer.output::<Output>().verifier(only_good).build().unwrap();
    let submitted = yard.submit(&store, &fixer, "task").await;
    let agents = Agents::new(yard.fleet(&store)).with(&fixer);
    let done = yard.works(&store, "w1", agents, submitted.wait()).await.unwrap();
    assert_eq!(done.ledger[0].work, 2, "a call and a word");
    assert_eq!(script.violations(), Vec::<String>::new());
    let heard = |asked: &probity_testkit::Asked| {
        let text = serde_json::to_string(&asked.messages).unwrap();
        text.matches("Mind the gap.").count()
    };
    assert_eq!(script.asked().iter().map(heard).collect::<Vec<_>>(), [0, 1, 1]);
}

/// What a verifier is told of the verdicts so far does not depend on who drove the run to them.
#[tokio::test(start_paused = true)]
async fn a_verifier_on_another_worker_knows_the_verdicts_before() {
    let (yard, store): (_, Arc<dyn WorkStore>) = (Yard::new(), memory());
    let script = model(["a", "b", "good"].map(hand_in));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let states = seen.clone();
    let verifier = move |output: Output, ctx: probity_agent::AgentContext| {
        states.lock().unwrap().push((ctx.verification.attempts_used, ctx.attempt));
        async move {
            match output.summary.as_str() {
                "good" => Ok(output),
                _ => Err(Reject::revise("Not yet.")),
            }
        }
    };
    let fixer = agent(&script).name("fixer").output::<Output>().verifier(verifier);
    let fixer = fixer.build().unwrap();
    let submitted = yard.submit(&store, &fixer, "task").await;
    let agents = Agents::new(yard.fleet(&store)).with(&fixer);
    yard.works(&store, "w1", agents, submitted.wait()).await.unwrap();
    assert_eq!(*seen.lock().unwrap(), [(0, 1), (1, 2), (2, 3)]);
}
