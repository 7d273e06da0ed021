//! The process dies at every append, and another one goes on.

use std::sync::Arc;
use std::time::Duration;

use probity_store::{Batch, MemoryStore, RunLog as _, WorkStore, read_run};
use probity_testkit::{CrashPoint, CrashStore};
use probity_workflow::{Definition, Event, Judgement, Start};
use serde_json::{Value, json};

use crate::cast::Part;
use crate::rig::{
    Rig, assert_sound, bounded, cancel, definition, id, node, start, timeless, to_end,
};

const PART: Part = Part::Verdict(Judgement::Pass);

fn part() -> Part {
    Part::Verdicts(vec![Judgement::Revise])
}

/// How many appends there are, and what the log says at its end.
async fn undisturbed(workflow: &str, part: Part) -> (u64, Vec<Value>) {
    let store = Arc::new(CrashStore::new(Arc::new(MemoryStore::new()), CrashPoint::Never));
    let rig = Rig::on(Arc::clone(&store) as Arc<dyn WorkStore>, part);
    let conductor = rig.conductor();
    conductor.begin(id("wf-1"), start(&conductor, workflow)).await.unwrap();
    let entries = to_end(&conductor, &id("wf-1")).await;
    conductor.drain(Duration::from_secs(60)).await;
    (store.appends(), timeless(&entries))
}

async fn dies_and_goes_on(workflow: &str, part: Part, point: CrashPoint, as_ever: &[Value]) {
    let behind = Arc::new(MemoryStore::new());
    let store = Arc::new(CrashStore::new(Arc::clone(&behind), point));
    let rig = Rig::on(Arc::clone(&behind) as Arc<dyn WorkStore>, part);
    let dying = rig.conductor_on(Arc::clone(&store) as Arc<dyn WorkStore>);
    let begun = dying.begin(id("wf-1"), start(&dying, workflow)).await;
    bounded(async {
        while !store.is_dead() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    drop(dying);
    let next = rig.conductor();
    let recovered = next.recover().await.unwrap();
    assert!(recovered.damaged.is_empty(), "{point:?}: {recovered:?}");
    // Whoever was not told that it began begins it again.
    if begun.is_err() {
        next.begin(id("wf-1"), start(&next, workflow)).await.unwrap();
    }
    let entries = to_end(&next, &id("wf-1")).await;
    assert_sound(&entries);
    assert_eq!(timeless(&entries), as_ever, "{workflow} {point:?}");
    next.drain(Duration::from_secs(60)).await;
    let runs = behind.list(None, 100).await.unwrap();
    assert!(runs.iter().all(|run| run.state.sealed), "{point:?}: nothing is left undriven");
}

#[tokio::test(start_paused = true)]
async fn a_log_is_the_same_wherever_the_process_died() {
    for (workflow, part) in [("checked", PART), ("two-turns", part()), ("again", part())] {
        let (appends, as_ever) = undisturbed(workflow, part.clone()).await;
        assert!(appends >= 5, "{workflow} {appends}");
        for point in CrashPoint::all(appends) {
            dies_and_goes_on(workflow, part.clone(), point, &as_ever).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_prefix_of_a_log_shows_a_merge_without_its_verdict() {
    let rig = Rig::new(PART);
    let conductor = rig.conductor();
    let run = id("wf-1");
    conductor.begin(run.clone(), start(&conductor, "checked")).await.unwrap();
    to_end(&conductor, &run).await;
    let records = read_run(rig.store.as_ref(), &run).await.unwrap();
    for len in 1..=records.len() {
        let store = Arc::new(MemoryStore::new());
        let prefix = Batch::of(records[..len].to_vec());
        store.append(&run, 0, prefix).await.unwrap();
        let other = Rig::on(store, Part::Hang).conductor();
        let page = other.entries(&run, 0, 1_000).await.unwrap().unwrap();
        let text =
            serde_json::to_string(&page.entries.iter().map(AsRef::as_ref).collect::<Vec<_>>());
        let text = text.unwrap();
        let is_merged = text.contains("harvested\":[");
        assert_eq!(is_merged, text.contains("agent-verified"), "{len}");
        let snapshot = other.snapshot(&run).await.unwrap().unwrap();
        assert_eq!(snapshot.variables.contains_key("result"), is_merged, "{len}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_child_whose_parent_ended_before_it_could_stop_it_is_stopped() {
    let rig = Rig::new(PART);
    let conductor = rig.conductor();
    let run = id("wf-1");
    let calls = json!([node("in", "core.subWorkflow", json!({"workflowId": "slow"}))]);
    let definition = Definition::parse(&definition("outer", calls, &[])).unwrap();
    let start = Start { definition, ..start(&conductor, "writer") };
    conductor.begin(run.clone(), start).await.unwrap();
    let mut follower = conductor.follow(&run, 0).await.unwrap().unwrap();
    while !matches!(follower.next().await.unwrap().unwrap().event, Event::NodeDispatched { .. }) {}
    let child = conductor.children(&run).await.unwrap().remove(0);
    bounded(conductor.follow(&run, 0)).await.unwrap();
    rig.store.wait_beyond(&child, 0, Duration::from_secs(60)).await.unwrap();
    let of_child = read_run(rig.store.as_ref(), &child).await.unwrap();
    conductor.tell(&run, cancel()).await.unwrap();
    let of_parent = read_run(rig.store.as_ref(), &run).await.unwrap();

    let store = Arc::new(MemoryStore::new());
    let sealed = Batch { seal: true, ..Batch::of(of_parent) };
    store.append(&run, 0, sealed).await.unwrap();
    store.append(&child, 0, Batch::of(of_child)).await.unwrap();
    let next = Rig::on(store, PART).conductor();
    next.recover().await.unwrap();
    let entries = to_end(&next, &child).await;
    assert!(matches!(entries.last().unwrap().event, Event::RunCancelled { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_delegation_whose_run_was_cancelled_is_stopped_by_the_next_process() {
    let rig = Rig::new(Part::Hang);
    let conductor = rig.conductor();
    let run = id("wf-1");
    conductor.begin(run.clone(), start(&conductor, "work")).await.unwrap();
    bounded(async {
        while rig.cast.begun().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    conductor.tell(&run, cancel()).await.unwrap();
    drop(conductor);
    // Nothing of it is left but its log.
    let next = Rig::on(Arc::clone(&rig.store), Part::Hang);
    let conductor = next.conductor();
    assert_eq!(conductor.recover().await.unwrap().driven, 0);
    assert_eq!(next.cast.stopped(), rig.cast.begun());
    conductor.recover().await.unwrap();
    assert_eq!(next.cast.stopped().len(), 1, "once");
}
