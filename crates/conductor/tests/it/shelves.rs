//! Definitions that tenants register, lists that the store keeps, and how much one run may begin.

use std::sync::Arc;

use probity_conductor::{Conductor, ConductorOptions, DefineError, Roll, RollError};
use probity_store::{MemoryStore, WorkStore};
use probity_store_sqlite::{Options, SqliteStore};
use probity_workflow::{Definition, Event, Status};
use serde_json::{Value, json};

use crate::cast::Part;
use crate::rig::{Rig, definition, id, kinds, node, resolve, start, to_end, to_wait};

fn named(name: &str, version: &str) -> Definition {
    let mut json = definition(name, json!([node("n", "core.noop", json!({"weight": 1.0}))]), &[]);
    json["version"] = json!(version);
    Definition::parse(&json).unwrap()
}

async fn version(conductor: &Conductor, tenant: &str, name: &str) -> Option<Value> {
    let found = conductor.definition(tenant, name).await.unwrap();
    found.map(|found| found.as_json()["version"].clone())
}

#[tokio::test]
async fn what_a_tenant_registers_is_its_own_and_outlives_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let open = || {
        let path = folder.path().join("runs.db");
        Rig::on(Arc::new(SqliteStore::open(path, Options::default()).unwrap()), Part::Mock)
    };
    {
        let conductor = open().conductor();
        conductor.define("acme", named("mine", "1")).await.unwrap();
        conductor.define("acme", named("mine", "2")).await.unwrap();
        conductor.define("other", named("mine", "9")).await.unwrap();
        let big = json!([node("n", "core.noop", json!({"text": "x".repeat(300_000)}))]);
        let big = Definition::parse(&definition("big", big, &[])).unwrap();
        conductor.define("acme", big).await.unwrap();
        conductor.define("acme", named("conformance-mine", "1")).await.unwrap();
        assert!(conductor.definition("acme", "conformance-mine").await.unwrap().is_some());
    }
    let conductor = open().conductor();
    assert_eq!(version(&conductor, "acme", "mine").await, Some(json!("2")));
    assert_eq!(version(&conductor, "other", "mine").await, Some(json!("9")));
    assert_eq!(version(&conductor, "third", "mine").await, None);
    assert!(version(&conductor, "acme", "big").await.is_some());
    // What may state its own verdicts outlives nobody.
    assert_eq!(version(&conductor, "acme", "conformance-mine").await, None);
    // The same again is the same, however its numbers are spelled by now.
    conductor.define("acme", named("mine", "1")).await.unwrap();
    assert_eq!(version(&conductor, "acme", "mine").await, Some(json!("2")));
    let other =
        Definition::parse(&definition("mine", json!([node("m", "core.noop", json!({}))]), &[]));
    let mut other = other.unwrap().as_json().clone();
    other["version"] = json!("2");
    let differs = conductor.define("acme", Definition::parse(&other).unwrap()).await;
    assert_eq!(differs.unwrap_err().code(), "definition_differs");
    let taken = conductor.define("acme", named("slow", "7")).await;
    assert!(matches!(taken, Err(DefineError::Taken { .. })));
    // No run, to whoever looks for runs.
    let recovered = conductor.recover().await.unwrap();
    assert_eq!((recovered.driven, recovered.damaged.len()), (0, 0));
    for run in conductor_logs(&open()).await {
        assert!(conductor.snapshot(&id(&run)).await.unwrap().is_none(), "{run}");
    }
}

async fn conductor_logs(rig: &Rig) -> Vec<String> {
    let listed = rig.store.list(None, 100).await.unwrap();
    listed.into_iter().map(|listed| listed.run.to_string()).collect()
}

#[tokio::test]
async fn two_processes_on_one_store_lose_nothing_of_each_other() {
    let rig = Rig::new(Part::Mock);
    let (one, other) = (rig.conductor(), rig.conductor());
    let define = |conductor: Conductor, half: usize| async move {
        for number in 0..20 {
            let definition = named(&format!("w-{half}-{number}"), "1");
            conductor.define("acme", definition).await.unwrap();
            tokio::task::yield_now().await;
        }
    };
    let (first, second) = (define(one.clone(), 0), define(other.clone(), 1));
    tokio::join!(tokio::spawn(first), tokio::spawn(second)).0.unwrap();
    for half in 0..2 {
        for number in 0..20 {
            for conductor in [&one, &other] {
                let name = format!("w-{half}-{number}");
                assert!(version(conductor, "acme", &name).await.is_some(), "{name}");
            }
        }
    }
}

#[tokio::test]
async fn a_tenant_registers_no_more_than_may_be() {
    let conductor = Rig::new(Part::Mock).conductor();
    for number in 0..1_000 {
        conductor.define("acme", named(&format!("w-{number}"), "1")).await.unwrap();
    }
    let full = conductor.define("acme", named("one-more", "1")).await.unwrap_err();
    assert_eq!(full.code(), "definitions_full");
    conductor.define("acme", named("w-1", "1")).await.unwrap();
    conductor.define("other", named("one-more", "1")).await.unwrap();
    // Not too many of them, but too much.
    let large = |number: usize| {
        let text = json!([node("n", "core.noop", json!({"text": "x".repeat(1_000_000)}))]);
        Definition::parse(&definition(&format!("l-{number}"), text, &[])).unwrap()
    };
    let mut taken = 0;
    while conductor.define("third", large(taken)).await.is_ok() {
        taken += 1;
    }
    assert!((10..20).contains(&taken), "{taken}");
}

