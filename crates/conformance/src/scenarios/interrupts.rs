//! Runs that wait for somebody.

use serde_json::{Value, json};

use crate::http::{Ask, Who};
use crate::log::Log;
use crate::probe::{Probe, Stop, resolving};
use crate::scenario::{Need, Scenario};

const APPROVAL: Need = Need::Fixture("conformance-approval");

pub(super) const TABLE: &[Scenario] = &[
    scenario!(
        "interrupts/approval-accept",
        Interrupts,
        "a run waits for an approval and goes on with it",
        "openwop v1: interrupts, approval",
        [APPROVAL],
        accept
    ),
    scenario!(
        "interrupts/approval-reject",
        Interrupts,
        "a rejection is an answer, and told as one",
        "openwop v1: interrupts, approval",
        [APPROVAL],
        reject
    ),
    scenario!(
        "interrupts/approval-outside",
        Interrupts,
        "an answer that the gate does not offer is refused, and the run waits on",
        "openwop v1: interrupts, resume values",
        [APPROVAL],
        outside
    ),
    scenario!(
        "interrupts/clarification",
        Interrupts,
        "a run waits for answers and goes on with them",
        "openwop v1: interrupts, clarification",
        [Need::Fixture("conformance-clarification")],
        clarification
    ),
    scenario!(
        "interrupts/clarification-list",
        Interrupts,
        "answers may come as a list as well",
        "openwop v1: interrupts, clarification",
        [Need::Fixture("conformance-clarification")],
        clarification_list
    ),
    scenario!(
        "interrupts/unknown-node",
        Interrupts,
        "a node that does not exist takes no answer",
        "openwop v1: POST /v1/runs/{id}/interrupts/{nodeId}",
        [APPROVAL],
        unknown_node
    ),
    scenario!(
        "interrupts/answered-once",
        Interrupts,
        "of two answers one counts",
        "openwop v1: interrupts, races",
        [APPROVAL],
        answered_once
    ),
    scenario!(
        "interrupts/answer-or-cancel",
        Interrupts,
        "an answer and a cancellation that race come to one end",
        "openwop v1: interrupts, races",
        [APPROVAL],
        answer_or_cancel
    ),
    scenario!(
        "interrupts/cancelled",
        Interrupts,
        "a run that was cancelled while it waited takes no answer",
        "openwop v1: interrupts, cancellation",
        [APPROVAL],
        cancelled
    ),
    scenario!(
        "interrupts/token-forged",
        Interrupts,
        "a token that nobody signed opens nothing",
        "openwop v1: GET and POST /v1/interrupts/{token}",
        [],
        token_forged
    ),
    scenario!(
        "interrupts/token",
        Interrupts,
        "who holds a token answers without a key, that wait and only once",
        "openwop v1: GET and POST /v1/interrupts/{token}",
        [APPROVAL, Need::Route("/v1/runs/{id}/interrupts")],
        token
    ),
    scenario!(
        "interrupts/token-late",
        Interrupts,
        "a token of a run that was cancelled opens nothing",
        "openwop v1: GET and POST /v1/interrupts/{token}",
        [APPROVAL, Need::Route("/v1/runs/{id}/interrupts")],
        token_late
    ),
];

async fn accept(p: &mut Probe) -> Result<(), Stop> {
    let run = waiting(p, "conformance-approval", "waiting-approval", "gate").await?;
    let log = p.log(&run).await?;
    asked(p, &log, "approval", "gate")?;
    p.step("accept");
    let answer = p.resolve(&run, "gate", json!({"action": "accept"})).await?;
    let told = p.json(&answer)?;
    p.equal("nodeId", &json!("gate"), told.get("nodeId"))?;
    p.reach(&run, "completed").await?;
    let log = p.log(&run).await?;
    let received =
        log.of("approval.received").next().map(|event| event.payload().clone()).unwrap_or_default();
    p.equal("approval.received.action", &json!("accept"), received.get("action"))?;
    let by = received.get("decidedBy").and_then(Value::as_str).unwrap_or_default();
    p.holds(!by.is_empty(), "decidedBy to name somebody", &received)?;
    p.holds(
        log.has("node.resumed") || log.has("interrupt.resolved"),
        "the wait to be over in the log",
        format!("{:?}", log.kinds()),
    )
}

