//! What a verdict lets through, in the logs of real runs.
//!
//! The fixtures say in `metadata.probity.verifiers` who checks what a worker leaves and, since they are
//! fixtures, what the verdicts will be. Everything from there on is the host's: the child run, the
//! candidate, the verdict in the log, the merge or its absence.

use serde_json::{Value, json};

use crate::http::Ask;
use crate::log::{Event, Log};
use crate::probe::{Probe, Stop, child_values};
use crate::scenario::{Need, Scenario};

const GATING: Need = Need::Claim("/multiAgent/executionModel/verifier/gating");
const SUPPORTED: Need = Need::Claim("/multiAgent/executionModel/verifier/supported");
const CHILD: Need = Need::Fixture("conformance-verifier-child");
const SECOND: Need = Need::Fixture("conformance-verifier-second");
const PASS: Need = Need::Fixture("conformance-verifier-pass");
const FAIL: Need = Need::Fixture("conformance-verifier-fail");
const GIVE_UP: Need = Need::Fixture("conformance-verifier-give-up");

pub(super) const TABLE: &[Scenario] = &[
    scenario!(
        "verifier/pass-merges",
        Verifier,
        "what passed its check is taken over",
        "RFC 0090 §B",
        [SUPPORTED, CHILD, PASS],
        pass_merges
    ),
    scenario!(
        "verifier/fail-keeps-out",
        Verifier,
        "of what failed its check nothing is taken over, and no step says that it was",
        "RFC 0090 §B, RFC 0063; beyond the official suite (a)",
        [GATING, CHILD, FAIL, GIVE_UP],
        fail_keeps_out
    ),
    scenario!(
        "verifier/no-success-after-fail",
        Verifier,
        "no run succeeds over a check that failed: it asks, goes on, or says that it gave up",
        "RFC 0090 §B, §C; beyond the official suite (b)",
        [GATING, CHILD, FAIL, GIVE_UP],
        no_success_after_fail
    ),
    scenario!(
        "verifier/target-resolves",
        Verifier,
        "a verdict names something that exists and ended before",
        "RFC 0090 §A; beyond the official suite (d)",
        [SUPPORTED, CHILD, PASS, GIVE_UP],
        target_resolves
    ),
    scenario!(
        "verifier/no-content",
        Verifier,
        "nothing of what was checked is in any verdict",
        "invariant verifier-no-content-leak; beyond the official suite (e)",
        [SUPPORTED, Need::Claim("/subWorkflow/inputMapping"), CHILD, PASS, GIVE_UP],
        no_content
    ),
    scenario!(
        "verifier/broken-critic-keeps-out",
        Verifier,
        "a critic that breaks says nothing, and nothing is taken over",
        "RFC 0090 §B; beyond the official suite (f)",
        [GATING, CHILD, Need::Fixture("conformance-verifier-fault")],
        broken_critic
    ),
    scenario!(
        "verifier/silent-critic-keeps-out",
        Verifier,
        "a critic that never answers is not waited for, and nothing is taken over",
        "RFC 0090 §B; beyond the official suite (f)",
        [GATING, CHILD, Need::Fixture("conformance-verifier-hang")],
        silent_critic
    ),
    scenario!(
        "verifier/contradiction",
        Verifier,
        "a verdict holds for its own target only, and one that failed is not outvoted",
        "RFC 0090; beyond the official suite (g)",
        [GATING, CHILD, SECOND, Need::Fixture("conformance-verifier-contradiction")],
        contradiction
    ),
    scenario!(
        "verifier/replay-keeps-verdicts",
        Verifier,
        "a replay repeats the recorded verdicts word by word, and asks no critic where the host counts",
        "RFC 0090, replay; beyond the official suite (h)",
        [GATING, Need::Claim("/replay/supported"), CHILD, PASS, GIVE_UP],
        replay_keeps
    ),
    scenario!(
        "verifier/verdict-before-merge",
        Verifier,
        "verdict and merge are seen together, in this order, by whoever reads at any time",
        "RFC 0090 §B; beyond the official suite (i)",
        [GATING, CHILD, PASS],
        verdict_before_merge
    ),
    scenario!(
        "verifier/self-verification",
        Verifier,
        "a worker that checks its own work lets nothing through",
        "RFC 0090, unresolved question 1",
        [GATING, CHILD, Need::Fixture("conformance-verifier-self")],
        self_verification
    ),
];

