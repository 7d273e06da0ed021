//! Supervisors, workers and critics on the wire; forks of their runs; the doors of the suite.

use serde_json::{Value, json};

use crate::face::{Face, config, holds, types};

fn named<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

#[tokio::test]
async fn a_handoff_is_four_events_each_caused_by_the_one_before() {
    let face = Face::new().await;
    let run = face.begin("conformance-multi-agent-handoff").await;
    let events = face.to_end(&run).await;
    let chain = named(&events, "core.workflowChain.event");
    let phases: Vec<&Value> = chain.iter().map(|event| &event["payload"]["phase"]).collect();
    assert_eq!(
        phases,
        ["dispatch.began", "dispatch.succeeded", "child.completed", "output.harvested"]
    );
    let decided = named(&events, "runOrchestrator.decided");
    let mut cause = &decided[0]["eventId"];
    for event in &chain {
        assert_eq!(&event["causationId"], cause);
        cause = &event["eventId"];
    }
    assert_eq!(chain[3]["payload"]["harvestedKeys"], json!(["parentResult"]));
    assert_eq!(face.snapshot(&run).await["variables"]["parentResult"], "done");
    let iterations: Vec<&Value> =
        decided.iter().map(|event| &event["payload"]["iteration"]).collect();
    assert_eq!(iterations, [1, 2]);
    let child = chain[1]["payload"]["childRunId"].as_str().unwrap();
    let ancestry = face.get(&format!("/v1/runs/{child}/ancestry")).await.json;
    holds("Ancestry", &ancestry);
    assert_eq!(
        (&ancestry["parent"]["runId"], &ancestry["parent"]["cause"]),
        (&json!(run), &json!("core.dispatch"))
    );
    assert_eq!(face.snapshot(child).await["parentRunId"], run);
    let own = face.get(&format!("/v1/runs/{run}/ancestry")).await.json;
    assert_eq!(own["parent"], Value::Null);
}

#[tokio::test]
async fn fixtures_end_as_the_suite_wants_them() {
    let face = Face::new().await;
    let run = face.begin("conformance-multi-agent-confidence-escalation").await;
    let events = face.to_wait(&run).await;
    assert_eq!(face.snapshot(&run).await["status"], "waiting-approval");
    let escalated = named(&events, "core.workflowChain.confidence-escalated");
    assert_eq!(escalated.len(), 1);
    assert_eq!(escalated[0]["payload"]["confidence"], 0.3);
    assert!(named(&events, "core.workflowChain.event").is_empty());
    let run = face.begin("conformance-orchestrator-low-confidence").await;
    let events = face.to_wait(&run).await;
    assert!(named(&events, "runOrchestrator.decided").is_empty());
    let suspended = named(&events, "node.suspended");
    assert_eq!(suspended[0]["payload"]["reason"], "low-confidence");
    for (workflow, kinds) in [
        ("conformance-orchestrator-dispatch", vec!["next-worker", "terminate"]),
        ("conformance-orchestrator-terminate", vec!["terminate"]),
        ("conformance-dispatch-loop", vec!["next-worker", "terminate"]),
    ] {
        let run = face.begin(workflow).await;
        let events = face.to_end(&run).await;
        let decided = named(&events, "runOrchestrator.decided");
        let told: Vec<&Value> =
            decided.iter().map(|event| &event["payload"]["decision"]["kind"]).collect();
        assert_eq!(told, kinds, "{workflow}");
        assert_eq!(face.snapshot(&run).await["status"], "completed");
    }
    let run = face.begin("conformance-agent-reasoning").await;
    assert!(types(&face.to_end(&run).await).contains(&"agent.reasoned"));
    let run = face.begin("conformance-agent-low-confidence").await;
    face.to_wait(&run).await;
    let body = json!({"workflowId": "conformance-run-duration-breach", "configurable": {"runTimeoutMs": 1000}});
    let run = face.begin_with(body).await;
    let events = face.to_end(&run).await;
    let breach = &named(&events, "cap.breached")[0]["payload"];
    assert!(breach["observed"].as_u64() > breach["limit"].as_u64());
    assert_eq!(face.snapshot(&run).await["error"]["code"], "run_timeout");
}

