//! A supervisor, its worker and a critic between them.

use std::sync::Arc;

use probity_store::WorkStore;
use probity_store_sqlite::{Options, SqliteStore};
use probity_workflow::{Event, Judgement, Origin, Status};
use serde_json::json;

use crate::cast::Part;
use crate::rig::{Rig, assert_sound, cancel, id, kinds, resolve, start, to_end, to_wait};

/// One run of that definition to its end.
async fn run(rig: &Rig, workflow: &str) -> Vec<Arc<probity_workflow::Entry>> {
    let conductor = rig.conductor();
    conductor.begin(id("wf-1"), start(&conductor, workflow)).await.unwrap();
    let entries = to_end(&conductor, &id("wf-1")).await;
    assert_sound(&entries);
    entries
}

fn count(kinds: &[String], kind: &str) -> usize {
    kinds.iter().filter(|it| it.as_str() == kind).count()
}

#[tokio::test(start_paused = true)]
async fn a_pass_is_taken_over() {
    let rig = Rig::new(Part::Verdict(Judgement::Pass));
    let entries = run(&rig, "checked").await;
    let Event::RunCompleted { outputs } = &entries.last().unwrap().event else { panic!("an end") };
    assert_eq!(outputs["result"], "good");
    let conductor = rig.conductor();
    let children = conductor.children(&id("wf-1")).await.unwrap();
    assert_eq!(children.len(), 1);
    let child = conductor.start(&children[0]).await.unwrap().unwrap();
    let (parent, node) = (id("wf-1"), "desk".to_owned());
    assert_eq!(child.origin, Some(Origin::Child { parent, node, is_dispatch: true }));
    let verified = entries.iter().find_map(|entry| match &entry.event {
        Event::AgentVerified(verified) => Some(verified),
        _ => None,
    });
    assert_eq!(verified.unwrap().target, children[0]);
    assert_sound(&to_end(&conductor, &children[0]).await);
}

#[tokio::test]
async fn the_same_on_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("runs.db"), Options::default()).unwrap();
    let rig = Rig::timed(Arc::new(store), Part::Verdict(Judgement::Pass));
    let entries = run(&rig, "checked").await;
    let memory = run(&Rig::new(Part::Verdict(Judgement::Pass)), "checked").await;
    assert_eq!(crate::rig::timeless(&entries), crate::rig::timeless(&memory));
}

#[tokio::test(start_paused = true)]
async fn a_fail_asks_and_the_answer_begins_another_child() {
    let rig = Rig::new(Part::Verdicts(vec![Judgement::Fail]));
    let conductor = rig.conductor();
    let run = id("wf-1");
    conductor.begin(run.clone(), start(&conductor, "checked")).await.unwrap();
    let node = to_wait(&conductor, &run).await;
    let waiting = conductor.snapshot(&run).await.unwrap().unwrap();
    assert_eq!(waiting.status, Status::WaitingInput);
    assert_eq!(waiting.variables.get("result"), None);
    conductor.tell(&run, resolve(&node, json!({"next": "again"}))).await.unwrap();
    let entries = to_end(&conductor, &run).await;
    assert_sound(&entries);
    assert_eq!(count(&kinds(&entries), "agent-verified"), 2);
    assert_eq!(conductor.children(&run).await.unwrap().len(), 2);
    let ended = conductor.snapshot(&run).await.unwrap().unwrap();
    assert_eq!(ended.variables["result"], "good");
    assert_eq!(ended.is_goal_satisfied, Some(true));
}

#[tokio::test(start_paused = true)]
async fn revisions_are_bounded_by_the_run() {
    let rig = Rig::new(Part::Verdict(Judgement::Revise));
    let entries = run(&rig, "again").await;
    let kinds = kinds(&entries);
    assert_eq!(count(&kinds, "cap-breached"), 1, "{kinds:?}");
    assert_eq!(kinds.last().unwrap(), "run-failed");
    let harvested = entries
        .iter()
        .any(|entry| matches!(&entry.event, Event::Handoff { harvested: Some(_), .. }));
    assert!(!harvested, "nothing was taken over");
}

