//! Runs of runs.

use serde_json::{Value, json};

use crate::http::Ask;
use crate::log::Log;
use crate::probe::{Probe, Stop};
use crate::scenario::{Need, Scenario};
use crate::schema::Schema;

const REPLAY: Need = Need::Claim("/replay/supported");
const CHAIN: Need = Need::Fixture("conformance-multi-node");
const CACHE_KEY: &str = "/v1/host/sample/test/llm-cache-key";

pub(super) const TABLE: &[Scenario] = &[
    scenario!(
        "replay/same-events",
        Replay,
        "a replay says what its source said, each time",
        "openwop v1: replay and fork",
        [REPLAY, CHAIN],
        same_events
    ),
    scenario!(
        "replay/branch",
        Replay,
        "a branch is a run of its own",
        "openwop v1: replay and fork, branch",
        [REPLAY, CHAIN],
        branch
    ),
    scenario!(
        "replay/refused",
        Replay,
        "a fork from nowhere is refused",
        "openwop v1: replay and fork, fromSeq, overlay",
        [REPLAY, CHAIN],
        refused
    ),
    scenario!(
        "replay/ancestry",
        Replay,
        "a run says where it comes from",
        "openwop v1: RFC 0040, ancestry",
        [
            Need::Claim("/multiAgent/executionModel/crossHostCausation/ancestryEndpointSupported"),
            Need::Fixture("conformance-multi-agent-handoff-child"),
            Need::Fixture("conformance-multi-agent-handoff")
        ],
        ancestry
    ),
    scenario!(
        "replay/diff",
        Replay,
        "two runs are compared from their logs",
        "openwop v1: RFC 0054",
        [REPLAY, CHAIN, Need::Route("/v1/runs/{id}:diff")],
        diff
    ),
    scenario!(
        "replay/llm-cache-key",
        Replay,
        "a call of a model has one key, whoever asks and however it is written",
        "openwop v1: RFC 0041, cache key",
        [Need::Version(4), Need::Seam(CACHE_KEY)],
        cache_key
    ),
];

async fn same_events(p: &mut Probe) -> Result<(), Stop> {
    let (source, log) = source(p).await?;
    let mut kinds = Vec::new();
    for round in ["first", "second"] {
        p.step(format!("the {round} replay"));
        let run = fork(p, &source, &json!({"mode": "replay", "fromSeq": 0})).await?;
        p.ended(&run).await?;
        let replayed = p.log(&run).await?;
        kinds.push(replayed.kinds().into_iter().map(str::to_owned).collect::<Vec<_>>());
    }
    let expected: Vec<String> = log.kinds().into_iter().map(str::to_owned).collect();
    for got in &kinds {
        p.holds(*got == expected, &format!("the events {expected:?}"), format!("{got:?}"))?;
    }
    Ok(())
}

async fn branch(p: &mut Probe) -> Result<(), Stop> {
    let (source, log) = source(p).await?;
    p.step("branch from the second event");
    let run = fork(p, &source, &json!({"mode": "branch", "fromSeq": 1})).await?;
    p.holds(run != source, "a run of its own", run.as_str())?;
    p.reach(&run, "completed").await?;
    let branched = p.log(&run).await?;
    p.holds(branched.has("run.completed"), "run.completed", format!("{:?}", branched.kinds()))?;
    p.step("look at the source");
    let after = p.log(&source).await?;
    p.holds(after.kinds() == log.kinds(), "the source as it was", format!("{:?}", after.kinds()))
}

async fn refused(p: &mut Probe) -> Result<(), Stop> {
    let (source, _) = source(p).await?;
    let cases: [(Value, &[u16]); 5] = [
        (json!({"mode": "replay", "fromSeq": -1}), &[400]),
        (json!({"mode": "replay", "fromSeq": 99999}), &[422]),
        (json!({"mode": "replay", "runOptionsOverlay": {"inputs": {"a": 1}}}), &[400]),
        (json!({"mode": "again"}), &[400]),
        (json!({"mode": "replay", "extra": true}), &[400]),
    ];
    for (body, statuses) in cases {
        p.step(format!("fork with {body}"));
        p.refused(&Ask::post(format!("/v1/runs/{source}:fork"), &body), statuses, &[]).await?;
    }
    p.step("fork a run that does not exist");
    let ask = Ask::post("/v1/runs/probity-no-such-run:fork", &json!({"mode": "replay"}));
    p.refused(&ask, &[404, 403], &[]).await?;
    Ok(())
}

