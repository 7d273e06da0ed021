//! The doors of the suite that run supervisors and sub-workflows.

use serde_json::{Value, json};

use crate::face::{Answer, Face, holds};

async fn looped(face: &Face, body: Value) -> Value {
    let answer = face.post("/v1/host/sample/agentloop/run", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.json);
    answer.json
}

fn iterations(told: &Value) -> Vec<u64> {
    let decisions = told["decisions"].as_array().unwrap();
    decisions.iter().map(|decision| decision["iteration"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn turns_are_counted_one_by_one_and_bounded() {
    let face = Face::new().await;
    let told = looped(&face, json!({"turns": 3})).await;
    assert_eq!(iterations(&told), [1, 2, 3]);
    for decision in told["decisions"].as_array().unwrap() {
        holds("RunOrchestratorDecided", decision);
    }
    assert!(told.get("bound").is_none());
    let told = looped(&face, json!({"turns": 5, "maxLoopIterations": 2})).await;
    let bound = json!({"kind": "loop-iterations", "limit": 2, "observed": 3,
        "errorCode": "loop_limit_exceeded"});
    assert_eq!(told["bound"], bound);
    assert_eq!(iterations(&told), [1, 2]);
    let wrong = face.post("/v1/host/sample/agentloop/run", &json!({"turns": 0})).await;
    wrong.is_failure(400, "validation_error");
}

#[tokio::test]
async fn a_held_turn_goes_on_as_the_same_turn() {
    let face = Face::new().await;
    let body = json!({"turns": 4, "suspendAtTurn": 2, "resume": true});
    let told = looped(&face, body).await;
    assert_eq!(told["resumedIteration"], 2);
    assert_eq!(iterations(&told), [1, 2, 3, 4]);
    let told = looped(&face, json!({"turns": 4, "suspendAtTurn": 2})).await;
    assert_eq!(iterations(&told), [1, 2]);
}

#[tokio::test]
async fn what_a_turn_writes_the_next_one_sees() {
    let face = Face::new().await;
    let told = looped(&face, json!({"turns": 3, "workspaceWriteAtTurn": 1})).await;
    assert_eq!(told["workspaceVisible"], json!({"atWriteTurn": false, "atNextTurn": true}));
}

async fn attested(face: &Face, attestation: Value, action: Option<&str>) -> Answer {
    let mut body =
        json!({"childOutputs": {"a": 1, "b": {"c": [1.5]}}, "outputAttestation": attestation});
    if let Some(action) = action {
        body["approvalAction"] = json!(action);
    }
    let answer = face.post("/v1/host/sample/subrun/attest", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.json);
    answer
}

#[tokio::test]
async fn outputs_are_attested_and_taken_over_only_where_somebody_approves() {
    let face = Face::new().await;
    let told = attested(&face, json!({"checksum": true}), None).await.json;
    assert_eq!(told["merged"], true);
    assert_eq!(told["mergedValues"], json!({"a": 1, "b": {"c": [1.5]}}));
    // SHA-256 of `{"a":1,"b":{"c":[1.5]}}`.
    let checksum = "18d2a5fc1aced9c4a75f08c23cc1fa8ab46abdc75c097c30a12818a7ff239771";
    assert_eq!(told["attestation"], json!({"checksum": checksum, "algorithm": "sha256"}));
    holds("RunEventDoc", &told["harvestedEvent"]);
    let approve = json!({"requireApproval": true});
    for (action, is_merged) in [(Some("accept"), true), (Some("reject"), false), (None, false)] {
        let told = attested(&face, approve.clone(), action).await.json;
        assert_eq!(told["merged"], is_merged, "{action:?}");
        assert_eq!(told.get("harvestedEvent").is_some(), is_merged);
        assert!(told.get("attestation").is_none());
    }
}
