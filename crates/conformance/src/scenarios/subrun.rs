//! Sub-workflows, and what is asked of them before they are taken over (RFC 0063).

use probity_record::canonical;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::http::Ask;
use crate::log::Log;
use crate::probe::{Probe, Stop};
use crate::scenario::{Need, Scenario};

const ATTESTATION: Need = Need::Claim("/agents/subRunAttestation");
const CHILD: Need = Need::Fixture("conformance-verifier-child");
const SEAM: &str = "/v1/host/sample/subrun/attest";

pub(super) const TABLE: &[Scenario] = &[
    scenario!(
        "orchestration/sub-workflow",
        Orchestration,
        "a node runs another workflow and takes over what is mapped",
        "openwop v1: core.subWorkflow",
        [CHILD, Need::Fixture("conformance-sub")],
        sub_workflow
    ),
    scenario!(
        "orchestration/sub-workflow-failure",
        Orchestration,
        "a child that fails fails its parent, and nothing of it is taken over",
        "openwop v1: core.subWorkflow, onChildFailure",
        [Need::Fixture("conformance-failure"), Need::Fixture("conformance-sub-failure")],
        failure
    ),
    scenario!(
        "orchestration/attested",
        Orchestration,
        "what is taken over is told by its digest: the SHA-256 of its canonical JSON",
        "openwop v1: RFC 0063, checksum",
        [ATTESTATION, CHILD, Need::Fixture("conformance-sub-attested")],
        attested
    ),
    scenario!(
        "orchestration/approval-before-merge",
        Orchestration,
        "what needs an approval is taken over with it and not before",
        "openwop v1: RFC 0063, requireApproval",
        [ATTESTATION, CHILD, Need::Fixture("conformance-sub-approval")],
        approved
    ),
    scenario!(
        "orchestration/approval-fails-closed",
        Orchestration,
        "what is rejected, or never answered, is not taken over",
        "openwop v1: RFC 0063, fail closed",
        [ATTESTATION, CHILD, Need::Fixture("conformance-sub-approval")],
        fails_closed
    ),
    scenario!(
        "orchestration/attest-seam",
        Orchestration,
        "the seam takes over on `accept` and on nothing else",
        "openwop v1: RFC 0063; seam subrun/attest",
        [ATTESTATION, Need::Seam(SEAM)],
        seam
    ),
    scenario!(
        "orchestration/attest-stable",
        Orchestration,
        "the same outputs have one checksum, however they are written, and other ones have another",
        "openwop v1: RFC 0063, checksum; seam subrun/attest",
        [ATTESTATION, Need::Seam(SEAM)],
        stable
    ),
];

async fn sub_workflow(p: &mut Probe) -> Result<(), Stop> {
    let (snapshot, log) = p.run("conformance-sub", json!({}), "completed").await?;
    let got = p.variable(&snapshot, "result").cloned();
    p.equal("variables.result", &json!("made by the child"), got.as_ref())?;
    let outputs = outputs(&log);
    p.equal("outputs.childStatus", &json!("completed"), outputs.get("childStatus"))?;
    let child = outputs.get("childRunId").and_then(Value::as_str).unwrap_or_default().to_owned();
    p.step("read the child");
    let child = p.snapshot(&child).await?;
    p.equal(
        "parentRunId",
        snapshot.get("runId").unwrap_or(&Value::Null),
        child.get("parentRunId"),
    )?;
    p.equal("parentNodeId", &json!("call"), child.get("parentNodeId"))
}

async fn failure(p: &mut Probe) -> Result<(), Stop> {
    let (snapshot, log) = p.run("conformance-sub-failure", json!({}), "failed").await?;
    let got = p.variable(&snapshot, "result").cloned();
    p.equal("variables.result", &json!("untouched"), got.as_ref())?;
    p.holds(!log.has("variable.changed"), "no variable.changed", format!("{:?}", log.kinds()))
}

async fn attested(p: &mut Probe) -> Result<(), Stop> {
    let (snapshot, log) = p.run("conformance-sub-attested", json!({}), "completed").await?;
    let outputs = outputs(&log);
    let told = outputs.pointer("/attestation/checksum").cloned();
    let left = json!({"payload": "made by the child"});
    p.equal("outputs.attestation.checksum", &json!(digest(&left)), told.as_ref())?;
    let got = p.variable(&snapshot, "result").cloned();
    p.equal("variables.result", &json!("made by the child"), got.as_ref())?;
    for harvested in log.handoffs("output.harvested") {
        let told = harvested.payload().pointer("/attestation/checksum");
        p.equal("attestation.checksum of output.harvested", &json!(digest(&left)), told)?;
    }
    Ok(())
}

