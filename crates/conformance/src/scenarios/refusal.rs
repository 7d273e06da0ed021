//! A model that refuses in one of two runs (RFC 0041 §B).

use serde_json::{Value, json};

use crate::http::Ask;
use crate::log::Log;
use crate::probe::{Probe, Stop};
use crate::scenario::{Need, Scenario};

use super::replay::fork;

const SEAM: &str = "/v1/host/sample/test/mock-ai/program";
const WORKFLOW: &str = "conformance-phase4-replay-divergence";
/// The node of it that asks a model.
const NODE: &str = "structured-call";
const DIVERGENCE: Need =
    Need::Claim("/multiAgent/executionModel/replayDeterminism/refusalDivergenceEmission");

pub(super) const TABLE: &[Scenario] = &[
    scenario!(
        "replay/refusal-divergence",
        Replay,
        "a replay whose model refuses where the source's did not fails there and says so, and the other way round",
        "openwop v1: RFC 0041 §B; seam mock-ai/program",
        [DIVERGENCE, Need::Fixture(WORKFLOW), Need::Seam(SEAM)],
        divergence
    ),
    scenario!(
        "replay/refusal-program",
        Replay,
        "what is no program of a model is refused, and nobody without a key writes one",
        "seam mock-ai/program",
        [DIVERGENCE, Need::Seam(SEAM)],
        program
    ),
];

// One after the other: both are about the model of one node.
async fn divergence(p: &mut Probe) -> Result<(), Stop> {
    let valid = json!([{"content": "{\"valid\":true}", "stopReason": "end_turn"}]);
    let refusal = json!([{"content": "no", "stopReason": "safety", "refusalText": "no"}]);
    let both = json!([
        {"mode": "envelope", "envelope": {"valid": true}},
        {"mode": "refusal", "refusalReason": "told to"},
    ]);
    p.step("a model that answers the source and the replay alike");
    say(p, &valid).await?;
    let source = asked(p, "completed").await?;
    let replay = replayed(p, &source).await?;
    p.reach(&replay, "completed").await?;
    p.step("a model that answered, and refuses in the replay");
    say(p, &refusal).await?;
    diverges(p, &source, ("valid", "refusal")).await?;
    p.step("a model that refused, and answers in the replay");
    say(p, &refusal).await?;
    let source = asked(p, "failed").await?;
    say(p, &valid).await?;
    diverges(p, &source, ("refusal", "valid")).await?;
    p.step("a program of both, by the number of the call");
    say(p, &both).await?;
    let source = asked(p, "completed").await?;
    diverges(p, &source, ("valid", "refusal")).await
}

async fn program(p: &mut Probe) -> Result<(), Stop> {
    p.step("a program for nobody's node");
    let served = p.served(&Ask::post(SEAM, &json!({"nodeId": NODE, "program": 7}))).await?;
    p.is_refusal(&Ask::post(SEAM, &Value::Null), &served, &[400, 422], &[])?;
    for body in [json!({"nodeId": NODE, "program": []}), json!({"program": [{"content": "a"}]})] {
        p.step(format!("the program {body}"));
        p.refused(&Ask::post(SEAM, &body), &[400, 422], &[]).await?;
    }
    p.step("a program without a key");
    let ask = Ask::post(SEAM, &json!({"nodeId": NODE, "program": [{"content": "a"}]}));
    p.refused(&ask.by(crate::http::Who::Nobody), &[401], &["unauthenticated"]).await?;
    Ok(())
}

async fn say(p: &mut Probe, program: &Value) -> Result<(), Stop> {
    let ask = Ask::post(SEAM, &json!({"nodeId": NODE, "program": program}));
    p.optional(&ask, &[200]).await?;
    Ok(())
}

/// A run that asked its model.
async fn asked(p: &mut Probe, status: &str) -> Result<String, Stop> {
    let run = p.create(WORKFLOW, json!({})).await?;
    p.reach(&run, status).await?;
    Ok(run)
}

async fn replayed(p: &mut Probe, source: &str) -> Result<String, Stop> {
    fork(p, source, &json!({"mode": "replay", "fromSeq": 0})).await
}

async fn diverges(p: &mut Probe, source: &str, kinds: (&str, &str)) -> Result<(), Stop> {
    let run = replayed(p, source).await?;
    let snapshot = p.reach(&run, "failed").await?;
    let code = snapshot.pointer("/error/code");
    p.equal("error.code", &json!("replay_diverged_at_refusal"), code)?;
    let log = p.log(&run).await?;
    told(p, &log, source, kinds)
}

fn told(p: &mut Probe, log: &Log, source: &str, kinds: (&str, &str)) -> Result<(), Stop> {
    let told: Vec<_> = log.of("replay.divergedAtRefusal").collect();
    p.holds(told.len() == 1, "one replay.divergedAtRefusal", format!("{:?}", log.kinds()))?;
    let payload = told.first().map(|event| event.payload().clone()).unwrap_or_default();
    p.equal("sourceRunId", &json!(source), payload.get("sourceRunId"))?;
    p.equal("nodeId", &json!(NODE), payload.get("nodeId"))?;
    p.equal("originalEnvelopeKind", &json!(kinds.0), payload.get("originalEnvelopeKind"))?;
    p.equal("replayEnvelopeKind", &json!(kinds.1), payload.get("replayEnvelopeKind"))?;
    let went_on = log.of("node.started").any(|event| event.node() == "after");
    p.holds(!went_on, "nothing behind the place", format!("{:?}", log.kinds()))
}