async fn ancestry(p: &mut Probe) -> Result<(), Stop> {
    let (parent, log) = p.run("conformance-multi-agent-handoff", json!({}), "completed").await?;
    let run = parent.get("runId").and_then(Value::as_str).unwrap_or_default().to_owned();
    p.step("the ancestry of a run that nobody began");
    let own = p.get(&Ask::get(format!("/v1/runs/{run}/ancestry")), &[200]).await?;
    p.fits(Schema::Ancestry, &own)?;
    p.equal("parent", &Value::Null, own.get("parent"))?;
    let host = p
        .claimed("/multiAgent/executionModel/crossHostCausation/hostId")
        .cloned()
        .unwrap_or_default();
    p.equal("hostId", &host, own.get("hostId"))?;
    let child = log.children().first().map(|child| (*child).to_owned()).unwrap_or_default();
    p.step("the ancestry of its child");
    let of_child = p.get(&Ask::get(format!("/v1/runs/{child}/ancestry")), &[200]).await?;
    p.fits(Schema::Ancestry, &of_child)?;
    p.equal("parent.runId", &json!(run), of_child.pointer("/parent/runId"))?;
    p.equal("parent.cause", &json!("core.dispatch"), of_child.pointer("/parent/cause"))?;
    p.step("the ancestry of a run that does not exist");
    p.refused(&Ask::get("/v1/runs/probity-no-such-run/ancestry"), &[404], &[]).await?;
    Ok(())
}

async fn diff(p: &mut Probe) -> Result<(), Stop> {
    let (source, _) = source(p).await?;
    p.step("compare a run with its replay");
    let run = fork(p, &source, &json!({"mode": "replay"})).await?;
    p.ended(&run).await?;
    let same =
        p.optional(&Ask::get(format!("/v1/runs/{source}:diff?against={run}")), &[200]).await?;
    p.equal("divergedAtSeq", &Value::Null, same.get("divergedAtSeq"))?;
    let (other, _) = p
        .run("conformance-multi-node", json!({"configurable": {"recursionLimit": 2}}), "failed")
        .await?;
    let other = other.get("runId").and_then(Value::as_str).unwrap_or_default();
    p.step("compare it with another");
    let differs =
        p.get(&Ask::get(format!("/v1/runs/{source}:diff?against={other}")), &[200]).await?;
    let at = differs.get("divergedAtSeq").and_then(Value::as_u64);
    p.holds(at.is_some(), "divergedAtSeq", &differs)
}

async fn cache_key(p: &mut Probe) -> Result<(), Stop> {
    let request = json!({
        "provider": "conformance", "model": "stub-1", "temperature": 0,
        "messages": [{"role": "user", "content": "grüße"}],
    });
    p.step("the key of a request");
    let first = p.optional(&Ask::post(CACHE_KEY, &request), &[200]).await?;
    let key = first.get("cacheKey").and_then(Value::as_str).unwrap_or_default();
    let is_hex =
        key.len() == 64 && key.bytes().all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase());
    p.holds(is_hex, "64 lower-case hex digits", key)?;
    p.step("the same request, written otherwise");
    let text = "{\"messages\":[{\"content\":\"gr\\u00fc\\u00dfe\",\"role\":\"user\"}],\"temperature\":0.0,\"model\":\"stub-1\",\"provider\":\"conformance\"}";
    let again = p.get(&Ask::post_text(CACHE_KEY, text), &[200]).await?;
    p.equal("cacheKey", &json!(key), again.get("cacheKey"))?;
    p.step("another request");
    let mut other = request.clone();
    if let Some(model) = other.get_mut("model") {
        *model = json!("stub-2");
    }
    let other = p.get(&Ask::post(CACHE_KEY, &other), &[200]).await?;
    p.holds(other.get("cacheKey") != first.get("cacheKey"), "another key", &other)?;
    p.step("no request");
    p.refused(
        &Ask::post(CACHE_KEY, &json!({"messages": 7})),
        &[400],
        &["invalid_argument", "validation_error"],
    )
    .await?;
    Ok(())
}

/// A run that has ended, and its log.
async fn source(p: &mut Probe) -> Result<(String, Log), Stop> {
    let (snapshot, log) = p.run("conformance-multi-node", json!({}), "completed").await?;
    let run = snapshot.get("runId").and_then(Value::as_str).unwrap_or_default();
    Ok((run.to_owned(), log))
}

/// Forks a run.
pub(super) async fn fork(p: &mut Probe, source: &str, body: &Value) -> Result<String, Stop> {
    let forked = p.get(&Ask::post(format!("/v1/runs/{source}:fork"), body), &[201]).await?;
    p.equal("sourceRunId", &json!(source), forked.get("sourceRunId"))?;
    p.equal("mode", body.get("mode").unwrap_or(&Value::Null), forked.get("mode"))?;
    Ok(forked.get("runId").and_then(Value::as_str).unwrap_or_default().to_owned())
}