async fn pass_merges(p: &mut Probe) -> Result<(), Stop> {
    let task = p.name();
    let (snapshot, log) = p.run("conformance-verifier-pass", inputs(&task), "completed").await?;
    let verdicts = words(&log);
    p.holds(verdicts == ["pass"], "one verdict: pass", format!("{verdicts:?}"))?;
    let critic = log.verdicts().first().map(|event| event.text("/agentId")).unwrap_or_default();
    p.holds(critic == "conformance.critic", "the critic of the definition", critic)?;
    let left = child_values(p, &log, "payload").await?;
    let got = p.variable(&snapshot, "result").cloned();
    p.equal("variables.result", left.first().unwrap_or(&Value::Null), got.as_ref())?;
    let harvested: Vec<&Event> = log.handoffs("output.harvested").collect();
    p.holds(harvested.len() == 1, "one output.harvested", format!("{:?}", log.kinds()))?;
    let cause = harvested
        .first()
        .and_then(|event| log.named(event.cause()))
        .map(|event| event.text("/phase"));
    p.holds(
        cause == Some("child.completed"),
        "child.completed as its cause",
        format!("{cause:?}"),
    )?;
    p.holds(!log.gives_up(), "no criterion that is not met", format!("{:?}", log.decision_kinds()))
}

async fn fail_keeps_out(p: &mut Probe) -> Result<(), Stop> {
    let (run, snapshot, log) = begun(p, "conformance-verifier-fail").await?;
    let verdicts = words(&log);
    p.holds(verdicts.last() == Some(&"fail"), "the verdict fail", format!("{verdicts:?}"))?;
    untouched(p, &snapshot, &log)?;
    p.cancel(&run).await?;
    let (_, snapshot, log) = begun(p, "conformance-verifier-give-up").await?;
    p.holds(words(&log) == ["fail"], "the verdict fail", format!("{:?}", words(&log)))?;
    untouched(p, &snapshot, &log)
}

async fn no_success_after_fail(p: &mut Probe) -> Result<(), Stop> {
    let (run, snapshot, log) = begun(p, "conformance-verifier-fail").await?;
    let status = snapshot.get("status").cloned().unwrap_or_default();
    p.holds(!log.succeeds_over_a_refusal(), "no success over the verdict", &status)?;
    p.equal("status: somebody is asked", &json!("waiting-input"), Some(&status))?;
    p.step("answer, and let the next worker pass");
    let node = p.waiting_node(&snapshot)?;
    let answers = answers(&log);
    p.resolve(&run, &node, answers).await?;
    p.reach(&run, "completed").await?;
    let log = p.log(&run).await?;
    p.holds(words(&log) == ["fail", "pass"], "fail, then pass", format!("{:?}", words(&log)))?;
    p.holds(
        !log.succeeds_over_a_refusal(),
        "no success over a verdict",
        format!("{:?}", log.kinds()),
    )?;
    p.holds(
        log.handoffs("output.harvested").count() == 1,
        "one output.harvested",
        format!("{:?}", log.kinds()),
    )?;
    let (_, snapshot, log) = begun(p, "conformance-verifier-give-up").await?;
    p.holds(
        !log.succeeds_over_a_refusal(),
        "no success over the verdict",
        snapshot.get("status").unwrap_or(&Value::Null),
    )?;
    p.holds(
        log.gives_up(),
        "a last decision that says what is not met",
        format!("{:?}", log.decision_kinds()),
    )
}

async fn target_resolves(p: &mut Probe) -> Result<(), Stop> {
    for workflow in ["conformance-verifier-pass", "conformance-verifier-give-up"] {
        let (run, _, log) = begun(p, workflow).await?;
        p.holds(!log.verdicts().is_empty(), "a verdict", format!("{:?}", log.kinds()))?;
        for verdict in log.verdicts() {
            let target = verdict.text("/target").to_owned();
            if log.children().contains(&target.as_str()) {
                let child = p.snapshot(&target).await?;
                p.equal("parentRunId of the target", &json!(run), child.get("parentRunId"))?;
                let ended = log
                    .handoffs("child.completed")
                    .find(|event| event.text("/childRunId") == target);
                let before = ended.is_some_and(|event| event.sequence() < verdict.sequence());
                p.holds(before, "the verdict behind the end of the child", verdict.json())?;
                continue;
            }
            let called = log
                .events()
                .iter()
                .find(|event| event.id() == target || event.text("/callId") == target);
            let before = called.is_some_and(|event| event.sequence() < verdict.sequence());
            p.holds(
                before,
                "a target that is a child, an event or a call of this run, before the verdict",
                verdict.json(),
            )?;
        }
    }
    Ok(())
}

