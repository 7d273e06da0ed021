//! Ways to have a run hang, repeat itself, or call a success what is none.

use std::sync::Arc;

use probity_conductor::{ConductError, Fork};
use probity_store::{Batch, MemoryStore, read_run};
use probity_workflow::{Definition, Event, Input, Judgement, Start, Status};
use serde_json::{Map, Value, json};

use crate::cast::Part;
use crate::rig::{Rig, assert_sound, cancel, definition, id, kinds, node, start, to_end, to_wait};

fn nested(levels: usize) -> Value {
    (1..levels).fold(json!([]), |inner, _| json!([inner]))
}

#[tokio::test(start_paused = true)]
async fn a_run_does_not_hang_on_what_cannot_be_recorded() {
    let rig = Rig::new(Part::Mock);
    let conductor = rig.conductor();
    let hands_on = json!({
        "workflowId": "writer", "inputMapping": {"deep": "deep"},
        "outputAttestation": {"requireApproval": true}, "onChildFailure": "absorb",
    });
    let outer = definition("outer", json!([node("in", "core.subWorkflow", hands_on)]), &[]);
    let definition = Definition::parse(&outer).unwrap();
    // As deep as a run may begin with: what a child leaves of it is too deep for a question.
    for levels in (1..=128).rev() {
        let inputs = Map::from_iter([("deep".to_owned(), nested(levels))]);
        let start = Start { definition: definition.clone(), inputs, ..start(&conductor, "writer") };
        match conductor.begin(id("wf-1"), start).await {
            Ok(_) => break,
            Err(error) => assert!(matches!(error, ConductError::Unrecordable { .. }), "{error}"),
        }
    }
    let entries = to_end(&conductor, &id("wf-1")).await;
    assert_sound(&entries);
    let took_ms = entries.last().unwrap().at_ms - entries[0].at_ms;
    assert!(took_ms < 60_000, "it did not wait for its bound: {took_ms}");
    let snapshot = conductor.snapshot(&id("wf-1")).await.unwrap().unwrap();
    assert_ne!(snapshot.status, Status::Running);
}

#[tokio::test(start_paused = true)]
async fn a_parent_of_a_child_that_gave_up_is_no_success() {
    let rig = Rig::new(Part::Verdict(Judgement::Fail));
    let conductor = rig.conductor();
    let calls = json!([node("in", "core.subWorkflow", json!({"workflowId": "quits"}))]);
    let definition = Definition::parse(&definition("outer", calls, &[])).unwrap();
    let start = Start { definition, ..start(&conductor, "writer") };
    conductor.begin(id("wf-1"), start).await.unwrap();
    assert_sound(&to_end(&conductor, &id("wf-1")).await);
    let snapshot = conductor.snapshot(&id("wf-1")).await.unwrap().unwrap();
    assert_eq!((snapshot.status, snapshot.is_goal_satisfied), (Status::Completed, Some(false)));
}

#[tokio::test(start_paused = true)]
async fn whoever_is_cancelled_at_once_leaves_no_child_behind() {
    for pause in 0..20 {
        let rig = Rig::new(Part::Mock);
        let conductor = rig.conductor();
        let calls = json!([node("in", "core.subWorkflow", json!({"workflowId": "slow"}))]);
        let definition = Definition::parse(&definition("outer", calls, &[])).unwrap();
        let start = Start { definition, ..start(&conductor, "writer") };
        conductor.begin(id("wf-1"), start).await.unwrap();
        for _ in 0..pause {
            tokio::task::yield_now().await;
        }
        conductor.tell(&id("wf-1"), cancel()).await.unwrap();
        let entries = to_end(&conductor, &id("wf-1")).await;
        assert_sound(&entries);
        for child in conductor.children(&id("wf-1")).await.unwrap() {
            let of_child = to_end(&conductor, &child).await;
            assert!(matches!(of_child.last().unwrap().event, Event::RunCancelled { .. }));
        }
        assert!(conductor.drain(std::time::Duration::from_secs(60)).await);
        for listed in rig.store.list(None, 100).await.unwrap() {
            assert!(listed.state.sealed, "{pause}: {} goes on", listed.run);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_branch_with_fewer_events_than_its_source_is_not_set_back() {
    let rig = Rig::new(Part::Mock);
    let conductor = rig.conductor();
    let names = ["a", "b", "c", "d"];
    let mut copy = node("copy", "core.identity", json!({}));
    copy["inputs"] = names.iter().map(|name| ((*name).to_owned(), json!(7))).collect();
    let gates = json!([copy, node("gate", "core.approvalGate", json!({}))]);
    let definition = definition("w", gates, &[("copy", "gate")]);
    let definition = Definition::parse(&definition).unwrap();
    let start = Start { definition, ..start(&conductor, "writer") };
    conductor.begin(id("wf-1"), start).await.unwrap();
    to_wait(&conductor, &id("wf-1")).await;
    // The values that the source comes to are there from the beginning: nothing changes.
    let inputs = names.iter().map(|name| ((*name).to_owned(), json!(7))).collect();
    let fork = Fork { from_sequence: None, is_replay: false, inputs, terms: None };
    conductor.fork(&id("wf-1"), id("wf-2"), fork).await.unwrap();
    let pause = Input::Pause { reason: None, drain_policy: None };
    conductor.tell(&id("wf-2"), pause).await.unwrap();

    let store = Arc::new(MemoryStore::new());
    for run in ["wf-1", "wf-2"] {
        let records = read_run(rig.store.as_ref(), &id(run)).await.unwrap();
        probity_store::RunLog::append(store.as_ref(), &id(run), 0, Batch::of(records))
            .await
            .unwrap();
    }
    let next = Rig::on(store, Part::Mock).conductor();
    next.recover().await.unwrap();
    let snapshot = next.snapshot(&id("wf-2")).await.unwrap().unwrap();
    assert_eq!(snapshot.status, Status::Paused, "what it did by itself stands");
    let ended = next.tell(&id("wf-2"), cancel()).await.unwrap();
    assert_eq!(ended.status, Status::Cancelled);
    let entries = to_end(&next, &id("wf-2")).await;
    assert_sound(&entries);
    assert!(kinds(&entries).contains(&"run-paused".to_owned()));
}
