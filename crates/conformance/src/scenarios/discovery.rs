//! What a host says of itself.

use serde_json::Value;

use crate::http::{Ask, Who};
use crate::probe::{Probe, Stop};
use crate::scenario::Scenario;
use crate::schema::Schema;

pub(super) const TABLE: &[Scenario] = &[
    scenario!(
        "core/discovery",
        Core,
        "the discovery document is served without a key, may be cached, and is well-formed",
        "openwop v1: discovery; RFC 0073",
        [],
        discovery
    ),
    scenario!(
        "core/discovery-etag",
        Core,
        "a discovery document with an ETag is not sent again to whoever has it",
        "openwop v1: discovery, caching",
        [],
        etag
    ),
    scenario!(
        "core/standard-profile",
        Core,
        "the host claims what the Core Standard Profile asks for",
        "openwop v1: RFC 0088 §B",
        [],
        standard_profile
    ),
    scenario!(
        "core/execution-model",
        Core,
        "a claimed level of the execution model brings the parts that the level obliges to",
        "openwop v1: RFC 0037, 0040, 0041, 0061, 0090 §D",
        [crate::scenario::Need::Claim("/multiAgent/executionModel/supported")],
        execution_model
    ),
    scenario!(
        "core/openapi",
        Core,
        "the OpenAPI document is served without a key",
        "openwop v1: REST endpoints, /v1/openapi.json",
        [],
        openapi
    ),
];

const WELL_KNOWN: &str = "/.well-known/openwop";

async fn discovery(p: &mut Probe) -> Result<(), Stop> {
    p.step("read the discovery document without a key");
    let ask = Ask::get(WELL_KNOWN).by(Who::Nobody);
    let answer = p.ask(&ask).await?;
    p.is_status(&ask, &answer, &[200])?;
    let cached = answer.header("cache-control").unwrap_or_default().to_owned();
    p.holds(!cached.is_empty(), "a Cache-Control header", cached)?;
    let document = p.json(&answer)?;
    p.fits(Schema::Capabilities, &document)?;
    p.step("read it again");
    let again = p.get(&ask, &[200]).await?;
    p.equal("the second document", &document, Some(&again))
}

async fn etag(p: &mut Probe) -> Result<(), Stop> {
    p.step("read the discovery document");
    let ask = Ask::get(WELL_KNOWN).by(Who::Nobody);
    let answer = p.ask(&ask).await?;
    p.is_status(&ask, &answer, &[200])?;
    let Some(etag) = answer.header("etag").map(str::to_owned) else {
        return Err(Stop::Skipped { reason: "no ETag is sent".to_owned() });
    };
    p.step("read it again with If-None-Match");
    let ask = ask.header("if-none-match", etag);
    let again = p.ask(&ask).await?;
    p.is_status(&ask, &again, &[304])?;
    p.holds(again.body.is_empty(), "no body beside 304", again.excerpt())?;
    let ask = Ask::get(WELL_KNOWN).by(Who::Nobody).header("if-none-match", "\"another-document\"");
    let other = p.ask(&ask).await?;
    p.is_status(&ask, &other, &[200])
}

async fn standard_profile(p: &mut Probe) -> Result<(), Stop> {
    p.step("what is claimed");
    let document = p.discovery().clone();
    let envelopes =
        document.get("supportedEnvelopes").and_then(Value::as_array).cloned().unwrap_or_default();
    let is_asked = envelopes.iter().any(|name| name == "clarification.request");
    p.holds(
        is_asked,
        "supportedEnvelopes to hold `clarification.request`",
        Value::Array(envelopes),
    )?;
    let transports = document.get("supportedTransports").and_then(Value::as_array);
    let is_rest = transports.is_none_or(|known| known.iter().any(|name| name == "rest"));
    p.holds(is_rest, "supportedTransports to be absent or to hold `rest`", is_rest)?;
    for limit in ["clarificationRounds", "schemaRounds", "envelopesPerTurn"] {
        let value = document.pointer(&format!("/limits/{limit}")).and_then(Value::as_u64);
        p.holds(
            value.is_some(),
            &format!("limits.{limit} to be a number, not below 0"),
            format!("{value:?}"),
        )?;
    }
    Ok(())
}

async fn execution_model(p: &mut Probe) -> Result<(), Stop> {
    p.step("what is claimed");
    let model = p.claimed("/multiAgent/executionModel").cloned().unwrap_or_default();
    let version = model.get("version").and_then(Value::as_u64).unwrap_or_default();
    p.holds((1..=6).contains(&version), "a version from 1 to 6", version)?;
    if version >= 3 {
        let host =
            model.pointer("/crossHostCausation/hostId").and_then(Value::as_str).unwrap_or_default();
        p.holds(!host.is_empty(), "crossHostCausation.hostId from version 3 on", &model)?;
    }
    if version >= 4 {
        let divergence = model.pointer("/replayDeterminism/refusalDivergenceEmission");
        p.equal("replayDeterminism.refusalDivergenceEmission", &Value::Bool(true), divergence)?;
    }
    let is_verifying = model.pointer("/verifier/supported") == Some(&Value::Bool(true));
    p.holds(!is_verifying || version >= 6, "verifier.supported at version 6 only", version)?;
    let is_gating = model.pointer("/verifier/gating") == Some(&Value::Bool(true));
    p.holds(!is_gating || is_verifying, "verifier.gating beside verifier.supported only", &model)
}

async fn openapi(p: &mut Probe) -> Result<(), Stop> {
    p.step("read the OpenAPI document without a key");
    let document = p.get(&Ask::get("/v1/openapi.json").by(Who::Nobody), &[200]).await?;
    let version = document.get("openapi").and_then(Value::as_str).unwrap_or_default();
    let minor = version.strip_prefix("3.").and_then(|rest| rest.chars().next());
    p.holds(minor.is_some_and(|c| ('1'..='9').contains(&c)), "openapi 3.1 or later", version)?;
    let paths = document.get("paths").and_then(Value::as_object);
    p.holds(paths.is_some_and(|paths| !paths.is_empty()), "paths", format!("{paths:?}"))
}