async fn no_content(p: &mut Probe) -> Result<(), Stop> {
    for workflow in ["conformance-verifier-pass", "conformance-verifier-give-up"] {
        let canary = p.name();
        p.step(format!("run {workflow} over a content that nobody can know"));
        let run = p.create(workflow, inputs(&canary)).await?;
        p.settled(&run).await?;
        let log = p.log(&run).await?;
        let left = child_values(p, &log, "payload").await?;
        p.equal("what was checked", &json!(canary), left.first())?;
        p.holds(!log.verdicts().is_empty(), "a verdict", format!("{:?}", log.kinds()))?;
        for verdict in log.verdicts() {
            let text = verdict.json().to_string();
            p.holds(!text.contains(&canary), "nothing of the content in the verdict", text)?;
            let criteria = verdict
                .payload()
                .get("criteria")
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default();
            let are_keys = criteria
                .iter()
                .all(|key| key.as_str().is_some_and(|key| key.len() <= 64 && !key.contains(' ')));
            p.holds(are_keys, "criteria by key only", Value::Array(criteria))?;
        }
    }
    Ok(())
}

async fn broken_critic(p: &mut Probe) -> Result<(), Stop> {
    no_verdict(p, "conformance-verifier-fault").await
}

async fn silent_critic(p: &mut Probe) -> Result<(), Stop> {
    no_verdict(p, "conformance-verifier-hang").await
}

async fn no_verdict(p: &mut Probe, workflow: &'static str) -> Result<(), Stop> {
    let (run, snapshot, log) = begun(p, workflow).await?;
    p.holds(
        log.children().len() == 1,
        "one child, which was to be checked",
        format!("{:?}", log.children()),
    )?;
    p.holds(
        log.verdicts().is_empty(),
        "no verdict of a critic that gave none",
        format!("{:?}", words(&log)),
    )?;
    untouched(p, &snapshot, &log)?;
    let is_success = log.has("run.completed") && !log.gives_up();
    p.holds(!is_success, "no success", format!("{:?}", log.kinds()))?;
    p.cancel(&run).await?;
    Ok(())
}

async fn contradiction(p: &mut Probe) -> Result<(), Stop> {
    let (run, snapshot, log) = begun(p, "conformance-verifier-contradiction").await?;
    p.holds(words(&log) == ["pass", "fail"], "pass, then fail", format!("{:?}", words(&log)))?;
    let targets: std::collections::BTreeSet<&str> =
        log.verdicts().iter().map(|event| event.text("/target")).collect();
    p.holds(targets.len() == 2, "two targets", format!("{targets:?}"))?;
    let got = p.variable(&snapshot, "first").cloned();
    p.equal("variables.first, which passed", &json!("made by the child"), got.as_ref())?;
    let got = p.variable(&snapshot, "second").cloned();
    p.equal("variables.second, which failed", &json!("untouched"), got.as_ref())?;
    p.holds(
        !log.succeeds_over_a_refusal(),
        "no success over the second verdict",
        format!("{:?}", log.kinds()),
    )?;
    p.cancel(&run).await?;
    Ok(())
}

async fn replay_keeps(p: &mut Probe) -> Result<(), Stop> {
    for workflow in ["conformance-verifier-pass", "conformance-verifier-give-up"] {
        let (source, _, log) = begun(p, workflow).await?;
        let before = calls(p).await?;
        p.step(format!("replay {workflow}"));
        let run = super::replay::fork(p, &source, &json!({"mode": "replay", "fromSeq": 0})).await?;
        p.ended(&run).await?;
        let replayed = p.log(&run).await?;
        repeated(p, &log, &replayed).await?;
        p.holds(
            replayed.kinds() == log.kinds(),
            "the same events",
            format!("{:?}", replayed.kinds()),
        )?;
        let after = calls(p).await?;
        p.holds(
            before == after,
            "no call of a critic",
            format!("{before:?} before, {after:?} after"),
        )?;
    }
    Ok(())
}

/// Asserts that the verdicts of a replay are those of its source. Their targets are the recorded ones, or
/// runs that exist.
async fn repeated(p: &mut Probe, source: &Log, replayed: &Log) -> Result<(), Stop> {
    let (expected, got) = (payloads(source), payloads(replayed));
    let bare = |payloads: &[Value]| payloads.iter().map(without_target).collect::<Vec<_>>();
    let is_same = !expected.is_empty() && bare(&expected) == bare(&got);
    let told = (Value::from(expected.clone()), Value::from(got.clone()));
    p.holds(is_same, &format!("the verdicts {}", told.0), told.1)?;
    for (recorded, told) in expected.iter().zip(&got) {
        let target = told.get("target").cloned().unwrap_or_default();
        if recorded.get("target") != Some(&target) {
            let ask = Ask::get(format!("/v1/runs/{}", target.as_str().unwrap_or_default()));
            let answer = p.ask(&ask).await?;
            p.holds(answer.status == 200, "the recorded target, or one that exists", target)?;
        }
    }
    Ok(())
}

