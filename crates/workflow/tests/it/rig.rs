//! A run with a clock that tests turn, and short words for what happened.

use probity_core::{Code, RunId};
use probity_workflow::{
    Bounds, ChildEnd, Definition, Effect, Entry, Event, Failure, Input, Judgement, OpenError,
    Owner, Refusal, Run, Snapshot, Start, Step, Terms,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// When every run begins.
pub(crate) const START_MS: u64 = 1_000_000;

pub(crate) struct Rig {
    pub(crate) run: Run,
    pub(crate) steps: Vec<Step>,
    pub(crate) now_ms: u64,
    effects: Vec<Effect>,
}

pub(crate) fn run_id() -> RunId {
    "acme-0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000".parse().unwrap()
}

pub(crate) fn start(definition: &Value, inputs: Value) -> Start {
    let Value::Object(inputs) = inputs else { panic!("inputs are an object") };
    Start {
        definition: Definition::parse(&as_recorded(definition)).expect("a definition"),
        inputs,
        owner: Owner { tenant: "acme".to_owned(), workspace: None, principal: None },
        origin: None,
        tags: Vec::new(),
        metadata: Map::new(),
        bounds: Bounds {
            max_node_executions: 100,
            max_run_duration_ms: 600_000,
            max_loop_iterations: 20,
        },
        terms: Terms {
            is_gating: true,
            confidence_floor: 0.5,
            escalation_threshold: 0.7,
            max_revisions: 2,
        },
    }
}

impl Rig {
    pub(crate) fn new(definition: &Value) -> Self {
        Self::open(start(definition, json!({}))).unwrap()
    }

    pub(crate) fn with(definition: &Value, change: impl FnOnce(&mut Start)) -> Self {
        let mut start = start(definition, json!({}));
        change(&mut start);
        Self::open(start).unwrap()
    }

    pub(crate) fn open(start: Start) -> Result<Self, OpenError> {
        let (mut run, step) = Run::open(START_MS, run_id(), start)?;
        let effects = std::iter::from_fn(|| run.poll_effect()).collect();
        Ok(Self { run, steps: vec![step], now_ms: START_MS, effects })
    }

    pub(crate) fn try_give(&mut self, input: Input) -> Result<(), Refusal> {
        let before = self.run.snapshot();
        match self.run.handle(self.now_ms, input) {
            Ok(step) => self.steps.push(step),
            Err(refusal) => {
                assert_eq!(self.run.snapshot(), before, "a refusal left something behind");
                assert_eq!(self.run.poll_effect(), None);
                return Err(refusal);
            }
        }
        self.effects.extend(std::iter::from_fn(|| self.run.poll_effect()));
        Ok(())
    }

    pub(crate) fn give(&mut self, input: Input) {
        self.try_give(input).expect("taken");
    }

    /// Effects since the last call.
    pub(crate) fn effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// The child that was begun last, and nothing else was asked for since.
    pub(crate) fn child(&mut self) -> (RunId, String, Map<String, Value>) {
        match self.effects().pop() {
            Some(Effect::StartChild { child, workflow, inputs, .. }) => (child, workflow, inputs),
            other => panic!("no child was begun: {other:?}"),
        }
    }

    /// The child that was begun last completes.
    pub(crate) fn complete_child(&mut self, outputs: Value) -> RunId {
        let (child, _, _) = self.child();
        let Value::Object(outputs) = outputs else { panic!("outputs are an object") };
        self.give(Input::ChildEnded {
            child: child.clone(),
            end: ChildEnd::Completed { outputs, is_goal_satisfied: true },
        });
        child
    }

    pub(crate) fn fail_child(&mut self, was_started: bool) {
        let (child, _, _) = self.child();
        let error = failure("worker_broke");
        self.give(Input::ChildEnded { child, end: ChildEnd::Failed { error, was_started } });
    }

    /// The verification that was asked for last: its name and the digest.
    pub(crate) fn check(&mut self) -> (RunId, String) {
        match self.effects().pop() {
            Some(Effect::Verify { verification, digest, .. }) => (verification, digest),
            other => panic!("nothing was to be verified: {other:?}"),
        }
    }

    /// The critic gives its verdict on what it was asked about.
    pub(crate) fn judge(&mut self, verdict: Judgement) {
        self.judge_with(verdict, &[], None);
    }

    pub(crate) fn judge_with(
        &mut self,
        verdict: Judgement,
        keys: &[&str],
        confidence: Option<f64>,
    ) {
        let (verification, candidate) = self.check();
        let criteria = keys.iter().map(|key| key.parse().unwrap()).collect();
        self.give(Input::Verified { verification, candidate, verdict, criteria, confidence });
    }

    pub(crate) fn break_verifier(&mut self) {
        let (verification, _) = self.check();
        self.give(Input::VerifierBroke { verification, code: code("critic_crashed") });
    }

    pub(crate) fn resolve(&mut self, node: &str, value: Value) {
        self.try_resolve(node, value, "ada").expect("an answer that fits");
    }

    pub(crate) fn try_resolve(
        &mut self,
        node: &str,
        value: Value,
        by: &str,
    ) -> Result<(), Refusal> {
        self.try_give(Input::Resolve {
            node: node.to_owned(),
            value,
            by: by.to_owned(),
            interrupt: None,
        })
    }

    /// The next time that the run waits for comes.
    pub(crate) fn wait(&mut self) {
        self.now_ms = self.run.poll_timeout().expect("a time");
        self.give(Input::Timer);
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.run.snapshot()
    }

    pub(crate) fn variable(&self, name: &str) -> Value {
        self.snapshot().variables.get(name).cloned().unwrap_or_default()
    }

    pub(crate) fn entries(&self) -> Vec<&Entry> {
        self.steps.iter().flat_map(|step| &step.entries).collect()
    }

    /// What happened, in short words.
    pub(crate) fn words(&self) -> Vec<String> {
        self.entries().into_iter().map(word).collect()
    }

    /// What happened in the last step.
    pub(crate) fn last_words(&self) -> Vec<String> {
        self.steps.last().unwrap().entries.iter().map(word).collect()
    }

    pub(crate) fn count(&self, prefix: &str) -> usize {
        self.words().iter().filter(|word| word.starts_with(prefix)).count()
    }

    /// What holds of every log: see [`crate::log`].
    pub(crate) fn assert_sound(&self) {
        let entries = self.entries();
        for (place, entry) in (0..).zip(&entries) {
            assert_eq!(entry.sequence, place, "a gap");
            assert!(entry.cause.is_none_or(|cause| cause < place), "a cause after its effect");
        }
        let ends = entries.iter().filter(|entry| entry.event.is_terminal()).count();
        assert_eq!(ends, usize::from(self.run.is_ended()));
        assert_eq!(entries.last().unwrap().event.is_terminal(), self.run.is_ended());
        assert_eq!(self.run.len(), u64::try_from(entries.len()).unwrap());
        let read: Vec<Step> = as_recorded(&self.steps);
        assert_eq!(read, self.steps, "the log reads back as it was written");
        let replayed = Run::replay(run_id(), &read).expect("a log of this machine");
        assert_eq!(replayed.snapshot(), self.snapshot());
        assert_eq!(replayed.poll_timeout(), self.run.poll_timeout());
    }
}

/// As a log keeps it and reads it: canonical JSON (RFC 8785), its numbers doubles.
pub(crate) fn as_recorded<T: Serialize + DeserializeOwned>(value: &T) -> T {
    let text = probity_record::canonical::jcs(value).unwrap();
    serde_json::from_value(probity_record::read_step(&text).unwrap()).unwrap()
}

pub(crate) fn failure(word: &str) -> Failure {
    Failure { code: word.to_owned(), message: "it broke".to_owned(), details: None }
}

pub(crate) fn code(word: &str) -> Code {
    word.parse().unwrap()
}

/// An event in short: its type, its node, and the word that tells it from others of its type.
pub(crate) fn word(entry: &Entry) -> String {
    let event = serde_json::to_value(&entry.event).unwrap();
    let kind = event["type"].as_str().unwrap().to_owned();
    let detail = match &entry.event {
        Event::Handoff { .. } => event["phase"].as_str().unwrap().to_owned(),
        Event::AgentVerified(verified) => format!("{:?}", verified.verdict).to_lowercase(),
        Event::SupervisorDecided { iteration, .. } => {
            format!("{} {iteration}", event["decision"]["kind"].as_str().unwrap())
        }
        Event::NodeFailed { error } | Event::RunFailed { error, .. } => error.code.clone(),
        Event::VariableChanged { name, next, .. } => format!("{name}={next}"),
        Event::ApprovalReceived { action, .. } => action.clone(),
        Event::NodeSuspended { .. } => event["kind"].as_str().unwrap().to_owned(),
        Event::CapBreached(breach) => {
            format!("{} {}>{}", event["kind"].as_str().unwrap(), breach.observed, breach.limit)
        }
        _ => String::new(),
    };
    let node = entry.node.clone().unwrap_or_default();
    format!("{kind} {node} {detail}").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A definition of these nodes and edges.
pub(crate) fn definition(id: &str, nodes: Value, edges: &[(&str, &str)]) -> Value {
    let edges: Vec<Value> = edges
        .iter()
        .map(|(from, to)| json!({"id": format!("{from}-{to}"), "sourceNodeId": from, "targetNodeId": to}))
        .collect();
    json!({
        "id": id, "name": id, "version": "1.0", "nodes": nodes, "edges": edges,
        "triggers": [{"id": "manual", "type": "manual", "enabled": true}],
        "variables": [], "metadata": {}, "settings": {},
    })
}

pub(crate) fn node(id: &str, type_id: &str, config: Value) -> Value {
    json!({
        "id": id, "typeId": type_id, "name": id, "position": {"x": 0, "y": 0},
        "config": config, "inputs": {},
    })
}

pub(crate) fn variable(name: &str, default: Value) -> Value {
    json!({"name": name, "type": "string", "defaultValue": default})
}

/// A supervisor with this plan and its dispatch, which carries `out` of a child into `result`.
pub(crate) fn team(plan: Value) -> Value {
    let nodes = json!([
        node("boss", "core.orchestrator.supervisor", json!({"plan": plan})),
        node("desk", "core.dispatch", json!({"outputMapping": {"result": "out"}})),
    ]);
    definition("team", nodes, &[("boss", "desk"), ("desk", "boss")])
}

pub(crate) fn next(workers: &[&str]) -> Value {
    json!({"kind": "next-worker", "nextWorkerIds": workers})
}

pub(crate) fn end() -> Value {
    json!({"kind": "terminate", "reason": "goal-reached"})
}

/// The same with a critic over what the dispatch hands out.
pub(crate) fn checked_team(plan: Value, on_fail: &str) -> Value {
    let mut definition = team(plan);
    definition["metadata"] = json!({"probity": {"verifiers": {"desk": {
        "agentId": "probity.critic", "checks": [{"file": "report.md"}], "onFail": on_fail,
        "timeoutMs": 5_000,
    }}}});
    definition
}
