//! A supervisor's turns in the engine of these tests: dispatch, the critic, the merge.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::engine::{Doing, Engine, Fails, Told, told};
use crate::lie::Lie;

/// What a turn is about.
struct Turns {
    e: Arc<Engine>,
    run: String,
    configurable: Value,
    dispatch: Value,
    critic: Value,
    agent: String,
    turn: u64,
    verdicts: usize,
    is_passed: bool,
}

/// What comes after a worker.
enum Next {
    Plan,
    Again,
    Ask,
    GiveUp,
}

pub(crate) fn supervise(
    e: Arc<Engine>,
    run: String,
    definition: Value,
    configurable: Value,
) -> Doing<()> {
    Box::pin(async move {
        let config = definition["nodes"][0]["config"].clone();
        let agent = definition["nodes"][0]["agent"]["agentId"]
            .as_str()
            .unwrap_or("supervisor.minted")
            .to_owned();
        let critic = definition["metadata"]["probity"]["verifiers"]["dispatch"].clone();
        let dispatch = definition["nodes"][1].clone();
        let mut turns = Turns {
            e,
            run,
            configurable,
            dispatch,
            critic,
            agent,
            turn: 0,
            verdicts: 0,
            is_passed: false,
        };
        turns.all(&config).await
    })
}

impl Turns {
    async fn all(&mut self, config: &Value) -> Result<(), Fails> {
        let mut at = 0;
        let mut plan = plan(config);
        let mut is_held = config.get("mockPendingDecision").is_some();
        loop {
            self.open()?;
            if std::mem::take(&mut is_held) {
                let data = json!({"agentId": self.agent, "threshold": 0.7, "observed": config["mockConfidence"]});
                self.e
                    .ask(&self.run, "supervisor", "low-confidence", data, vec!["accept", "reject"])
                    .await;
            }
            let decision = plan.get(at).cloned().unwrap_or(json!({"kind": "terminate"}));
            let decided = self.decide(&decision);
            if decision["kind"] == "terminate" {
                return Ok(());
            }
            if decision["confidence"].as_f64().is_some_and(|sure| sure < 0.5)
                && !self.e.lies(Lie::LowConfidenceGoesOn)
            {
                let escalated = json!({"confidence": decision["confidence"], "floor": 0.5, "escalationKind": "escalate",
                    "parentRunId": self.run, "originalDecision": decision});
                self.tell(
                    "core.workflowChain.confidence-escalated",
                    "supervisor",
                    &decided,
                    escalated,
                );
                let data = json!({"actions": ["accept", "reject"]});
                self.e
                    .ask(&self.run, "supervisor", "approval", data, vec!["accept", "reject"])
                    .await;
            }
            match self.hand_over(&decision, &decided).await? {
                Next::Plan => at += 1,
                Next::Again => {}
                Next::Ask => {
                    let data = json!({"questions": [{"id": "next", "question": "What now?"}]});
                    self.e.ask(&self.run, "supervisor", "clarification", data, Vec::new()).await;
                }
                Next::GiveUp => {
                    let met = self.e.lies(Lie::GiveUpSaysMet);
                    at = 0;
                    plan = vec![
                        json!({"kind": "terminate", "successCriteria": [{"key": "verified", "met": met}]}),
                    ];
                }
            }
        }
    }

    fn open(&mut self) -> Result<(), Fails> {
        let limit = self.configurable["maxLoopIterations"].as_u64().unwrap_or(100);
        self.turn += 1;
        let spare = u64::from(self.e.lies(Lie::OneTurnTooMany));
        let is_endless = self.e.lies(Lie::ReviseEndless) && self.verdicts > 0;
        if self.turn > limit + spare && !is_endless {
            let breach = json!({"kind": "loop-iterations", "limit": limit, "observed": limit + 1});
            return Err(Fails { code: "loop_limit_exceeded", first: Some(breach) });
        }
        self.e.start(
            &self.run,
            "supervisor",
            &json!("core.orchestrator.supervisor"),
            &self.configurable,
        )
    }

    fn decide(&self, decision: &Value) -> String {
        let iteration = if self.e.lies(Lie::IterationStays) { 1 } else { self.turn };
        self.e.with(&self.run, |own| own.supervisor = Some(self.agent.clone()));
        let payload = json!({"agentId": self.agent, "decision": decision, "iteration": iteration});
        let decided = self.tell("runOrchestrator.decided", "supervisor", "", payload);
        self.tell("node.completed", "supervisor", "", json!({}));
        decided
    }

