//! What is checked is told to nobody: not in spans, not in lists, not in what a host says of itself.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::http::{Ask, Who};
use crate::probe::{Probe, Stop};
use crate::scenario::{Need, Scenario};

const SEAM: &str = "/v1/host/sample/test/otel/spans";
const SCRAPE: Need = Need::Claim("/observability/testSeams/otelScrape");
const MAPPING: Need = Need::Claim("/subWorkflow/inputMapping");
const SUPPORTED: Need = Need::Claim("/multiAgent/executionModel/verifier/supported");
const CHILD: Need = Need::Fixture("conformance-verifier-child");
const PASS: Need = Need::Fixture("conformance-verifier-pass");
const GIVE_UP: Need = Need::Fixture("conformance-verifier-give-up");

pub(super) const TABLE: &[Scenario] = &[
    scenario!(
        "beyond/spans",
        Beyond,
        "the spans of a run are one trace: a run, its nodes and its verdicts, each under what it belongs to",
        "openwop v1: observability; RFC 0034; seam otel/spans",
        [SCRAPE, SUPPORTED, Need::Seam(SEAM), CHILD, PASS, GIVE_UP],
        spans
    ),
    scenario!(
        "beyond/spans-no-content",
        Beyond,
        "no span holds anything of what was checked, nor the caller's key",
        "openwop v1: invariant secret-leakage-otel-attribute; RFC 0034",
        [SCRAPE, SUPPORTED, MAPPING, Need::Seam(SEAM), CHILD, PASS, GIVE_UP],
        no_content
    ),
    scenario!(
        "beyond/lists-no-content",
        Beyond,
        "what was checked is in no list of runs, and in nothing that a host says of itself",
        "openwop v1: invariant verifier-no-content-leak",
        [SUPPORTED, MAPPING, CHILD, PASS, GIVE_UP],
        lists
    ),
];

async fn spans(p: &mut Probe) -> Result<(), Stop> {
    for (workflow, verdict) in
        [("conformance-verifier-pass", "pass"), ("conformance-verifier-give-up", "fail")]
    {
        let (snapshot, log) = p.run(workflow, json!({}), "completed").await?;
        let run = snapshot.get("runId").cloned().unwrap_or_default();
        p.step(format!("the spans of {workflow}"));
        let spans = scraped(p, run.as_str().unwrap_or_default()).await?;
        let ids: BTreeSet<&str> = spans.iter().filter_map(|span| text(span, "/spanId")).collect();
        p.holds(ids.len() == spans.len(), "a name for each span", ids.len())?;
        let traces: BTreeSet<&str> =
            spans.iter().filter_map(|span| text(span, "/traceId")).collect();
        p.holds(traces.len() == 1, "one trace", format!("{traces:?}"))?;
        let mut names: BTreeMap<&str, usize> = BTreeMap::new();
        for span in &spans {
            *names.entry(text(span, "/name").unwrap_or_default()).or_default() += 1;
            p.equal("openwop.run_id", &run, span.pointer("/attributes/openwop.run_id"))?;
            let of = span.pointer("/attributes/openwop.workflow_id");
            p.equal("openwop.workflow_id", &json!(workflow), of)?;
            let parent = text(span, "/parentSpanId");
            let is_root = text(span, "/name") == Some("openwop.run");
            let is_held = parent.is_some_and(|parent| ids.contains(parent));
            p.holds(is_root != is_held, "a parent in this trace for all but the run", span)?;
        }
        p.holds(names.get("openwop.run") == Some(&1), "one openwop.run", format!("{names:?}"))?;
        let started = log.of("node.started").count();
        let nodes = spans.iter().filter(|span| span.pointer(NODE_ID).is_some()).count();
        p.holds(nodes == started, &format!("{started} spans of nodes"), nodes)?;
        let told: Vec<&str> = spans.iter().filter_map(|span| text(span, VERDICT)).collect();
        p.holds(told == [verdict], &format!("one verdict: {verdict}"), format!("{told:?}"))?;
    }
    p.step("the spans of a run that does not exist, and of one without a key");
    p.refused(&Ask::get(format!("{SEAM}?runId=probity-no-such-run")), &[404], &[]).await?;
    p.refused(&Ask::get(SEAM).by(Who::Nobody), &[401], &["unauthenticated"]).await?;
    Ok(())
}

const NODE_ID: &str = "/attributes/openwop.node_id";
const VERDICT: &str = "/attributes/probity.verifier.verdict";

async fn no_content(p: &mut Probe) -> Result<(), Stop> {
    for workflow in ["conformance-verifier-pass", "conformance-verifier-give-up"] {
        let (canary, run) = checked(p, workflow).await?;
        let spans = scraped(p, &run).await?;
        let told = Value::Array(spans).to_string();
        p.holds(!told.contains(&canary), "nothing of the content in any span", &told)?;
    }
    Ok(())
}

async fn lists(p: &mut Probe) -> Result<(), Stop> {
    for workflow in ["conformance-verifier-pass", "conformance-verifier-give-up"] {
        let (canary, run) = checked(p, workflow).await?;
        let paths = [
            "/.well-known/openwop".to_owned(),
            "/v1/openapi.json".to_owned(),
            "/v1/runs?limit=100".to_owned(),
            format!("/v1/runs/{run}/ancestry"),
            format!("/v1/workflows/{workflow}"),
        ];
        for path in paths {
            p.step(format!("GET {path}"));
            let answer = p.ask(&Ask::get(&path)).await?;
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            p.holds(!text.contains(&canary), "nothing of the content", answer.excerpt())?;
        }
    }
    Ok(())
}

/// A run over a content that nobody can know, and that content.
async fn checked(p: &mut Probe, workflow: &'static str) -> Result<(String, String), Stop> {
    let canary = p.name();
    let extra = json!({"inputs": {"task": canary}});
    let (snapshot, log) = p.run(workflow, extra, "completed").await?;
    p.holds(!log.verdicts().is_empty(), "a verdict", format!("{:?}", log.kinds()))?;
    let run = snapshot.get("runId").and_then(Value::as_str).unwrap_or_default();
    Ok((canary, run.to_owned()))
}

async fn scraped(p: &mut Probe, run: &str) -> Result<Vec<Value>, Stop> {
    let scraped = p.optional(&Ask::get(format!("{SEAM}?runId={run}")), &[200]).await?;
    let spans = scraped.get("spans").and_then(Value::as_array).cloned().unwrap_or_default();
    p.holds(!spans.is_empty(), "spans", &scraped)?;
    for span in &spans {
        let is_whole = text(span, "/name").is_some_and(|name| !name.is_empty())
            && span.get("attributes").is_some_and(Value::is_object)
            && span.get("events").is_some_and(Value::is_array);
        p.holds(is_whole, "name, attributes and events", span)?;
    }
    Ok(spans)
}

fn text<'a>(span: &'a Value, pointer: &str) -> Option<&'a str> {
    span.pointer(pointer).and_then(Value::as_str)
}