async fn reject(p: &mut Probe) -> Result<(), Stop> {
    let run = waiting(p, "conformance-approval", "waiting-approval", "gate").await?;
    p.step("reject");
    p.resolve(&run, "gate", json!({"action": "reject"})).await?;
    p.ended(&run).await?;
    let log = p.log(&run).await?;
    let action =
        log.of("approval.received").next().map(|event| event.text("/action")).unwrap_or_default();
    p.holds(action == "reject", "approval.received{reject}", action)
}

async fn outside(p: &mut Probe) -> Result<(), Stop> {
    let run = waiting(p, "conformance-approval", "waiting-approval", "gate").await?;
    for value in
        [json!({"action": "refine"}), json!({"action": "burn"}), json!({}), json!(7), Value::Null]
    {
        p.step(format!("answer {value}"));
        p.refused(&resolving(&run, "gate", value), &[400, 422], &[]).await?;
    }
    p.step("answer with something beside the answer");
    let body = json!({"resumeValue": {"action": "accept"}, "extra": true});
    let ask = Ask::post(format!("/v1/runs/{run}/interrupts/gate"), &body);
    p.refused(&ask, &[400, 422], &["validation_error"]).await?;
    p.step("look at the run");
    let status = p.snapshot(&run).await?.get("status").cloned();
    p.equal("status", &json!("waiting-approval"), status.as_ref())?;
    let log = p.log(&run).await?;
    p.holds(!log.has("approval.received"), "no approval.received", format!("{:?}", log.kinds()))?;
    p.cancel(&run).await?;
    Ok(())
}

async fn clarification(p: &mut Probe) -> Result<(), Stop> {
    let run = waiting(p, "conformance-clarification", "waiting-input", "ask").await?;
    let log = p.log(&run).await?;
    asked(p, &log, "clarification", "ask")?;
    answer(p, &run, json!({"q1": "blue"})).await
}

async fn clarification_list(p: &mut Probe) -> Result<(), Stop> {
    let run = waiting(p, "conformance-clarification", "waiting-input", "ask").await?;
    answer(p, &run, json!([{"id": "q1", "answer": "blue"}])).await
}

async fn answer(p: &mut Probe, run: &str, value: Value) -> Result<(), Stop> {
    p.step("answer");
    p.resolve(run, "ask", value).await?;
    p.reach(run, "completed").await?;
    let log = p.log(run).await?;
    let answers = log.of("clarification.resolved").next().map(|event| event.payload().clone());
    if let Some(answers) = answers {
        return p.equal("the answer", &json!("blue"), answers.pointer("/answers/q1"));
    }
    p.holds(
        log.has("node.resumed") || log.has("interrupt.resolved"),
        "the wait to be over in the log",
        format!("{:?}", log.kinds()),
    )
}

async fn unknown_node(p: &mut Probe) -> Result<(), Stop> {
    let run = waiting(p, "conformance-approval", "waiting-approval", "gate").await?;
    p.step("answer a node that does not exist");
    p.refused(&resolving(&run, "no-such-node", json!({"action": "accept"})), &[404], &[]).await?;
    p.step("answer a run that does not exist");
    p.refused(
        &resolving("probity-no-such-run", "gate", json!({"action": "accept"})),
        &[404, 403],
        &[],
    )
    .await?;
    p.cancel(&run).await?;
    Ok(())
}