    fn tell(&self, kind: &'static str, node: &str, cause: &str, payload: Value) -> String {
        self.e.emit(&self.run, vec![event(kind, node, cause, payload)]).remove(0)
    }

    fn step(&self, phase: &str, worker: &str, child: Option<&str>, cause: &str) -> Told {
        let mut payload = json!({"phase": phase, "workerId": worker, "parentRunId": self.run});
        if let Some(child) = child {
            payload["childRunId"] = json!(child);
        }
        event("core.workflowChain.event", "dispatch", cause, payload)
    }

    async fn hand_over(&mut self, decision: &Value, decided: &str) -> Result<Next, Fails> {
        self.e.start(&self.run, "dispatch", &json!("core.dispatch"), &self.configurable)?;
        let mut next = Next::Plan;
        let mut left = json!({});
        for worker in decision["nextWorkerIds"].as_array().unwrap() {
            let worker = worker.as_str().unwrap();
            let began = self
                .e
                .emit(&self.run, vec![self.step("dispatch.began", worker, None, decided)])
                .remove(0);
            let inputs = self.inputs(worker);
            let run = self.e.child(&self.run, "dispatch", worker, &inputs).await;
            let cause = if self.e.lies(Lie::CauseOfNothing) { decided } else { &began };
            let dispatched = json!({"childRunId": run, "childWorkflowId": worker});
            let succeeded = vec![
                self.step("dispatch.succeeded", worker, Some(&run), cause),
                told("node.dispatched", dispatched),
            ];
            let succeeded = self.e.emit(&self.run, succeeded).remove(0);
            let status = self.e.child_end(&run).await;
            let phase = format!("child.{status}");
            let ended = self
                .e
                .emit(&self.run, vec![self.step(&phase, worker, Some(&run), &succeeded)])
                .remove(0);
            left = json!({"childRunId": run, "childStatus": status});
            next = self.check(worker, &run, status, &ended).await;
        }
        self.tell("node.completed", "dispatch", "", json!({"outputs": left}));
        Ok(next)
    }

    /// The critic's turn, and what follows from it.
    async fn check(&mut self, worker: &str, run: &str, status: &str, ended: &str) -> Next {
        if status != "completed" {
            if self.e.lies(Lie::HarvestOfFailure) {
                self.e
                    .emit(&self.run, vec![self.step("output.harvested", worker, Some(run), ended)]);
            }
            return Next::Plan;
        }
        if self.critic.is_null() {
            self.merge(worker, run, ended, Vec::new()).await;
            return Next::Plan;
        }
        let on_fail = || match self.critic["onFail"].as_str() {
            Some("again") => Next::Again,
            Some("give-up") => Next::GiveUp,
            _ => Next::Ask,
        };
        let verdict =
            self.critic["mockVerdicts"][self.verdicts].as_str().unwrap_or("pass").to_owned();
        self.verdicts += 1;
        let is_own = self.critic["agentId"] == worker && !self.e.lies(Lie::SelfVerified);
        let lies = |lie| self.e.lies(lie);
        match verdict.as_str() {
            "hang" => {
                tokio::time::sleep(Duration::from_millis(
                    self.critic["timeoutMs"].as_u64().unwrap(),
                ))
                .await
            }
            "pass" | "fail" | "revise" | "fault" => {}
            other => unreachable!("{other}"),
        }
        if (verdict == "fault" && lies(Lie::FaultMerges))
            || (verdict == "hang" && lies(Lie::HangMerges))
        {
            self.merge(worker, run, ended, Vec::new()).await;
            return Next::Plan;
        }
        if is_own || matches!(verdict.as_str(), "fault" | "hang") {
            return on_fail();
        }
        let verified = self.verified(run, &verdict, ended);
        let is_outvoted = self.is_passed && lies(Lie::FailOutvoted);
        let is_let_through = match verdict.as_str() {
            "pass" => true,
            "fail" => lies(Lie::FailMerges) || is_outvoted,
            _ => lies(Lie::ReviseMerges),
        };
        self.is_passed |= verdict == "pass";
        if is_let_through {
            self.merge(worker, run, ended, vec![verified]).await;
            return if verdict == "fail" { on_fail() } else { Next::Plan };
        }
        self.e.emit(&self.run, vec![verified]);
        match verdict.as_str() {
            "revise" => Next::Again,
            _ if lies(Lie::FailSucceeds) && matches!(on_fail(), Next::Ask) => Next::Plan,
            _ => on_fail(),
        }
    }