#[tokio::test(start_paused = true)]
async fn a_plan_names_what_its_own_tenant_has() {
    let rig = Rig::new(Part::Mock);
    let conductor = rig.conductor();
    conductor.define("other", named("theirs", "1")).await.unwrap();
    let call = json!({"workflowId": "theirs"});
    let caller = definition("caller", json!([node("call", "core.subWorkflow", call)]), &[]);
    conductor.definitions().add(Definition::parse(&caller).unwrap()).unwrap();
    let begin = start(&conductor, "caller");
    assert_eq!(begin.owner.tenant, "acme");
    conductor.begin(id("wf-1"), begin.clone()).await.unwrap();
    let entries = to_end(&conductor, &id("wf-1")).await;
    let Event::RunFailed { error, .. } = &entries.last().unwrap().event else { panic!("no end") };
    assert!(error.message.contains("theirs") || error.code.contains("unknown"), "{error:?}");
    // Where its own tenant has one of that name, on whatever process, it is that one.
    rig.conductor().define("acme", named("theirs", "1")).await.unwrap();
    conductor.begin(id("wf-2"), begin).await.unwrap();
    let entries = to_end(&conductor, &id("wf-2")).await;
    assert_eq!(kinds(&entries).last().unwrap(), "run-completed");
}

#[tokio::test(start_paused = true)]
async fn a_run_begins_no_more_runs_in_all_than_may_be() {
    let options = ConductorOptions { max_descendants: 20, ..ConductorOptions::default() };
    let rig = Rig { options, ..Rig::new(Part::Mock) };
    let conductor = rig.conductor();
    let call = json!({"workflowId": "twice", "onChildFailure": "absorb"});
    let nodes =
        json!([node("a", "core.subWorkflow", call.clone()), node("b", "core.subWorkflow", call)]);
    let twice = Definition::parse(&definition("twice", nodes, &[("a", "b")])).unwrap();
    conductor.definitions().add(twice).unwrap();
    conductor.begin(id("wf-1"), start(&conductor, "twice")).await.unwrap();
    to_end(&conductor, &id("wf-1")).await;
    assert_eq!(conductor_logs(&rig).await.len(), 21);
    let snapshot = conductor.snapshot(&id("wf-1")).await.unwrap().unwrap();
    assert!(snapshot.status == Status::Completed || snapshot.status == Status::Failed);
}

#[tokio::test(start_paused = true)]
async fn another_process_counts_what_a_run_began_before() {
    let options = ConductorOptions { max_descendants: 2, ..ConductorOptions::default() };
    let rig = Rig { options, ..Rig::new(Part::Mock) };
    let call = json!({"workflowId": "writer"});
    let nodes = json!([
        node("a", "core.subWorkflow", call.clone()),
        node("b", "core.subWorkflow", call.clone()),
        node("gate", "core.approvalGate", json!({"actions": ["accept"]})),
        node("c", "core.subWorkflow", call),
    ]);
    let thrice = definition("thrice", nodes, &[("a", "b"), ("b", "gate"), ("gate", "c")]);
    let conductor = rig.conductor();
    let mut begin = start(&conductor, "writer");
    begin.definition = Definition::parse(&thrice).unwrap();
    conductor.begin(id("wf-1"), begin).await.unwrap();
    assert_eq!(to_wait(&conductor, &id("wf-1")).await, "gate");
    drop(conductor);
    let other = rig.conductor();
    other.tell(&id("wf-1"), resolve("gate", json!("accept"))).await.unwrap();
    let entries = to_end(&other, &id("wf-1")).await;
    assert_eq!(kinds(&entries).last().unwrap(), "run-failed");
    assert_eq!(conductor_logs(&rig).await.len(), 3);
}

#[tokio::test]
async fn a_list_goes_on_in_another_ledger_with_what_still_counts() {
    let store: Arc<dyn WorkStore> = Arc::new(MemoryStore::new());
    let roll = || Roll::new(Arc::clone(&store), "things", "acme").unwrap();
    let (mut one, mut slow) = (roll(), roll());
    one.append(1, Vec::new, json!({"n": 0})).await.unwrap();
    assert_eq!(slow.read().await.unwrap().entries, [json!({"n": 0})]);
    for number in 1..2_500_u64 {
        let counting = || vec![json!({"n": number - 1})];
        one.append(1, counting, json!({"n": number})).await.unwrap();
    }
    // Behind by a whole ledger: what it knows does not count any more.
    let heard = slow.read().await.unwrap();
    assert!(heard.is_anew);
    assert_eq!(heard.entries[0], json!({"n": 1_999}));
    assert_eq!(heard.entries.last().unwrap(), &json!({"n": 2_499}));
    let mut fresh = roll();
    assert_eq!(fresh.read().await.unwrap().entries, heard.entries);
    // Of two at once one is first, and the other decides again.
    slow.append(1, Vec::new, json!({"n": "slow"})).await.unwrap();
    let lost = fresh.append(1, Vec::new, json!({"n": "fresh"})).await;
    assert_eq!(lost, Err(RollError::Overtaken));
    assert_eq!(fresh.read().await.unwrap().entries, [json!({"n": "slow"})]);
    assert!(!fresh.read().await.unwrap().is_anew);
    fresh.append(1, Vec::new, json!({"n": "fresh"})).await.unwrap();
    let name = "waiver-x".parse().unwrap();
    assert!(store.state(&name).await.unwrap().is_none());
}
