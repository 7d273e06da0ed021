//! A named human answers for what was not verified.

use std::sync::Arc;

use probity_core::{Outcome, RunId};
use probity_record::{Ledger, LedgerRecord};
use probity_store::{Batch, MemoryStore, WorkStore};
use serde_json::json;

use crate::desk::{BLIND, Desk, SUBMITTER, place};
use crate::face::holds;

#[tokio::test]
async fn a_waiver_is_a_label_beside_the_outcome_and_survives() {
    let store: Arc<dyn WorkStore> = Arc::new(MemoryStore::new());
    let desk = Desk::on(Arc::clone(&store)).await;
    let waivable = [
        Outcome::Exhausted,
        Outcome::Rejected,
        Outcome::Inconclusive,
        Outcome::Unverified,
        Outcome::Faulted,
    ];
    let body = json!({"by": "grace", "reason": "looked at by hand"});
    let mut runs = Vec::new();
    for outcome in waivable {
        let run = desk.ended(outcome).await;
        let answer = desk.post(&place(&run, "/waive"), &body).await;
        assert_eq!(answer.status, 201, "{}", answer.json);
        holds("Waived", &answer.json);
        assert_eq!(answer.json["waiver"]["principal"], "ada");
        runs.push((outcome, run, answer.json["waiver"].clone()));
    }
    drop(desk);
    let desk = Desk::on(Arc::clone(&store)).await;
    for (outcome, run, waiver) in runs {
        let told = desk.may_merge(&run, "").await;
        assert_eq!(
            (&told["mayMerge"], &told["why"], &told["waivedBy"], &told["outcome"]),
            (&json!(true), &json!("waived"), &json!("grace"), &json!(outcome.as_str()))
        );
        let other = desk.may_merge(&run, &format!("?candidate={}", "0".repeat(64))).await;
        assert_eq!(other["why"], "candidate_differs");
        let verdict = desk.get(&place(&run, "/verdict")).await.json;
        holds("Verdict", &verdict);
        assert_eq!((&verdict["waived"], &verdict["waiver"]), (&json!(true), &waiver));
        let blind = desk.get_as(BLIND, &place(&run, "/verdict")).await.json;
        assert!(blind["waiver"].get("reason").is_none(), "{blind}");
        // It stands in a log of its own, chained and closed.
        let log: RunId = waiver["log"].as_str().unwrap().parse().unwrap();
        let state = store.state(&log).await.unwrap().unwrap();
        assert_eq!((state.len, state.sealed), (1, true));
        let line = store.read(&log, 0, 9).await.unwrap().remove(0);
        let record = Ledger::new(log.clone()).read(&line).unwrap();
        assert_eq!(LedgerRecord::parse(&line).unwrap(), record);
        // The same again is the same; anybody else comes too late.
        let again = desk.post(&place(&run, "/waive"), &body).await;
        assert_eq!(again.json["waiver"], waiver);
        let late = desk.post(&place(&run, "/waive"), &json!({"by": "eve", "reason": "no"})).await;
        late.is_failure(409, "already_waived");
        // A waiver is no delegation.
        desk.get(&place(log.as_str(), "")).await.is_failure(404, "not_found");
    }
    let listed = desk.get("/api/v1/delegations").await.json;
    for run in listed["delegations"].as_array().unwrap() {
        assert_eq!(run["waived"], true, "{run}");
    }
}

#[tokio::test]
async fn what_waits_is_waived_in_its_own_log() {
    let desk = Desk::new().await;
    let run = desk.ended(Outcome::Escalated).await;
    let body = json!({"by": "grace", "reason": "looked at by hand"});
    assert_eq!(desk.post(&place(&run, "/waive"), &body).await.status, 201);
    let told = desk.to_seal(&run).await;
    assert!(told.contains("\"waived\":true"), "{told}");
    let merge = desk.may_merge(&run, "").await;
    assert_eq!(
        (&merge["mayMerge"], &merge["waivedBy"], &merge["outcome"]),
        (&json!(true), &json!("grace"), &json!("exhausted"))
    );
    let verdict = desk.get(&place(&run, "/verdict")).await.json;
    assert_eq!(verdict["waiver"]["reason"], "looked at by hand");
    let report = desk.get(&place(&run, "")).await.json;
    assert_eq!(report["report"]["waived"], true);
    let again = desk.post(&place(&run, "/waive"), &body).await;
    assert_eq!(again.json["waiver"], verdict["waiver"]);
}

#[tokio::test]
async fn there_must_be_something_to_waive_and_somebody_who_may() {
    let desk = Desk::new().await;
    let body = json!({"by": "grace", "reason": "why not"});
    for outcome in [Outcome::Verified, Outcome::DelegateFailed, Outcome::Cancelled] {
        let run = desk.ended(outcome).await;
        let answer = desk.post(&place(&run, "/waive"), &body).await;
        answer.is_failure(409, "nothing_to_waive");
        assert_eq!(desk.may_merge(&run, "").await["waived"], false);
    }
    let run = desk.ended(Outcome::Exhausted).await;
    let forbidden = desk.post_as(SUBMITTER, &place(&run, "/waive"), &body).await;
    forbidden.is_failure(403, "forbidden");
    for wrong in [
        json!({"by": "grace"}),
        json!({"reason": "why not"}),
        json!({"by": " ", "reason": "why not"}),
        json!({"by": "gr\nace", "reason": "why not"}),
        json!({"by": "grace", "reason": "\t"}),
        json!({"by": "grace", "reason": "why not", "outcome": "verified"}),
    ] {
        let answer = desk.post(&place(&run, "/waive"), &wrong).await;
        answer.is_failure(400, "validation_error");
    }
    let going = desk.submit(crate::desk::request(Outcome::Cancelled)).await;
    desk.to_event(&going, "delegate.dispatched").await;
    desk.post(&place(&going, "/waive"), &body).await.is_failure(409, "run_not_ended");
}

/// A log that has the name of a waiver, and is none of that run's seal, counts for nothing.
#[tokio::test]
async fn only_a_waiver_of_that_seal_counts() {
    let desk = Desk::new().await;
    let (run, other) = (desk.ended(Outcome::Exhausted).await, desk.ended(Outcome::Rejected).await);
    let body = json!({"by": "grace", "reason": "looked at by hand"});
    let answer = desk.post(&place(&other, "/waive"), &body).await.json;
    let log: RunId = answer["waiver"]["log"].as_str().unwrap().parse().unwrap();
    let line = desk.store.read(&log, 0, 1).await.unwrap().remove(0);
    let mut step: serde_json::Value = serde_json::from_slice(&line).unwrap();
    let mut step = step["body"]["step"].take();
    step["run"] = json!(run);
    let name: RunId = format!("waiver-{run}").parse().unwrap();
    let line = Ledger::new(name.clone()).append(1, &step).unwrap();
    let batch = Batch { records: vec![line.bytes], blobs: Vec::new(), seal: true };
    desk.store.append(&name, 0, batch).await.unwrap();
    assert_eq!(desk.may_merge(&run, "").await["mayMerge"], false);
}
