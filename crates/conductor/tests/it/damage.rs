//! Logs that were changed, cut, or are of another kind.

use std::sync::Arc;

use probity_conductor::ConductError;
use probity_record::Ledger;
use probity_store::{Batch, MemoryStore, RunLog as _, read_run};
use probity_workflow::{Event, Judgement};
use serde_json::{Value, json};

use crate::cast::Part;
use crate::rig::{Rig, cancel, id, start, to_end};

async fn steps() -> Vec<Value> {
    let rig = Rig::new(Part::Verdict(Judgement::Fail));
    let conductor = rig.conductor();
    let run = id("wf-1");
    conductor.begin(run.clone(), start(&conductor, "quits")).await.unwrap();
    to_end(&conductor, &run).await;
    let mut ledger = Ledger::new(run.clone());
    let mut steps = Vec::new();
    for line in read_run(rig.store.as_ref(), &run).await.unwrap() {
        let probity_record::StepText::Inline(text) = ledger.read(&line).unwrap().step else {
            panic!("a short step")
        };
        steps.push(serde_json::from_slice(&text).unwrap());
    }
    steps
}

/// What a conductor says to a log of these steps, whose chain is whole.
async fn said(steps: &[Value]) -> ConductError {
    let mut ledger = Ledger::new(id("wf-1"));
    let lines = steps.iter().map(|step| ledger.append(1, step).unwrap().bytes).collect();
    let store = Arc::new(MemoryStore::new());
    store.append(&id("wf-1"), 0, Batch::of(lines)).await.unwrap();
    let conductor = Rig::on(store, Part::Mock).conductor();
    let error = conductor.tell(&id("wf-1"), cancel()).await.unwrap_err();
    let looked = conductor.snapshot(&id("wf-1")).await.unwrap_err();
    assert_eq!(looked.code(), error.code());
    let recovered = conductor.recover().await.unwrap();
    assert_eq!(recovered.damaged, [(id("wf-1"), error.code())]);
    error
}

#[tokio::test(start_paused = true)]
async fn a_verdict_that_was_turned_round_is_found_out() {
    let steps = steps().await;
    let at = steps.iter().position(|step| step["input"]["type"] == "verified").unwrap();
    let mut turned = steps.clone();
    turned[at]["input"]["verdict"] = json!("pass");
    assert_eq!(said(&turned).await.code(), "workflow_log_differs");
    let mut told = steps.clone();
    told[at]["entries"][0]["event"]["verdict"] = json!("pass");
    assert_eq!(said(&told).await.code(), "workflow_log_differs");
    let mut lost = steps.clone();
    lost.remove(at - 1);
    assert!(said(&lost).await.code().starts_with("workflow_log_"));
    let headless = said(&steps[1..]).await;
    assert_eq!(headless.code(), "workflow_log_start");
    let foreign = said(&[json!({"any": "thing"})]).await;
    assert_eq!(foreign.code(), "ledger_step");
}

#[tokio::test(start_paused = true)]
async fn a_changed_byte_is_found_out() {
    let rig = Rig::new(Part::Mock);
    let conductor = rig.conductor();
    let run = id("wf-1");
    conductor.begin(run.clone(), start(&conductor, "writer")).await.unwrap();
    to_end(&conductor, &run).await;
    let mut lines = read_run(rig.store.as_ref(), &run).await.unwrap();
    let text = String::from_utf8(lines[0].clone()).unwrap();
    lines[0] = text.replace("\"acme\"", "\"evil\"").into_bytes();
    let store = Arc::new(MemoryStore::new());
    store.append(&run, 0, Batch { seal: true, ..Batch::of(lines) }).await.unwrap();
    let conductor = Rig::on(store, Part::Mock).conductor();
    assert_eq!(conductor.snapshot(&run).await.unwrap_err().code(), "record_hash");
    let mut follower = conductor.follow(&run, 0).await;
    let error = match &mut follower {
        Ok(Some(follower)) => follower.next().await.unwrap_err(),
        Ok(None) => panic!("it is there"),
        Err(error) => error.clone(),
    };
    assert_eq!(error.code(), "record_hash");
}

#[tokio::test(start_paused = true)]
async fn the_run_of_a_delegation_is_no_workflow_run() {
    let sample = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../testdata/records/1.0/verified-after-two-attempts.jsonl"
    );
    let text = std::fs::read_to_string(sample).unwrap();
    let lines: Vec<Vec<u8>> = text.lines().map(|line| line.as_bytes().to_vec()).collect();
    let run = id("a-delegation");
    let store = Arc::new(MemoryStore::new());
    store.append(&run, 0, Batch::of(lines)).await.unwrap();
    let conductor = Rig::on(store, Part::Mock).conductor();
    assert_eq!(conductor.snapshot(&run).await.unwrap(), None);
    assert_eq!(conductor.tell(&run, cancel()).await.unwrap_err().code(), "run_missing");
    let recovered = conductor.recover().await.unwrap();
    assert_eq!((recovered.driven, recovered.damaged), (0, Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn a_long_step_is_kept_beside_its_record() {
    let rig = Rig::new(Part::Mock);
    let conductor = rig.conductor();
    let run = id("wf-1");
    let mut start = start(&conductor, "writer");
    let long = "x".repeat(300_000);
    start.inputs.insert("long".to_owned(), json!(long));
    conductor.begin(run.clone(), start).await.unwrap();
    let entries = to_end(&conductor, &run).await;
    let Event::RunCompleted { outputs } = &entries.last().unwrap().event else { panic!("an end") };
    assert_eq!(outputs["long"], json!(long));
    let ended = rig.conductor().snapshot(&run).await.unwrap().unwrap();
    assert_eq!(ended.variables["long"], json!(long));
    let records = read_run(rig.store.as_ref(), &run).await.unwrap();
    assert!(records.iter().all(|record| record.len() < 128 * 1024));
}