async fn answered_once(p: &mut Probe) -> Result<(), Stop> {
    let run = waiting(p, "conformance-approval", "waiting-approval", "gate").await?;
    p.step("accept and reject at once");
    let accept = resolving(&run, "gate", json!({"action": "accept"}));
    let reject = resolving(&run, "gate", json!({"action": "reject"}));
    let (one, other) = (p.shared().http().clone(), p.shared().http().clone());
    let (one, other) = tokio::join!(one.send(&accept), other.send(&reject));
    let mut taken = 0;
    for answer in [one, other] {
        let answer = answer.map_err(|error| p.failed("an answer", error))?;
        p.is_status(&accept, &answer, &[200, 404, 409, 410, 422])?;
        taken += usize::from(answer.status == 200);
    }
    p.holds(taken == 1, "one answer to be taken", taken)?;
    p.ended(&run).await?;
    let log = p.log(&run).await?;
    let received = log.of("approval.received").count();
    p.holds(received == 1, "one approval.received", received)?;
    p.holds(log.terminals().len() == 1, "one end", format!("{:?}", log.kinds()))
}

async fn answer_or_cancel(p: &mut Probe) -> Result<(), Stop> {
    let run = waiting(p, "conformance-approval", "waiting-approval", "gate").await?;
    p.step("accept and cancel at once");
    let accept = resolving(&run, "gate", json!({"action": "accept"}));
    let cancel = Ask::post(format!("/v1/runs/{run}/cancel"), &json!({}));
    let (one, other) = (p.shared().http().clone(), p.shared().http().clone());
    let (one, other) = tokio::join!(one.send(&accept), other.send(&cancel));
    let accepted = one.map_err(|error| p.failed("an answer", error))?;
    p.is_status(&accept, &accepted, &[200, 404, 409, 410, 422])?;
    let stopped = other.map_err(|error| p.failed("an answer", error))?;
    p.is_status(&cancel, &stopped, &[200, 409])?;
    let snapshot = p.ended(&run).await?;
    let status = snapshot.get("status").and_then(Value::as_str).unwrap_or_default().to_owned();
    let log = p.log(&run).await?;
    let ends: Vec<&str> = log.terminals().iter().map(|event| event.kind()).collect();
    p.holds(
        ends == [format!("run.{status}")],
        "the log to end as the status says",
        format!("{status}, {ends:?}"),
    )
}

async fn cancelled(p: &mut Probe) -> Result<(), Stop> {
    let run = waiting(p, "conformance-approval", "waiting-approval", "gate").await?;
    p.step("cancel it, then answer");
    p.cancel(&run).await?;
    p.reach(&run, "cancelled").await?;
    p.refused(&resolving(&run, "gate", json!({"action": "accept"})), &[404, 409, 410, 422], &[])
        .await?;
    let log = p.log(&run).await?;
    p.holds(!log.has("approval.received"), "no approval.received", format!("{:?}", log.kinds()))
}

async fn token_forged(p: &mut Probe) -> Result<(), Stop> {
    let forged = [
        "nonsense",
        "e30.AAAA",
        "eyJydW5JZCI6IngifQ.0000000000000000000000000000000000000000000000000000000000000000",
    ];
    for token in forged {
        p.step("read and answer by a token that nobody signed");
        let read = Ask::get(format!("/v1/interrupts/{token}")).by(Who::Nobody);
        p.refused(&read, &[400, 401, 403, 404, 410], &[]).await?;
        let body = json!({"resumeValue": {"action": "accept"}});
        let answer = Ask::post(format!("/v1/interrupts/{token}"), &body).by(Who::Nobody);
        p.refused(&answer, &[400, 401, 403, 404, 410], &[]).await?;
    }
    Ok(())
}