    fn verified(&self, run: &str, verdict: &str, ended: &str) -> Told {
        let target = if self.e.lies(Lie::TargetIsAgent) { "conformance.worker" } else { run };
        let mut payload = json!({"agentId": self.critic["agentId"], "target": target, "verdict": verdict,
            "criteria": ["answer"], "confidence": 0.9});
        if self.e.lies(Lie::VerdictTellsContent) {
            payload["criteria"] = json!(["answer", self.e.runs()[run].variables["payload"]]);
        }
        event("agent.verified", "dispatch", ended, payload)
    }

    /// Takes over what is mapped, in one append with what led to it.
    async fn merge(&self, worker: &str, run: &str, ended: &str, mut first: Vec<Told>) {
        let mapping = self.mapping("outputMapping", "perWorkerOutputMappings", worker);
        let left = self.e.runs()[run].variables.clone();
        let taken: Map<String, Value> = mapping
            .iter()
            .filter_map(|(to, from)| Some((to.clone(), left.get(from.as_str()?)?.clone())))
            .collect();
        if mapping.is_empty() {
            self.e.emit(&self.run, first);
            return;
        }
        let mut harvested = self.step("output.harvested", worker, Some(run), ended);
        harvested.add("harvestedKeys", json!(taken.keys().collect::<Vec<_>>()));
        let mut events = vec![harvested];
        for (name, value) in &taken {
            events.push(told("variable.changed", json!({"name": name, "next": value})));
        }
        if self.e.lies(Lie::MergeBeforeVerdict) {
            events.append(&mut first);
        } else if self.e.lies(Lie::MergeApartFromVerdict) && !first.is_empty() {
            self.e.emit(&self.run, first);
            self.e.is_read().await;
        } else {
            first.append(&mut events);
            events = first;
        }
        self.e.emit(&self.run, events);
        self.e.with(&self.run, |own| own.variables.extend(taken));
    }

    fn inputs(&self, worker: &str) -> Map<String, Value> {
        let mapping = self.mapping("inputMapping", "perWorkerInputMappings", worker);
        let runs = self.e.runs();
        let own = &runs[&self.run].variables;
        mapping
            .iter()
            .filter_map(|(to, from)| Some((to.clone(), own.get(from.as_str()?)?.clone())))
            .collect()
    }

    fn mapping(&self, all: &str, each: &str, worker: &str) -> Map<String, Value> {
        let config = &self.dispatch["config"];
        let own = config[each].get(worker).or_else(|| config.get(all));
        own.and_then(Value::as_object).cloned().unwrap_or_default()
    }
}

/// A node that runs another workflow.
pub(crate) async fn sub(
    e: &Arc<Engine>,
    run: &str,
    name: &str,
    node: &Value,
) -> Result<Value, Fails> {
    let of = node["config"]["workflowId"].as_str().unwrap();
    let ran = e.child(run, name, of, &Map::new()).await;
    let status = e.child_end(&ran).await;
    if status != "completed" {
        return Err(Fails { code: "child_failed", first: None });
    }
    let left = e.runs()[&ran].variables.clone();
    for (to, from) in node["config"]["outputMapping"].as_object().unwrap() {
        let value = left[from.as_str().unwrap()].clone();
        e.emit(run, vec![told("variable.changed", json!({"name": to, "next": value}))]);
        e.with(run, |own| own.variables.insert(to.clone(), value));
    }
    Ok(json!({"childRunId": ran, "childStatus": status}))
}

fn plan(config: &Value) -> Vec<Value> {
    let stock = json!([{"kind": "next-worker", "nextWorkerIds": ["conformance-noop"]}, {"kind": "terminate"}]);
    let pending = config.get("mockPendingDecision").map(|decision| json!([decision]));
    let named = config.get("mockDispatchPlan").or_else(|| config.get("mockDecisions")).cloned();
    named.or(pending).unwrap_or(stock).as_array().unwrap().clone()
}

fn event(kind: &'static str, node: &str, cause: &str, payload: Value) -> Told {
    let event = told(kind, payload).at(node);
    if cause.is_empty() { event } else { event.because(cause) }
}
