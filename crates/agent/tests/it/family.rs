//! Agents that give tasks to agents, each run of them in the hands of whoever is free.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use probity_agent::chat::{FunctionTool, ModelReply, Tool, ToolContext};
use probity_agent::{Agent, Agents, DelegateTool, VerificationFailed};
use probity_core::{Event, Outcome, RunId};
use probity_engine::Post;
use probity_store::{Standing, WorkStore};
use probity_testkit::{CrashPoint, CrashStore, ScriptedModel, call};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::fleet::{Yard, events, memory, told};
use crate::stage::{Nothing, Output, agent, answers, hand_in, model, only_good, run_id};

fn ask(id: &str, task: &str) -> probity_agent::chat::Call {
    call(id, "delegate", json!({ "task": task }))
}

fn ask_child() -> ModelReply {
    ModelReply::calls([ask("part", "Do a part.")])
}

fn child(script: &Arc<ScriptedModel>) -> Agent<Output> {
    agent(script).name("child").output::<Output>().verifier(only_good).build().unwrap()
}

fn lead(
    script: &Arc<ScriptedModel>,
    child: &Agent<Output>,
    also: Vec<Arc<dyn Tool>>,
) -> Agent<Output> {
    let lead = agent(script).name("lead").tool(DelegateTool::to(child)).tools(also);
    lead.output::<Output>().verifier(only_good).build().unwrap()
}

async fn children_of(store: &Arc<dyn WorkStore>, parent: &RunId) -> Vec<RunId> {
    let runs = store.list(None, 100).await.unwrap();
    runs.into_iter().map(|it| it.run).filter(|run| run != parent).collect()
}

async fn waits(store: &Arc<dyn WorkStore>, run: &str) -> usize {
    let events = events(store, &run_id(run)).await;
    events.iter().filter(|it| matches!(it, Event::DelegateParked { .. })).count()
}

#[tokio::test(start_paused = true)]
async fn parent_and_child_on_two_workers() {
    let (yard, store): (_, Arc<dyn WorkStore>) = (Yard::new(), memory());
    let (up, down) = (model([ask_child(), hand_in("good")]), model(["bad", "good"].map(hand_in)));
    let below = child(&down);
    let lead = lead(&up, &below, Vec::new());
    let submitted = yard.submit(&store, &lead, "family").await;
    let agents = || Agents::new(yard.fleet(&store)).with(&lead).with(&below);
    let first = Box::pin(yard.works(&store, "w1", agents(), submitted.wait()));
    let done = yard.works(&store, "w2", agents(), first).await.unwrap();
    assert_eq!(done.outcome, Outcome::Verified);
    assert_eq!(waits(&store, "family").await, 1);
    let (text, is_error) = answers(&up.asked()[1]).pop().unwrap();
    let told: Value = serde_json::from_str(&text).unwrap();
    assert!(!is_error);
    let run = down.asked()[0].run.clone();
    let result = json!({ "summary": "good", "profile": "fast" });
    let expected = json!({
        "status": "verified", "result": result, "attempts": 1, "run": run.as_str(),
    });
    assert_eq!(told, expected);
    // The child knows who waits for it, and is a job of its own.
    let opened = events(&store, &run).await.remove(0);
    assert!(
        matches!(opened, Event::RunOpened { parent: Some(parent), .. } if parent == run_id("family"))
    );
}

#[tokio::test(start_paused = true)]
async fn two_children_of_one_answer_are_waited_for_together() {
    let (yard, store): (_, Arc<dyn WorkStore>) = (Yard::new(), memory());
    let both = ModelReply::calls([ask("a", "Do a."), ask("b", "Do b.")]);
    let (up, down) = (model([both, hand_in("good")]), model([hand_in("good"), hand_in("good")]));
    let below = child(&down);
    let lead = lead(&up, &below, Vec::new());
    let submitted = yard.submit(&store, &lead, "family").await;
    let agents = Agents::new(yard.fleet(&store)).with(&lead).with(&below);
    yard.works(&store, "w1", agents, submitted.wait()).await.unwrap();
    assert_eq!(waits(&store, "family").await, 1, "one wait for both");
    let told = answers(&up.asked()[1]);
    let runs: Vec<String> = told
        .iter()
        .map(|(text, _)| serde_json::from_str::<Value>(text).unwrap()["run"].to_string())
        .collect();
    assert_eq!(told.len(), 2);
    assert_ne!(runs[0], runs[1]);
    assert!(told.iter().all(|(text, is_error)| text.contains("verified") && !is_error));
}