async fn approved(p: &mut Probe) -> Result<(), Stop> {
    let (run, node) = asked(p).await?;
    p.step("accept");
    p.resolve(&run, &node, json!({"action": "accept"})).await?;
    let snapshot = p.reach(&run, "completed").await?;
    let got = p.variable(&snapshot, "result").cloned();
    p.equal("variables.result", &json!("made by the child"), got.as_ref())?;
    let log = p.log(&run).await?;
    let asked =
        log.of("interrupt.requested").filter(|event| event.text("/kind") == "approval").count();
    p.holds(asked <= 1, "one interrupt for one child", asked)
}

async fn fails_closed(p: &mut Probe) -> Result<(), Stop> {
    let (run, node) = asked(p).await?;
    p.step("reject");
    p.resolve(&run, &node, json!({"action": "reject"})).await?;
    let snapshot = p.ended(&run).await?;
    untouched(p, &run, &snapshot).await?;
    let (run, _) = asked(p).await?;
    p.step("cancel without an answer");
    p.cancel(&run).await?;
    let snapshot = p.reach(&run, "cancelled").await?;
    untouched(p, &run, &snapshot).await
}

async fn stable(p: &mut Probe) -> Result<(), Stop> {
    let ask = |outputs: &str| {
        let rules = "\"outputAttestation\":{\"checksum\":true,\"algorithm\":\"sha256\"}";
        Ask::post_text(SEAM, format!("{{\"childOutputs\":{outputs},{rules}}}"))
    };
    p.step("the same outputs, written in two ways");
    let one = p.optional(&ask(r#"{"a":1,"b":{"c":"ü","d":[true,null]}}"#), &[200]).await?;
    let two = r#"{ "b": {"d": [true, null], "c": "\u00fc"}, "a": 1.0 }"#;
    let two = p.optional(&ask(two), &[200]).await?;
    let at = "/attestation/checksum";
    p.holds(one.pointer(at).is_some_and(Value::is_string), "attestation.checksum", &one)?;
    p.equal("attestation.checksum", one.pointer(at).unwrap_or(&Value::Null), two.pointer(at))?;
    p.equal("attestation.algorithm", &json!("sha256"), one.pointer("/attestation/algorithm"))?;
    p.step("other outputs");
    let other = p.optional(&ask(r#"{"a":2,"b":{"c":"ü","d":[true,null]}}"#), &[200]).await?;
    p.holds(other.pointer(at) != one.pointer(at), "another checksum", &other)
}

async fn seam(p: &mut Probe) -> Result<(), Stop> {
    let outputs = json!({"answer": p.name(), "number": 1.0, "nested": {"b": 2, "a": 1}});
    let cases = [(Some("accept"), true), (Some("reject"), false), (None, false)];
    for (action, is_merged) in cases {
        p.step(format!("the seam with {action:?}"));
        let mut body = Map::new();
        body.insert("childOutputs".to_owned(), outputs.clone());
        body.insert(
            "outputAttestation".to_owned(),
            json!({"checksum": true, "algorithm": "sha256", "requireApproval": true}),
        );
        if let Some(action) = action {
            body.insert("approvalAction".to_owned(), json!(action));
        }
        let answer = p.optional(&Ask::post(SEAM, &Value::Object(body)), &[200]).await?;
        p.equal("merged", &json!(is_merged), answer.get("merged"))?;
        if is_merged {
            p.equal(
                "attestation.checksum",
                &json!(digest(&outputs)),
                answer.pointer("/attestation/checksum"),
            )?;
        } else {
            let told = answer.get("harvestedEvent").filter(|event| !event.is_null());
            p.holds(told.is_none(), "no harvestedEvent", &answer)?;
        }
    }
    Ok(())
}

/// A run that waits for the approval of what its child left.
async fn asked(p: &mut Probe) -> Result<(String, String), Stop> {
    p.step("begin a run and wait until it asks");
    let run = p.create("conformance-sub-approval", json!({})).await?;
    let snapshot = p.reach(&run, "waiting-approval").await?;
    let got = p.variable(&snapshot, "result").cloned();
    p.equal("variables.result before the answer", &json!("untouched"), got.as_ref())?;
    let node = p.waiting_node(&snapshot)?;
    Ok((run, node))
}

async fn untouched(p: &mut Probe, run: &str, snapshot: &Value) -> Result<(), Stop> {
    let got = p.variable(snapshot, "result").cloned();
    p.equal("variables.result", &json!("untouched"), got.as_ref())?;
    let log = p.log(run).await?;
    p.holds(
        log.handoffs("output.harvested").count() == 0,
        "no output.harvested",
        format!("{:?}", log.kinds()),
    )
}

fn outputs(log: &Log) -> Value {
    let done = log.of("node.completed").find(|event| event.node() == "call");
    done.and_then(|event| event.payload().get("outputs")).cloned().unwrap_or_default()
}

/// SHA-256 of the canonical JSON, 64 hex digits.
fn digest(value: &Value) -> String {
    canonical::jcs(value).map(|text| hex::encode(Sha256::digest(&text))).unwrap_or_default()
}