#[tokio::test]
async fn the_door_of_the_verifier_goes_the_way_of_every_run() {
    let face = Face::new().await;
    for (verdict, status, is_committed, outcome) in [
        ("pass", "completed", true, "committed"),
        ("fail", "escalated", false, "withheld"),
        ("revise", "escalated", false, "withheld"),
    ] {
        let body = json!({"simulateVerdict": verdict, "task": "MARKER-7"});
        let answer = face.post("/v1/host/sample/agents/verify-run", &body).await;
        assert_eq!(answer.status, 200, "{}", answer.json);
        assert_eq!(answer.json["status"], status, "{verdict}");
        assert_eq!(answer.json["committed"], is_committed, "{verdict}");
        assert_eq!(answer.json["outcome"], outcome, "{verdict}");
        assert_eq!(answer.json["verdict"], verdict);
        let events = answer.json["events"].as_array().unwrap();
        assert!(
            events
                .iter()
                .all(|event| event["type"] == "agent.verified" && event["verdict"] == verdict)
        );
        assert!(!answer.json.to_string().contains("MARKER-7"));
        // The run stands in the log with all that belongs to it.
        let target = events[0]["target"].as_str().unwrap();
        let child = face.snapshot(target).await;
        assert_eq!(child["status"], "completed");
        let parent = child["parentRunId"].as_str().unwrap();
        let page = face.get(&format!("/v1/runs/{parent}/events")).await.json;
        holds("EventPage", &page);
        let events = page["events"].as_array().unwrap();
        let is_harvested =
            events.iter().any(|event| event["payload"]["phase"] == "output.harvested");
        assert_eq!(is_harvested, is_committed);
        let snapshot = face.snapshot(parent).await;
        assert_eq!(snapshot.get("withheld").is_none(), is_committed);
        if !is_committed {
            assert_eq!(snapshot["withheld"][0]["nodeId"], "dispatch");
        }
        let is_untouched = snapshot["variables"]["result"] == "untouched";
        assert_eq!(is_untouched, !is_committed, "{snapshot}");
    }
}

#[tokio::test]
async fn a_verdict_that_does_not_gate_is_told_and_nothing_is_withheld() {
    let mut config = config();
    config.terms.is_gating = false;
    let face = Face::with(config).await;
    for verdict in ["fail", "revise"] {
        let body = json!({"simulateVerdict": verdict});
        let answer = face.post("/v1/host/sample/agents/verify-run", &body).await.json;
        assert_eq!(answer["verdict"], verdict);
        assert_eq!(answer["committed"], true, "{answer}");
    }
}

#[tokio::test]
async fn the_door_of_cache_keys_names_calls() {
    let face = Face::new().await;
    let call = json!({"provider": "p", "model": "m", "messages": []});
    let answer = face.post("/v1/host/sample/test/llm-cache-key", &call).await;
    assert_eq!(answer.text("cacheKey").len(), 64);
    let answer = face.post("/v1/host/sample/test/llm-cache-key", &json!({})).await;
    answer.is_failure(400, "invalid_argument");
}

#[tokio::test]
async fn a_replay_tells_the_same_and_a_diff_shows_where_runs_part() {
    let face = Face::new().await;
    let run = face.begin("conformance-multi-agent-handoff").await;
    let events = face.to_end(&run).await;
    let fork = |body: Value| {
        let path = format!("/v1/runs/{run}:fork");
        let face = &face;
        async move { face.post(&path, &body).await }
    };
    let answer = fork(json!({"mode": "replay"})).await;
    assert_eq!(answer.status, 201, "{}", answer.json);
    holds("RunForked", &answer.json);
    let replay = answer.text("runId");
    let again = face.to_end(&replay).await;
    assert_eq!(types(&again), types(&events));
    let diff = face.get(&format!("/v1/runs/{run}:diff?against={replay}")).await.json;
    holds("Diff", &diff);
    assert_eq!(diff["divergedAtSeq"], Value::Null, "{diff:#}");
    let other = face.begin("conformance-noop").await;
    face.to_end(&other).await;
    let diff = face.get(&format!("/v1/runs/{run}:diff?against={other}")).await.json;
    holds("Diff", &diff);
    assert_eq!(diff["divergedAtSeq"], 0);
    fork(json!({"mode": "replay", "fromSeq": -1})).await.is_failure(400, "validation_error");
    fork(json!({"mode": "branch", "fromSeq": 9999})).await.is_failure(422, "fork_point_invalid");
    let nobody = face.post("/v1/runs/nobody:fork", &json!({"mode": "replay"})).await;
    nobody.is_failure(404, "not_found");
}