/// In the system of the seed the result was dropped then, and the parent waited for ever.
#[tokio::test(start_paused = true)]
async fn p23_a_child_that_ends_before_its_parent_is_parked_is_not_missed() {
    let (yard, store): (_, Arc<dyn WorkStore>) = (Yard::new(), memory());
    let both = ModelReply::calls([ask("a", "Do a."), call("b", "linger", json!({}))]);
    let (up, down) = (model([both, hand_in("good")]), model([hand_in("good")]));
    let below = child(&down);
    let logs = store.clone();
    let linger = move |_: Nothing, ctx: ToolContext| {
        let logs = logs.clone();
        async move {
            loop {
                let children = children_of(&logs, &ctx.run).await;
                if let Some(child) = children.first()
                    && logs.standing(child).await.unwrap().is_none()
                {
                    // Its log is sealed, its job is settled: whoever wants to know must look.
                    return Ok::<_, String>("the child has ended");
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    };
    let tools: Vec<Arc<dyn Tool>> = vec![Arc::new(FunctionTool::new("linger", "Lingers.", linger))];
    let lead = lead(&up, &below, tools);
    let submitted = yard.submit(&store, &lead, "family").await;
    let agents = Agents::new(yard.fleet(&store)).with(&lead).with(&below);
    yard.works(&store, "w1", agents, submitted.wait()).await.unwrap();
    assert!(answers(&up.asked()[1])[0].0.contains("verified"));
}

#[tokio::test(start_paused = true)]
async fn p08_whatever_becomes_of_a_child_on_a_worker_its_parent_is_told_in_data() {
    for (script, error, outcome, code) in [
        (
            ["a", "b", "c"].map(hand_in).to_vec(),
            "verification_failed",
            Outcome::Exhausted,
            "attempts",
        ),
        (vec![hand_in("fatal")], "verification_failed", Outcome::Rejected, "hopeless"),
        (vec![], "delegate_failed", Outcome::DelegateFailed, "model_refused"),
    ] {
        let (yard, store): (_, Arc<dyn WorkStore>) = (Yard::new(), memory());
        let (up, down) = (model([ask_child(), hand_in("good")]), model(script));
        let below = child(&down);
        let lead = lead(&up, &below, Vec::new());
        let submitted = yard.submit(&store, &lead, "family").await;
        let agents = Agents::new(yard.fleet(&store)).with(&lead).with(&below);
        yard.works(&store, "w1", agents, submitted.wait()).await.unwrap();
        let (text, is_error) = answers(&up.asked()[1]).pop().unwrap();
        let told: VerificationFailed = serde_json::from_str(&text).unwrap();
        assert_eq!((told.error.as_str(), told.outcome, told.code.as_str()), (error, outcome, code));
        assert!(is_error && !told.reasons.is_empty(), "{told:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn p08_a_child_that_somebody_cancels_frees_its_parent() {
    let (yard, store): (_, Arc<dyn WorkStore>) = (Yard::new(), memory());
    let up = model([ask_child(), hand_in("good")]);
    let down =
        Arc::new(ScriptedModel::replies([hand_in("good")]).latency(Duration::from_secs(900)));
    let below = child(&down);
    let lead = lead(&up, &below, Vec::new());
    let submitted = yard.submit(&store, &lead, "family").await;
    let agents = Agents::new(yard.fleet(&store)).with(&lead).with(&below);
    let fleet = yard.fleet(&store);
    let cancelled = async {
        while waits(&store, "family").await == 0 || down.asked().is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let run = down.asked()[0].run.clone();
        let post = Post::Cancel { by: "ana".to_owned(), text: "enough".to_owned() };
        fleet.post(&run, &post).await.unwrap();
        submitted.wait().await
    };
    yard.works(&store, "w1", agents, cancelled).await.unwrap();
    let told: VerificationFailed =
        serde_json::from_str(&answers(&up.asked()[1]).pop().unwrap().0).unwrap();
    assert_eq!((told.error.as_str(), told.outcome), ("cancelled", Outcome::Cancelled));
}

/// No worker knows the agent of the child: it becomes a dead letter, and the parent hears of that.
#[tokio::test(start_paused = true)]
async fn a_child_that_becomes_a_dead_letter_frees_its_parent() {
    let (yard, store): (_, Arc<dyn WorkStore>) = (Yard::new(), memory());
    let up = model([ask_child(), hand_in("good")]);
    let below = child(&model([]));
    let lead = lead(&up, &below, Vec::new());
    let submitted = yard.submit(&store, &lead, "family").await;
    let agents = Agents::new(yard.fleet(&store)).with(&lead);
    yard.works(&store, "w1", agents, submitted.wait()).await.unwrap();
    let (text, is_error) = answers(&up.asked()[1]).pop().unwrap();
    let told: Value = serde_json::from_str(&text).unwrap();
    assert!(is_error);
    assert_eq!(
        (&told["error"], &told["outcome"]),
        (&json!("not_finished"), &json!("dead_lettered"))
    );
    assert_eq!(told["code"], json!("agent_unknown"));
    let run = told["run"].as_str().unwrap().parse().unwrap();
    assert!(matches!(store.standing(&run).await.unwrap(), Some(Standing::Dead { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_child_has_the_checks_and_the_depth_of_its_family() {
    let (yard, store): (_, Arc<dyn WorkStore>) = (Yard::new(), memory());
    let bottom = child(&model([]));
    let down = model([ask_child(), hand_in("good")]);
    let middle = agent(&down).name("middle").tool(DelegateTool::to(&bottom));
    let middle = middle.output::<Output>().verifier(only_good).build().unwrap();
    let up = model([ask_child(), hand_in("good")]);
    let asked = Arc::new(Notify::new());
    let heard = asked.clone();
    let operator = probity_engine::Check::verifier(
        probity_core::CheckDecl {
            id: probity_core::Code::slug("operator"),
            subject: probity_core::Subject::Claim,
            timeout_ms: 1000,
        },
        Arc::new(Passes(heard)),
    );
    let lead = agent(&up).name("lead").tool(DelegateTool::to(&middle)).check(operator).max_depth(1);
    let lead = lead.output::<Output>().verifier(only_good).build().unwrap();
    let submitted = yard.submit(&store, &lead, "family").await;
    let agents = Agents::new(yard.fleet(&store)).with(&lead).with(&middle).with(&bottom);
    yard.works(&store, "w1", agents, submitted.wait()).await.unwrap();
    let (text, is_error) = answers(&down.asked()[1]).pop().unwrap();
    assert!(is_error && text.contains("1 deep"), "{text}");
    let opened = events(&store, &down.asked()[0].run).await.remove(0);
    let Event::RunOpened { checks, .. } = opened else { panic!("{opened:?}") };
    let ids: Vec<&str> = checks.iter().map(|decl| decl.id.as_str()).collect();
    assert_eq!(ids, ["operator", "verifier"]);
    asked.notified().await;
}

struct Passes(Arc<Notify>);

#[async_trait::async_trait]
impl probity_verifier::Verifier for Passes {
    async fn verify(
        &self,
        _: &probity_verifier::CheckContext,
    ) -> Result<probity_core::Verdict, probity_core::Fault> {
        self.0.notify_one();
        Ok(probity_core::Verdict::pass())
    }
}

/// The worker dies at every append of parent and children; another one goes on.
#[tokio::test(start_paused = true)]
async fn a_death_anywhere_in_a_family_loses_and_repeats_nothing() {
    let yard = Yard::new();
    let scripts = || {
        let both = ModelReply::calls([ask("a", "Do a."), ask("b", "Do b.")]);
        let up = [both, hand_in("bad"), hand_in("good")];
        let down = [hand_in("bad"), hand_in("good")];
        (
            Arc::new(ScriptedModel::replies(up).by_number()),
            Arc::new(ScriptedModel::replies(down).by_number()),
        )
    };
    let whole = Arc::new(CrashStore::new(memory(), CrashPoint::Never));
    let store: Arc<dyn WorkStore> = whole.clone();
    let expected = {
        let (up, down) = scripts();
        let below = child(&down);
        let lead = lead(&up, &below, Vec::new());
        let submitted = yard.submit(&store, &lead, "family").await;
        let agents = Agents::new(yard.fleet(&store)).with(&lead).with(&below);
        yard.works(&store, "w1", agents, submitted.wait()).await.unwrap()
    };
    let appends = whole.appends();
    assert!(appends > 25, "{appends}");
    for point in CrashPoint::all(appends).filter(|point| *point >= CrashPoint::Before(1)) {
        if point == CrashPoint::After(0) {
            continue;
        }
        let behind = memory();
        let dying = Arc::new(CrashStore::new(behind.clone(), point));
        let (lasting, fragile): (Arc<dyn WorkStore>, Arc<dyn WorkStore>) = (behind, dying.clone());
        let (up, down) = scripts();
        let below = child(&down);
        let lead = lead(&up, &below, Vec::new());
        yard.submit(&fragile, &lead, "family").await;
        let agents =
            |store: &Arc<dyn WorkStore>| Agents::new(yard.fleet(store)).with(&lead).with(&below);
        let dead = async {
            // Appends of runs beside each other may come in another order, and be fewer.
            let family = run_id("family");
            let over = lasting.wait_beyond(&family, u64::MAX, Duration::from_secs(600));
            let dead = async {
                while !dying.is_dead() {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            };
            tokio::select! {
                biased;
                () = dead => {}
                _ = over => {}
            }
        };
        yard.works(&fragile, "w1", agents(&fragile), dead).await;
        let submitted = yard.submit(&lasting, &lead, "family").await;
        let done = yard.works(&lasting, "w2", agents(&lasting), submitted.wait()).await.unwrap();
        assert_eq!(told(&done), told(&expected), "{point:?}");
        assert_eq!(children_of(&lasting, &run_id("family")).await.len(), 2, "{point:?}");
        let mut times: HashMap<(RunId, u32), usize> = HashMap::new();
        for asked in up.asked().into_iter().chain(down.asked()) {
            *times.entry((asked.run, asked.number)).or_default() += 1;
        }
        assert_eq!(times.len(), 3 + 2 * 2, "{point:?}");
        // Both children may have been caught in the midst of a call.
        let twice = times.values().filter(|times| **times > 1).count();
        assert!(twice <= 2 && times.values().all(|it| *it <= 2), "{point:?}: {times:?}");
        assert_eq!((up.violations().len(), down.violations().len()), (0, 0));
    }
}
