//! Runs from their beginning to their end.

use reqwest::Method;
use serde_json::{Value, json};

use crate::face::{Face, done, holds, types};

#[tokio::test]
async fn a_run_is_begun_and_comes_to_its_end() {
    let face = Face::new().await;
    let run = face.begin("conformance-noop").await;
    let events = face.to_end(&run).await;
    let types = types(&events);
    assert_eq!(types.first(), Some(&"run.started"));
    assert_eq!(types.last(), Some(&"run.completed"));
    assert!(types.contains(&"node.completed"));
    for (place, event) in events.iter().enumerate() {
        assert_eq!(event["sequence"], place);
        assert_eq!(event["eventId"], format!("{run}.{place}"));
        assert_eq!(event["runId"], run);
    }
    let snapshot = face.snapshot(&run).await;
    assert_eq!(snapshot["status"], "completed");
    assert_eq!(snapshot["owner"], json!({"tenant": "acme", "principal": "ada"}));
    let json = face.get(&format!("/v1/runs/{run}/events")).await.json;
    assert_eq!(json["events"], Value::Array(events));
}

#[tokio::test]
async fn polling_past_the_end_tells_nothing_at_once() {
    let face = Face::new().await;
    let run = face.begin("conformance-noop").await;
    let all = face.to_end(&run).await;
    let poll = |query: &str| format!("/v1/runs/{run}/events/poll?{query}");
    for query in ["lastSequence=99999", "lastSequence=99999&timeout=60"] {
        let page = face.get(&poll(query)).await;
        assert_eq!((page.status, &page.json["events"]), (200, &json!([])), "{query}");
    }
    let first = face.get(&poll("lastSequence=0")).await.json;
    assert_eq!(first["events"].as_array().unwrap().len(), all.len() - 1);
    for query in ["lastSequence=-2", "lastSequence=x", "timeout=0", "timeout=61"] {
        face.get(&poll(query)).await.is_failure(400, "validation_error");
    }
}

#[tokio::test]
async fn a_failure_says_why() {
    let face = Face::new().await;
    let run = face.begin("conformance-failure").await;
    assert_eq!(types(&face.to_end(&run).await).last(), Some(&"run.failed"));
    let snapshot = face.snapshot(&run).await;
    assert_eq!(snapshot["status"], "failed");
    assert_eq!(snapshot["error"]["code"], "conformance_failure");
}

#[tokio::test]
async fn inputs_are_variables_and_bounds_bind() {
    let face = Face::new().await;
    let payload = json!({"a": [1, 2.5, null], "b": {"c": "ü"}});
    let body = json!({"workflowId": "conformance-identity", "inputs": {"payload": payload}});
    let run = face.begin_with(body).await;
    face.to_end(&run).await;
    assert_eq!(face.snapshot(&run).await["variables"]["payload"], payload);
    let body =
        json!({"workflowId": "conformance-cap-breach", "configurable": {"recursionLimit": 3}});
    let run = face.begin_with(body).await;
    let events = face.to_end(&run).await;
    let breach = events.iter().find(|event| event["type"] == "cap.breached").unwrap();
    assert_eq!(breach["payload"]["kind"], "node-executions");
    assert_eq!(breach["payload"]["limit"], 3);
    let error = &face.snapshot(&run).await["error"];
    assert_eq!(error["code"], "recursion_limit_exceeded");
    let missing = json!({"workflowId": "conformance-idempotent"});
    face.post("/v1/runs", &missing).await.is_failure(400, "validation_error");
}

#[tokio::test]
async fn a_run_is_stopped_once_and_stays_so() {
    let face = Face::new().await;
    let run = face.begin("conformance-cancellable").await;
    let path = format!("/v1/runs/{run}/cancel");
    let answer = face.post(&path, &json!({"reason": "enough"})).await;
    assert_eq!(answer.status, 200, "{}", answer.json);
    let events = face.to_end(&run).await;
    let last = events.last().unwrap();
    assert_eq!(last["type"], "run.cancelled");
    assert_eq!(last["payload"], json!({"reason": "enough", "cancelledBy": "ada"}));
    let again = done(face.ask(Method::POST, &format!("/v1/runs/{run}:cancel"))).await;
    assert_eq!((again.status, &again.json["status"]), (200, &json!("cancelled")));
    assert_eq!(face.to_end(&run).await.len(), events.len());
    let done = face.begin("conformance-noop").await;
    face.to_end(&done).await;
    let body = json!({"runIds": [done, run, "nobody", "a/b"]});
    let bulk = face.post("/v1/runs:bulk-cancel", &body).await;
    holds("BulkCancelled", &bulk.json);
    let oks: Vec<&Value> =
        bulk.json["results"].as_array().unwrap().iter().map(|r| &r["ok"]).collect();
    assert_eq!(oks, [true, true, false, false]);
}

#[tokio::test]
async fn a_run_is_paused_and_goes_on() {
    let face = Face::new().await;
    let body = json!({"workflowId": "conformance-delay", "inputs": {"delayMs": 100}});
    let run = face.begin_with(body).await;
    let pause = face.post(&format!("/v1/runs/{run}:pause"), &json!({"reason": "lunch"})).await;
    assert_eq!(pause.status, 202, "{}", pause.json);
    holds("RunPaused", &pause.json);
    let again = done(face.ask(Method::POST, &format!("/v1/runs/{run}/pause"))).await;
    again.is_failure(409, "run_paused");
    assert_eq!(again.json["details"]["runStatus"], "paused");
    let resume = done(face.ask(Method::POST, &format!("/v1/runs/{run}:resume"))).await;
    assert_eq!(resume.status, 202, "{}", resume.json);
    let events = face.to_end(&run).await;
    assert!(types(&events).contains(&"run.paused") && types(&events).contains(&"run.resumed"));
    let late = done(face.ask(Method::POST, &format!("/v1/runs/{run}:resume"))).await;
    assert_eq!(late.status, 409);
    assert_eq!(late.json["details"]["runStatus"], "completed");
}

#[tokio::test]
async fn runs_are_listed_newest_first_page_by_page() {
    let face = Face::new().await;
    let mut begun = Vec::new();
    for _ in 0..5 {
        begun.push(face.begin("conformance-noop").await);
    }
    let failed = face.begin("conformance-failure").await;
    face.to_end(&failed).await;
    let mut listed = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = face.get(&format!("/v1/runs?limit=2&workflowId=conformance-noop{cursor}")).await;
        holds("RunList", &page.json);
        let runs = page.json["runs"].as_array().unwrap();
        listed.extend(runs.iter().map(|run| run["runId"].as_str().unwrap().to_owned()));
        match page.json["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    begun.reverse();
    assert_eq!(listed, begun);
    let page = face.get("/v1/runs?status=failed").await;
    assert_eq!(page.json["runs"][0]["runId"], failed);
    face.get("/v1/runs?limit=0").await.is_failure(400, "validation_error");
}