#[tokio::test(start_paused = true)]
async fn whoever_gives_up_says_so() {
    let rig = Rig::new(Part::Verdict(Judgement::Fail));
    let conductor = rig.conductor();
    conductor.begin(id("wf-1"), start(&conductor, "quits")).await.unwrap();
    to_end(&conductor, &id("wf-1")).await;
    let ended = conductor.snapshot(&id("wf-1")).await.unwrap().unwrap();
    assert_eq!((ended.status, ended.is_goal_satisfied), (Status::Completed, Some(false)));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_run_takes_its_child_and_its_critic_along() {
    let rig = Rig::new(Part::Hang);
    let conductor = rig.conductor();
    let mut nested = start(&conductor, "nest");
    nested.definition = probity_workflow::Definition::parse(&crate::rig::definition(
        "outer",
        json!([crate::rig::node("in", "core.subWorkflow", json!({"workflowId": "work"}))]),
        &[],
    ))
    .unwrap();
    let run = id("wf-1");
    conductor.begin(run.clone(), nested).await.unwrap();
    let mut follower = conductor.follow(&run, 0).await.unwrap().unwrap();
    while !matches!(follower.next().await.unwrap().unwrap().event, Event::NodeDispatched { .. }) {}
    let child = conductor.children(&run).await.unwrap().remove(0);
    while rig.cast.begun().is_empty() {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    let cancelled = conductor.tell(&run, cancel()).await.unwrap();
    assert_eq!(cancelled.status, Status::Cancelled);
    let of_child = to_end(&conductor, &child).await;
    let Event::RunCancelled { parent, .. } = &of_child.last().unwrap().event else {
        panic!("the child is cancelled")
    };
    assert_eq!(parent.as_ref(), Some(&run));
    assert!(conductor.drain(std::time::Duration::from_secs(60)).await);
    assert_eq!(rig.cast.stopped(), rig.cast.begun());
}

#[tokio::test(start_paused = true)]
async fn a_definition_that_begins_itself_comes_to_an_end() {
    let rig = Rig::new(Part::Mock);
    let entries = run(&rig, "nest").await;
    let Event::RunFailed { error, .. } = &entries.last().unwrap().event else {
        panic!("a failure")
    };
    assert_eq!(error.code, "workflow_too_deep");
    let runs = rig.store.list(None, 100).await.unwrap();
    assert_eq!(runs.len(), 1 + 16);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_worker_fails_its_node() {
    let rig = Rig::new(Part::Mock);
    let conductor = rig.conductor();
    let nodes = json!([crate::rig::node("in", "core.subWorkflow", json!({"workflowId": "none"}))]);
    let json = crate::rig::definition("calls-none", nodes, &[]);
    let definition = probity_workflow::Definition::parse(&json).unwrap();
    let start = probity_workflow::Start { definition, ..start(&conductor, "writer") };
    conductor.begin(id("wf-1"), start).await.unwrap();
    let entries = to_end(&conductor, &id("wf-1")).await;
    let Event::RunFailed { error, .. } = &entries.last().unwrap().event else {
        panic!("a failure")
    };
    assert_eq!(error.code, "workflow_unknown");
}

#[tokio::test(start_paused = true)]
async fn two_conductors_on_one_store_write_one_log() {
    let store: Arc<dyn WorkStore> = Arc::new(probity_store::MemoryStore::new());
    let rig = Rig::on(store, Part::Verdicts(vec![Judgement::Fail, Judgement::Revise]));
    let (one, two) = (rig.conductor(), rig.conductor());
    let run = id("wf-1");
    one.begin(run.clone(), start(&one, "checked")).await.unwrap();
    assert!(!two.begin(run.clone(), start(&two, "checked")).await.unwrap().is_new);
    two.recover().await.unwrap();
    let node = to_wait(&one, &run).await;
    let (a, b) = tokio::join!(
        one.tell(&run, resolve(&node, json!({"next": "again"}))),
        two.tell(&run, resolve(&node, json!({"next": "again"}))),
    );
    assert_eq!(u8::from(a.is_ok()) + u8::from(b.is_ok()), 1, "one answer counts: {a:?} {b:?}");
    let (seen_by_one, seen_by_two) = tokio::join!(to_end(&one, &run), to_end(&two, &run));
    assert_sound(&seen_by_one);
    assert_eq!(seen_by_one, seen_by_two);
    let ended = two.snapshot(&run).await.unwrap().unwrap();
    assert_eq!(ended.variables["result"], "good");
}
