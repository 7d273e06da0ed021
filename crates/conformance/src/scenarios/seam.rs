//! The verifier turn as the specification's own suite asks for it: shapes, and a test seam.

use serde_json::{Value, json};

use crate::http::Ask;
use crate::probe::{Probe, Stop};
use crate::scenario::{Need, Scenario};
use crate::schema::Schema;

const SEAM: &str = "/v1/host/sample/agents/verify-run";
const GATING: Need = Need::Claim("/multiAgent/executionModel/verifier/gating");
const SUPPORTED: Need = Need::Claim("/multiAgent/executionModel/verifier/supported");

pub(super) const TABLE: &[Scenario] = &[
    scenario!(
        "verifier/shape",
        Verifier,
        "a verdict is one of three words on a target, and holds nothing else",
        "RFC 0090 §A, §C, §D",
        [],
        shape
    ),
    scenario!(
        "verifier/seam-fail",
        Verifier,
        "a turn whose check fails does not commit and is no success",
        "RFC 0090 §B; seam agents/verify-run",
        [GATING, Need::Seam(SEAM)],
        fail
    ),
    scenario!(
        "verifier/seam-pass",
        Verifier,
        "a turn whose check passes commits",
        "RFC 0090 §B; seam agents/verify-run",
        [GATING, Need::Seam(SEAM)],
        pass
    ),
    scenario!(
        "verifier/seam-revise",
        Verifier,
        "a turn that is to be revised does not commit",
        "RFC 0090 §B; seam agents/verify-run",
        [GATING, Need::Seam(SEAM)],
        revise
    ),
    scenario!(
        "verifier/seam-content",
        Verifier,
        "the verdict of the seam holds nothing of what was checked",
        "RFC 0090 §A; invariant verifier-no-content-leak",
        [SUPPORTED, Need::Seam(SEAM)],
        content
    ),
];

async fn shape(p: &mut Probe) -> Result<(), Stop> {
    p.step("verdicts that are ones");
    let whole = json!({"agentId": "critic", "target": "e42", "verdict": "pass", "criteria": ["schema-valid", "grounded"], "confidence": 0.9});
    for payload in [whole, json!({"agentId": "critic", "target": "e42", "verdict": "revise"})] {
        p.is_event(&event(&payload))?;
    }
    p.step("verdicts that are none");
    let wrong = [
        json!({"agentId": "critic", "target": "e42", "verdict": "ok"}),
        json!({"agentId": "critic", "target": "e42", "verdict": "fail", "result": "what was checked"}),
        json!({"agentId": "critic", "target": "e42", "verdict": "fail", "content": "what was checked"}),
        json!({"agentId": "critic", "target": "", "verdict": "fail"}),
        json!({"agentId": "c", "target": "e42", "verdict": "fail"}),
        json!({"agentId": "critic", "target": "e42", "verdict": "pass", "criteria": ["a", "a"]}),
        json!({"agentId": "critic", "target": "e42", "verdict": "pass", "confidence": 1.1}),
        json!({"target": "e42", "verdict": "pass"}),
    ];
    for payload in wrong {
        p.is_no_event(&event(&payload))?;
    }
    p.step("levels that are ones, and one that is none");
    let model = |version: u64| {
        json!({
            "protocolVersion": "1.0", "supportedEnvelopes": [], "schemaVersions": {},
            "limits": {"clarificationRounds": 1, "schemaRounds": 1, "envelopesPerTurn": 1},
            "multiAgent": {"executionModel": {
                "supported": true, "version": version,
                "crossHostCausation": {"supported": true, "hostId": "host"},
                "replayDeterminism": {"supported": true, "refusalDivergenceEmission": true},
                "verifier": {"supported": true, "gating": true},
            }},
        })
    };
    p.fits(Schema::Capabilities, &model(6))?;
    p.fits_not(Schema::Capabilities, &model(7))?;
    p.fits_not(Schema::Capabilities, &model(5))
}

async fn fail(p: &mut Probe) -> Result<(), Stop> {
    let answer = turn(p, "fail").await?;
    withheld(p, &answer)
}

async fn revise(p: &mut Probe) -> Result<(), Stop> {
    let answer = turn(p, "revise").await?;
    withheld(p, &answer)
}

async fn pass(p: &mut Probe) -> Result<(), Stop> {
    let answer = turn(p, "pass").await?;
    p.equal("status", &json!("completed"), answer.get("status"))?;
    p.equal("committed", &json!(true), answer.get("committed"))
}

async fn content(p: &mut Probe) -> Result<(), Stop> {
    for verdict in ["pass", "fail", "revise"] {
        let canary = p.name();
        p.step(format!("a turn over a task that nobody can know, to {verdict}"));
        let body = json!({"simulateVerdict": verdict, "task": canary});
        let answer = p.optional(&Ask::post(SEAM, &body), &[200]).await?;
        p.fits(Schema::VerifyRun, &answer)?;
        let events = answer.get("events").cloned().unwrap_or_default();
        p.holds(
            !events.to_string().contains(&canary),
            "nothing of the task in the events",
            &events,
        )?;
    }
    Ok(())
}

async fn turn(p: &mut Probe, verdict: &str) -> Result<Value, Stop> {
    p.step(format!("a turn that is to {verdict}"));
    let answer = p.optional(&Ask::post(SEAM, &json!({"simulateVerdict": verdict})), &[200]).await?;
    p.fits(Schema::VerifyRun, &answer)?;
    let events = answer.get("events").and_then(Value::as_array).cloned().unwrap_or_default();
    let told = events.iter().any(|event| {
        event.get("type") == Some(&json!("agent.verified"))
            && event.get("verdict") == Some(&json!(verdict))
    });
    p.holds(told, &format!("agent.verified{{{verdict}}}"), &answer)?;
    Ok(answer)
}

fn withheld(p: &mut Probe, answer: &Value) -> Result<(), Stop> {
    p.equal("committed", &json!(false), answer.get("committed"))?;
    let outcome = answer.get("outcome").and_then(Value::as_str).unwrap_or_default();
    p.holds(outcome != "completed" && outcome != "committed", "no outcome of success", outcome)?;
    p.equal("status", &json!("escalated"), answer.get("status"))
}

fn event(payload: &Value) -> Value {
    json!({
        "eventId": "e43", "runId": "run", "type": "agent.verified", "payload": payload,
        "timestamp": "2026-06-08T00:00:00Z", "sequence": 43,
    })
}
