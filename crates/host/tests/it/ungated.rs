//! A host whose verdicts are told and gate nothing, and one that knows no verdicts.

use serde_json::{Value, json};

use crate::face::{Face, config, holds};

fn verdicts(events: &[Value]) -> Vec<&Value> {
    let verified = events.iter().filter(|event| event["type"] == "agent.verified");
    verified.map(|event| &event["payload"]["verdict"]).collect()
}

fn has(events: &[Value], kind: &str) -> bool {
    events.iter().any(|event| event["type"] == kind)
}

async fn verifier(face: &Face) -> Value {
    let discovery = face.get("/.well-known/openwop").await.json;
    holds("Discovery", &discovery);
    discovery["multiAgent"]["executionModel"]["verifier"].clone()
}

#[tokio::test]
async fn without_gating_a_verdict_is_an_event_and_nothing_else() {
    let mut ungated = config();
    ungated.terms.is_gating = false;
    let face = Face::with(ungated).await;
    assert_eq!(verifier(&face).await, json!({"supported": true, "gating": false}));
    for (workflow, verdict) in
        [("conformance-verifier-fail", "fail"), ("conformance-verifier-pass", "pass")]
    {
        let run = face.begin(workflow).await;
        let events = face.to_end(&run).await;
        assert_eq!(verdicts(&events), [verdict]);
        assert!(!has(&events, "interrupt.requested"), "{workflow}");
        assert!(!has(&events, "node.suspended"), "{workflow}");
        let harvested = |event: &Value| event["payload"]["phase"] == "output.harvested";
        assert!(events.iter().any(harvested), "{workflow}");
        let snapshot = face.snapshot(&run).await;
        assert_eq!(snapshot["status"], "completed");
        assert_ne!(snapshot["variables"]["result"], "untouched");
        assert!(snapshot.get("withheld").is_none(), "{snapshot}");
    }
}

#[tokio::test]
async fn with_gating_the_same_verdict_keeps_the_result_out() {
    let face = Face::new().await;
    assert_eq!(verifier(&face).await, json!({"supported": true, "gating": true}));
    let run = face.begin("conformance-verifier-fail").await;
    let events = face.to_wait(&run).await;
    assert_eq!(verdicts(&events), ["fail"]);
    assert!(!events.iter().any(|event| event["payload"]["phase"] == "output.harvested"));
    let snapshot = face.snapshot(&run).await;
    assert_eq!(snapshot["variables"]["result"], "untouched");
    assert_eq!(snapshot["withheld"][0]["nodeId"], "dispatch");
}

#[tokio::test]
async fn a_host_without_verifiers_says_nothing_of_them() {
    let mut bare = config();
    bare.has_verifiers = false;
    let face = Face::with(bare).await;
    assert_eq!(verifier(&face).await, Value::Null);
    let discovery = face.get("/.well-known/openwop").await.json;
    assert_eq!(discovery["multiAgent"]["executionModel"]["version"], 5);
}