async fn token(p: &mut Probe) -> Result<(), Stop> {
    let (run, token) = held(p).await?;
    p.step("read and answer by the token, without a key");
    let read = Ask::get(format!("/v1/interrupts/{token}")).by(Who::Nobody);
    p.get(&read, &[200]).await?;
    let answer = |action: &str| {
        let body = json!({"resumeValue": {"action": action}});
        Ask::post(format!("/v1/interrupts/{token}"), &body).by(Who::Nobody)
    };
    p.refused(&answer("burn"), &[400, 422], &[]).await?;
    p.step("change a letter of it");
    let mut changed = token.clone();
    let first = changed.remove(0);
    changed.insert(0, if first == 'e' { 'f' } else { 'e' });
    let ask = Ask::get(format!("/v1/interrupts/{changed}")).by(Who::Nobody);
    p.refused(&ask, &[400, 401, 403, 404, 410], &[]).await?;
    p.step("accept");
    let ask = answer("accept");
    let taken = p.ask(&ask).await?;
    p.is_status(&ask, &taken, &[200])?;
    p.reach(&run, "completed").await?;
    p.step("accept again, and read again");
    p.refused(&ask, &[404, 409, 410, 422], &[]).await?;
    p.refused(&read, &[404, 409, 410], &[]).await?;
    let log = p.log(&run).await?;
    let received = log.of("approval.received").count();
    p.holds(received == 1, "one approval.received", received)?;
    let by = log.of("approval.received").next().map(|event| event.text("/decidedBy"));
    p.holds(by.is_some_and(|by| !by.is_empty()), "decidedBy to name somebody", format!("{by:?}"))?;
    let told = log.events().iter().any(|event| event.json().to_string().contains(&token));
    p.holds(!told, "no token in the log", "the token")
}

async fn token_late(p: &mut Probe) -> Result<(), Stop> {
    let (run, token) = held(p).await?;
    p.step("cancel the run, then answer by the token");
    p.cancel(&run).await?;
    p.reach(&run, "cancelled").await?;
    let body = json!({"resumeValue": {"action": "accept"}});
    let ask = Ask::post(format!("/v1/interrupts/{token}"), &body).by(Who::Nobody);
    p.refused(&ask, &[404, 409, 410, 422], &[]).await?;
    let log = p.log(&run).await?;
    p.holds(!log.has("approval.received"), "no approval.received", format!("{:?}", log.kinds()))
}

/// A run that waits, and a token of its wait.
async fn held(p: &mut Probe) -> Result<(String, String), Stop> {
    let run = waiting(p, "conformance-approval", "waiting-approval", "gate").await?;
    p.step("ask for a token");
    let listed = p.optional(&Ask::get(format!("/v1/runs/{run}/interrupts")), &[200]).await?;
    let token = listed.pointer("/interrupts/0/token").and_then(Value::as_str);
    let Some(token) = token.filter(|token| !token.is_empty()).map(str::to_owned) else {
        p.cancel(&run).await?;
        return Err(Stop::Skipped { reason: "no token is given out with a wait".to_owned() });
    };
    Ok((run, token))
}

/// A run that waits at a node.
async fn waiting(
    p: &mut Probe,
    workflow: &'static str,
    status: &str,
    node: &str,
) -> Result<String, Stop> {
    p.step(format!("begin {workflow} and wait until it waits"));
    let run = p.create(workflow, json!({})).await?;
    let snapshot = p.reach(&run, status).await?;
    p.equal("currentNodeId", &json!(node), snapshot.get("currentNodeId"))?;
    Ok(run)
}

/// Asserts that the log asks somebody.
fn asked(p: &mut Probe, log: &Log, kind: &str, node: &str) -> Result<(), Stop> {
    let requested = log.of("interrupt.requested").next();
    let suspended = log.of("node.suspended").next();
    let told =
        requested.map(|event| event.text("/kind")).or(suspended.map(|event| event.text("/kind")));
    p.holds(told == Some(kind), &format!("a wait of kind {kind}"), format!("{told:?}"))?;
    let at = requested.or(suspended).map(|event| event.node()).unwrap_or_default();
    p.holds(at == node, &format!("a wait at {node}"), at)
}
