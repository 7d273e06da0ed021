//! What an error looks like.

use serde_json::{Value, json};

use crate::http::Ask;
use crate::probe::{Probe, Stop};
use crate::scenario::{Need, Scenario};

pub(super) const TABLE: &[Scenario] = &[
    scenario!(
        "core/error-envelope",
        Core,
        "an error is `error`, `message`, `details` and nothing else",
        "openwop v1: error envelope",
        [],
        envelope
    ),
    scenario!(
        "core/error-create",
        Core,
        "a run that cannot be created is refused, and nothing of it stays",
        "openwop v1: POST /v1/runs",
        [Need::Fixture("conformance-noop")],
        create
    ),
    scenario!(
        "core/error-unknown",
        Core,
        "what does not exist is 404, with the envelope of errors",
        "openwop v1: REST endpoints",
        [],
        unknown
    ),
    scenario!(
        "core/error-body-size",
        Core,
        "a body above the advertised size is refused, with the envelope of errors",
        "openwop v1: limits.maxRequestBodyBytes",
        [],
        body_size
    ),
];

const REFUSED: [u16; 4] = [400, 404, 415, 422];

async fn envelope(p: &mut Probe) -> Result<(), Stop> {
    let broken: [(&str, &[u8]); 5] = [
        ("no body", b""),
        ("an empty object", b"{}"),
        ("no JSON", b"{\"workflowId\":"),
        ("a list", b"[]"),
        ("bytes that are no text", &[0x7b, 0xff, 0xfe, 0x7d]),
    ];
    for (what, body) in broken {
        p.step(format!("create a run with {what}"));
        let ask = Ask::post_text("/v1/runs", body);
        p.refused(&ask, &REFUSED, &[]).await?;
    }
    p.step("a route that does not exist");
    p.refused(&Ask::get("/v1/probity-no-such-route"), &[404], &[]).await?;
    p.step("a method that the route does not take");
    p.refused(&Ask::put("/v1/runs", &json!({})), &[404, 405], &[]).await?;
    Ok(())
}

async fn create(p: &mut Probe) -> Result<(), Stop> {
    let wrong: [(&str, Value); 5] = [
        ("a workflow id that is no text", json!({"workflowId": 7})),
        ("inputs that are no object", json!({"workflowId": "conformance-noop", "inputs": []})),
        ("tags that are no list", json!({"workflowId": "conformance-noop", "tags": "one"})),
        (
            "more tags than may be",
            json!({"workflowId": "conformance-noop", "tags": vec!["tag"; 101]}),
        ),
        (
            "a tag that is too long",
            json!({"workflowId": "conformance-noop", "tags": ["t".repeat(257)]}),
        ),
    ];
    for (what, body) in wrong {
        p.step(format!("create a run with {what}"));
        p.refused(&Ask::post("/v1/runs", &body), &[400, 422], &["validation_error"]).await?;
    }
    p.step("create a run of a workflow that does not exist");
    let ask = Ask::post("/v1/runs", &json!({"workflowId": "probity-no-such-workflow"}));
    let refused = p.refused(&ask, &[400, 404, 422], &[]).await?;
    p.holds(refused.get("runId").is_none(), "no runId in a refusal", &refused)
}

async fn unknown(p: &mut Probe) -> Result<(), Stop> {
    for path in ["", "/events", "/events/poll"] {
        let ask = Ask::get(format!("/v1/runs/probity-no-such-run{path}"));
        p.step(ask.told());
        p.refused(&ask, &[404, 403], &["not_found", "run_not_found", "forbidden"]).await?;
    }
    p.step("a workflow that does not exist");
    p.refused(&Ask::get("/v1/workflows/probity-no-such-workflow"), &[404], &[]).await?;
    p.step("cancel a run that does not exist");
    p.refused(&Ask::post("/v1/runs/probity-no-such-run/cancel", &json!({})), &[404, 403], &[])
        .await?;
    Ok(())
}

async fn body_size(p: &mut Probe) -> Result<(), Stop> {
    const MAX_TRIED: u64 = 16 * 1024 * 1024;
    p.step("what is advertised");
    let limit = p.claimed("/limits/maxRequestBodyBytes").and_then(Value::as_u64);
    let Some(limit) = limit.filter(|limit| *limit < MAX_TRIED) else {
        let reason = "limits.maxRequestBodyBytes is not advertised, or above 16 MiB".to_owned();
        return Err(Stop::Skipped { reason });
    };
    p.step("create a run with a body that is one byte too long");
    let limit = usize::try_from(limit).unwrap_or_default();
    let head = "{\"workflowId\":\"conformance-noop\",\"inputs\":{\"filler\":\"";
    let tail = "\"}}";
    let filler = "x".repeat((limit + 1).saturating_sub(head.len() + tail.len()));
    let ask = Ask::post_text("/v1/runs", format!("{head}{filler}{tail}"));
    p.refused(&ask, &[400, 413], &[]).await?;
    Ok(())
}
