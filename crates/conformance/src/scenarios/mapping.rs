//! Variables on their way to workers and back.

use serde_json::{Value, json};

use crate::http::Ask;
use crate::probe::{Probe, Stop, child_values};
use crate::scenario::{Need, Scenario};
use crate::schema::Schema;

const CHILD: Need = Need::Fixture("conformance-verifier-child");
const SECOND: Need = Need::Fixture("conformance-verifier-second");

pub(super) const TABLE: &[Scenario] = &[
    scenario!(
        "orchestration/mapping",
        Orchestration,
        "what is mapped comes to the worker and back, and from one worker to the next",
        "openwop v1: RFC 0022, RFC 0026",
        [
            Need::Claim("/subWorkflow/inputMapping"),
            Need::Claim("/agents/dispatchMapping"),
            CHILD,
            SECOND,
            Need::Fixture("conformance-mapping")
        ],
        mapping
    ),
    scenario!(
        "orchestration/mapping-unset",
        Orchestration,
        "what a parent has not set a child is not given, and what a child has not the parent does not get",
        "openwop v1: RFC 0022",
        [
            Need::Claim("/subWorkflow/inputMapping"),
            Need::Claim("/agents/dispatchMapping"),
            CHILD,
            SECOND,
            Need::Fixture("conformance-mapping")
        ],
        unset
    ),
    scenario!(
        "orchestration/fan-out-sequential",
        Orchestration,
        "two workers of one decision work one after the other",
        "openwop v1: RFC 0022, fanOutPolicy",
        [
            Need::Claim("/agents/dispatch"),
            Need::Claim("/multiAgent/executionModel/supported"),
            CHILD,
            SECOND,
            Need::Fixture("conformance-fan-out")
        ],
        fan_out
    ),
    scenario!(
        "orchestration/mapping-unadvertised",
        Orchestration,
        "a host that maps no inputs refuses a workflow that asks for it",
        "openwop v1: RFC 0026, requiredCapability",
        [Need::Route("/v1/workflows")],
        unadvertised
    ),
    scenario!(
        "orchestration/dispatch-config",
        Orchestration,
        "a dispatch is configured by closed rules, and other ones are refused",
        "openwop v1: dispatch-config",
        [Need::Route("/v1/workflows")],
        config
    ),
];

async fn mapping(p: &mut Probe) -> Result<(), Stop> {
    let task = p.name();
    let (snapshot, log) =
        p.run("conformance-mapping", json!({"inputs": {"task": task}}), "completed").await?;
    for name in ["first", "second"] {
        let got = p.variable(&snapshot, name).cloned();
        p.equal(&format!("variables.{name}"), &json!(task), got.as_ref())?;
    }
    let got = p.variable(&snapshot, "missing").cloned();
    p.holds(got.is_none(), "no variable of what the child does not have", format!("{got:?}"))?;
    p.step("look at the children");
    let seen = child_values(p, &log, "payload").await?;
    p.holds(seen == [json!(task), json!(task)], "the task in both children", format!("{seen:?}"))
}

async fn unset(p: &mut Probe) -> Result<(), Stop> {
    let (_, log) = p.run("conformance-mapping", json!({}), "completed").await?;
    p.step("look at the first child");
    let seen = child_values(p, &log, "payload").await?;
    p.equal("its payload", &json!("made by the child"), seen.first())
}

async fn fan_out(p: &mut Probe) -> Result<(), Stop> {
    let (snapshot, log) = p.run("conformance-fan-out", json!({}), "completed").await?;
    let ended: Vec<u64> = log.handoffs("child.completed").map(|event| event.sequence()).collect();
    let began: Vec<u64> = log.handoffs("dispatch.began").map(|event| event.sequence()).collect();
    p.holds(began.len() == 2 && ended.len() == 2, "two workers", format!("{began:?}, {ended:?}"))?;
    p.holds(
        ended.first() < began.get(1),
        "the second to begin after the end of the first",
        format!("{began:?}, {ended:?}"),
    )?;
    let values =
        ["first", "second"].map(|name| p.variable(&snapshot, name).cloned().unwrap_or_default());
    let expected = [json!("made by the child"), json!("made by the second child")];
    p.holds(values == expected, "what each left", format!("{values:?}"))
}

async fn unadvertised(p: &mut Probe) -> Result<(), Stop> {
    if p.claimed("/subWorkflow/inputMapping") == Some(&Value::Bool(true)) {
        p.step("what is advertised");
        let agents = p.claimed("/agents/dispatch") == Some(&Value::Bool(true));
        return p.holds(agents, "agents.dispatch beside subWorkflow.inputMapping", agents);
    }
    p.step("register a workflow that maps inputs");
    let definition = crate::fixture::definition("conformance-mapping").unwrap_or_default();
    let ask = Ask::post_text("/v1/workflows", definition);
    let answer = p.served(&ask).await?;
    let refused =
        p.is_refusal(&ask, &answer, &[400, 422], &["validation_error", "capability_required"])?;
    p.holds(
        refused.pointer("/details/requiredCapability").is_some(),
        "details.requiredCapability",
        &refused,
    )
}

async fn config(p: &mut Probe) -> Result<(), Stop> {
    p.step("rules that are allowed, and rules that are not");
    p.fits(Schema::DispatchConfig, &json!({}))?;
    p.fits(
        Schema::DispatchConfig,
        &json!({"fanOutPolicy": "reject", "outputMapping": {"a": "b"}}),
    )?;
    p.fits_not(Schema::DispatchConfig, &json!({"fanOutPolicy": "all"}))?;
    p.fits_not(Schema::DispatchConfig, &json!({"outputMapping": {"a": 1}}))?;
    p.step("register a workflow with a rule that does not exist");
    let text = crate::fixture::definition("conformance-orchestrator-dispatch").unwrap_or_default();
    let mut definition: Value = serde_json::from_str(text).unwrap_or_default();
    if let Some(config) = definition.pointer_mut("/nodes/1/config") {
        *config = json!({"noSuchRule": true});
    }
    if let Some(id) = definition.get_mut("id") {
        *id = json!("conformance-no-such-rule");
    }
    let ask = Ask::post("/v1/workflows", &definition);
    let answer = p.served(&ask).await?;
    p.is_refusal(&ask, &answer, &[400, 422], &["validation_error"])?;
    Ok(())
}