fn without_target(payload: &Value) -> Value {
    let mut payload = payload.clone();
    if let Some(members) = payload.as_object_mut() {
        members.remove("target");
    }
    payload
}

/// How often critics were called, where the host counts for us. Other scenarios may run critics at the
/// same time, so the count is only taken where they do not.
async fn calls(p: &mut Probe) -> Result<Option<u64>, Stop> {
    if p.shared().options().parallel > 1 {
        return Ok(None);
    }
    let answer = p.ask(&Ask::get("/v1/host/sample/test/verifier-calls")).await?;
    if answer.status != 200 {
        return Ok(None);
    }
    Ok(p.json(&answer)?.get("calls").and_then(Value::as_u64))
}

async fn verdict_before_merge(p: &mut Probe) -> Result<(), Stop> {
    const ROUNDS: usize = 3;
    for round in 1..=ROUNDS {
        p.step(format!("run {round} of {ROUNDS}: read the log over and over while it grows"));
        let run = p.create("conformance-verifier-pass", json!({})).await?;
        loop {
            let log = p.log(&run).await?;
            together(p, &log)?;
            if !log.terminals().is_empty() {
                let merges = log.handoffs("output.harvested").count();
                p.holds(merges == 1, "one output.harvested", format!("{:?}", log.kinds()))?;
                break;
            }
        }
    }
    Ok(())
}

/// Each verdict that passed with its merge right behind it, each merge with its verdict right before it.
fn together(p: &mut Probe, log: &Log) -> Result<(), Stop> {
    for (at, event) in log.events().iter().enumerate() {
        let next = log.events().get(at + 1);
        let before = at.checked_sub(1).and_then(|at| log.events().get(at));
        if event.kind() == "agent.verified" && event.text("/verdict") == "pass" {
            let is_next = next.is_some_and(|next| next.text("/phase") == "output.harvested");
            p.holds(
                is_next,
                "the merge right behind its verdict, whenever the log is read",
                format!("{:?}", log.kinds()),
            )?;
        }
        if event.text("/phase") == "output.harvested" {
            let is_own = before.is_some_and(|verdict| {
                verdict.kind() == "agent.verified"
                    && verdict.text("/target") == event.text("/childRunId")
            });
            p.holds(is_own, "the verdict right before its merge", format!("{:?}", log.kinds()))?;
        }
    }
    Ok(())
}

async fn self_verification(p: &mut Probe) -> Result<(), Stop> {
    let (run, snapshot, log) = begun(p, "conformance-verifier-self").await?;
    untouched(p, &snapshot, &log)?;
    let is_success = log.has("run.completed") && !log.gives_up();
    p.holds(!is_success, "no success", format!("{:?}", log.kinds()))?;
    p.cancel(&run).await?;
    Ok(())
}

/// A run that has ended or waits: its name, where it is, its log.
async fn begun(p: &mut Probe, workflow: &'static str) -> Result<(String, Value, Log), Stop> {
    p.step(format!("run {workflow}"));
    let run = p.create(workflow, json!({})).await?;
    let snapshot = p.settled(&run).await?;
    let log = p.log(&run).await?;
    p.step(format!("what {workflow} left"));
    Ok((run, snapshot, log))
}

/// Asserts that nothing was taken over.
pub(super) fn untouched(p: &mut Probe, snapshot: &Value, log: &Log) -> Result<(), Stop> {
    let got = p.variable(snapshot, "result").cloned();
    p.equal("variables.result", &json!("untouched"), got.as_ref())?;
    let harvested = log.handoffs("output.harvested").count();
    p.holds(harvested == 0, "no output.harvested", format!("{:?}", log.kinds()))?;
    let changed = log.of("variable.changed").find(|event| event.text("/name") == "result");
    p.holds(changed.is_none(), "no variable.changed of `result`", format!("{:?}", log.kinds()))
}

/// The verdicts, in order.
pub(super) fn words(log: &Log) -> Vec<&str> {
    log.verdicts().iter().map(|event| event.text("/verdict")).collect()
}

fn payloads(log: &Log) -> Vec<Value> {
    log.verdicts().iter().map(|event| event.payload().clone()).collect()
}

fn inputs(task: &str) -> Value {
    json!({"inputs": {"task": task}})
}

/// An answer to whatever the log asks last.
fn answers(log: &Log) -> Value {
    let asked = |event: &Event| {
        let questions = event
            .payload()
            .pointer("/data/questions")
            .or_else(|| event.payload().get("questions"))?;
        Some(questions.as_array()?.clone())
    };
    let questions = log.events().iter().rev().find_map(asked).unwrap_or_default();
    let ids = questions.iter().filter_map(|question| question.get("id").and_then(Value::as_str));
    Value::Object(ids.map(|id| (id.to_owned(), json!("go on"))).collect())
}
